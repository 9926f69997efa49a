import numpy as np
import pytest
import scipy.linalg
from hypothesis import given
from hypothesis import strategies as st

from driftledger.metrics.exact import round_significant
from driftledger.metrics.frechet import frechet_distance


def features(n, d, seed, scale=1.0):
    """Samples whose features are correlated, as an encoder's are."""
    rng = np.random.default_rng(seed)
    mixing = rng.normal(size=(d, d)) / np.sqrt(d)
    return scale * rng.normal(size=(n, d)) @ mixing + rng.normal(size=d)


def by_matrix_square_root(a, b):
    """The computation of pytorch-fid and clean-fid."""
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(cov_a @ cov_b).real
    return np.square(a.mean(0) - b.mean(0)).sum() + np.trace(cov_a + cov_b - 2 * root)


def by_symmetric_eigenvalues(a, b):
    """tr((Σa Σb)^½) from the eigenvalues of the symmetric Σa^½ Σb Σa^½, in d×d whatever n and m are."""
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    values, vectors = np.linalg.eigh(cov_a)
    root = vectors * np.sqrt(values.clip(0)) @ vectors.T
    product = np.linalg.eigvalsh(root @ cov_b @ root).clip(0)
    traces = np.trace(cov_a) + np.trace(cov_b)
    return np.square(a.mean(0) - b.mean(0)).sum() + traces - 2 * np.sqrt(product).sum()


@pytest.mark.parametrize(("n", "m", "d"), [(200, 200, 16), (300, 150, 64), (33, 40, 32)])
def test_agrees_with_the_matrix_square_root_where_that_is_well_posed(n, m, d):
    a, b = features(n, d, 1), features(m, d, 2)
    assert frechet_distance(a, b) == pytest.approx(by_matrix_square_root(a, b), rel=1e-6)


@pytest.mark.parametrize(
    ("n", "m", "d"),
    [(10, 12, 40), (10, 200, 40), (200, 10, 40), (40, 41, 40), (2, 2, 40), (300, 200, 40)],
)
def test_agrees_with_symmetric_eigenvalues_for_any_shapes(n, m, d):
    a, b = features(n, d, 3), features(m, d, 4, scale=2.0)
    assert frechet_distance(a, b) == pytest.approx(by_symmetric_eigenvalues(a, b), rel=1e-6)


def test_many_samples_of_many_features_are_found_by_eigenvalues(monkeypatch):
    scales = np.where(np.arange(300) % 10, 1.0, 0.5)
    a, b = (np.random.default_rng(seed).normal(size=(900, 300)) * scales for seed in (1, 2))
    expected = by_symmetric_eigenvalues(a, b)
    monkeypatch.delattr(np.linalg, "svd")
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-10)
    assert frechet_distance(a, a.copy()) == 0.0


def test_features_that_do_not_vary_add_nothing():
    """The roots of what rounding leaves of their eigenvalues would: 4e-8 of the distance."""
    turn = np.linalg.qr(np.random.default_rng(3).normal(size=(300, 300)))[0]
    a, b = (np.random.default_rng(seed).normal(size=(900, 150)) for seed in (1, 2))
    wide = [np.hstack([some, np.zeros((900, 150))]) @ turn for some in (a, b)]
    assert frechet_distance(*wide) == pytest.approx(frechet_distance(a, b), rel=1e-11)


@pytest.mark.parametrize(("n", "d"), [(20, 2048), (64, 2048), (500, 32)])
def test_a_shifted_set_is_as_far_as_the_shift_squared(n, d):
    grid = np.random.default_rng(5).integers(-512, 512, size=(n, d)) / 256  # sums with the shift are exact
    shift = np.random.default_rng(6).integers(-512, 512, size=d) / 256
    assert frechet_distance(grid, grid + shift) == pytest.approx(shift @ shift, rel=1e-12)


def test_one_feature_is_the_distance_between_two_normals():
    a, b = features(50, 1, 7), features(60, 1, 8, scale=3.0)
    expected = (a.mean() - b.mean()) ** 2 + (a.std(ddof=1) - b.std(ddof=1)) ** 2
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-12)


def test_scaling_about_the_mean():
    """Σb = 9·Σa gives tr Σa + 9·tr Σa − 2·3·tr Σa = 4·tr Σa."""
    a = features(30, 100, 9)
    b = a.mean(0) + 3 * (a - a.mean(0))
    assert frechet_distance(a, b) == pytest.approx(4 * np.trace(np.cov(a, rowvar=False)), rel=1e-12)


@pytest.mark.parametrize(("n", "d"), [(2, 3), (60, 2048), (500, 64), (64, 64)])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_equal_sets_are_at_distance_zero_in_any_order(n, d, scale):
    a = features(n, d, 10, scale)
    assert frechet_distance(a, a) == 0
    assert frechet_distance(a, a[::-1]) == pytest.approx(0, abs=1e-18 * scale**2 * d * n)


def test_all_samples_equal():
    assert frechet_distance(np.ones((3, 4)), np.ones((5, 4))) == 0
    assert frechet_distance(np.ones((3, 4)), np.zeros((5, 4))) == 4


@given(st.integers(2, 12), st.integers(2, 12), st.integers(1, 12), st.integers(0, 999))
def test_symmetric_and_never_negative(n, m, d, seed):
    a, b = features(n, d, seed), features(m, d, seed + 1)
    distance = frechet_distance(a, b)
    assert distance >= 0
    assert frechet_distance(b, a) == pytest.approx(distance, rel=1e-9, abs=1e-12)


@given(st.integers(2, 12), st.integers(1, 12), st.integers(0, 999))
def test_moving_both_sets_alike_or_turning_them_changes_nothing(n, d, seed):
    a, b = features(n, d, seed), features(n, d, seed + 1)
    moved = frechet_distance(a + 10, b + 10)
    turn, _ = np.linalg.qr(features(d, d, seed + 2))
    assert moved == pytest.approx(frechet_distance(a, b), rel=1e-9, abs=1e-9)
    assert frechet_distance(a @ turn, b @ turn) == pytest.approx(frechet_distance(a, b), rel=1e-9, abs=1e-9)


def test_float32_features_are_computed_in_float64():
    a, b = (features(30, 64, seed).astype(np.float32) for seed in (11, 12))
    assert frechet_distance(a, b) == frechet_distance(a.astype(np.float64), b.astype(np.float64))


def test_the_features_are_not_changed():
    a, b = features(5, 8, 13), features(20, 8, 14)
    before = a.tobytes(), b.tobytes()
    frechet_distance(a, b)
    assert (a.tobytes(), b.tobytes()) == before


def test_small_distances_keep_six_digits():
    a = np.random.default_rng(15).integers(-512, 512, size=(40, 500)) / 256
    assert round_significant(frechet_distance(a, a + 2.0**-12), 6) == round_significant(500 * 2.0**-24, 6)


def test_one_nan_is_refused_before_anything_is_computed(monkeypatch):
    a, b = np.ones((60, 2048)), np.ones((60, 2048))
    b[17, 5] = np.nan
    for name in ("qr", "svd", "svdvals", "eigh", "eigvalsh"):
        monkeypatch.delattr(np.linalg, name)
    with pytest.raises(ValueError, match="b holds a value that is not finite in row 17"):
        frechet_distance(a, b)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (np.ones((1, 3)), np.ones((2, 3)), "a has 1 sample, and a covariance needs at least 2"),
        (np.ones((2, 3)), np.ones((1, 3)), "b has 1 sample"),
        (np.ones((0, 3)), np.ones((2, 3)), "a is empty"),
        (np.ones((2, 0)), np.ones((2, 0)), "a is empty"),
        (np.ones((2, 3)), np.ones((2, 4)), "a has 3 features and b has 4"),
        (np.ones(3), np.ones((2, 3)), r"a must be a matrix, samples × features, but has shape \(3,\)"),
        (np.array([[1.0], [np.inf]]), np.ones((2, 1)), "a holds a value that is not finite in row 1"),
    ],
)
def test_says_what_is_wrong(a, b, message):
    with pytest.raises(ValueError, match=message):
        frechet_distance(a, b)
