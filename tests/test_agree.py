"""The check that neural scores of two machines agree."""

import runpy
from typing import Any

import pytest

from tests.conftest import REPOSITORY

too_far = runpy.run_path(str(REPOSITORY / ".ci" / "agree.py"))["too_far"]


def score(benchmark: str, **metrics: float) -> dict[str, Any]:
    return {"benchmark": benchmark, "metrics": metrics}


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        (score("genception", gc_at_1=0.5, gc_at_2=0.4), score("genception", gc_at_1=0.52, gc_at_2=0.38), []),
        (score("genception", gc_at_3=0.5), score("genception", gc_at_3=0.54), ["gc_at_3 is 0.54, in Git 0.5"]),
        (score("trac", top1=50.0), score("trac", top1=44.0), ["top1 is 44.0, in Git 50.0"]),
        (score("mme", score=120.0, other=1.0), score("mme", score=101.0, other=9.0), []),
        (score("fidelity", clip_s=30.0), score("fidelity"), ["clip_s is None, in Git 30.0"]),
    ],
)
def test_only_headlines_that_are_too_far_away_are_named(
    then: dict[str, Any], now: dict[str, Any], said: list[str]
) -> None:
    assert list(too_far(now, then)) == said
