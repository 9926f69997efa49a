"""What of version 0.1 a score of today is held against."""

from typing import Any

import pytest

from lab.same_numbers import as_new


def old(benchmark: str, coverage: float) -> dict[str, Any]:
    """A score file of version 0.1."""
    metrics = {"score": 66.0, "total": 66.0, "answer_rate": 90.0}
    groups = {"subset": {"basic": {"score": 70.0}}}
    counts = {"scored": 59, "total": 100, "coverage": coverage}
    return {"benchmark": benchmark, "metrics": metrics, "groups": groups, "positions": [], **counts}


@pytest.mark.parametrize(("benchmark", "headline"), [("mm_sap", "score"), ("mm_vet", "total"), ("mme", "score")])
def test_where_something_was_left_out_the_figure_that_leaves_it_out_is_compared(benchmark: str, headline: str) -> None:
    found = as_new(old(benchmark, 0.59))
    assert found["metrics"] == {f"{headline}_unread_left_out": 66.0}
    assert found["groups"] == {}
    assert (found["scored"], found["total"], found["coverage"]) == (59, 100, 0.59)


def test_where_everything_was_read_all_is_compared() -> None:
    found = as_new(old("mme", 1.0))
    assert found["metrics"] == {"score": 66.0, "total": 66.0, "answer_rate": 90.0}
    assert found["groups"] == {"subset": {"basic": {"score": 70.0}}}
