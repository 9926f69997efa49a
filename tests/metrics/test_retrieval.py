import json
import subprocess
import sys
from collections import Counter
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, NearestNeighbors

from driftledger.metrics import neighbours, retrieval
from driftledger.metrics.neighbours import nearest
from driftledger.metrics.retrieval import class_mean, top1, vote, votes
from tests.support.machines import OLDEST, environment

CASES = json.loads((Path(__file__).parents[1] / "cases/retrieval.json").read_bytes())

small = st.integers(-3, 3).map(float)
rows = hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=small)
labelled = rows.flatmap(
    lambda support: st.tuples(
        st.just(support), st.lists(st.sampled_from("abc"), min_size=len(support), max_size=len(support)), rows
    )
)


def exact_order(support, query):
    """Indices by the exact cosine, of which the square with its sign is a fraction, and by place."""

    def signed_square(row):
        dot = sum(int(x) * int(y) for x, y in zip(row, query, strict=True))
        squares = sum(int(x) ** 2 for x in row) * sum(int(y) ** 2 for y in query)
        return Fraction(dot * abs(dot), squares) if squares else Fraction(0)

    return sorted(range(len(support)), key=lambda place: (-signed_square(support[place]), place))


def counted(ranked):
    """The winner of a vote, in so many words."""
    counts = Counter(ranked)
    return next(label for label in ranked if counts[label] == max(counts.values()))


def in_decimals(a, b):
    """The cosine to 9 decimals, from 80 digits."""
    with localcontext(prec=80):
        x, y = ([Decimal(value) for value in vector.tolist()] for vector in (a, b))
        dot, xx, yy = (sum(p * q for p, q in zip(u, v, strict=True)) for u, v in ((x, y), (x, x), (y, y)))
        return float(round(dot / (xx * yy).sqrt(), 9))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_hand_worked(case):
    support, labels, query = np.array(case["support"], float), case["labels"], np.array([case["query"]], float)
    assert top1(support, labels, query) == [case["top1"]]
    assert class_mean(support, labels, query) == [case["class_mean"]]
    assert [vote(support, labels, query, k) for k in range(1, len(labels) + 1)] == [[one] for one in case["votes"]]
    found = nearest(support, query, len(labels))
    assert found.indices.tolist() == [case["nearest"]]
    assert found.similarities.tolist() == [case["similarities"]]


@given(labelled)
def test_ties_are_those_of_exact_arithmetic(drawn):
    support, labels, queries = drawn
    expected = [exact_order(support, query) for query in queries]
    assert nearest(support, queries, len(support)).indices.tolist() == expected
    every = votes(support, labels, queries, len(support))
    assert every.nearest.tolist() == [order[0] for order in expected]
    for k in range(1, len(support) + 1):
        assert every.by(k) == [counted([labels[place] for place in order[:k]]) for order in expected]


def test_it_agrees_with_scikit_learn_on_random_data():
    rng = np.random.default_rng(1)
    support, queries = rng.normal(size=(400, 32)), rng.normal(size=(150, 32))
    labels = [f"class {number}" for number in rng.integers(0, 12, 400)]
    distances, indices = (
        NearestNeighbors(n_neighbors=40, metric="cosine", algorithm="brute").fit(support).kneighbors(queries)
    )
    found = nearest(support, queries, 40)
    assert found.indices.tolist() == indices.tolist()
    np.testing.assert_allclose(1 - found.similarities, distances, rtol=0, atol=1e-9)
    every = votes(support, labels, queries, 40)
    for k in range(1, 41):
        theirs = KNeighborsClassifier(k, metric="cosine", algorithm="brute").fit(support, labels)
        shares = theirs.predict_proba(queries)
        ours = [theirs.classes_.tolist().index(label) for label in every.by(k)]
        # Where the lead is shared, scikit-learn takes the first name, and we the nearest of the leaders.
        np.testing.assert_allclose(shares[np.arange(150), ours], shares.max(axis=1))


def test_it_agrees_with_scikit_learn_where_ties_abound():
    rng = np.random.default_rng(2)
    support, queries = rng.integers(-2, 3, size=(2, 300, 4)).astype(np.float32)
    labels = rng.choice(list("abcdef"), 300).tolist()
    theirs = NearestNeighbors(n_neighbors=50, metric="cosine", algorithm="brute").fit(support)
    distances, _ = theirs.kneighbors(queries)
    found = nearest(support, queries, 50)
    np.testing.assert_allclose(1 - found.similarities, distances, rtol=0, atol=1e-6)

    similarities = np.round(1 - theirs.kneighbors(queries.astype(np.float64), 300)[0], 9)
    assert (np.diff(np.sort(similarities, axis=1)) == 0).mean() > 0.5
    lengths = [np.linalg.norm(x.astype(np.float64), axis=1) for x in (queries, support)]
    with np.errstate(invalid="ignore"):
        cosines = np.nan_to_num(queries.astype(np.float64) @ support.T / np.outer(*lengths))
    stable = np.argsort(-np.round(cosines, 9), axis=1, kind="stable")[:, :50]
    assert found.indices.tolist() == stable.tolist()
    every = votes(support, labels, queries, 50)
    for k in (1, 2, 7, 50):
        assert every.by(k) == [counted([labels[place] for place in order[:k]]) for order in stable.tolist()]


def test_class_means_agree_with_scikit_learn():
    rng = np.random.default_rng(3)
    support, queries = rng.normal(size=(200, 16)), rng.normal(size=(100, 16))
    labels = rng.choice(list("abcdef"), 200).tolist()
    centroids = NearestCentroid().fit(support, labels)
    theirs = KNeighborsClassifier(1, metric="cosine").fit(centroids.centroids_, centroids.classes_)
    assert class_mean(support, labels, queries) == theirs.predict(queries).tolist()


@given(labelled, st.integers(1, 9), st.integers(-480, 480))
def test_scaling_a_vector_changes_nothing(drawn, factor, power):
    support, labels, queries = drawn
    plain = votes(support, labels, queries, len(support))
    for scale in (float(factor), 2.0**power):
        scaled = np.array(support)
        scaled[-1] *= scale
        for some in (
            votes(scaled, labels, queries, len(support)),
            votes(support, labels, queries * scale, len(support)),
        ):
            assert some.winners.tolist() == plain.winners.tolist()
            assert some.similarity.tolist() == plain.similarity.tolist()


@given(hnp.arrays(np.float32, (8, 5), elements=st.floats(-10, 10, width=32), unique=True))
def test_an_identical_description_gives_its_label(support):
    labels = list("abcdefgh")
    queries = support[np.any(support, axis=1)]
    found = votes(support, labels, queries, 1)
    assert found.similarity.tolist() == [1.0] * len(queries)
    for query, place, label in zip(queries, found.nearest, found.by(1), strict=True):
        assert in_decimals(query, support[place]) == 1.0
        assert label == labels[place]


@given(st.permutations(range(60)))
def test_the_order_of_a_support_set_without_ties_does_not_matter(order):
    rng = np.random.default_rng(4)
    support, queries = rng.normal(size=(60, 8)), rng.normal(size=(10, 8))
    labels = [f"class {number % 7}" for number in range(60)]
    plain, shuffled = (
        votes(support[some], [labels[place] for place in some], queries, 60) for some in (list(range(60)), list(order))
    )
    # All 60 together are a tie of four classes, decided by who is nearest, and so not by the order either.
    assert [shuffled.by(k) for k in range(1, 61)] == [plain.by(k) for k in range(1, 61)]
    assert [order[place] for place in shuffled.nearest] == plain.nearest.tolist()


@given(hnp.arrays(np.float64, (5, 6), elements=st.floats(-1e3, 1e3).filter(lambda x: x == 0 or abs(x) > 1e-9)))
def test_what_the_product_cannot_decide_is_decided_in_whole_numbers(vectors):
    vectors = vectors[np.any(vectors, axis=1)]
    if len(vectors) == 0:
        return
    plain = nearest(vectors, vectors, len(vectors))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(neighbours, "_largest_error", lambda *_: 0.5)
        exact = nearest(vectors, vectors, len(vectors))
    assert exact.indices.tolist() == plain.indices.tolist()
    assert exact.similarities.tolist() == plain.similarities.tolist()
    for query, places, similarities in zip(vectors, *exact, strict=True):
        assert [in_decimals(query, vectors[place]) for place in places] == similarities.tolist()


def test_a_support_set_in_pieces_gives_the_same(monkeypatch):
    rng = np.random.default_rng(5)
    support, queries = rng.integers(-2, 3, size=(2, 50, 4)).astype(np.float32)
    labels = rng.choice(list("abc"), 50).tolist()
    whole = votes(support, labels, queries, 20)
    for module in (neighbours, retrieval):
        monkeypatch.setattr(module, "CELLS", 150)
    for one, other in zip(whole, votes(support, labels, queries, 20), strict=True):
        assert np.array_equal(one, other)


def test_integers_and_halves_are_features_too():
    support = np.array([[1, 0], [0, 1]])
    assert top1(support, ["a", "b"], np.array([[1, 3]])) == ["b"]
    assert top1(support.astype(np.float16), ["a", "b"], np.array([[1, 3]], dtype=np.float32)) == ["b"]


@pytest.mark.parametrize("way", [top1, class_mean, lambda *sets: vote(*sets, 1), lambda *sets: votes(*sets, 1)])
@pytest.mark.parametrize(
    ("support", "labels", "queries", "message"),
    [
        (np.empty((0, 2)), [], np.ones((1, 2)), "support is empty"),
        (np.ones((1, 2)), ["a"], np.empty((0, 2)), "queries is empty"),
        (np.ones(2), ["a"], np.ones((1, 2)), r"support must be a matrix, samples × features, but has shape \(2,\)"),
        (np.ones((1, 2)), ["a"], np.ones(2), "queries must be a matrix"),
        (np.ones((1, 2)), ["a"], np.ones((1, 3)), "support has 2 features and queries have 3"),
        (np.ones((2, 2)), ["a"], np.ones((1, 2)), "2 of support, 1 of labels"),
        (np.array([[1, 0], [1, np.nan]]), ["a", "b"], np.ones((1, 2)), "support holds .* not finite in row 1"),
        (np.ones((1, 2)), ["a"], np.array([[np.inf, 0]]), "queries holds .* not finite in row 0"),
    ],
)
def test_it_says_what_is_wrong(way, support, labels, queries, message):
    with pytest.raises(ValueError, match=message):
        way(support, labels, queries)


@pytest.mark.parametrize("k", [-1, 0, 3])
def test_only_the_support_set_votes(k):
    with pytest.raises(ValueError, match=rf"k must be within 1\.\.2, the size of the support set, but is {k}"):
        vote(np.eye(2), ["a", "b"], np.eye(2), k)


COMPUTED = """
import hashlib
import numpy as np
from driftledger.metrics.retrieval import class_mean, votes

raw = (np.random.PCG64(1).random_raw((300, 96)) >> np.uint64(40)).astype(np.float32) - np.float32(2**23)
support = np.concatenate([raw, raw[::-1], raw[::3] * np.float32(3), -raw[:20]])
labels = [f"class {number % 11}" for number in range(len(support))]
found = votes(support, labels, raw, len(support))
digest = hashlib.sha256()
for part in found[1:]:
    digest.update(np.ascontiguousarray(part).tobytes())
digest.update(repr(class_mean(support, labels, raw)).encode())
print(digest.hexdigest())
"""


@pytest.mark.slow
def test_an_older_processor_finds_the_same():
    here, there = (
        subprocess.run(
            [sys.executable, "-c", COMPUTED], env=environment(machine), capture_output=True, text=True, check=True
        ).stdout
        for machine in ({}, OLDEST)
    )
    assert here == there
