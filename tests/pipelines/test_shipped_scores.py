"""What the scores in ``reports/`` say about the embedded components, which is what the README shows them for."""

from itertools import pairwise

from driftledger.benchmarks.description_records import TracScore
from driftledger.benchmarks.genception.records import ScoreFile

from driftledger.core.files import read_json
from driftledger.core.paths import Combination, Layout
from tests.conftest import REPOSITORY

LAYOUT = Layout(REPOSITORY)
SEEING = ("regions_coarse", "regions_medium", "regions_fine")
CONTROLS = ("blind", "always_refuse", "random")


def trac(model: str) -> TracScore:
    return read_json(LAYOUT.trac_scores("digits", model, "features_by_words", "tfidf"), TracScore)


def test_who_looks_tells_digits_apart_several_times_better_than_chance() -> None:
    for model in SEEING:
        metrics = trac(model).metrics
        assert metrics["chance"] == 10
        assert metrics["top1_low"] > 2 * metrics["chance"]
        assert metrics["class_mean"] > 3 * metrics["chance"]
    assert trac("regions_medium").metrics["top1"] > 4 * 10


def test_who_does_not_look_tells_what_chance_tells() -> None:
    for model in CONTROLS:
        metrics = trac(model).metrics
        assert metrics["top1"] == metrics["class_mean"] == metrics["vote_best"] == metrics["chance"]


def test_more_words_do_not_hurt_up_to_a_point() -> None:
    for model in SEEING:
        found = {row.max_tokens: row.metrics for row in trac(model).conditions}
        assert found[10]["top1"] < found[20]["top1"] < found[40]["top1_high"]
        assert found[10]["top1_high"] < found[200]["top1"]
    fine = {row.max_tokens: row.metrics["top1"] for row in trac("regions_fine").conditions}
    assert fine[80] < fine[40]  # the point: what comes later in a description is not what tells the digits apart


def test_no_description_names_its_digit() -> None:
    assert {trac(model).metrics["leak_rate"] for model in SEEING} == {0}


def test_the_more_a_model_tells_the_more_survives() -> None:
    named = (Combination(model, "painter", "layout") for model in (*reversed(SEEING), "blind"))
    order = [read_json(LAYOUT.scores("genception", "photos", each), ScoreFile).metrics for each in named]
    for t in (1, 2, 3, 4, 5):
        for better, worse in pairwise(order):
            assert better[f"gc_at_{t}_low"] > worse[f"gc_at_{t}_high"]
