import statistics
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.spread import spread
from lab import resampling
from lab.resampling import bootstrap_interval, clustered_ratio_interval

questions = st.lists(st.tuples(st.integers(-3, 3), st.integers(0, 3), st.sampled_from("abcdefg")), min_size=1)


def interval(numerator, denominator, clusters, *, resamples=999, confidence=0.95, seed=0):
    return clustered_ratio_interval(
        np.asarray(numerator), np.asarray(denominator), clusters, resamples=resamples, confidence=confidence, seed=seed
    )


def independent(asked, resamples, confidence, seed):
    """Without numpy's arithmetic: loops, fractions, and one random number after another."""
    sums = {}
    for numerator, denominator, name in asked:
        above, below = sums.get(name, (0, 0))
        sums[name] = above + numerator, below + denominator
    clusters = sorted(sums.values(), key=lambda pair: (pair[1], pair[0]))
    bits = np.random.PCG64(seed)
    ratios = []
    for _ in range(resamples):
        drawn = [clusters[(int(bits.random_raw()) >> 32) * len(clusters) >> 32] for _ in clusters]
        above, below = (sum(column) for column in zip(*drawn, strict=True))
        if below:
            ratios.append(Fraction(above, below))
    ratios.sort()
    cut = int(len(ratios) * (1 - Fraction(str(confidence))) / 2)
    return (float(ratios[cut]), float(ratios[-1 - cut])) if ratios else None


@given(questions, st.integers(1, 30), st.sampled_from([0.5, 0.8, 0.9, 0.95]), st.integers(0, 2**32))
def test_agrees_with_loops_over_fractions(asked, resamples, confidence, seed):
    expected = independent(asked, resamples, confidence, seed)
    settings = {"resamples": resamples, "confidence": confidence, "seed": seed}
    if expected is None:
        with pytest.raises(ValueError, match="denominator is 0"):
            interval(*zip(*asked, strict=True), **settings)
    else:
        assert interval(*zip(*asked, strict=True), **settings) == expected


@given(questions, st.randoms(use_true_random=False))
def test_neither_the_order_of_questions_nor_the_names_of_clusters_matter(asked, random):
    renamed = dict(zip("abcdefg", random.sample("abcdefghijkl", 7), strict=True))
    other = [(numerator, denominator, renamed[name]) for numerator, denominator, name in asked]
    random.shuffle(other)
    if any(denominator for _, denominator, _ in asked):
        assert interval(*zip(*other, strict=True), resamples=50) == interval(*zip(*asked, strict=True), resamples=50)


def clustered_answers(rng, clusters, each):
    """Answers that are alike within a cluster; right in half of the cases."""
    inclination = np.repeat(rng.beta(0.5, 0.5, clusters), each)
    right = (rng.random(clusters * each) < inclination).astype(int)
    return right, np.repeat(np.arange(clusters), each).astype(str).tolist()


def test_covers_the_truth_about_as_often_as_it_says_where_a_bootstrap_over_questions_does_not():
    rng = np.random.default_rng(1)
    simulations = 300
    covered = naive = 0
    for seed in range(simulations):
        right, images = clustered_answers(rng, clusters=60, each=4)
        low, high = interval(right, np.ones_like(right), images, resamples=399, confidence=0.9, seed=seed)
        covered += low <= 0.5 <= high
        alone = [str(row) for row in range(len(right))]
        low, high = interval(right, np.ones_like(right), alone, resamples=399, confidence=0.9, seed=seed)
        naive += low <= 0.5 <= high
    assert covered / simulations == pytest.approx(0.9, abs=0.05)  # standard error 0.017
    assert naive / simulations < 0.8


def test_agrees_with_scipy_on_a_ratio_of_sums():
    rng = np.random.default_rng(2)
    denominator = rng.integers(0, 2, 600)
    numerator = denominator * rng.integers(0, 2, 600)
    images = rng.integers(0, 120, 600)
    sums = [np.bincount(images, weights=column) for column in (numerator, denominator)]
    ours = interval(numerator, denominator, images.astype(str).tolist(), resamples=20_000)
    theirs = scipy.stats.bootstrap(
        sums, lambda a, b, axis: a.sum(axis) / b.sum(axis), paired=True, n_resamples=20_000, method="percentile", rng=3
    ).confidence_interval
    assert ours == pytest.approx(tuple(theirs), abs=0.03 * (theirs.high - theirs.low))


def test_clusters_of_one_question_are_the_ordinary_bootstrap_of_the_mean():
    values = np.sort(np.random.default_rng(4).integers(0, 2, 90))
    ours = interval(values, np.ones_like(values), [str(row) for row in range(90)], seed=5)
    theirs = bootstrap_interval(values.astype(float), ["all"] * 90, resamples=999, confidence=0.95, seed=5)
    assert ours == pytest.approx(theirs, abs=1e-15)


def test_one_cluster_has_no_width():
    assert interval([1, 0, 1], [1, 1, 1], ["a", "a", "a"]) == (2 / 3, 2 / 3)


def test_a_resample_in_which_nothing_counts_is_left_out():
    """Half of the draws hold only the cluster that does not count, or only the one that does."""
    assert interval([0, 3], [0, 4], ["a", "b"]) == (0.75, 0.75)


def test_names_that_numpy_would_take_for_one():
    """In an array of strings "a" and "a\\0" are equal: one cluster, and no width."""
    low, high = interval([0, 1], [1, 1], ["a", "a\0"])
    assert (low, high) == (0.0, 1.0)


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    right, images = clustered_answers(np.random.default_rng(6), clusters=40, each=3)
    asked = np.ones_like(right)
    assert interval(right, asked, images, seed=7) == interval(right, asked, images, seed=7)
    assert interval(right, asked, images, seed=7) != interval(right, asked, images, seed=8)


def test_the_chunks_do_not_matter(monkeypatch):
    right, images = clustered_answers(np.random.default_rng(9), clusters=40, each=3)
    expected = interval(right, np.ones_like(right), images)
    monkeypatch.setattr(resampling, "DRAWS_AT_ONCE", 333)
    assert interval(right, np.ones_like(right), images) == expected


def test_known_bits():
    """Would change only with the algorithm: neither numpy's version nor the CPU may move it."""
    numerator, denominator = np.arange(30) % 2, np.arange(30) % 3 > 0
    low, high = interval(
        numerator * denominator, denominator.astype(int), [str(row // 2) for row in range(30)], seed=11
    )
    assert (low.hex(), high.hex()) == ("0x1.5555555555555p-2", "0x1.4cccccccccccdp-1")


def test_cut_is_what_the_decimals_say():
    """(1 − 0.9)/2 of 20 is one resample at each end, though the floats give 0.99… of one."""
    values, names = np.arange(50), [str(row) for row in range(50)]
    everything = interval(values, np.ones_like(values), names, resamples=20, confidence=0.999)
    without_extremes = interval(values, np.ones_like(values), names, resamples=20, confidence=0.9)
    assert everything.low < without_extremes.low < without_extremes.high < everything.high


@pytest.mark.parametrize(
    ("numerator", "denominator", "clusters", "settings", "message"),
    [
        ([], [], [], {}, "numerator is empty"),
        ([1], [1, 1], ["a", "a"], {}, "1 of numerator, 2 of denominator, 2 of clusters"),
        ([1, 1], [1, 1], ["a"], {}, "1 of clusters"),
        ([0.5], [1], ["a"], {}, "numerator must hold integers, but holds float64"),
        ([1], [True], ["a"], {}, "denominator must hold integers, but holds bool"),
        ([[1]], [1], ["a"], {}, r"numerator must be a vector, one entry per question, but has shape \(1, 1\)"),
        ([1, 1], [1, -1], ["a", "b"], {}, "denominator 1 is -1, but must not be negative"),
        ([0, 0], [0, 0], ["a", "b"], {}, "denominator is 0 in every resample"),
        ([2**60], [1], ["a"], {}, f"numerator holds {2**60}, which is too large"),
        ([2**52, 1], [1, 1], ["a", "b"], {}, f"values of up to {2**52} are too large for exact sums over 2 questions"),
        ([1], [1], ["a"], {"resamples": 0}, "resamples must be at least 1, but is 0"),
        ([1], [1], ["a"], {"confidence": 95}, "confidence must be between 0 and 1, but is 95"),
        ([1], [1], ["a"], {"confidence": 0.0}, "confidence must be between 0 and 1"),
    ],
)
def test_says_what_is_wrong(numerator, denominator, clusters, settings, message):
    with pytest.raises(ValueError, match=message):
        interval(numerator, denominator, clusters, **settings)


@given(
    st.lists(st.integers(0, 1118).map(lambda right: right / 1118), min_size=1, max_size=9),
    st.randoms(use_true_random=False),
)
def test_spread_is_that_of_rational_arithmetic_in_any_order(values, random):
    measured = spread(values)
    exact = [Fraction(value) for value in values]
    mean = sum(exact) / len(exact)
    assert measured.mean == float(mean)
    assert measured.n == len(values)
    if len(values) > 1:
        variance = sum((value - mean) ** 2 for value in exact) / len(exact)
        assert measured.std == pytest.approx(float(variance) ** 0.5, rel=1e-15)
        assert measured.std == pytest.approx(np.std(values), rel=1e-9, abs=1e-9)
    assert spread(random.sample(values, len(values))) == measured


@given(st.floats(0, 1), st.integers(2, 9))
def test_equal_values_have_no_spread(value, n):
    assert spread([value] * n) == (value, 0.0, n)


def test_one_value_shows_no_spread():
    assert spread([0.7]) == (0.7, None, 1)


def test_spread_divides_by_n():
    values = [0.992, 0.994, 0.996]
    assert spread(values).std == statistics.pstdev(values) != statistics.stdev(values)


@pytest.mark.parametrize(
    ("values", "message"),
    [([], "no values"), ([0.5, float("nan")], "value 1 is nan"), ([float("inf")], "value 0 is inf")],
)
def test_spread_says_what_is_wrong(values, message):
    with pytest.raises(ValueError, match=message):
        spread(values)
