"""GC@T: similarity to the start, weighted towards later iterations.

Source: Cao, Buchner, Senane, Yang, "GenCeption: Evaluate Vision LLMs with Unlabeled Unimodal Data",
section 2.2.
"""

import math
from collections.abc import Sequence
from typing import overload

import numpy as np

from driftledger.core.types import Float32, Float64
from driftledger.metrics._checks import check_features


def cosine_similarity(a: Float32, b: Float32) -> Float64:
    """Return the cosine of the angle between row i of ``a`` and row i of ``b``.

    That is ⟨a, b⟩ / √(⟨a, a⟩·⟨b, b⟩). Both are n×d of float32, or one vector of length d each; the
    answer is n values in [−1, 1], or the one; higher is more alike. It has the same bits on every
    machine, since products of two float32 are exact in float64 and each sum is rounded once. Equal
    rows give exactly 1.

    Raises:
        ValueError: the shapes differ, the type is not float32, nothing is in them, a value is not
            finite, or a row is all zeros and so has no direction; says which row.

    >>> start = np.array([[3, 4], [1, 0]], dtype=np.float32)
    >>> cosine_similarity(start, np.array([[4, 3], [0, 1]], dtype=np.float32))
    array([0.96, 0.  ])
    """
    if a.ndim == b.ndim == 1:
        return cosine_similarity(a[None], b[None])[0]  # type: ignore[no-any-return]
    if a.shape != b.shape:
        raise ValueError(
            f"a and b must have the same shape, but have {a.shape} and {b.shape}"
        )
    for name, features in (("a", a), ("b", b)):
        if features.dtype != np.float32:
            raise ValueError(
                f"{name} must be float32, since its products are exact, but is {features.dtype}"
            )
        check_features(name, features)
        zero = np.flatnonzero(~features.any(axis=1))
        if zero.size:
            raise ValueError(
                f"{name} is all zeros in row {zero[0]}, which has no direction"
            )
    return np.array([_cosine(x, y) for x, y in zip(a, b, strict=True)])


def _cosine(a: Float32, b: Float32) -> float:
    x = a.astype(np.float64)
    y = b.astype(np.float64)
    # One root of the product, not the product of two roots: √(q·q) is exactly q, so equal rows give
    # exactly 1.
    length = math.sqrt(math.fsum(x * x) * math.fsum(y * y))
    cosine = math.fsum(x * y) / length
    return max(-1.0, min(1.0, cosine))


@overload
def gc_at(similarities: Sequence[float], t: int) -> float: ...
@overload
def gc_at(similarities: Float64, t: int) -> Float64: ...
def gc_at(similarities: Sequence[float] | Float64, t: int) -> float | Float64:
    """Return GC@t of each chain, or of the one: Σᵢ₌₁ᵗ i·s⁽ⁱ⁾ / Σᵢ₌₁ᵗ i.

    ``similarities`` is n×T, one row per chain, or T numbers, one chain: column i−1 holds s⁽ⁱ⁾, the
    similarity of iteration i to the start, and NaN where the chain did not get there. The answer is
    n values, or one number, within the range of s; higher is better for cosines. A NaN before or at
    ``t`` gives NaN, as such a chain has no GC@t; a NaN after ``t`` does not matter. GC_FID@t is
    this function on T Fréchet distances; lower is then better.

    Raises:
        ValueError: ``similarities`` is neither a matrix nor a vector, is empty or holds an
            infinity; ``t`` is not within 1..T.

    >>> gc_at([0.9, 0.6, 0.3], 3)
    0.5
    >>> gc_at(np.array([[0.9, 0.6, 0.3], [0.8, 0.5, np.nan]]), 3)
    array([0.5, nan])
    """
    chains = np.asarray(similarities, dtype=np.float64)
    if chains.ndim not in (1, 2):
        raise ValueError(
            f"similarities must be chains × iterations, or one chain, but have shape {chains.shape}"
        )
    if chains.size == 0:
        raise ValueError(f"similarities are empty: their shape is {chains.shape}")
    rows = np.atleast_2d(chains)
    infinite = np.flatnonzero(np.isinf(rows).any(axis=1))
    if infinite.size:
        raise ValueError(f"similarities hold an infinity in row {infinite[0]}")
    iterations = rows.shape[1]
    if not 1 <= t <= iterations:
        raise ValueError(f"t must be within 1..{iterations}, but is {t}")
    weights = np.arange(1, t + 1)
    total = t * (t + 1) // 2
    weighted = rows[:, :t] * weights
    values = [math.fsum(row) / total for row in weighted.tolist()]
    return values[0] if chains.ndim == 1 else np.array(values)
