import json
from pathlib import Path

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.intervals.estimate import fewest
from driftledger.metrics.intervals.means import mean_interval
from driftledger.metrics.intervals.paired import paired_clustered_interval, paired_interval

CASES = json.loads((Path(__file__).parents[2] / "cases" / "paired.json").read_text(encoding="utf-8"))

samples = st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.sampled_from("xyz")), min_size=1, max_size=30)
asked = st.tuples(st.integers(0, 10), st.integers(1, 5), st.integers(0, 10), st.integers(1, 5), st.sampled_from("ijkl"))
questions = st.lists(asked, min_size=1, max_size=30)


def means(a, b, categories=None, *, confidence=0.95):
    categories = ["all"] * len(a) if categories is None else categories
    a, b = (np.asarray(each, dtype=float) for each in (a, b))
    return paired_interval(a, b, categories, confidence=confidence)


def clustered(a, b, clusters, *, confidence=0.95):
    a, b = (tuple(np.asarray(column) for column in each) for each in (a, b))
    return paired_clustered_interval(a, b, clusters, confidence=confidence)


def agrees(found, expected):
    assert (found.interval is None) == (expected["interval"] is None)
    if found.interval is not None:
        assert found.interval == pytest.approx(expected["interval"], rel=1e-12)
    numbers = {name: float(value) for name, value in expected.items() if name not in ("interval", "reason")}
    assert {name: getattr(found, name) for name in numbers} == pytest.approx(numbers, rel=1e-12)
    assert found.reason == expected.get("reason", "")


def columns(rows):
    above_a, below_a, above_b, below_b, clusters = zip(*rows, strict=True)
    return (above_a, below_a), (above_b, below_b), list(clusters)


@pytest.mark.parametrize("case", CASES["means"], ids=lambda case: case["why"])
def test_hand_worked_means(case):
    agrees(means(case["a"], case["b"], case["categories"], confidence=case["confidence"]), case["expected"])


@pytest.mark.parametrize("case", CASES["clustered"], ids=lambda case: case["why"])
def test_hand_worked_clusters(case):
    agrees(clustered(case["a"], case["b"], case["clusters"], confidence=case["confidence"]), case["expected"])


@given(samples)
def test_a_score_does_not_differ_from_itself(rows):
    a, _, categories = zip(*rows, strict=True)
    found = means(a, a, categories)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.interval in (None, (0, 0))
    assert found.a == found.b


@given(questions)
def test_answers_do_not_differ_from_themselves(rows):
    a, _, clusters = columns(rows)
    found = clustered(a, a, clusters)
    assert (found.difference, found.p_value) == (0, 1)
    assert found.interval in (None, (0, 0))
    assert found.a == found.b


@given(samples, st.randoms(use_true_random=False))
def test_the_order_of_samples_does_not_matter(rows, random):
    other = random.sample(rows, len(rows))
    assert means(*zip(*other, strict=True)) == means(*zip(*rows, strict=True))


@given(questions, st.randoms(use_true_random=False))
def test_neither_the_order_of_questions_nor_the_names_of_images_matter(rows, random):
    renamed = dict(zip("ijkl", random.sample("ijklmnop", 4), strict=True))
    other = [(*row[:-1], renamed[row[-1]]) for row in random.sample(rows, len(rows))]
    assert clustered(*columns(other)) == clustered(*columns(rows))


@given(samples)
def test_the_other_way_round_it_is_the_same_test(rows):
    a, b, categories = zip(*rows, strict=True)
    found, turned = means(a, b, categories), means(b, a, categories)
    assert turned.difference == -found.difference
    assert (turned.standard_error, turned.df, turned.p_value) == (found.standard_error, found.df, found.p_value)


@given(samples)
def test_an_interval_without_0_has_a_p_value_below_its_doubt(rows):
    a, b, categories = zip(*rows, strict=True)
    found = means(a, b, categories, confidence=0.9)
    if found.interval is not None and found.free >= fewest(0.9):
        assert (found.interval.low > 0 or found.interval.high < 0) == (found.p_value < 0.1)


@given(questions)
def test_clusters_of_one_question_are_a_paired_t_test_of_the_mean(rows):
    a, b, _ = columns(rows)
    ours = clustered(a, b, [str(row) for row in range(len(rows))])
    plain = means(np.divide(*a), np.divide(*b))
    assert (ours.a, ours.b, ours.difference) == pytest.approx((plain.a, plain.b, plain.difference), abs=1e-12)
    if len(rows) > 1:
        assert ours.interval == pytest.approx(plain.interval, abs=1e-9)
        assert ours.df == pytest.approx(plain.df)


def test_agrees_with_scipys_paired_t_test():
    rng = np.random.default_rng(1)
    ease = rng.normal(size=80)
    a, b = ease + rng.normal(0, 0.3, 80), ease + rng.normal(0.1, 0.3, 80)
    ours, theirs = means(a, b, confidence=0.9), scipy.stats.ttest_rel(b, a)
    assert ours.interval == pytest.approx(tuple(theirs.confidence_interval(0.9)), rel=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    assert ours.difference == pytest.approx(b.mean() - a.mean())


def test_students_sleep():
    """Student 1908, as every text book has it: t = 4.0621 with 9 degrees of freedom, p = 0.002833."""
    one = [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0]
    two = [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4]
    found = means(one, two)
    assert round(found.difference / found.standard_error, 4) == 4.0621
    assert round(found.p_value, 6) == 0.002833


def test_no_p_value_is_below_what_signs_can_show():
    """Four that differ by nearly the same are far from 0 for a t-test; their signs agree by chance in 1 of 8."""
    nearly = [1.0, 1.01, 0.99, 1.0]
    assert scipy.stats.ttest_1samp(nearly, 0.0).pvalue < 0.001
    assert means([0.0] * 4, nearly).p_value == 0.125


def test_covers_the_true_difference_about_as_often_as_it_says():
    rng = np.random.default_rng(5)
    simulations, covered = 500, 0
    for _ in range(simulations):
        ease = rng.normal(size=7)
        found = means(ease, ease + rng.normal(0.2, 0.5, 7), confidence=0.9)
        covered += found.interval.low <= 0.2 <= found.interval.high
    assert covered / simulations == pytest.approx(0.9, abs=0.04)  # standard error 0.013


def test_what_both_share_cancels():
    """Unpaired, the same two scores have intervals that overlap by far."""
    rng = np.random.default_rng(6)
    ease = rng.normal(size=40)
    a, b = ease, ease + 0.1 + rng.normal(0, 0.05, 40)
    alone = [mean_interval(each, ["all"] * 40, 0.95).interval for each in (a, b)]
    assert alone[1].low < alone[0].high
    assert means(a, b).interval.low > 0


def test_known_bits():
    """Would change only with the formula: neither numpy's version nor the processor nor its C library may move it."""
    a, b = np.arange(10) / 10, np.arange(10)[::-1] / 7
    low, high = means(a, b, ["x"] * 4 + ["y"] * 6).interval
    assert (low.hex(), high.hex()) == ("0x1.15c9532cc1708p-5", "0x1.3077880f08064p-1")
    answered = (np.arange(30) % 3, np.full(30, 2)), (np.arange(30) % 4, np.full(30, 3))
    low, high = clustered(*answered, [str(row // 2) for row in range(30)]).interval
    assert (low.hex(), high.hex()) == ("-0x1.f7a0fc3c0204ap-3", "0x1.9c9b4be0fc544p-3")


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
        (([2**53, 0], [1, 1]), ([0, 0], [1, 1]), ["i", "j"], {}, "too large for exact sums"),
        (([1], [1]), ([1], [1]), ["i"], {"confidence": 0.0}, "confidence must be between 0 and 1"),
    ],
)
def test_says_what_is_wrong_with_answers(a, b, clusters, settings, message):
    with pytest.raises(ValueError, match=message):
        clustered(a, b, clusters, **settings)


def test_fewest_wants_a_confidence():
    with pytest.raises(ValueError, match="confidence must be between 0 and 1, but is 1"):
        fewest(1)
