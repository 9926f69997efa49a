"""The Fréchet distance between two sets of features, without a matrix square root.

The usual computation takes the square root of the d×d product of two covariances: seconds at d = 2048, short of
digits when there are fewer samples than features, since the product is then singular, and stuck for minutes when
one feature is NaN. None of this is necessary. With the rows of A and B centred and divided by √(n−1), the
covariances are Σa = AᵀA and Σb = BᵀB. The nonzero eigenvalues of ΣaΣb = Aᵀ(A Bᵀ)B are those of (A Bᵀ)(A Bᵀ)ᵀ, so

    tr((Σa Σb)^½) = sum of the singular values of A Bᵀ,

an n×m problem. Where there are more samples than features, A = QR leaves Σa = RᵀR, and R, which is d×d, takes
the place of A.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_features

Features = NDArray[np.floating[Any]]

_EPS = float(np.finfo(np.float64).eps)
_LARGE = 256
"""Features from which on it is worth while to look for a quicker way."""


def frechet_distance(a: Features, b: Features) -> float:
    """‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), with the unbiased covariances of the rows.

    ``a`` is n×d and ``b`` is m×d, for any n, m ≥ 2, computed in float64. The answer is ≥ 0, lower is better, and
    equal sets give exactly 0: a covariance term smaller than its own rounding error is taken as 0. On features of
    Inception v3 this is the FID; small sets come out too far apart, so compare only distances between sets of
    equal sizes. The last bits vary with the CPU: store ``round_significant(distance, 6)``.

    Source: Heusel et al. 2017, "GANs Trained by a Two Time-Scale Update Rule", equation 6.

    Raises:
        ValueError: a set is not a matrix, has fewer than 2 rows or holds a value that is not finite, or the sets
            have different numbers of features. Says which set.

    >>> square = np.array([[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]])
    >>> frechet_distance(square, square + [3.0, 4.0])
    25.0
    """
    _check_sets(a, b)
    first, second = _moments(a), _moments(b)
    shift = first.mean - second.mean
    traces = first.trace + second.trace
    noise = max(*a.shape, *b.shape) * _EPS * traces
    spread = traces - 2 * _root_trace(first, second, noise)
    return float(shift @ shift) + (spread if spread > noise else 0.0)


def _root_trace(a: "_Moments", b: "_Moments", noise: float) -> float:
    """tr((Σa Σb)^½), the sum of the singular values of A Bᵀ.

    With more samples than many features they are the roots of the eigenvalues of its square, which are found in a
    quarter of the time, where rounding moves these roots by less than ``noise``. With fewer samples one of them is 0,
    and the root of what rounding leaves of it is far from that.
    """
    product, features = a.root @ b.root.T, a.root.shape[1]
    if product.shape == (features, features) and features >= _LARGE:
        squares = np.linalg.eigvalsh(product @ product.T)
        if squares[0] > 0:
            roots = np.sqrt(squares)
            if math.sqrt(features) * _EPS * float((squares[-1] / roots).sum()) < noise:
                return float(roots.sum())
    return float(np.linalg.svd(product, compute_uv=False).sum())


class _Moments(NamedTuple):
    mean: Float64  # d
    root: Float64  # min(n, d) × d, with rootᵀ·root the covariance
    trace: float  # of the covariance


def _moments(features: Features) -> _Moments:
    samples, dimensions = features.shape
    wide = features.astype(np.float64)
    mean = wide.mean(axis=0)
    root = (wide - mean) / np.sqrt(samples - 1)
    trace = float(np.square(root).sum())
    if samples > dimensions:
        root = np.linalg.qr(root, mode="r")
    return _Moments(mean, root, trace)


def _check_sets(a: Features, b: Features) -> None:
    for name, features in (("a", a), ("b", b)):
        check_features(name, features)
        if len(features) < 2:
            raise ValueError(f"{name} has {len(features)} sample, and a covariance needs at least 2")
    if a.shape[1] != b.shape[1]:
        raise ValueError(f"a has {a.shape[1]} features and b has {b.shape[1]}")
