import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy import stats
from scipy.optimize import curve_fit

from driftledger.metrics.drift_rate import (
    NoDecayError,
    decay,
    leave_one_out_rates,
    mean_cumulative_drift,
    rate_interval,
)

CASES = json.loads((Path(__file__).parents[1] / "cases/drift_rate.json").read_bytes())

chains = hnp.arrays(np.float64, st.tuples(st.integers(1, 6), st.integers(1, 8)), elements=st.floats(-1, 1))


def as_the_authors_do(generations, means, start=(1, 0.1, 0)):
    """``exp_decay`` and its fit in mcd-sdr.py, to scipy's last digits."""

    def exp_decay(x, a, b, c):
        return a * np.exp(-b * x) + c

    found, _ = curve_fit(exp_decay, generations, means, p0=start, maxfev=50_000, ftol=1e-15, xtol=1e-15, gtol=1e-15)
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    assert decay(case["generations"], case["means"])._asdict() == pytest.approx(case["expected"], abs=1e-12)


@settings(deadline=None, max_examples=40)
@given(
    st.floats(0.1, 0.9), st.floats(0.02, 0.6), st.floats(-0.2, 0.5), st.integers(4, 12), st.integers(0, 1000)
)  # fmt: skip
def test_it_ends_where_the_authors_code_does(scale, rate, floor, n, seed):
    generations = 2.0 * np.arange(1, n + 1)
    noise = np.random.default_rng(seed).normal(0, 0.002, n)
    means = scale * np.exp(-rate * generations) + floor + noise
    try:
        found = decay(generations, means)
    except NoDecayError:
        return  # at an end of what is searched: scipy's search stops anywhere
    again = as_the_authors_do(generations, means, start=tuple(found))
    np.testing.assert_allclose(found, again, rtol=2e-4, atol=1e-5)  # noise is 0.002

    def left(a, b, c):
        return ((a * np.exp(-b * generations) + c - means) ** 2).sum()

    rounded = n * (3 * 0.5e-6) ** 2  # three parameters of six digits, none of which moves a value by more
    assert left(*found) <= left(*again) * (1 + 1e-4) + rounded


def test_from_the_authors_start_their_fit_is_the_same():
    generations = np.arange(2, 21, 2)
    means = np.array([0.81, 0.74, 0.70, 0.67, 0.655, 0.641, 0.634, 0.629, 0.627, 0.624])
    np.testing.assert_allclose(decay(generations, means), as_the_authors_do(generations, means), rtol=1e-5)


@given(chains)
def test_mcd_is_the_mean_of_generations_means(similarities):
    independent = np.mean([np.mean(column) for column in similarities.T])
    assert mean_cumulative_drift(similarities) == pytest.approx(independent, abs=1e-12)


@given(chains)
def test_mcd_has_no_order(similarities):
    value = mean_cumulative_drift(similarities)
    assert mean_cumulative_drift(similarities[::-1, ::-1]) == value
    assert mean_cumulative_drift(np.ones_like(similarities)) == 1.0


def test_the_rate_is_the_same_whatever_the_unit_of_the_values():
    means = np.array([0.9, 0.7, 0.6, 0.56])
    one, other = decay([2, 4, 6, 8], means), decay([2, 4, 6, 8], 3 * means + 1)
    assert other.rate == pytest.approx(one.rate, rel=1e-5)
    assert other.floor == pytest.approx(3 * one.floor + 1, rel=1e-5)


def test_without_one_chain_it_is_the_fit_of_the_others():
    dice = np.random.default_rng(1)
    rows = 0.5 * np.exp(-0.2 * np.arange(2, 13, 2)) + 0.4 + dice.normal(0, 0.01, (7, 6))
    found = leave_one_out_rates(range(2, 13, 2), rows)
    each = [decay(range(2, 13, 2), np.delete(rows, i, axis=0).mean(axis=0)).rate for i in range(7)]
    np.testing.assert_allclose(found, each, rtol=1e-5)


def test_the_interval_is_a_jackknife_on_the_logarithm():
    dice = np.random.default_rng(2)
    generations = np.arange(2, 13, 2)
    rows = 0.5 * np.exp(-0.2 * generations) + 0.4 + dice.normal(0, 0.02, (9, 6))
    each = [decay(generations, np.delete(rows, i, axis=0).mean(axis=0)).rate for i in range(9)]
    error = np.sqrt(8 / 9 * ((np.log(each) - np.mean(np.log(each))) ** 2).sum())
    rate, quantile = decay(generations, rows.mean(axis=0)).rate, stats.t.ppf(0.975, 8)
    low, high = rate_interval(generations, rows, quantile)
    np.testing.assert_allclose([low, high], rate * np.exp([-quantile * error, quantile * error]), rtol=1e-4)
    same = np.repeat(rows[:1], 5, axis=0)
    assert rate_interval(generations, same, quantile) == pytest.approx([decay(generations, rows[0]).rate] * 2, rel=1e-5)


def test_where_one_chain_makes_the_rate_there_is_no_interval():
    rising = np.array([0.5, 0.6, 0.7])
    assert rate_interval([2, 4, 6], np.array([rising, rising, 9 * np.array([0.75, 0.6, 0.55])]), 2) is None
    assert rate_interval([2, 4, 6], np.array([rising, rising]), 2) is None


@pytest.mark.parametrize(
    ("means", "why"),
    [
        ([0.5, 0.6, 0.7], "do not fall"),
        ([0.7, 0.7, 0.7], "do not fall"),
        ([0.9, 0.8, 0.7], "straight line, or ever faster"),
        ([0.9, 0.85, 0.5], "straight line, or ever faster"),
        ([0.9, 0.5, 0.5], "fall at once"),
    ],
)
def test_what_tells_no_rate_is_refused(means, why):
    with pytest.raises(NoDecayError, match=why):
        decay([2, 4, 6], means)


@pytest.mark.parametrize(
    ("generations", "means", "message"),
    [
        ([2, 4], [0.9, 0.8], "takes 3 generations, but there are 2"),
        ([2, 4, 6], [0.9, 0.8], "a value for each generation"),
        ([2, 4, 8], [0.9, 0.8, 0.75], "at one distance"),
        ([6, 4, 2], [0.9, 0.8, 0.75], "ascending"),
        ([2, 4, 6], [0.9, np.nan, 0.75], "not finite"),
    ],
)
def test_it_says_what_is_wrong(generations, means, message):
    with pytest.raises(ValueError, match=message):
        decay(generations, means)


def test_gaps_and_nothing_are_refused():
    with pytest.raises(ValueError, match="not finite in row 1"):
        mean_cumulative_drift(np.array([[0.5], [np.nan]]))
    with pytest.raises(ValueError, match="empty"):
        mean_cumulative_drift(np.empty((0, 3)))
    with pytest.raises(ValueError, match="without its only chain"):
        leave_one_out_rates([2, 4, 6], np.ones((1, 3)))
