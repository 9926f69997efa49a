"""What float32 and float64 may decide, held to whole numbers."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from threadpoolctl import threadpool_info, threadpool_limits

from driftledger.metrics import neighbours
from driftledger.metrics.neighbours import STEPS, nearest
from driftledger.metrics.retrieval import votes

extremes = st.sampled_from(
    [0.0, -0.0, 5e-324, -1e-310, 2.0**-1000, 1e-30, 1.0, 1.0 + 2**-40, -1.0, 1e30, 1e300, -1.7e308]
)
numbers = st.one_of(st.integers(-2, 2).map(float), extremes, st.floats(-1, 1))
narrow = st.one_of(
    st.integers(-2, 2).map(float),
    st.sampled_from([1e-45, -1e-40, 1.0 + 2**-20, 1.0 - 2**-24, 3e38, -3e38]).map(lambda x: float(np.float32(x))),
    st.floats(-1, 1, width=32),
)


def matrices(kind, elements):
    columns = st.shared(st.integers(1, 5), key="columns")
    shapes = st.tuples(st.integers(1, 10), columns)
    return hnp.arrays(kind, shapes, elements=elements)


@st.composite
def sets(draw):
    """Support and queries, with rows that stand there again, once more times a number, or with another last bit."""
    kind, elements = draw(st.sampled_from([(np.float64, numbers), (np.float32, narrow)]))
    support, queries = (draw(matrices(kind, elements)) for _ in range(2))
    again = draw(st.lists(st.integers(0, len(support) - 1), max_size=6))
    near = np.nextafter(support[again], kind(draw(st.sampled_from([0, 1]))))
    support = np.concatenate([support, support[again], near, support[again] / 4])
    return support, np.concatenate([queries, support[: draw(st.integers(0, 3))]])


def exact_steps(a, b):
    """The cosine in steps, halves away from zero, in whole numbers: a float64 is a multiple of 2⁻¹⁰⁷⁴."""
    x, y = ([int(Fraction(value) * 2**1074) for value in vector.tolist()] for vector in (a, b))
    dot, xx, yy = (sum(p * q for p, q in zip(u, v, strict=True)) for u, v in ((x, y), (x, x), (y, y)))
    if dot == 0:
        return 0
    halves = math.isqrt(4 * (STEPS * dot) ** 2 // (xx * yy))
    return (halves + 1) // 2 * (1 if dot > 0 else -1)


def in_whole_numbers(support, queries, k):
    steps = [[exact_steps(query, row) for row in support] for query in queries]
    order = [sorted(range(len(support)), key=lambda place: (-row[place], place))[:k] for row in steps]
    return order, [[row[place] / STEPS for place in places] for row, places in zip(steps, order, strict=True)]


@pytest.fixture
def sparing(monkeypatch):
    """Small sets go the way of large ones: float32 chooses, whatever is left to choose from."""
    seen = []
    among = neighbours._among
    monkeypatch.setattr(neighbours, "_among", lambda *given: seen.append(1) or among(*given))
    monkeypatch.setattr(neighbours, "CELLS", 1)
    monkeypatch.setattr(neighbours, "DENSE", 0)
    return seen


def once(values, function):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setattr(neighbours, name, value)
        return function()


@settings(max_examples=50)
@given(sets(), st.data())
def test_float32_chooses_and_the_answer_is_that_of_whole_numbers(drawn, data):
    support, queries = drawn
    k = data.draw(st.integers(1, len(support)))
    order, similarities = in_whole_numbers(support, queries, k)
    wanted = data.draw(st.integers(1, k))
    for way in ({"CELLS": 1, "DENSE": 0}, {"CELLS": 1, "DENSE": 0, "PIECE": 1}, {}):
        found = once(way, lambda: nearest(support, queries, k))
        assert (found.indices.tolist(), found.similarities.tolist()) == (order, similarities)
        some = once(way, lambda: nearest(support, queries, k, similarities=wanted))
        assert some.indices.tolist() == order
        assert some.similarities.tolist() == [row[:wanted] for row in similarities]


@settings(max_examples=12)
@given(st.integers(0, 2**32), st.sampled_from([1e-10, 1e-8, 1e-6, 1e-4]), st.sampled_from([np.float32, np.float64]))
def test_neighbours_that_float32_cannot_tell_apart(seed, apart, kind):
    rng = np.random.default_rng(seed)
    one = rng.normal(size=16)
    support = (one + apart * rng.normal(size=(40, 16))).astype(kind)
    queries = (one + rng.normal(size=(3, 16))).astype(kind)
    order, similarities = in_whole_numbers(support, queries, 7)
    found = once({"CELLS": 1, "DENSE": 0}, lambda: nearest(support, queries, 7))
    assert (found.indices.tolist(), found.similarities.tolist()) == (order, similarities)
    assert once({"CELLS": 1, "DENSE": 0}, lambda: nearest(support, queries, 7, 1)).indices.tolist() == order


@settings(max_examples=50)
@given(sets())
def test_no_cosine_is_further_off_than_the_bound(drawn):
    support, queries = (neighbours._Set(each) for each in drawn)
    terms = max(support.terms, queries.terms)
    exact = np.array([[exact_steps(query, row) for row in drawn[0]] for query in drawn[1]])
    for kind, product in (
        (np.float32, queries.single.astype(np.float64) @ support.single.T.astype(np.float64)),
        (np.float32, queries.single @ support.single.T),
        (np.float64, queries.double @ support.double.T),
    ):
        off = np.abs(product.astype(np.float64) * STEPS - exact).max()
        assert off <= neighbours._largest_error(terms, kind) + 0.5


def test_the_bound_is_that_of_any_order_of_sums():
    """Added one by one, numbers that all round the same way come near to it; nothing is said of too long vectors."""
    ones = np.full(2**12, np.float32(2**-6) * np.float32(1 + 2**-12), np.float32)
    total = np.float32(0)
    for value in (ones * ones).tolist():
        total = np.float32(total + np.float32(value))
    assert abs(float(total) - math.fsum((ones.astype(float) ** 2).tolist())) * STEPS < neighbours._largest_error(
        len(ones), np.float32
    )
    assert neighbours._largest_error(2**24, np.float32) == 2 * STEPS


def test_large_sets_are_chosen_from_by_float32_and_small_ones_are_not(sparing):
    rng = np.random.default_rng(7)
    support, queries = (rng.normal(size=(size, 24)).astype(np.float32) for size in (300, 20))
    chosen = nearest(support, queries, 5)
    assert len(sparing) == len(queries)
    plain = once({"CELLS": 2**22, "DENSE": 16}, lambda: nearest(support, queries, 5))
    assert len(sparing) == len(queries)
    assert (chosen.indices == plain.indices).all()
    assert (chosen.similarities == plain.similarities).all()


def blas_threads():
    return max(each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas")


def test_two_blocks_at_once_share_the_threads_of_products(monkeypatch):
    seen, chosen = [], neighbours._nearest_keys
    monkeypatch.setattr(neighbours, "CELLS", 1)
    monkeypatch.setattr(neighbours, "_nearest_keys", lambda *given: seen.append(blas_threads()) or chosen(*given))
    support = np.random.default_rng(1).normal(size=(9, 4))
    with threadpool_limits(8):
        before = blas_threads()  # fewer, where there are fewer cores
        nearest(support, support, 2)
        assert blas_threads() == before
    assert set(seen) == {max(1, before // 2)}


def test_where_too_many_come_into_question_float64_computes_all(monkeypatch, sparing):
    rng = np.random.default_rng(8)
    support = (1 + 1e-7 * rng.normal(size=(200, 8))).astype(np.float32)
    queries = rng.normal(size=(6, 8)).astype(np.float32)
    chosen = nearest(support, queries, 3)
    assert len(sparing) == len(queries)
    monkeypatch.setattr(neighbours, "DENSE", 16)
    plain = nearest(support, queries, 3)
    assert len(sparing) == len(queries)
    assert (chosen.indices == plain.indices).all()
    assert (chosen.similarities == plain.similarities).all()


def test_what_is_asked_again_is_computed_once(sparing):
    rng = np.random.default_rng(9)
    support, one = rng.normal(size=(50, 4)), rng.normal(size=(2, 4))
    found = nearest(support, one[[0, 1, 0, 0, 1]], 3)
    assert len(sparing) == 2
    alone = nearest(support, one, 3)
    assert found.indices.tolist() == alone.indices[[0, 1, 0, 0, 1]].tolist()
    assert found.similarities.tolist() == alone.similarities[[0, 1, 0, 0, 1]].tolist()


def test_votes_need_no_more_than_the_nearest_similarity(sparing):
    rng = np.random.default_rng(10)
    support, queries = rng.integers(-3, 4, size=(2, 60, 5)).astype(np.float32)
    labels = [f"class {number % 7}" for number in range(60)]
    by_float32 = votes(support, labels, queries, 60)
    by_float64 = once({"CELLS": 2**22}, lambda: votes(support, labels, queries, 60))
    assert sparing
    for one, other in zip(by_float32, by_float64, strict=True):
        assert np.array_equal(one, other)


def test_what_float64_cannot_round_either_is_rounded_in_whole_numbers(monkeypatch, sparing):
    rng = np.random.default_rng(11)
    support, queries = rng.normal(size=(30, 6)), rng.normal(size=(4, 6))
    plain = nearest(support, queries, 30)
    unsure = []
    exactly = neighbours._exactly_rounded
    monkeypatch.setattr(neighbours, "_exactly_rounded", lambda *given: unsure.append(1) or exactly(*given))
    bound = neighbours._largest_error
    monkeypatch.setattr(neighbours, "_largest_error", lambda n, kind: 0.5 if kind is np.float64 else bound(n, kind))
    exact = nearest(support, queries, 30)
    assert len(unsure) == len(queries)
    assert exact.indices.tolist() == plain.indices.tolist()
    assert exact.similarities.tolist() == plain.similarities.tolist()
