"""KID: the kernel distance, unbiased for small sets.

Source: Bińkowski et al. 2018, "Demystifying MMD GANs", section 4, for the kernel; Gretton et al.
2012, "A Kernel Two-Sample Test", equation 4, for pairs.
"""

import math

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Features, check_features

_AT_ONCE = 512
"""Rows in memory as float64 at once."""


def kernel_distance(a: Features, b: Features) -> float:
    """Return the mean over i ≠ j of k(aᵢ, aⱼ) + k(bᵢ, bⱼ) − k(aᵢ, bⱼ) − k(aⱼ, bᵢ).

    ``a`` and ``b`` are n×d, n ≥ 2, whose rows are pairs, and k(x, y) = (x·y / d + 1)³. Lower is
    better; equal sets give exactly 0, and sets that are alike may come out below. Row i of ``b``
    was made from row i of ``a``, so these pairs are left out: with them, as for independent sets,
    good drawings would be the further below 0 the fewer there are. The last bits vary with the CPU:
    store six digits.

    Raises:
        ValueError: a set is not a matrix or holds a value that is not finite, the shapes differ, or
            there are fewer than 2 rows.

    >>> kernel_distance(np.eye(2), np.eye(2)), kernel_distance(np.eye(2), np.eye(2) + 1)
    (0.0, 21.25)
    """
    for name, features in (("a", a), ("b", b)):
        check_features(name, features)
    if a.shape != b.shape:
        raise ValueError(
            f"rows of a and b must be pairs, but have shapes {a.shape} and {b.shape}"
        )
    n = len(a)
    if n < 2:
        raise ValueError("a and b have 1 row, and two or more are needed")
    starts = range(0, n, _AT_ONCE)
    sums = []
    for first in starts:
        rows = slice(first, first + _AT_ONCE)
        terms = _terms(a[rows], b[rows], a[rows], b[rows])
        np.fill_diagonal(terms, 0.0)
        sums.append(float(terms.sum()))
        for second in starts[first // _AT_ONCE + 1 :]:
            others = slice(second, second + _AT_ONCE)
            terms = _terms(a[rows], b[rows], a[others], b[others])
            sums.append(2 * float(terms.sum()))  # as the others with these
    return math.fsum(sums) / (n * (n - 1))


def _terms(a: Features, b: Features, other_a: Features, other_b: Features) -> Float64:
    """Return the terms of the mean for some rows with all other rows."""
    terms = _kernel(a, other_a)
    terms += _kernel(b, other_b)
    terms -= _kernel(a, other_b)
    terms -= _kernel(b, other_a)
    return terms


def _kernel(x: Features, y: Features) -> Float64:
    """Return (x·y / d + 1)³ of each row of x and each of y."""
    products: Float64 = x.astype(np.float64) @ y.astype(np.float64).T
    products /= x.shape[1]
    products += 1
    cubes: Float64 = products * products
    cubes *= products
    return cubes
