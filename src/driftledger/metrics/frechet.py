"""The Fréchet distance, without a matrix square root.

The usual square root takes seconds at d = 2048 and loses digits if there are fewer samples than
features. It is not needed: with the rows of A and B centred and divided by √(n−1), the covariances
are Σa = AᵀA and Σb = BᵀB, and

    tr((Σa Σb)^½) = the sum of the singular values of A Bᵀ, an n×m matrix.

Of more samples than features, R of A = QR, a d×d matrix, takes the place of A.

Source: Mathiasen and Hvilshøj 2020, "Backpropagating through Fréchet Inception Distance".
"""

from collections.abc import Iterator

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Features, check_features

_EPS = float(np.finfo(np.float64).eps)
_AT_ONCE = 1024
"""Rows in memory as float64 at once, or as many as there are features if more."""


def frechet_distance(a: Features, b: Features) -> float:
    """Return ‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), with unbiased covariances of rows.

    ``a`` is n×d and ``b`` is m×d, for any n, m ≥ 2. The distance is ≥ 0, lower is better, and equal
    sets give exactly 0: a covariance term smaller than its rounding error counts as 0. On features
    of Inception v3 this is the FID. Small sets come out too far apart, so compare only sets of
    equal sizes. The last bits vary with the CPU: store six digits.

    Source: Heusel et al. 2017, "GANs Trained by a Two Time-Scale Update Rule", equation 6.

    Raises:
        ValueError: a set is not a matrix, has fewer than 2 rows or holds a value that is not
            finite, or the sets have different numbers of features; says which set.

    >>> square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> frechet_distance(square, square + [3.0, 4.0])
    25.0
    """
    for name, features in (("a", a), ("b", b)):
        check_features(name, features)
        if len(features) < 2:
            raise ValueError(
                f"{name} has {len(features)} sample, and a covariance needs at least 2"
            )
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a has {a.shape[1]} features and b has {b.shape[1]}")
    traces = 0.0
    for features in (a, b):
        traces += sum(float(np.vdot(rows, rows)) for rows in _centred(features))
    noise = max(*a.shape, *b.shape) * _EPS * traces
    products = _compact(a) @ _compact(b).T
    spread = traces - 2 * float(np.linalg.svd(products, compute_uv=False).sum())
    shift = float(np.square(_mean(a) - _mean(b)).sum())
    if spread <= noise:
        return shift
    return shift + spread


def _mean(features: Features) -> Float64:
    return np.asarray(features.mean(axis=0, dtype=np.float64))


def _centred(features: Features) -> Iterator[Float64]:
    """Yield blocks of centred rows divided by √(n−1), as float64."""
    mean = _mean(features)
    size = max(features.shape[1], _AT_ONCE)
    for start in range(0, len(features), size):
        rows = features[start : start + size] - mean
        rows /= np.sqrt(len(features) - 1)
        yield rows


def _compact(features: Features) -> Float64:
    """Return the centred rows A, or R of A = QR if smaller; RᵀR is Σa, too."""
    root = np.zeros((0, features.shape[1]))
    for rows in _centred(features):
        root = np.concatenate([root, rows])
        if len(root) > root.shape[1]:
            root = np.asarray(np.linalg.qr(root, mode="r"))
    return root
