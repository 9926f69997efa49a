"""The checker's arithmetic of judges beside driftledger's, of which it shares nothing."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.agreement import krippendorff_alpha
from driftledger.metrics.correction import corrected_mean, count_of, operating_characteristics
from driftledger_check.compute import judges

tenths = st.integers(0, 10).map(lambda each: each / 10)
calibrations = st.lists(st.tuples(st.sampled_from([0.0, 0.5, 1.0]), tenths), min_size=1, max_size=20)
questions = st.lists(st.tuples(st.lists(tenths, min_size=3, max_size=3), st.sampled_from("abcd")), min_size=1)


def fraction(value: float) -> Fraction:
    return Fraction(repr(value))


@given(calibrations)
def test_sensitivity_and_specificity(drawn: list[tuple[float, float]]) -> None:
    found = judges.characteristics([(fraction(worth), fraction(grade)) for worth, grade in drawn])
    expected = operating_characteristics(*zip(*drawn, strict=True))
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found == pytest.approx(expected[:2], abs=2e-12)


@given(calibrations, questions)
def test_the_corrected_mean(known: list[tuple[float, float]], drawn: list[tuple[list[float], str]]) -> None:
    if operating_characteristics(*zip(*known, strict=True)) is None:
        return
    clusters, counts = [cluster for _, cluster in drawn], [3] * len(drawn)
    exact = [sum(map(fraction, grades), Fraction()) for grades, _ in drawn]
    pairs = [(fraction(worth), fraction(grade)) for worth, grade in known]
    found = judges.corrected(exact, counts, clusters, pairs, 0.95)
    graded = count_of([float(each) for each in exact], counts, clusters)
    expected = corrected_mean(graded, *zip(*known, strict=True), confidence=0.95)
    assert (found is None) == (expected is None)
    if found is not None and expected is not None:
        assert found == pytest.approx(tuple(expected), abs=2e-12)


@given(st.lists(st.lists(st.sampled_from([0.0, 0.3, 1.0, math.nan]), min_size=3, max_size=3), min_size=1))
def test_alpha(drawn: list[list[float]]) -> None:
    units = [[fraction(value) for value in unit if value == value] for unit in drawn]
    assert judges.alpha(units) == krippendorff_alpha(np.array(drawn).T)
