"""What the scores in ``reports/`` say about the embedded components."""

from itertools import pairwise

import pytest

from tests.acceptance.numbers import numbers, read
from tests.conftest import REPOSITORY
from tests.support.shipped import OTHERS, is_default

SEEING = ("regions_fine", "regions_medium", "regions_coarse")
CONTROLS = ("blind", "always_refuse", "random")


@pytest.fixture
def metrics():
    if not is_default():
        pytest.skip(OTHERS)

    def named(model, place):
        path = REPOSITORY / "reports/scores" / model / place / "score.json"
        return numbers(read(path))

    return named


def test_who_looks_tells_digits_apart_and_who_does_not_tells_what_chance_tells(metrics):
    place = "trac/digits/features_by_words/tfidf"
    for model in SEEING:
        assert metrics(model, place)["top1_low"] > 10
        assert metrics(model, place)["class_mean_low"] > 20
    for model in CONTROLS:
        for key in ("top1", "class_mean", "vote_best", "chance"):
            assert metrics(model, place)[key] == 10


def test_the_more_a_model_tells_the_more_survives(metrics):
    models = (*SEEING, "blind")
    order = [metrics(model, "genception/photos/painter/layout") for model in models]
    for better, worse in pairwise(order):
        for t in (1, 2, 3, 4, 5):
            assert better[f"gc_at_{t}_low"] > worse[f"gc_at_{t}_high"]
