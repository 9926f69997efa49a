"""The figures about intervals of kappa and alpha on the page are those that were measured."""

import json

import numpy as np
import pytest

from lab.raters import ANSWERS, COEFFICIENTS, KINDS, MISTAKES, PER_IMAGE, covered, fleiss_cohen_everitt, table
from tests.conftest import REPOSITORY

MEASURED = json.loads((REPOSITORY / "reports" / "perf" / "raters.json").read_bytes())
PUBLISHED = np.array([[106, 10, 4], [22, 28, 10], [2, 12, 6]], dtype=float)
"""Fleiss, Cohen and Everitt 1969, of 200 cases."""
WEIGHTS = np.array([[1, 0, 0.4444], [0, 1, 0.6667], [0.4444, 0.6667, 1]])


def test_the_page_has_every_row() -> None:
    page = (REPOSITORY / "docs" / "statistics.md").read_text(encoding="utf-8").splitlines()
    assert [row for row in table(MEASURED["found"]) if row not in page] == []


def test_all_of_it_was_measured_and_the_interval_that_is_used_covers_best() -> None:
    found = MEASURED["found"]
    assert len(found) == len(COEFFICIENTS) * len(KINDS) * len(MISTAKES) * len(ANSWERS) * len(PER_IMAGE)
    assert min(each["used"] for each in found) > max(
        min(each[name] for each in found if name in each) for name in ("bootstrap", "Fleiss, Cohen and Everitt")
    )


@pytest.mark.parametrize(("weights", "kappa", "variance"), [(np.eye(3), 0.429, 0.002885), (WEIGHTS, 0.507, 0.003248)])
def test_their_standard_error_is_the_one_that_they_published(
    weights: np.ndarray, kappa: float, variance: float
) -> None:
    found, error = fleiss_cohen_everitt(PUBLISHED, weights)
    assert float(found) == pytest.approx(kappa, abs=5e-4)
    assert float(error) ** 2 == pytest.approx(variance, abs=5e-7)


def test_a_cell_can_be_measured_again() -> None:
    found = covered("kappa", "tenths", 0.3, 50, 2, 200)
    assert 0.9 < found["used"] <= 1
    assert 0 < found["truth"] < 1
