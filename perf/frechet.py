"""The Fréchet distance by nuclear norm against the matrix square root that clean-fid and pytorch-fid take.

Run: python perf/frechet.py (a few minutes, nearly all of them in the square roots)

Each size is measured on two pairs of sets: two independent ones, and one set with a shifted copy, whose distance
is known: ‖shift‖².
"""

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg
from _report import write

from driftledger.core.types import Float64
from driftledger.metrics.frechet import frechet_distance

DIMENSIONS = 2048  # of Inception v3's features
REPEATS = {60: 20, 3000: 3}
"""Samples in each set → how often our distance is timed; the best time counts, for the square root the only one."""


def by_matrix_square_root(a: Float64, b: Float64) -> float:
    """As clean-fid and pytorch-fid do it, including the offset they add where the root of a singular product fails."""
    shift = a.mean(axis=0) - b.mean(axis=0)
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(cov_a @ cov_b)
    if not np.isfinite(root).all():
        offset = np.eye(len(cov_a)) * 1e-6
        root = scipy.linalg.sqrtm((cov_a + offset) @ (cov_b + offset))
    return float(shift @ shift + np.trace(cov_a) + np.trace(cov_b) - 2 * np.trace(root.real))


def pairs(samples: int) -> dict[str, tuple[Float64, Float64, float | None]]:
    """Pairs of sets of features in 0..4, like Inception's after pooling, and their distance where it is known.

    They are multiples of 2⁻¹⁶, so that the shifted copy is exact.
    """
    rng = np.random.default_rng(samples)
    first, second = np.round(rng.gamma(0.5, 0.8, size=(2, samples, DIMENSIONS)).clip(max=4) * 2**16) / 2**16
    shift = np.round(rng.normal(0, 0.1, size=DIMENSIONS) * 2**16) / 2**16
    return {
        "independent": (first, second, None),
        "shifted copy": (first, first + shift, float(shift @ shift)),
    }


def timed(function: Callable[[Float64, Float64], float], a: Float64, b: Float64, repeats: int) -> tuple[float, float]:
    """What ``function`` gives, and the shortest of its ``repeats`` times in seconds."""
    seconds = []
    for _ in range(repeats):
        start = time.perf_counter()
        value = function(a, b)
        seconds.append(time.perf_counter() - start)
    return value, min(seconds)


def measure(a: Float64, b: Float64, known: float | None, repeats: int) -> dict[str, Any]:
    """Times and differences of both computations on one pair of sets."""
    frechet_distance(a, b)  # starts the threads of BLAS
    ours, our_seconds = timed(frechet_distance, a, b, repeats)
    theirs, their_seconds = timed(by_matrix_square_root, a, b, 1)
    row = {
        "nuclear_norm": ours,
        "nuclear_norm_seconds": our_seconds,
        "matrix_square_root": theirs,
        "matrix_square_root_seconds": their_seconds,
        "times_faster": their_seconds / our_seconds,
        "relative_difference": abs(ours - theirs) / ours,
    }
    if known is not None:
        row["known"] = known
        row["nuclear_norm_relative_error"] = abs(ours - known) / known
        row["matrix_square_root_relative_error"] = abs(theirs - known) / known
    return {name: float(f"{value:.4g}") for name, value in row.items()}


def main() -> None:
    """Measure, print a table, write the report."""
    print(f"{'n':>5}  {'sets':<12}  {'nuclear norm':>12}  {'square root':>11}  {'faster':>8}  difference")
    rows = []
    for samples, repeats in REPEATS.items():
        for name, (a, b, known) in pairs(samples).items():
            row = measure(a, b, known, repeats)
            rows.append({"samples": samples, "dimensions": DIMENSIONS, "sets": name, **row})
            print(
                f"{samples:>5}  {name:<12}  {row['nuclear_norm_seconds']:>10.4f} s"
                f"  {row['matrix_square_root_seconds']:>9.1f} s  {row['times_faster']:>7.0f}×"
                f"  {row['relative_difference']:.1e}"
            )
    write("frechet", {"rows": rows})


if __name__ == "__main__":
    main()
