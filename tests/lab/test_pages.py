"""Pages that hold numbers of ours have them from what computes them."""

from itertools import pairwise

import pytest

from lab import coverage, performance
from tests.conftest import REPOSITORY
from tests.support.shipped import shipped_score

SHOWN = (REPOSITORY / coverage.PAGE).read_text(encoding="utf-8").split(coverage.BEGIN)[1].split(coverage.END)[0]
QUICK = [case for case in coverage.CASES if case[0] in ("GC@t", "MME's score", "a correlation of 0.7")]


@pytest.mark.parametrize("case", QUICK)
def test_intervals_hold_the_truth_as_often_as_the_page_says(case: tuple[str, str]) -> None:
    assert coverage.covered(case) in SHOWN


@pytest.mark.slow
def test_the_whole_table_of_intervals() -> None:
    assert SHOWN.strip() == (coverage.HEAD + "".join(map(coverage.covered, coverage.CASES))).strip()


def test_the_page_of_what_was_measured_is_of_the_reports() -> None:
    page = (REPOSITORY / performance.PAGE).read_text(encoding="utf-8")
    shown = page.split(performance.BEGIN)[1].split(performance.END)[0]
    assert shown.strip() == performance.page_of(REPOSITORY / performance.FOLDER).strip()


def test_the_three_sizes_are_in_the_order_that_the_page_of_scenes_says() -> None:
    sizes = [f"regions_{size}" for size in ("coarse", "medium", "fine")]
    for name in ("mm_sap", "mme"):
        ends = [shipped_score(name, question_set=f"scenes_{name}", model=model).interval("score") for model in sizes]
        assert [a is not None and b is not None and a.high < b.low for a, b in pairwise(ends)] == [True, True]
    coarse, medium, fine = (shipped_score("mm_vet", question_set="scenes_mm_vet", model=model) for model in sizes)
    assert coarse.metrics["total"] < medium.metrics["total"] < fine.metrics["total"] < medium.metrics["total_high"]
    assert shipped_score("mm_sap", question_set="scenes_mm_sap", model=sizes[0]).metrics["score"] < 20
