import numpy as np
import pytest
import scipy.stats

from driftledger.metrics.intervals.means import mean_of_category_means
from lab import resampling
from lab.resampling import bootstrap_interval


def interval(values, categories=None, *, resamples=999, confidence=0.95, seed=0):
    values = np.asarray(values, dtype=float)
    categories = ["all"] * len(values) if categories is None else categories
    return bootstrap_interval(values, categories, resamples=resamples, confidence=confidence, seed=seed)


def test_covers_a_known_mean_about_as_often_as_it_says():
    rng = np.random.default_rng(1)
    simulations = 500
    covered = 0
    for seed in range(simulations):
        low, high = interval(rng.normal(3.0, 2.0, size=60), seed=seed, confidence=0.9)
        covered += low <= 3.0 <= high
    assert covered / simulations == pytest.approx(0.9, abs=0.04)  # standard error 0.013


def test_covers_the_mean_of_category_means():
    rng = np.random.default_rng(2)
    categories = ["a"] * 40 + ["b"] * 80 + ["c"] * 30
    centres = np.repeat([-1.0, 0.5, 2.0], [40, 80, 30])
    scales = np.repeat([0.5, 2.0, 1.0], [40, 80, 30])
    simulations = 300
    covered = 0
    for seed in range(simulations):
        low, high = interval(rng.normal(centres, scales), categories, seed=seed, confidence=0.9, resamples=499)
        covered += low <= 0.5 <= high
    assert covered / simulations == pytest.approx(0.9, abs=0.05)


@pytest.mark.parametrize("offset", [0.0, -50.0])
def test_agrees_with_scipy_on_one_category(offset):
    values = np.random.default_rng(3).gamma(2.0, size=80) + offset
    ours = interval(values, resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, confidence_level=0.95, method="percentile", rng=4
    ).confidence_interval
    assert ours == pytest.approx(tuple(theirs), abs=0.03 * (theirs.high - theirs.low))


def test_the_width_of_a_stratified_interval():
    """Σ σ²/n over K categories, divided by K², is the variance of the mean of category means."""
    rng = np.random.default_rng(5)
    groups = [rng.normal(0, 1, 50), rng.normal(10, 3, 200), rng.normal(-5, 2, 100)]
    names = ["a"] * 50 + ["b"] * 200 + ["c"] * 100
    low, high = interval(np.concatenate(groups), names, resamples=10_000)
    deviation = np.sqrt(sum(group.var() / len(group) for group in groups)) / 3
    assert high - low == pytest.approx(2 * 1.96 * deviation, rel=0.03)


def test_categories_of_one_sample_add_no_width():
    values = [0.1, 0.4, -0.7]
    low, high = interval(values, ["a", "b", "c"])
    assert low == high == mean_of_category_means(np.array(values), ["a", "b", "c"])


def test_it_is_the_samples_that_vary_not_the_categories():
    """Two categories far apart, constant inside: an unstratified bootstrap would be ten wide."""
    low, high = interval([0.0] * 5 + [10.0] * 5, ["a"] * 5 + ["b"] * 5)
    assert (low, high) == (5.0, 5.0)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    values = np.random.default_rng(6).normal(size=40)
    assert interval(values, seed=7) == interval(values, seed=7)
    assert interval(values, seed=7) != interval(values, seed=8)


def test_neither_the_order_of_samples_nor_the_chunks_matter(monkeypatch):
    rng = np.random.default_rng(9)
    values = rng.normal(size=90)
    names = np.array(["a"] * 20 + ["b"] * 70)
    expected = interval(values, names.tolist())
    order = rng.permutation(90)
    assert interval(values[order], names[order].tolist()) == expected
    for at_once in (333, 50):  # the second is less than one resample of b takes
        monkeypatch.setattr(resampling, "DRAWS_AT_ONCE", at_once)
        assert interval(values, names.tolist()) == expected


def test_known_bits():
    """Would change only with the algorithm: neither numpy's version nor the CPU may move it."""
    low, high = interval(np.arange(10) / 10 - 0.3, ["a"] * 4 + ["b"] * 6, seed=11)
    assert (low.hex(), high.hex()) == ("0x1.1111111111110p-7", "0x1.8000000000000p-3")


def test_mirrored_values_give_a_mirrored_interval():
    values = np.random.default_rng(12).normal(size=30)
    low, high = interval(values)
    mirrored = interval(-values[::-1])
    assert mirrored == pytest.approx((-high, -low), abs=0.1)


def test_cut_is_what_the_decimals_say():
    """(1 − 0.9)/2 of 20 is one resample at each end, though the floats give 0.99… of one."""
    values = np.arange(50.0)
    everything = interval(values, resamples=20, confidence=0.999)
    without_extremes = interval(values, resamples=20, confidence=0.9)
    assert everything.low < without_extremes.low < without_extremes.high < everything.high


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e12, 1e300])
def test_any_magnitude(scale):
    values = np.random.default_rng(13).normal(size=30)
    low, high = interval(values)
    assert interval(values * scale) == pytest.approx((low * scale, high * scale), rel=1e-9)


def test_more_confidence_is_wider():
    values = np.random.default_rng(14).normal(size=30)
    widths = [high - low for low, high in (interval(values, confidence=c) for c in (0.5, 0.8, 0.95, 0.99))]
    assert widths == sorted(widths)


@pytest.mark.parametrize(
    ("values", "categories", "settings", "message"),
    [
        ([], [], {}, "no values"),
        ([1.0], ["a", "b"], {}, r"shape \(1,\), but there are 2 categories"),
        ([1.0, np.nan], ["a", "a"], {}, "value 1 is nan"),
        ([np.inf], ["a"], {}, "value 0 is inf"),
        ([1.0], ["a"], {"resamples": 0}, "resamples must be at least 1, but is 0"),
        ([1.0], ["a"], {"confidence": 95}, "confidence must be between 0 and 1, but is 95"),
        ([1.0], ["a"], {"confidence": 0.0}, "confidence must be between 0 and 1"),
    ],
)
def test_says_what_is_wrong(values, categories, settings, message):
    with pytest.raises(ValueError, match=message):
        interval(values, categories, **settings)
    if not settings:
        with pytest.raises(ValueError, match=message):
            mean_of_category_means(np.array(values), categories)
