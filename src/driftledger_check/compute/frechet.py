"""The Fréchet distance between two sets of features (Heusel et al. 2017), to six significant digits.

With Σa = AᵀA and Σb = BᵀB, the trace of (Σa Σb)^½ is the nuclear norm of A Bᵀ: no matrix root is taken. A = QR leaves
Σa = RᵀR, so that R may stand for A, however many rows that has.
"""

from typing import Any

import numpy as np

from driftledger_check.compute.means import Array
from driftledger_check.files import Vector

PRECISION = 1e-5
"""One unit of the sixth digit, relatively: the last bits of singular values vary with the processor."""


def frechet_distance(a: Vector, b: Vector) -> float:
    """‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), at least 0."""
    (p, p_mean, p_trace), (q, q_mean, q_trace) = map(_moments, (a, b))
    traces, shift = p_trace + q_trace, p_mean - q_mean
    spread = traces - 2 * float(np.linalg.svd(p @ q.T, compute_uv=False).sum())
    noise = max(*a.shape, *b.shape) * float(np.finfo(np.float64).eps) * traces
    return float(format(float(shift @ shift) + (spread if spread > noise else 0.0), ".6g"))


def _moments(features: Vector) -> tuple[Array, Array, float]:
    """R, with RᵀR the unbiased covariance; the mean; and the trace of the covariance."""
    wide = features.astype(np.float64)
    centre: Array = wide.mean(axis=0)
    root = (wide - centre) / np.sqrt(len(wide) - 1)
    upper: Any = np.linalg.qr(root, mode="r")
    return upper, centre, float((root**2).sum())
