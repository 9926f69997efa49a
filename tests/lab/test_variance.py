"""The simulation of components of variance: what it measures is in the page, and it simulates what it says."""

import json

import numpy as np
import pytest

from driftledger.metrics.variance import mean_squares
from lab.variance import CASES, FILE, PAGE, PILOTS, expected_squares, in_markers, rows_of, simulated
from tests.conftest import REPOSITORY


@pytest.fixture
def measured():
    return json.loads((REPOSITORY / FILE).read_bytes())


def test_the_page_has_what_was_measured(monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    assert in_markers() in PAGE.read_text(encoding="utf-8")


def test_intervals_hold_and_powers_are_reached(measured):
    normal = [of["generalized"] for kinds in measured["cases"].values() for of in kinds["normal"].values()]
    assert set(measured["cases"]) == set(CASES)
    assert min(normal) > 92
    assert 95 <= np.mean(normal) < 98
    assert set(measured["power_reached"]) == set(PILOTS)
    for of in measured["power_reached"].values():
        assert of["power_from_true_components"] == pytest.approx(80, abs=3)


@pytest.mark.parametrize("skewed", [False, True])
def test_simulated_values_have_the_components_that_they_are_said_to_have(skewed):
    case = CASES["3 models × 21 samples in 6 categories × 3 repeats"]
    values = simulated(case, 300, np.random.default_rng(1), skewed)
    expected = expected_squares(case)
    for term, squares in mean_squares(values, case.layout, rows_of(case.layout)).items():
        error = squares.std() / np.sqrt(len(squares))
        assert squares.mean() == pytest.approx(expected[term], abs=5 * error)
