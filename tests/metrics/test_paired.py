import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.resampling import bootstrap_interval, fewest, paired_clustered_interval, paired_interval

CASES = json.loads((Path(__file__).parent.parent / "cases" / "paired.json").read_text(encoding="utf-8"))

samples = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from("xyz")), min_size=1, max_size=30)
asked = st.tuples(st.integers(0, 10), st.integers(1, 5), st.integers(0, 10), st.integers(1, 5), st.sampled_from("ijkl"))
questions = st.lists(asked, min_size=1, max_size=30)


def means(a, b, categories=None, *, resamples=999, confidence=0.95, seed=0):
    categories = ["all"] * len(a) if categories is None else categories
    a, b = (np.asarray(each, dtype=float) for each in (a, b))
    return paired_interval(a, b, categories, resamples=resamples, confidence=confidence, seed=seed)


def clustered(a, b, clusters, *, resamples=999, confidence=0.95, seed=0):
    a, b = (tuple(np.asarray(column) for column in each) for each in (a, b))
    return paired_clustered_interval(a, b, clusters, resamples=resamples, confidence=confidence, seed=seed)


def columns(rows):
    above_a, below_a, above_b, below_b, clusters = zip(*rows, strict=True)
    return (above_a, below_a), (above_b, below_b), list(clusters)


@pytest.mark.parametrize("case", CASES["means"], ids=lambda case: case["why"])
def test_hand_worked_means(case):
    found = means(case["a"], case["b"], case["categories"], confidence=case["confidence"])
    assert found._asdict() | {"interval": list(found.interval)} == case["expected"]


@pytest.mark.parametrize("case", CASES["clustered"], ids=lambda case: case["why"])
def test_hand_worked_clusters(case):
    found = clustered(case["a"], case["b"], case["clusters"], confidence=case["confidence"])
    assert found._asdict() | {"interval": list(found.interval)} == case["expected"]


@given(samples)
def test_a_score_does_not_differ_from_itself(rows):
    a, _, categories = zip(*rows, strict=True)
    found = means(a, a, categories, resamples=50)
    assert (found.difference, *found.interval) == (0, 0, 0)
    assert found.a == found.b


@given(questions)
def test_answers_do_not_differ_from_themselves(rows):
    a, _, clusters = columns(rows)
    found = clustered(a, a, clusters, resamples=50)
    assert (found.difference, *found.interval) == (0, 0, 0)
    assert found.a == found.b


@given(samples, st.randoms(use_true_random=False))
def test_neither_the_order_of_samples_nor_the_chunks_matter(rows, random):
    other = random.sample(rows, len(rows))
    assert means(*zip(*other, strict=True), resamples=50) == means(*zip(*rows, strict=True), resamples=50)


@given(questions, st.randoms(use_true_random=False))
def test_neither_the_order_of_questions_nor_the_names_of_images_matter(rows, random):
    renamed = dict(zip("ijkl", random.sample("ijklmnop", 4), strict=True))
    other = [(*row[:-1], renamed[row[-1]]) for row in random.sample(rows, len(rows))]
    assert clustered(*columns(other), resamples=50) == clustered(*columns(rows), resamples=50)


@given(questions)
def test_clusters_of_one_question_are_a_paired_bootstrap_of_the_mean(rows):
    a, b, _ = columns(rows)
    ours = clustered(a, b, [str(row) for row in range(len(rows))], resamples=99)
    plain = means(np.divide(*a), np.divide(*b), resamples=99)
    assert (ours.a, ours.b, ours.difference) == pytest.approx((plain.a, plain.b, plain.difference), abs=1e-12)
    assert ours.interval == pytest.approx(plain.interval, abs=1e-9)


def test_agrees_with_scipys_paired_bootstrap():
    rng = np.random.default_rng(1)
    ease = rng.normal(size=80)
    a, b = ease + rng.normal(0, 0.3, 80), ease + rng.normal(0.1, 0.3, 80)
    ours = means(a, b, resamples=20_000)
    theirs = scipy.stats.bootstrap(
        (a, b),
        lambda x, y, axis: y.mean(axis) - x.mean(axis),
        paired=True,
        n_resamples=20_000,
        method="percentile",
        rng=2,
    ).confidence_interval
    assert ours.interval == pytest.approx(tuple(theirs), abs=0.03 * (theirs.high - theirs.low))
    assert ours.difference == pytest.approx(b.mean() - a.mean())


def test_agrees_with_scipy_on_a_ratio_of_clusters_sums():
    rng = np.random.default_rng(3)
    images = rng.integers(0, 120, 600)
    a, b = (rng.random((2, 600)) < 0.4 + 0.5 * (images % 3 > 0)).astype(int)
    ours = clustered((a, np.ones_like(a)), (b, np.ones_like(b)), images.astype(str).tolist(), resamples=20_000)
    sums = [np.bincount(images, weights=column) for column in (b - a, np.ones(600))]
    theirs = scipy.stats.bootstrap(
        sums, lambda x, n, axis: x.sum(axis) / n.sum(axis), paired=True, n_resamples=20_000, method="percentile", rng=4
    ).confidence_interval
    assert ours.interval == pytest.approx(tuple(theirs), abs=0.03 * (theirs.high - theirs.low))


def test_covers_the_true_difference_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    simulations, covered = 300, 0
    for seed in range(simulations):
        ease = rng.normal(size=60)
        found = means(ease, ease + rng.normal(0.2, 0.5, 60), resamples=399, confidence=0.9, seed=seed)
        covered += found.interval.low <= 0.2 <= found.interval.high
    assert covered / simulations == pytest.approx(0.9, abs=0.05)  # standard error 0.017


def test_what_both_share_cancels():
    """Unpaired, the same two scores have intervals that overlap by far."""
    rng = np.random.default_rng(6)
    ease = rng.normal(size=40)
    a, b = ease, ease + 0.1 + rng.normal(0, 0.05, 40)
    settings = {"resamples": 999, "confidence": 0.95, "seed": 0}
    alone = [bootstrap_interval(each, ["all"] * 40, **settings) for each in (a, b)]
    assert alone[1].low < alone[0].high
    assert means(a, b).interval.low > 0


def test_the_same_seed_gives_the_same_bits_and_another_seed_others():
    a, b = np.random.default_rng(7).normal(size=(2, 40))
    assert means(a, b, seed=7) == means(a, b, seed=7)
    assert means(a, b, seed=7).interval != means(a, b, seed=8).interval


def test_known_bits():
    """Would change only with the algorithm: neither numpy's version nor the CPU may move it."""
    a, b = np.arange(10) / 10, np.arange(10)[::-1] / 7
    low, high = means(a, b, ["x"] * 4 + ["y"] * 6, seed=11).interval
    assert (low.hex(), high.hex()) == ("0x1.7777777777778p-4", "0x1.0db6db6db6db7p-1")
    answered = (np.arange(30) % 3, np.full(30, 2)), (np.arange(30) % 4, np.full(30, 3))
    low, high = clustered(*answered, [str(row // 2) for row in range(30)], seed=11).interval
    assert (low.hex(), high.hex()) == ("-0x1.c71c71c71c71cp-3", "0x1.7777777777777p-3")


@given(st.sampled_from([0.5, 0.8, 0.9, 0.95, 0.99, 0.999]))
def test_fewer_samples_cannot_pass_a_sign_test(confidence):
    least = fewest(confidence)
    assert scipy.stats.binomtest(least, least).pvalue <= 1 - confidence + 1e-12
    assert least == 2 or scipy.stats.binomtest(least - 1, least - 1).pvalue > 1 - confidence


@pytest.mark.parametrize(
    ("a", "b", "categories", "settings", "message"),
    [
        ([], [], [], {}, "no values"),
        ([1.0], [1.0, 2.0], ["x"], {}, "1 of a, 2 of b, 1 of categories"),
        ([1.0, 2.0], [1.0, float("nan")], ["x", "x"], {}, "value 1 is nan"),
        ([1.0], [2.0], ["x"], {"resamples": 0}, "resamples must be at least 1"),
        ([1.0], [2.0], ["x"], {"confidence": 95}, "confidence must be between 0 and 1"),
    ],
)
def test_says_what_is_wrong_with_means(a, b, categories, settings, message):
    with pytest.raises(ValueError, match=message):
        means(a, b, categories, **settings)


@pytest.mark.parametrize(
    ("a", "b", "clusters", "settings", "message"),
    [
        (([], []), ([], []), [], {}, "a sums is empty"),
        (([1], [1]), ([1], [1, 1]), ["i"], {}, "1 of b, 2 of b_counts"),
        (([1], [1]), ([1], [1]), ["i", "j"], {}, "2 of clusters"),
        (([1, 1], [1, 1]), ([1, 1], [2, 0]), ["i", "j"], {}, "b count 1 is 0, but must be at least 1"),
        (([0.5], [1]), ([1], [1]), ["i"], {}, "a sums must hold integers, but holds float64"),
        (([2**52, 0], [1, 1]), ([0, 0], [1, 1]), ["i", "j"], {}, "too large for exact sums"),
        (([1], [1]), ([1], [1]), ["i"], {"confidence": 0.0}, "confidence must be between 0 and 1"),
        (([1], [1]), ([1], [1]), ["i"], {"resamples": 0}, "resamples must be at least 1"),
    ],
)
def test_says_what_is_wrong_with_answers(a, b, clusters, settings, message):
    with pytest.raises(ValueError, match=message):
        clustered(a, b, clusters, **settings)


def test_fewest_wants_a_confidence():
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, but is 1"):
        fewest(1)
