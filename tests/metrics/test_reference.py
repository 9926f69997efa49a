"""Metrics beside scipy, scikit-learn, scikit-image and numpy, and formulas of papers in full."""

import math
import tracemalloc
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
import scipy.linalg
import scipy.stats
import skimage.metrics
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from PIL import Image
from sklearn.metrics import pairwise as sklearn_pairwise

from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.groups import PairDifference, groups
from driftledger.metrics.intervals import t_quantile as quantile
from driftledger.metrics.neighbours import STEPS, all_steps, nearest
from driftledger.metrics.paired import (
    p_value,
)
from driftledger.metrics.retrieval import hits, votes
from driftledger.metrics.structural import comparable, structural_similarity

Array = NDArray[np.float64]


def dice(seed):
    return np.random.default_rng(seed)


# Similarity and distance


def test_cosines_are_scikit_learns():
    a, b = dice(0).normal(size=(2, 50, 768)).astype(np.float32)
    theirs = np.diag(
        sklearn_pairwise.cosine_similarity(a.astype(np.float64), b.astype(np.float64))
    )
    np.testing.assert_allclose(cosine_similarity(a, b), theirs, rtol=0, atol=1e-14)
    order = dice(1).permutation(768)
    assert (
        cosine_similarity(a[:, order], b[:, order]) == cosine_similarity(a, b)
    ).all()
    assert (cosine_similarity(a, a) == 1).all()
    assert (np.abs(cosine_similarity(a, a * np.float32(1.1))) <= 1).all()


def features(n, d, seed, scale=1.0):
    """Return samples with correlated features, as an encoder's are."""
    random = dice(seed)
    mixing = random.normal(size=(d, d)) / np.sqrt(d)
    return scale * random.normal(size=(n, d)) @ mixing + random.normal(size=d)


def by_symmetric_eigenvalues(a, b):
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    values, vectors = np.linalg.eigh(cov_a)
    root = vectors * np.sqrt(values.clip(0)) @ vectors.T
    product = np.linalg.eigvalsh(root @ cov_b @ root).clip(0)
    shift = a.mean(axis=0) - b.mean(axis=0)
    return float(
        shift @ shift + np.trace(cov_a) + np.trace(cov_b) - 2 * np.sqrt(product).sum()
    )


@pytest.mark.parametrize(
    ("n", "m", "d"),
    [
        (10, 12, 40),
        (10, 200, 40),
        (200, 10, 40),
        (40, 41, 40),
        (2, 2, 40),
        (300, 200, 40),
        (3000, 2500, 40),
    ],
)
def test_frechet_distance_for_any_shapes(n, m, d):
    a, b = features(n, d, 3), features(m, d, 4, scale=2.0)
    assert frechet_distance(a, b) == pytest.approx(
        by_symmetric_eigenvalues(a, b), rel=1e-6
    )
    assert frechet_distance(b, a) == pytest.approx(frechet_distance(a, b), rel=1e-9)
    narrow = a.astype(np.float32)
    assert frechet_distance(narrow, b) == frechet_distance(narrow.astype(np.float64), b)


@pytest.mark.parametrize(("n", "d"), [(20, 512), (64, 512), (500, 32), (900, 300)])
def test_a_shifted_set_is_as_far_as_the_shift_squared(n, d):
    grid = (
        dice(5).integers(-512, 512, size=(n, d)) / 256
    )  # sums with the shift are exact
    shift = dice(6).integers(-512, 512, size=d) / 256
    assert frechet_distance(grid, grid + shift) == pytest.approx(
        shift @ shift, rel=1e-12
    )
    assert frechet_distance(grid, grid.copy()) == 0.0
    assert frechet_distance(grid, grid[::-1]) == 0.0


@pytest.mark.parametrize("copied", [0, 1])
def test_large_sets_are_compared_in_the_memory_of_a_part(copied):
    """Also where features depend on one another."""
    a, b = (dice(seed).normal(size=(20_000, 64)).astype(np.float32) for seed in (1, 2))
    for each in (a, b):
        each[:, 0] = each[:, copied]
    tracemalloc.start()
    distance = frechet_distance(a, b)
    similarity = cosine_similarity(a, b)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < a.nbytes
    assert distance == pytest.approx(by_symmetric_eigenvalues(a, b), rel=1e-6)
    assert len(similarity) == len(a)


def test_a_scaled_set_and_features_that_do_not_vary():
    """Σb = 9·Σa gives tr Σa + 9·tr Σa − 2·3·tr Σa = 4·tr Σa."""
    a = features(30, 100, 9)
    expected = 4 * np.trace(np.cov(a, rowvar=False))
    assert frechet_distance(
        a, a.mean(axis=0) + 3 * (a - a.mean(axis=0))
    ) == pytest.approx(expected, rel=1e-12)
    turn = np.linalg.qr(dice(3).normal(size=(100, 100)))[0]
    a, b = (dice(seed).normal(size=(300, 50)) for seed in (1, 2))
    wide = [np.hstack([each, np.zeros((300, 50))]) @ turn for each in (a, b)]
    assert frechet_distance(*wide) == pytest.approx(frechet_distance(a, b), rel=1e-11)


def test_features_that_nearly_depend_on_one_another():
    """Roots of small eigenvalues would be off by 4e-10; the nuclear norm has none."""
    chance = dice(35)
    a, b, turn = (
        chance.normal(size=(50, 3)),
        chance.normal(size=(50, 3)),
        np.linalg.qr(chance.normal(size=(3, 3)))[0],
    )
    a, b = (each * [1, 1, 1e-3] @ turn for each in (a, b))
    centred = [(each - each.mean(axis=0)) / 7 for each in (a, b)]
    spread = sum(np.square(each).sum() for each in centred) - 2 * np.linalg.norm(
        centred[0] @ centred[1].T, "nuc"
    )
    shift = a.mean(axis=0) - b.mean(axis=0)
    assert frechet_distance(a, b) == pytest.approx(shift @ shift + spread, rel=1e-12)


def test_ssim_is_equation_13_at_every_window():
    """As in scikit-image, with the constants of the paper."""
    options = {"sigma": 1.5, "use_sample_covariance": False, "data_range": 255}
    a = dice(1).integers(0, 256, (32, 24), dtype=np.uint8)
    for b in (
        dice(2).integers(0, 256, (32, 24), dtype=np.uint8),
        a // 2,
        255 - a,
        np.roll(a, 1, axis=0),
    ):
        theirs = skimage.metrics.structural_similarity(
            a, b, gaussian_weights=True, **options
        )
        assert structural_similarity(a, b) == round(theirs, 6)
    assert structural_similarity(a, a) == 1.0


def test_images_are_brought_to_one_size():
    assert (
        comparable(Image.new("RGB", (20, 20), (0, 255, 0)), 11)[0, 0] == 150
    )  # 0.587 · 255
    assert comparable(Image.new("CMYK", (300, 20)), 32).shape == (32, 32)
    board = np.indices((256, 256)).sum(axis=0) % 2 * 255
    assert (
        np.abs(
            comparable(Image.fromarray(board.astype(np.uint8)), 32).astype(int) - 127.5
        ).max()
        <= 1.5
    )
    with pytest.raises(ValueError, match="side must be at least 11"):
        comparable(Image.new("RGB", (640, 480)), 10)


# Retrieval


def exact_steps(a, b):
    """Return the cosine in steps, halves away from zero, in whole numbers."""
    x, y = ([Fraction(value) for value in vector] for vector in (a, b))
    dot, xx, yy = (
        sum(p * q for p, q in zip(u, v, strict=True))
        for u, v in ((x, y), (x, x), (y, y))
    )
    if dot == 0:
        return 0
    halves = math.isqrt(int(4 * (STEPS * dot) ** 2 / (xx * yy)))
    return (halves + 1) // 2 * (1 if dot > 0 else -1)


@pytest.mark.parametrize(
    "kind", ["small whole numbers", "repeated texts", "noise", "extremes"]
)
def test_neighbours_are_those_of_whole_numbers(kind, monkeypatch):
    random = dice(2)
    support, queries = (
        random.integers(-2, 3, size=(40, 4)) / 7,
        random.integers(-2, 3, size=(9, 4)) / 7,
    )
    if kind == "repeated texts":
        support = np.repeat(random.normal(size=(8, 4)), 5, axis=0) * random.choice(
            [1, 3, 0.1, 1e-3], size=(40, 1)
        )
    if kind == "noise":
        support, queries = random.normal(size=(40, 24)), random.normal(size=(9, 24))
    if kind == "extremes":
        support[:4] *= [[5e-324], [1e-300], [1e30], [1e300]]
        queries[0], queries[1, 0] = 0, 1e308
    steps = [
        [exact_steps(query, row) for row in support.tolist()]
        for query in queries.tolist()
    ]
    order = [
        sorted(range(40), key=lambda place: (-row[place], place))[:30] for row in steps
    ]
    for cells in (2**22, 150, 1):
        monkeypatch.setattr("driftledger.metrics.neighbours.CELLS", cells)
        assert nearest(support, queries, 30).tolist() == order
        assert [row.tolist() for row in all_steps(support, queries)] == steps


def test_a_cosine_halfway_between_two_steps():
    """1/1024 has ten decimals: with unequal last bits, the first of four equal rows would not be
    the nearest."""
    support = np.zeros((4, 2**20), dtype=np.float32)
    support[:, 0] = 1
    support *= np.array([[1], [3], [7], [0.3]], dtype=np.float32)
    query = np.ones((1, 2**20), dtype=np.float32)
    assert nearest(support, query, 4).tolist() == [[0, 1, 2, 3]]
    [steps] = all_steps(support, query)
    assert steps.tolist() == [976563] * 4


def test_the_variance_of_the_support_set_is_that_of_leaving_out_each_row():
    """Small integers, so that there are ties; the last text is one that the encoder knows nothing
    of."""
    random = dice(5)
    for classes in (1, 2, 3) * 8:
        support = random.integers(-1, 3, (9, 2)).astype(np.float64)
        queries = np.vstack([random.integers(1, 4, (6, 2)), [[0, 0]]]).astype(
            np.float64
        )
        labels = sorted(random.integers(0, classes, 9).astype(str).tolist())
        truth = random.choice(labels, 7).tolist()
        for name in ("top1", "class_mean"):
            moved = []
            for left_out in [None, *range(9)]:
                rows = [row for row in range(9) if row != left_out]
                found = hits(
                    support[rows], [labels[row] for row in rows], queries, truth, 1
                )
                moved.append(found.votes[:, 0] if name == "top1" else found.class_mean)
            changes = np.array(moved[1:]) - moved[0]
            expected = max(0, (changes.sum(axis=1) ** 2).sum() - (changes**2).sum()) / (
                7 * 6
            )
            assert hits(support, labels, queries, truth, 1).varies[
                name
            ] == pytest.approx(expected, abs=1e-12)


def test_hits_are_the_mean_over_all_orders_of_the_support_set():
    random = dice(6)
    for size in (2, 3, 4, 5, 5, 5):
        support, queries = (
            random.integers(0, 3, (size, 2)).astype(float),
            random.integers(1, 3, (4, 2)).astype(float),
        )
        labels = random.choice(list("abc"), size).tolist()
        truth = random.choice(labels, 4).tolist()
        right = []
        for order in permutations(range(size)):
            voted = votes(
                support[[*order]], [labels[row] for row in order], queries, size
            )
            taken = [voted.by(k) for k in range(1, size + 1)]
            right.append(
                [
                    [name == label for name in column]
                    for column, label in zip(
                        zip(*taken, strict=True), truth, strict=True
                    )
                ]
            )
        found = hits(support, labels, queries, truth, size).votes
        expected = np.mean(right, axis=0)
        np.testing.assert_allclose(found[:, :2], expected[:, :2], atol=1e-12)
        np.testing.assert_allclose(found, expected, atol=0.05)


# Intervals


@pytest.mark.parametrize("df", [0.7, 1, 1.37, 2.5, 7.125, 119, 3000.7, 1e7, math.inf])
def test_quantiles_and_tails_are_students(df):
    for confidence in (0.51, 0.9, 0.95, 0.999):
        t = quantile(confidence, df)
        assert t == pytest.approx(
            scipy.stats.t.ppf((1 + confidence) / 2, df), rel=1e-12
        )
        assert p_value(t, 1.0, df, 99) == pytest.approx(1 - confidence, rel=1e-8)


# Groups


@given(st.data(), st.integers(1, 8))
def test_two_share_a_letter_if_and_only_if_they_are_not_told_apart(data, n):
    names = [f"m{k}" for k in range(n)]
    pairs = {}
    for pair in combinations(names, 2):
        p = data.draw(st.sampled_from([0.0, 1.0]))
        pairs[pair] = PairDifference(-1.0, p)
    found = groups(names, pairs, confidence=0.95)
    assert all(found.letters.values())
    better = Counter()
    for (one, other), test in pairs.items():
        shared = set(found.letters[one]) & set(found.letters[other])
        assert bool(shared) == (test.p_value == 1.0)
        better[other] += test.p_value == 0.0
    assert found.ranks == {name: 1 + better[name] for name in names}


def test_letters_beyond_z():
    names = [f"m{k:02}" for k in range(60)]
    pairs = dict.fromkeys(combinations(names, 2), PairDifference(-1.0, 0.0))
    letters = groups(names, pairs, confidence=0.95).letters
    assert (letters["m51"], letters["m52"]) == ("Z", "(53)")
    assert len(set(letters.values())) == 60
