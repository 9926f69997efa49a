"""What is said of totals that people correct was measured, and the formulas beside ours are the published ones."""

import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest

from driftledger.core.types import Float64
from driftledger.metrics.correction import Graded, Operating, corrected_mean
from driftledger.metrics.intervals.shares import share_interval
from lab.coverage import Ends
from lab.people import (
    GRADED,
    JSON,
    JUDGES,
    KINDS,
    PAGE,
    QUESTIONS,
    TOTALS,
    Judge,
    clear_answers,
    covered,
    drawn,
    published,
    regression,
    uncorrected,
    with_table,
)
from tests.conftest import REPOSITORY

RUNS, USED = 40, "used, model by model"


def test_the_page_has_the_table_of_the_file() -> None:
    page = (REPOSITORY / PAGE).read_text(encoding="utf-8")
    assert with_table(page, measured()) == page


def measured() -> list[dict[str, Any]]:
    return list(of_page()["found"])


def of_page() -> dict[str, Any]:
    return dict(json.loads((REPOSITORY / JSON).read_bytes()))


def test_all_of_it_was_measured() -> None:
    judges = sum(len(some) for some in JUDGES.values())
    assert len(measured()) == len(KINDS) * judges * len(QUESTIONS) * len(GRADED) * len(TOTALS)


@cache
def a_few(kind: str, judge: str) -> list[dict[str, dict[str, float]]]:
    return covered(kind, JUDGES[judge][-1], 120, 20, RUNS)


def lowest(kind: str, judge: str, method: str) -> float:
    return min(row["held"][method] for row in a_few(kind, judge))


@pytest.mark.parametrize("kind", KINDS)
def test_a_small_run_finds_that_the_correction_holds_where_the_plain_total_does_not(kind: str) -> None:
    assert lowest(kind, "errs", "uncorrected") < 20
    assert lowest(kind, "errs", "used, all models at once") > 85
    assert lowest(kind, "errs", "people alone") > 85


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_without_mistakes_costs_nothing(kind: str) -> None:
    for row in a_few(kind, "no mistakes"):
        assert row["held"]["uncorrected"] > 85
        assert row["held"]["used, all models at once"] > 85
        assert row["width"]["used, all models at once"] < row["width"]["people alone"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_judge_that_knows_nothing_corrects_nothing(kind: str) -> None:
    """Half of all runs say so, and others print nearly the whole scale; people's grades are what is left."""
    for row in a_few(kind, "knows nothing"):
        assert 25 < row["none"]["used, all models at once"] < 75
        assert row["width"]["used, all models at once"] > 90
        assert row["width"][USED] == pytest.approx(row["width"]["people alone"], rel=0.15)
    assert lowest(kind, "knows nothing", "uncorrected") < 20


@pytest.mark.parametrize("kind", KINDS)
def test_one_line_for_all_models_does_not_hold_where_the_judge_favours_one(kind: str) -> None:
    favoured = a_few(kind, "favours a model")[len(TOTALS) // 2]["held"]
    assert favoured["used, all models at once"] < 60
    assert favoured[USED] > 85


CASES = [(kind, name, graded) for kind in KINDS for name in ("errs", "favours a model") for graded in GRADED]


@pytest.mark.parametrize(("kind", "name", "graded"), CASES)
def test_model_by_model_it_holds_as_often_as_the_page_says(kind: str, name: str, graded: int) -> None:
    """In other runs than those of the page, within four standard deviations of both together."""
    judge, runs = JUDGES[name][-1], 300
    ends = regression(drawn(kind, judge, 120, graded, runs, np.random.default_rng([7, graded])))
    design = {"kind": kind, "judge": name, **judge._asdict(), "questions": 120, "graded": graded}
    told = [each for each in measured() if design.items() <= each.items()]
    assert [each["total"] for each in told] == list(TOTALS)
    for model, each in enumerate(told):
        held, said = Ends(ends.low[:, model], ends.high[:, model]).holds(TOTALS[model]), each["held"][USED]
        share = (held + said) / 200
        apart = 400 * math.sqrt(share * (1 - share) * (1 / runs + 1 / of_page()["runs"]))
        assert abs(held - said) <= apart, (TOTALS[model], held, said)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_drawn_has_its_totals_and_its_judge(kind: str) -> None:
    run = drawn(kind, Judge(0.9, 0.7), 120, 120, 200, np.random.default_rng(1))
    assert run.people.mean(axis=(0, 2)) == pytest.approx(TOTALS, abs=0.02)
    assert run.seen[run.people == 1].mean() == pytest.approx(0.9, abs=0.01)
    assert run.seen[run.people == 0].mean() == pytest.approx(0.3, abs=0.01)
    clear = clear_answers(kind)
    assert run.clear[:, clear == 0].mean() == pytest.approx(0.1, abs=0.04)  # a third as often wrong


def test_the_published_interval_is_ours_of_independent_answers() -> None:
    known, given = [1.0] * 12 + [0.0] * 8, [1.0] * 10 + [0.0] * 2 + [1.0] + [0.0] * 7
    ours = corrected_mean(Graded(0.6, 100), known, given, confidence=0.95)
    assert ours is not None
    assert published(0.6, 100, Operating(10 / 12, 7 / 8, 12, 8)) == pytest.approx(ours[1:], abs=1e-6)


def test_the_uncorrected_interval_is_that_of_scores() -> None:
    run = drawn("tenths", Judge(0.9, 0.7), 218, 20, 2, np.random.default_rng(1))
    ends, grades = uncorrected(run), (10 * run.grades[1, 3]).round().astype(int)
    images = np.repeat(run.images.astype(str), grades.shape[1]).tolist()
    found = share_interval(grades.ravel(), np.full(grades.size, 10), images, 0.95).interval
    assert found == pytest.approx((ends.low[1, 3], ends.high[1, 3]), rel=1e-9)


def test_regression_takes_what_the_judge_says_of_all_answers_as_far_as_people_bear_it_out() -> None:
    """By least squares, of one run."""
    run = drawn("tenths", Judge(0.9, 0.7), 120, 50, 1, np.random.default_rng(2))
    ends = regression(run)
    for model in range(len(TOTALS)):
        slope, constant = np.polyfit(run.seen[0, model], run.people[0, model], 1)
        estimate = constant + slope * float(run.grades[0, model].mean())
        assert ends.low[0, model] < np.clip(estimate, 0, 1) < ends.high[0, model]
    assert _width(ends.high - ends.low) < _width(np.full(len(TOTALS), 0.5))


def _width(some: Float64) -> float:
    return float(some.mean())
