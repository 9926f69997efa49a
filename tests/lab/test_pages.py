"""Pages that hold numbers of ours have them from what computes them."""

import pytest

from lab import coverage, performance
from tests.conftest import REPOSITORY

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
