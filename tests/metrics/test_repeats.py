"""Means and deviations over repeats, by hand, by numpy, and what their interval is of."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from driftledger.metrics.repeats import deviations, mean_as_far_as_all, mean_over_repeats

NAN = float("nan")


def test_a_mean_is_over_the_repeats_that_have_a_value() -> None:
    found = mean_over_repeats([np.array([[1.0, NAN], [NAN, 4.0]]), np.array([[3.0, 5.0], [NAN, 0.0]])])
    assert np.array_equal(found, [[2.0, 5.0], [NAN, 2.0]], equal_nan=True)


def test_one_repeat_is_itself_to_the_bit() -> None:
    values = np.random.default_rng(1).normal(size=(7, 3))
    assert np.array_equal(mean_over_repeats([values]), values)
    assert deviations([{"a": 1.0}]) == {}


def test_shapes_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="one shape"):
        mean_over_repeats([np.zeros(2), np.zeros(3)])
    with pytest.raises(ValueError, match="one shape"):
        mean_over_repeats([])


@settings(max_examples=50, deadline=None)
@given(some.lists(some.lists(some.floats(-1e6, 1e6), min_size=3, max_size=3), min_size=1, max_size=6))
def test_the_mean_is_numpys_and_lies_between_the_repeats(repeats: list[list[float]]) -> None:
    arrays = [np.array(each) for each in repeats]
    found = mean_over_repeats(arrays)
    assert np.allclose(found, np.mean(arrays, axis=0), rtol=1e-12, atol=1e-9)
    assert (found <= np.max(arrays, axis=0) + 1e-9).all()
    assert (found >= np.min(arrays, axis=0) - 1e-9).all()


def test_deviations_are_numpys_of_what_all_repeats_have() -> None:
    values = [{"gc": 0.2, "s": 1.0}, {"gc": 0.5}, {"gc": 0.9, "s": 0.0}]
    assert deviations(values) == {"gc": pytest.approx(np.std([0.2, 0.5, 0.9]), rel=1e-12)}
    assert deviations([]) == {}


def test_a_curve_goes_as_far_as_every_repeat() -> None:
    assert mean_as_far_as_all([[1.0, 2.0, 4.0], [3.0, 4.0]]) == [2.0, 3.0]
    assert mean_as_far_as_all([[]]) == []


def test_the_variance_of_means_per_sample_holds_samples_and_repeats() -> None:
    """Of simulated scores with known components: σ²(a) + σ²(e)/R, where N·R values taken alike give too little."""
    random, n, repeats, trials = np.random.default_rng(3), 12, 3, 40_000
    samples, noise = 0.6, 0.4
    values = random.normal(0, samples, (trials, n, 1)) + random.normal(0, noise, (trials, n, repeats))
    means = np.array([mean_over_repeats(list(each.T)) for each in values[:200]])
    assert np.allclose(means, values[:200].mean(axis=2), rtol=0, atol=1e-12)
    true = values.mean(axis=(1, 2)).var()
    ours = values.mean(axis=2).var(axis=1, ddof=1).mean() / n
    pooled = values.reshape(trials, -1).var(axis=1, ddof=1).mean() / (n * repeats)
    assert ours == pytest.approx(true, rel=0.05)
    assert ours == pytest.approx((samples**2 + noise**2 / repeats) / n, rel=0.02)
    assert pooled < 0.5 * true
