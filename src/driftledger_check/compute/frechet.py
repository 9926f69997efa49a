"""The Fréchet distance between two sets of features (Heusel et al. 2017), to six significant digits.

With Σa = AᵀA and Σb = BᵀB, the trace of (Σa Σb)^½ is the nuclear norm of A Bᵀ: no matrix root is taken. A = QR leaves
Σa = RᵀR, so that R may stand for A, however many rows that has.
"""

import numpy as np

from driftledger_check.files import Vector

PRECISION = 1e-5
"""One unit of the sixth digit, relatively: the last bits of singular values vary with the processor."""


def frechet_distance(a: Vector, b: Vector) -> float:
    """‖μa − μb‖² + tr Σa + tr Σb − 2·tr((Σa Σb)^½), at least 0."""
    sides = [each.astype(np.float64) for each in (a, b)]
    means = [side.mean(axis=0) for side in sides]
    roots = [(side - mean) / np.sqrt(len(side) - 1) for side, mean in zip(sides, means, strict=True)]
    traces = sum(float((root**2).sum()) for root in roots)
    p, q = (np.linalg.qr(root, mode="r") for root in roots)
    spread = traces - 2 * float(np.linalg.norm(p @ q.T, "nuc"))
    noise = max(*a.shape, *b.shape) * float(np.finfo(np.float64).eps) * traces
    shift = means[0] - means[1]
    return float(format(float(shift @ shift) + (spread if spread > noise else 0.0), ".6g"))
