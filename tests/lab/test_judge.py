"""The figures about corrected scores on the page are those that were measured."""

import json

import numpy as np
import pytest

from lab.judge import CALIBRATIONS, JUDGES, KINDS, QUESTIONS, in_tenths, right_or_wrong, table
from tests.conftest import REPOSITORY

MEASURED = json.loads((REPOSITORY / "reports" / "perf" / "judge.json").read_bytes())


def test_the_page_has_every_row() -> None:
    page = (REPOSITORY / "docs" / "mm_vet.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in table(MEASURED["found"]) if row not in page] == []


def test_all_of_it_was_measured_and_the_interval_that_is_used_covers() -> None:
    assert len(MEASURED["found"]) == len(KINDS) * len(CALIBRATIONS) * len(JUDGES) * len(QUESTIONS)
    assert min(each["used"] for each in MEASURED["found"]) > 0.92


@pytest.mark.parametrize("draw", KINDS.values())
def test_what_is_drawn_has_its_sensitivity(draw: object) -> None:
    dice = np.random.default_rng(1)
    drawn = (right_or_wrong if draw is right_or_wrong else in_tenths)(0.5, (0.9, 0.7), (4000, 4000), 60, dice)
    right = [given for known, given in zip(drawn.known, drawn.given, strict=True) if known == 1]
    wrong = [given for known, given in zip(drawn.known, drawn.given, strict=True) if known == 0]
    assert np.mean(right) == pytest.approx(0.9, abs=0.02)
    assert np.mean(wrong) == pytest.approx(0.3, abs=0.02)
