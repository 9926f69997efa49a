"""What the scores in ``reports/`` say about the embedded components, which is what the README shows
them for."""

from itertools import pairwise

from driftledger.benchmarks.score import Score
from tests.support.shipped import shipped_score

SEEING = ("regions_coarse", "regions_medium", "regions_fine")
CONTROLS = ("blind", "always_refuse", "random")


def trac(model: str) -> Score:
    return shipped_score(
        "trac", dataset="digits", model=model, description="features_by_words", text_encoder="tfidf"
    )


def test_who_looks_tells_digits_apart_better_than_chance():
    for model in SEEING:
        metrics = trac(model).metrics
        assert metrics["chance"] == 10
        assert metrics["top1_low"] > metrics["chance"]
        assert metrics["class_mean_low"] > 2 * metrics["chance"]


def test_who_does_not_look_tells_what_chance_tells():
    for model in CONTROLS:
        metrics = trac(model).metrics
        assert metrics["top1"] == metrics["class_mean"] == metrics["vote_best"] == metrics["chance"]


def test_the_more_a_model_tells_the_more_survives():
    named = (
        {"dataset": "photos", "model": model, "generator": "painter", "encoder": "layout"}
        for model in (*reversed(SEEING), "blind")
    )
    order = [shipped_score("genception", **keys).metrics for keys in named]
    for t in (1, 2, 3, 4, 5):
        for better, worse in pairwise(order):
            assert better[f"gc_at_{t}_low"] > worse[f"gc_at_{t}_high"]
