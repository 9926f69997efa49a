import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import pairwise

from driftledger.metrics.drift import cosine_similarity, gc_at

CASES = json.loads((Path(__file__).parents[1] / "cases/gc_at.json").read_bytes())

components = st.floats(-100, 100, width=32).filter(lambda x: x == 0 or abs(x) > 1e-3)
vectors = hnp.arrays(np.float32, st.tuples(st.just(1), st.integers(1, 20)), elements=components).filter(np.any)
chains = hnp.arrays(np.float64, st.tuples(st.integers(1, 4), st.integers(1, 8)), elements=st.floats(-1, 1))


def floats(values):
    return np.array([np.nan if value is None else value for value in values])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked_gc_at(case):
    row = floats(case["similarities"])[None, :]
    computed = [gc_at(row, t)[0] for t in range(1, row.shape[1] + 1)]
    np.testing.assert_allclose(computed, floats(case["gc"]), rtol=0, atol=1e-9)
    assert len(case["worked"]) == len(computed)
    alone = [gc_at(row[0], t) for t in range(1, row.shape[1] + 1)]
    np.testing.assert_array_equal(alone, computed)
    assert all(type(value) is float for value in alone)


@given(chains)
def test_gc_at_agrees_with_numpy_average(similarities):
    for t in range(1, similarities.shape[1] + 1):
        independent = np.average(similarities[:, :t], axis=1, weights=np.arange(1, t + 1))
        np.testing.assert_allclose(gc_at(similarities, t), independent, rtol=0, atol=1e-12)


@given(chains)
def test_gc_at_1_is_the_first_similarity_exactly(similarities):
    assert gc_at(similarities, 1).tolist() == similarities[:, 0].tolist()


@given(chains)
def test_gc_at_lies_within_the_similarities(similarities):
    gc = gc_at(similarities, similarities.shape[1])
    assert (gc >= similarities.min(axis=1) - 1e-15).all()
    assert (gc <= similarities.max(axis=1) + 1e-15).all()


def test_chains_are_scored_one_by_one():
    similarities = np.array([[0.9, 0.6, 0.3], [0.8, 0.5, np.nan], [0.3, 0.6, 0.9]])
    np.testing.assert_allclose(gc_at(similarities, 3), [0.5, np.nan, 0.7], atol=1e-12)
    np.testing.assert_allclose(gc_at(similarities, 2), [0.7, 0.6, 0.5], atol=1e-12)


@pytest.mark.parametrize("t", [-1, 0, 4])
def test_gc_at_refuses_a_t_that_no_chain_has(t):
    with pytest.raises(ValueError, match=rf"t must be within 1\.\.3, but is {t}"):
        gc_at(np.ones((2, 3)), t)


@pytest.mark.parametrize(
    ("similarities", "message"),
    [
        (np.array([[0.1, 0.2], [0.3, np.inf]]), "infinity in row 1"),
        (np.array([[0.1, -np.inf]]), "infinity in row 0"),
        (np.empty((0, 3)), "empty"),
        (np.empty((3, 0)), "empty"),
        (np.array([0.1, np.inf]), "infinity in row 0"),
        (np.empty(0), "empty"),
        (np.array(0.1), r"chains × iterations, or one chain, but have shape \(\)"),
        (np.ones((2, 2, 2)), r"chains × iterations, or one chain, but have shape \(2, 2, 2\)"),
    ],
)
def test_gc_at_says_what_is_wrong(similarities, message):
    with pytest.raises(ValueError, match=message):
        gc_at(similarities, 1)


@given(chains)
def test_one_chain_is_worth_alone_what_it_is_worth_among_others(similarities):
    t = similarities.shape[1]
    assert [gc_at(chain, t) for chain in similarities] == gc_at(similarities, t).tolist()
    assert [gc_at(chain, t) for chain in similarities.tolist()] == gc_at(similarities, t).tolist()


@given(vectors)
def test_two_vectors_are_as_alike_alone_as_among_others(a):
    b = a[:, ::-1] + np.float32(1)
    if b.any():
        assert float(cosine_similarity(a[0], b[0])) == cosine_similarity(a, b)[0]


def test_cosine_similarity_agrees_with_scikit_learn():
    rng = np.random.default_rng(0)
    a, b = rng.normal(size=(2, 50, 768)).astype(np.float32)
    independent = np.diag(pairwise.cosine_similarity(a.astype(np.float64), b.astype(np.float64)))
    np.testing.assert_allclose(cosine_similarity(a, b), independent, rtol=0, atol=1e-14)


@given(vectors)
def test_a_vector_is_exactly_like_itself_and_unlike_its_opposite(a):
    assert cosine_similarity(a, a) == [1.0]
    assert cosine_similarity(a, -a) == [-1.0]


@given(vectors, st.integers(-40, 40))
def test_length_does_not_matter(a, exponent):
    scaled = np.ldexp(a, exponent)
    b = a[:, ::-1].copy()
    assert cosine_similarity(scaled, b).tolist() == cosine_similarity(a, b).tolist()


@given(vectors, st.randoms(use_true_random=False))
def test_the_order_of_features_does_not_matter(a, random):
    b = a[:, ::-1] + np.float32(1)
    if not b.any():
        return
    order = list(range(a.shape[1]))
    random.shuffle(order)
    assert cosine_similarity(a[:, order], b[:, order]).tolist() == cosine_similarity(a, b).tolist()


def test_parallel_rows_stay_within_bounds():
    a = np.random.default_rng(1).random((200, 7), dtype=np.float32)
    assert (np.abs(cosine_similarity(a, a * np.float32(1.1))) <= 1).all()


def test_extreme_float32_neither_overflow_nor_vanish():
    info = np.finfo(np.float32)
    a = np.array([[info.max, info.max], [info.smallest_subnormal, 0]], dtype=np.float32)
    b = np.array([[info.max, 0], [info.smallest_subnormal, info.smallest_subnormal]], dtype=np.float32)
    np.testing.assert_allclose(cosine_similarity(a, b), [0.5**0.5, 0.5**0.5], rtol=1e-15)


ONES = np.ones((3, 2), dtype=np.float32)


def with_row(index, row):
    features = ONES.copy()
    features[index] = row
    return features


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (with_row(1, 0), ONES, "a is all zeros in row 1"),
        (ONES, with_row(2, 0), "b is all zeros in row 2"),
        (with_row(0, np.nan), ONES, "a holds a value that is not finite in row 0"),
        (ONES, with_row(2, [1, -np.inf]), "b holds a value that is not finite in row 2"),
        (ONES, ONES[:2], r"same shape, but have \(3, 2\) and \(2, 2\)"),
        (ONES[:0], ONES[:0], "a is empty"),
        (ONES[0], ONES, r"same shape, but have \(2,\) and \(3, 2\)"),
        (ONES[None], ONES[None], r"a must be a matrix, samples × features, but has shape \(1, 3, 2\)"),
        (ONES[0] * 0, ONES[0], "a is all zeros in row 0"),
        (ONES, ONES.astype(np.float64), "b must be float32, whose products are exact, but is float64"),
    ],
)
def test_cosine_similarity_says_what_is_wrong(a, b, message):
    with pytest.raises(ValueError, match=message):
        cosine_similarity(a, b)
