import math

import numpy as np
import pytest
import scipy.stats
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.intervals.means import Part, mean_interval, mean_of_category_means, satterthwaite

TABLE_2 = {  # GC@3 of Gemini1.5-Pro by category; the paper gives 0.407 visual, 0.272 textual, 0.368 overall
    "visual": [0.437, 0.389, 0.357, 0.474, 0.374, 0.362, 0.423, 0.376, 0.412, 0.464],
    "textual": [0.213, 0.268, 0.240, 0.367],
}
SLEEP = {  # Student 1908: hours of sleep gained, by drug
    "1": [0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0],
    "2": [1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4],
}

grouped = st.lists(st.tuples(st.floats(-9, 9), st.sampled_from("xyz")), min_size=1, max_size=30)


def interval(values, categories=None, confidence=0.95):
    categories = ["all"] * len(values) if categories is None else categories
    return mean_interval(np.asarray(values, dtype=float), categories, confidence)


def test_every_category_counts_once():
    values = np.array([0.2, 0.4, 0.9, 0.5, 0.7])
    categories = ["count", "count", "color", "scene", "scene"]
    assert mean_of_category_means(values, categories) == pytest.approx((0.3 + 0.9 + 0.6) / 3, abs=1e-15)


def test_the_means_of_the_paper():
    for group, mean in (("visual", 0.407), ("textual", 0.272)):
        numbers = np.array(TABLE_2[group])
        names = [f"{group} {number}" for number in range(len(numbers))]
        assert round(mean_of_category_means(numbers, names), 3) == mean
    overall = np.array(TABLE_2["visual"] + TABLE_2["textual"])
    assert round(mean_of_category_means(overall, [str(number) for number in range(14)]), 3) == 0.368


def test_students_sleep():
    """R's t.test(extra, paired = TRUE) on them: t = 4.0621, df = 9, 95 % from 0.7001142 to 2.4598858."""
    found = interval(np.subtract(SLEEP["2"], SLEEP["1"]))
    assert round(found.value / found.standard_error, 4) == 4.0621
    assert found.df == 9
    assert [round(end, 7) for end in found.interval] == [0.7001142, 2.4598858]


def test_welchs_degrees_of_freedom():
    """R's t.test(extra ~ group): t = −1.8608, df = 17.776, from −3.3654832 to 0.2054832: twice a mean of two means."""
    found = interval([*SLEEP["1"], *np.negative(SLEEP["2"])], ["1"] * 10 + ["2"] * 10)
    assert round(found.value / found.standard_error, 4) == -1.8608
    assert round(found.df, 3) == 17.776
    assert [round(2 * end, 7) for end in found.interval] == [-3.3654832, 0.2054832]


def test_one_category_is_scipys_interval():
    values = np.random.default_rng(3).gamma(2.0, size=21)
    theirs = scipy.stats.ttest_1samp(values, 0.0).confidence_interval(0.9)
    assert interval(values, confidence=0.9).interval == pytest.approx(tuple(theirs), rel=1e-9)


@pytest.mark.parametrize("sizes", [(4, 9), (2, 2), (30, 5)])
def test_two_categories_are_scipys_interval_of_welch(sizes):
    rng = np.random.default_rng(4)
    one, two = rng.normal(1, 1, sizes[0]), rng.normal(3, 4, sizes[1])
    found = interval([*one, *-two], ["a"] * len(one) + ["b"] * len(two), 0.99)
    theirs = scipy.stats.ttest_ind(one, two, equal_var=False)
    assert found.df == pytest.approx(theirs.df, rel=1e-12)
    assert [2 * end for end in found.interval] == pytest.approx(tuple(theirs.confidence_interval(0.99)), rel=1e-9)


def test_what_agrees_in_a_small_category_varies_as_larger_ones_do():
    """The variance of 1, 2, 3, 4 and 5 is 2.5."""
    rows = [1.0, 2.0, 3.0, 4.0, 5.0]

    def error(*others):
        names = [name for name, group in zip("abc", (rows, *others), strict=False) for _ in group]
        return interval([value for group in (rows, *others) for value in group], names).standard_error

    assert error([7.0, 7.0]) == pytest.approx(math.sqrt(2.5 / 5 + 2.5 / 2) / 2)
    assert error([7.0] * 3) == pytest.approx(math.sqrt(2.5 / 5 + 2.5 / 3) / 2)
    assert error([7.0, 17.0]) == pytest.approx(math.sqrt(2.5 / 5 + 50 / 2) / 2), "its own variance is larger"
    assert error([7.0] * 4) == pytest.approx(math.sqrt(2.5 / 5) / 2), "four are enough to speak for themselves"
    assert error([7.0] * 4, [7.0] * 2) == pytest.approx(math.sqrt(2.5 / 5 + (4 * 2.5 + 0) / 7 / 2) / 3)
    assert interval([1.0, 2.0, 3.0, 3.0], "aabb").standard_error == math.sqrt(0.5 / 2) / 2, "none is larger"


def test_equal_variances_and_sizes_have_all_their_degrees():
    assert satterthwaite([Part(0.5, 3)] * 6) == pytest.approx(18)
    assert satterthwaite([Part(0.0, 3)] * 6) == 18
    assert satterthwaite([Part(1.0, 3), Part(1e-30, 3)]) == pytest.approx(3)


@given(grouped, st.randoms(use_true_random=False))
def test_neither_the_order_of_samples_nor_the_names_of_categories_matter(rows, random):
    renamed = dict(zip("xyz", "zxy", strict=True))
    other = [(value, renamed[name]) for value, name in random.sample(rows, len(rows))]
    found, same = interval(*zip(*rows, strict=True)), interval(*zip(*other, strict=True))
    assert found[:4] == same[:4]


@given(grouped)
def test_mirrored_values_give_a_mirrored_interval(rows):
    values, categories = zip(*rows, strict=True)
    found, mirrored = interval(values, categories), interval(np.negative(values), categories)
    assert mirrored[1:3] == found[1:3]
    if found.interval is not None:
        assert mirrored.interval == (-found.interval.high, -found.interval.low)
        assert found.interval.low <= found.value <= found.interval.high


@given(grouped)
def test_more_confidence_is_wider(rows):
    values, categories = zip(*rows, strict=True)
    found = [interval(values, categories, confidence).interval for confidence in (0.5, 0.9, 0.99)]
    there = [each for each in found if each is not None]
    assert found[: len(there)] == there  # the more confidence, the more samples it takes
    ends = [*(each.low for each in reversed(there)), *(each.high for each in there)]
    assert ends == sorted(ends)


@given(grouped)
def test_there_is_an_interval_where_no_category_has_a_single_sample(rows):
    values, categories = zip(*rows, strict=True)
    found, alone = interval(values, categories), {name for name in categories if categories.count(name) == 1}
    few_alike = not found.standard_error and len(values) < 6
    assert (found.df == 0) == math.isinf(found.standard_error) == bool(alone)
    assert (found.interval is None) == bool(found.reason) == (bool(alone) or few_alike)


def test_equal_values_have_no_width():
    found = interval([0.1] * 7)
    assert (found.standard_error, found.df, *found.interval) == (0.0, 6.0, found.value, found.value)


def test_so_few_that_are_equal_by_chance_have_no_interval():
    """Six agree in a sign by chance in 1 of 32 cases, five in 1 of 16."""
    assert interval([0.1] * 6).interval == pytest.approx((0.1, 0.1), rel=1e-15)
    assert interval([0.1] * 5).interval is None
    assert interval([0.1] * 5).reason == "5 samples that do not differ show no spread"
    assert interval([0.1, 0.1, 0.3, 0.3], ["a", "a", "b", "b"]).interval is None


def test_it_is_the_samples_that_vary_not_the_categories():
    found = interval([0.0] * 5 + [10.0] * 5, ["a"] * 5 + ["b"] * 5)
    assert found.interval == (5.0, 5.0)


def test_who_is_alone_is_named():
    assert interval([1.0]).reason == "a single sample shows no spread"
    assert interval([1.0, 2.0, 3.0], ["c", "b", "b"]).reason == "c has a single sample, which shows no spread"
    found = interval([1.0, 2.0, 3.0, 4.0], ["c", "b", "a", "a"])
    assert found.reason == "b has a single sample, which shows no spread, and so have 1 more"


def test_covers_the_mean_of_category_means():
    rng = np.random.default_rng(2)
    sizes, centres, scales = [4, 4, 4, 4, 3, 2], [0.5, 0.6, 0.7, 0.8, 0.9, 1.0], [0.05, 0.1, 0.1, 0.2, 0.1, 0.1]
    categories = np.repeat(list("abcdef"), sizes).tolist()
    middle, wide = np.repeat(centres, sizes), np.repeat(scales, sizes)
    found = [interval(rng.normal(middle, wide), categories, 0.9).interval for _ in range(500)]
    covered = sum(each.low <= 0.75 <= each.high for each in found) / 500
    assert 0.87 < covered < 0.97  # standard error 0.013; small categories are taken to vary as large ones at least


def test_known_bits():
    """Neither numpy's version nor the processor nor its C library may move them."""
    found = interval(np.arange(10) / 10 - 0.3, ["a"] * 4 + ["b"] * 6)
    assert [end.hex() for end in found.interval] == ["-0x1.fa3bef7a0caf8p-7", "0x1.b93d58913a64ap-3"]


@pytest.mark.parametrize(
    ("values", "categories", "confidence", "message"),
    [
        ([], [], 0.95, "no values"),
        ([1.0], ["a", "b"], 0.95, r"shape \(1,\), but there are 2 categories"),
        ([1.0, float("nan")], ["a", "a"], 0.95, "value 1 is nan"),
        ([1.0, 2.0], ["a", "a"], 1.0, "confidence must be between 0 and 1, but is 1.0"),
    ],
)
def test_says_what_is_wrong(values, categories, confidence, message):
    with pytest.raises(ValueError, match=message):
        interval(values, categories, confidence)
