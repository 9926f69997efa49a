from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from driftledger.metrics.exact import FINEST, decimal, exact_dot, exact_mean, round_significant, steps_of

pairs = hnp.arrays(
    np.float32, st.tuples(st.just(2), st.integers(0, 30)), elements=st.floats(width=32, allow_nan=False)
).filter(lambda pair: np.isfinite(pair).all())


@given(pairs)
def test_dot_is_the_float_nearest_to_the_sum_in_rational_arithmetic(pair):
    a, b = pair
    rational = sum((Fraction(float(x)) * Fraction(float(y)) for x, y in zip(a, b, strict=True)), Fraction(0))
    assert exact_dot(a, b) == float(rational)


@given(st.lists(st.floats(-1e9, 1e9), min_size=1), st.randoms(use_true_random=False))
def test_mean_does_not_depend_on_the_order(values, random):
    shuffled = random.sample(values, len(values))
    assert exact_mean(shuffled) == exact_mean(values)
    assert exact_mean(values) == float(sum(map(Fraction, values))) / len(values)


def test_mean_of_an_array():
    assert exact_mean(np.array([0.1] * 10)) == 0.1


@pytest.mark.parametrize(
    ("values", "message"), [([], "no values"), ([0.1, float("nan")], "value 1 is nan"), ([float("inf")], "value 0")]
)
def test_mean_says_what_is_wrong(values, message):
    with pytest.raises(ValueError, match=message):
        exact_mean(values)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones(2), np.ones(2, np.float32), "a must be a vector of float32, but is float64"),
        (np.ones(2, np.float32), np.ones((2, 2), np.float32), r"b must be a vector .* shape \(2, 2\)"),
        (np.ones(2, np.float32), np.ones(3, np.float32), "a has 2 elements and b has 3"),
    ],
)
def test_dot_says_what_is_wrong(a, b, message):
    with pytest.raises(ValueError, match=message):
        exact_dot(a, b)


@pytest.mark.parametrize(
    ("value", "digits", "rounded"),
    [
        (271.82818284, 6, 271.828),
        (-0.00012345678, 6, -0.000123457),
        (999999.6, 6, 1e6),
        (0.0, 6, 0.0),
        (12.5, 1, 10.0),
    ],
)
def test_round_significant(value, digits, rounded):
    assert round_significant(value, digits) == rounded


@given(st.floats(allow_nan=False, allow_infinity=False, max_value=1e300, min_value=-1e300), st.integers(1, 17))
def test_rounding_twice_changes_nothing_more(value, digits):
    once = round_significant(value, digits)
    assert round_significant(once, digits) == once


def test_round_significant_says_what_is_wrong():
    with pytest.raises(ValueError, match="digits must be at least 1, but is 0"):
        round_significant(1.0, 0)
    with pytest.raises(ValueError, match="nan has no digits"):
        round_significant(float("nan"), 6)


@given(st.decimals(-2, 2, places=6))
def test_a_float_is_the_decimal_that_it_is_written_as(written):
    assert decimal(float(written)) == Fraction(written)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_no_decimal(value):
    with pytest.raises(ValueError, match="Invalid literal"):
        decimal(value)


@pytest.mark.parametrize(
    ("values", "least", "steps"),
    [
        ([], 1, 1),
        ([], 10, 10),
        ([0.0, 1.0], 1, 1),
        ([0.1, 0.3, 1.0], 1, 10),
        ([0.1, 0.25], 10, 100),
        ([0.333], 1, 1000),
        ([1 / 3], 10, FINEST),
        ([1e-300], 1, FINEST),
    ],
)
def test_how_fine_steps_must_be(values, least, steps):
    assert steps_of(values, least) == steps


@given(st.lists(st.decimals(0, 1, places=4).map(float), max_size=20), st.sampled_from([1, 10]))
def test_all_values_are_whole_steps(values, least):
    steps = steps_of(values, least)
    assert all(Fraction(round(steps * value), steps) == decimal(value) for value in values)
