import math
from fractions import Fraction

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.intervals.shares import proportion_interval, share_interval
from driftledger.metrics.intervals.student import t_quantile

answers = st.tuples(st.integers(0, 3), st.integers(0, 3), st.sampled_from("ijklm")).map(
    lambda each: (min(each[:2]), max(each[:2]), each[2])
)
questions = st.lists(answers, min_size=1, max_size=30).filter(lambda rows: any(below for _, below, _ in rows))


def shares(rows, confidence=0.95):
    above, below, clusters = zip(*rows, strict=True)
    return share_interval(np.array(above), np.array(below), clusters, confidence)


@pytest.mark.parametrize(
    ("hits", "n", "low", "high"),
    [(81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611), (1, 29, 0.0061, 0.1718)],
)
def test_newcombes_examples(hits: int, n: int, low: float, high: float) -> None:
    """Newcombe 1998, "Two-sided confidence intervals for the single proportion", table I, method 3."""
    found = proportion_interval(hits, n, 0.95)
    assert [round(end, 4) for end in found.interval] == [low, high]
    assert (found.value, found.df) == (hits / n, math.inf)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
@pytest.mark.parametrize(("hits", "n"), [(0, 1), (3, 3), (5, 21), (60, 96), (199, 200)])
def test_of_hits_it_is_scipys(hits: int, n: int, confidence: float) -> None:
    theirs = scipy.stats.binomtest(hits, n).proportion_ci(confidence, method="wilson")
    assert proportion_interval(hits, n, confidence).interval == pytest.approx((theirs.low, theirs.high), abs=1e-9)


@given(questions)
def test_an_interval_lies_within_0_and_1_around_its_share(rows: list[tuple[int, int, str]]) -> None:
    found = shares(rows)
    clusters = {name for _, below, name in rows if below}
    assert (found.interval is None) == (len(clusters) == 1) == bool(found.reason)
    if found.interval is not None:
        assert 0 <= found.interval.low <= found.value <= found.interval.high <= 1
        assert found.interval.low < found.interval.high


@given(questions)
def test_what_is_wrong_mirrors_what_is_right(rows: list[tuple[int, int, str]]) -> None:
    found, mirrored = shares(rows), shares([(below - above, below, name) for above, below, name in rows])
    assert mirrored.value == pytest.approx(1 - found.value)
    if found.interval is not None:
        assert mirrored.interval == pytest.approx((1 - found.interval.high, 1 - found.interval.low), abs=1e-12)


@given(questions, st.randoms(use_true_random=False))
def test_neither_the_order_of_questions_nor_the_names_of_images_matter(rows, random) -> None:
    renamed = dict(zip("ijklm", random.sample("ijklmnop", 5), strict=True))
    other = [(*row[:-1], renamed[row[-1]]) for row in random.sample(rows, len(rows))]
    assert shares(other) == shares(rows)


def test_it_solves_wilsons_equation() -> None:
    """Either end p is t standard errors of an effective number of answers away: (R − p)² = t²·p(1 − p)/n."""
    rows = [(1, 2, "i"), (2, 2, "j"), (0, 1, "k"), (3, 3, "l"), (1, 3, "m")]
    found = shares(rows)
    t = t_quantile(Fraction(39, 40), found.df)
    n = found.value * (1 - found.value) / found.standard_error**2
    for end in found.interval:
        assert (found.value - end) ** 2 == pytest.approx(t**2 * end * (1 - end) / n, rel=1e-9)


def test_images_that_are_all_alike_count_as_one_answer_each() -> None:
    """Where all is right no spread is seen: six right images bear out 1, and no less than Wilson's for six with t."""
    found = shares([(2, 2, name) for name in "ijklmn"])
    assert (found.value, found.standard_error, found.interval.high) == (1.0, 0.0, 1.0)
    t = t_quantile(Fraction(39, 40), 5)
    assert found.interval.low == pytest.approx(6 / (6 + t**2))
    assert shares([(1, 2, name) for name in "ijklmn"]).interval == pytest.approx((0.13802, 0.86198), abs=1e-4)


def test_more_questions_about_the_same_images_are_no_more_images() -> None:
    alone = shares([(number % 2, 1, str(number)) for number in range(40)])
    tenfold = shares([(number % 2, 1, str(number)) for number in range(40) for _ in range(10)])
    assert tenfold.interval == pytest.approx(alone.interval)


def test_covers_the_truth_about_as_often_as_it_says_where_single_questions_would_not() -> None:
    rng, covered, naive = np.random.default_rng(1), 0, 0
    for _ in range(400):
        inclination = np.repeat(rng.beta(0.5, 0.5, 30), 4)
        right = (rng.random(120) < inclination).astype(int)
        low, high = share_interval(
            right, np.ones(120, int), np.repeat(np.arange(30), 4).astype(str).tolist(), 0.9
        ).interval
        covered += low <= 0.5 <= high
        low, high = proportion_interval(int(right.sum()), 120, 0.9).interval
        naive += low <= 0.5 <= high
    assert covered / 400 == pytest.approx(0.9, abs=0.04)  # standard error 0.015
    assert naive / 400 < 0.8


def test_known_bits() -> None:
    """Neither numpy's version nor the processor nor its C library may move them."""
    found = share_interval(np.arange(30) % 2, np.full(30, 3), [str(row // 2) for row in range(24)] + ["x"] * 6, 0.95)
    assert [end.hex() for end in found.interval] == ["0x1.594c9d1091f24p-5", "0x1.e7960f7682ab2p-2"]


@pytest.mark.parametrize(
    ("above", "below", "message"),
    [
        ([2], [1], "a numerator must be from 0 to its denominator, but one is 2"),
        ([-1], [1], "a numerator must be from 0 to its denominator, but one is -1"),
        ([0], [0], "every denominator is 0"),
        ([0.5], [1], "numerator must hold integers"),
        ([], [], "numerator is empty"),
    ],
)
def test_says_what_is_wrong_with_shares(above: list[int], below: list[int], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        share_interval(np.array(above), np.array(below), ["i"] * len(above), 0.95)


@pytest.mark.parametrize(
    ("hits", "n", "confidence", "message"),
    [(3, 2, 0.95, "3 of 2"), (-1, 2, 0.95, "-1 of 2"), (0, 0, 0.95, "0 of 0"), (1, 2, 1.0, "between 0 and 1")],
)
def test_says_what_is_wrong_with_hits(hits: int, n: int, confidence: float, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        proportion_interval(hits, n, confidence)
