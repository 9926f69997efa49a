import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from driftledger.metrics.variance import Layout, decompose, generalized_interval, mean_squares

CASES = json.loads((Path(__file__).parents[1] / "cases/variance.json").read_bytes())
TAIL = 0.025


def named(mapping):
    return {tuple(name.split()): value for name, value in mapping.items()}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_worked_examples(case):
    found = decompose(np.array(case["values"], dtype=np.float64), case["factors"], case["categories"])
    by_term = {each.term: each for each in found.components}
    for term, square in named(case["mean_squares"]).items():
        assert by_term[term].mean_square == pytest.approx(square, abs=6e-5)
    for term, variance in named(case.get("variances", {})).items():
        assert by_term[term].variance == pytest.approx(variance, abs=1e-8)
    if "error" in case:
        error = [by_term["repeat",], by_term["model", "repeat"]]
        pooled = sum(each.df * each.mean_square for each in error) / sum(each.df for each in error)
        assert pooled == pytest.approx(case["error"], abs=6e-5)


LAYOUTS = [
    Layout({"model": 3}, (4,)),
    Layout({"model": 3}, (4, 4), repeats=2),
    Layout({"model": 2, "generator": 2, "encoder": 3}, (5,)),
    Layout({"model": 2, "generator": 3}, (4, 2, 3), repeats=3),
    Layout({"model": 6}, (4, 4, 4, 4, 3, 2)),
    Layout({"model": 3}, (1, 3, 1), repeats=2),
    Layout({}, (3, 2), repeats=2),
]


def rows_of(layout):
    ends = np.cumsum(layout.sizes)
    return [list(range(end - size, end)) for end, size in zip(ends, layout.sizes, strict=True)]


def effects(layout, term):
    """Every level of an effect as the values that it adds to: 1 where a value is of that level."""
    shape = (*layout.levels.values(), layout.samples, layout.repeats)
    category = np.repeat(np.arange(len(layout.sizes)), layout.sizes)
    labels = dict(zip(layout.levels, np.indices(shape), strict=False))
    labels["sample"], labels["repeat"] = np.indices(shape)[-2], np.indices(shape)[-1] + 1000 * np.indices(shape)[-2]
    labels["category"] = category[labels["sample"]]
    cells = np.stack([labels[name] for name in term], axis=-1).reshape(-1, len(term))
    return [(cells == level).all(axis=1).reshape(shape).astype(float) for level in np.unique(cells, axis=0)]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_estimates_are_unbiased_exactly(layout):
    """The expectation of a mean square of independent effects of variance 1 is the sum over their levels."""
    rows = rows_of(layout)
    for true in layout.terms:
        levels = [mean_squares(values, layout, rows) for values in effects(layout, true)]
        expected = {term: sum(level[term] for level in levels) for term in layout.terms}
        for term in layout.terms:
            estimate = sum(part * expected[square] for square, part in layout.solved[term].items())
            assert estimate == pytest.approx(float(term == true), abs=1e-9), (true, term)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_sums_of_squares_and_degrees_of_freedom_add_up(layout):
    values = np.random.default_rng(3).normal(size=(*layout.levels.values(), layout.samples, layout.repeats))
    categories = [f"c{number}" for number, size in enumerate(layout.sizes) for _ in range(size)]
    found = decompose(values, list(layout.levels), categories)
    assert sum(each.df for each in found.components) == values.size - 1
    assert sum(each.share for each in found.components) == pytest.approx(1, abs=1e-9)
    if len(set(layout.sizes)) == 1:
        total = np.square(values - values.mean()).sum()
        assert sum(each.df * each.mean_square for each in found.components) == pytest.approx(total)
        assert found.mean == pytest.approx(values.mean())


@given(st.integers(2, 40), st.integers(2, 40), st.floats(0.1, 10))
def test_an_end_is_0_where_the_f_test_just_finds_something(n, m, square):
    """Both say with the same certainty that one expected mean square is above the other; up to the number of draws."""
    degrees = {("a",): n, ("b",): m}
    for tail, end in ((TAIL, 0), (1 - TAIL, 1)):
        just = {("a",): stats.f.isf(tail, n, m) * square, ("b",): square}
        ends = [
            generalized_interval({("a",): 1.0, ("b",): -1.0}, {**just, ("a",): just["a",] * off}, degrees, 0.95)[end]
            for off in (0.93, 1.07)
        ]
        assert ends[0] < 0 < ends[1]


@pytest.mark.parametrize(("n", "m"), [(1, 5), (3, 20), (58, 29)])
def test_of_two_mean_squares_the_ends_are_those_of_many_draws(n, m):
    rng = np.random.default_rng(1)
    drawn = 2.0 * 5.0 * n / rng.chisquare(n, 400_000) - 1.5 * 4.0 * m / rng.chisquare(m, 400_000)
    squares, degrees = {("a",): 5.0, ("b",): 4.0}, {("a",): n, ("b",): m}
    found = generalized_interval({("a",): 2.0, ("b",): -1.5}, squares, degrees, 0.9)
    for end, share in zip(found, (0.05, 0.95), strict=True):
        assert (drawn < end).mean() == pytest.approx(share, abs=0.004)


@pytest.mark.parametrize("df", [1, 2, 9, 58, 400])
def test_a_single_mean_square_has_the_exact_interval(df):
    low, high = generalized_interval({("a",): 0.5}, {("a",): 3.0}, {("a",): df}, 0.9)
    assert low == pytest.approx(1.5 * df / stats.chi2.isf(0.05, df))
    assert high == pytest.approx(1.5 * df / stats.chi2.ppf(0.05, df))
    low, high = generalized_interval({("a",): -0.5}, {("a",): 3.0}, {("a",): df}, 0.9)
    assert low == pytest.approx(-1.5 * df / stats.chi2.ppf(0.05, df))


def test_many_sets_at_once_are_as_each_alone():
    layout, rows = LAYOUTS[3], rows_of(LAYOUTS[3])
    values = np.random.default_rng(1).normal(size=(7, 2, 3, layout.samples, 3))
    together = mean_squares(values, layout, rows)
    for index, alone in enumerate(values):
        for term, square in mean_squares(alone, layout, rows).items():
            assert together[term][index] == pytest.approx(square)


def test_nothing_depends_on_the_order_of_models_and_samples():
    values = np.random.default_rng(2).normal(size=(3, 6, 1))
    categories = ["a", "b", "a", "b", "b", "a"]
    order = [3, 0, 5, 1, 2, 4]
    shuffled = decompose(values[[2, 0, 1]][:, order], ["model"], [categories[place] for place in order])
    assert shuffled.components == decompose(values, ["model"], categories).components


def test_what_is_all_alike_has_no_variance():
    found = decompose(np.full((2, 3, 1), 0.1), ["model"], ["all"] * 3)
    assert all(each.variance == 0 and each.interval == (0, 0) and each.share == 0 for each in found.components)


@pytest.mark.parametrize(
    ("values", "factors", "categories", "told"),
    [
        (np.zeros((2, 3, 1)), ["model"], ["a"] * 2, "3 samples, and 2 categories"),
        (np.zeros((2, 3)), ["model"], ["a"] * 3, "as many axes, but there are 2"),
        (np.zeros((1, 3, 1)), ["model"], ["a"] * 3, "model has 1 level"),
        (np.zeros((2, 3, 1)), ["model"], ["a", "b", "c"], "3 samples in 3 categories"),
        (np.full((2, 3, 1), np.nan), ["model"], ["a"] * 3, "a finite value for every sample"),
        (np.zeros((2, 3, 1)), ["sample"], ["a"] * 3, "no crossed factor"),
        (np.zeros((2, 2, 3, 1)), ["model", "model"], ["a"] * 3, "named twice"),
    ],
)
def test_what_cannot_be_decomposed_is_refused(values, factors, categories, told):
    with pytest.raises(ValueError, match=told):
        decompose(values, factors, categories)


def test_confidence_is_checked():
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        decompose(np.zeros((2, 3, 1)), ["model"], ["a"] * 3, confidence=1.0)
