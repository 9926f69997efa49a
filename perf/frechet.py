"""The Fréchet distance by nuclear norm against every other way to compute it that is in use.

Run: python perf/frechet.py (three minutes)

- *nuclear norm*: ours, singular values of a min(n, d)-wide product;
- *eigenvalues of the product*: ``eigvals`` of ΣaΣb, as torchmetrics does it;
- *symmetric eigenvalues*: ``eigh`` of Σa, then ``eigvalsh`` of Σa^½ Σb Σa^½, the best known for many samples;
- *matrix square root*: ``scipy.linalg.sqrtm`` of ΣaΣb, as pytorch-fid does it;
- *clean-fid*: its own function, from means and covariances, where it is installed.

The ratio is to the fastest of the others. Each size is measured on a set and a shifted copy of it, whose distance is
known, ‖shift‖²: what the others lose of it is written beside. Sides take turns, and the least wall and CPU time counts;
the eigenvalues and square roots, which cost the same for every n, are computed once, and clean-fid's, which is such a
root, at the most samples only.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import scipy.linalg
from _report import write

from driftledger.core.types import Float64
from driftledger.metrics.frechet import frechet_distance

DIMENSIONS = 2048  # of Inception v3's features
SAMPLES = (60, 300, 1000, 3000)
ROUNDS = 3
OURS = "nuclear norm"
Distance = Callable[[Float64, Float64], float]


def by_eigenvalues_of_the_product(a: Float64, b: Float64) -> float:
    return _from_root_trace(a, b, lambda x, y: float(np.sqrt(scipy.linalg.eigvals(x @ y).astype(complex)).real.sum()))


def by_symmetric_eigenvalues(a: Float64, b: Float64) -> float:
    def trace(cov_a: Float64, cov_b: Float64) -> float:
        values, vectors = scipy.linalg.eigh(cov_a)
        root = vectors * np.sqrt(values.clip(0)) @ vectors.T
        return float(np.sqrt(scipy.linalg.eigvalsh(root @ cov_b @ root).clip(0)).sum())

    return _from_root_trace(a, b, trace)


def by_matrix_square_root(a: Float64, b: Float64) -> float:
    """As pytorch-fid does it, including the offset that it adds where the root of a singular product fails."""

    def trace(cov_a: Float64, cov_b: Float64) -> float:
        root = scipy.linalg.sqrtm(cov_a @ cov_b)
        if not np.isfinite(root).all():
            offset = np.eye(len(cov_a)) * 1e-6
            root = scipy.linalg.sqrtm((cov_a + offset) @ (cov_b + offset))
        return float(np.trace(root.real))

    return _from_root_trace(a, b, trace)


def by_clean_fid(a: Float64, b: Float64) -> float:
    from cleanfid.fid import frechet_distance as clean

    return float(clean(a.mean(0), np.cov(a, rowvar=False), b.mean(0), np.cov(b, rowvar=False)))


def _from_root_trace(a: Float64, b: Float64, trace: Distance) -> float:
    shift = a.mean(axis=0) - b.mean(axis=0)
    cov_a, cov_b = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    return float(shift @ shift + np.trace(cov_a) + np.trace(cov_b) - 2 * trace(cov_a, cov_b))


SIDES: dict[str, tuple[Distance, int]] = {
    OURS: (frechet_distance, ROUNDS),
    "symmetric eigenvalues": (by_symmetric_eigenvalues, ROUNDS - 1),
    "eigenvalues of the product": (by_eigenvalues_of_the_product, 1),
    "matrix square root": (by_matrix_square_root, 1),
    "clean-fid": (by_clean_fid, 1),
}
"""How, and how often it is timed."""


def pair(samples: int) -> tuple[Float64, Float64, float]:
    """A set of features in 0..4, like Inception's after pooling, a shifted copy, and their distance.

    They are multiples of 2⁻¹⁶, so that the copy is exact.
    """
    rng = np.random.default_rng(samples)
    first = np.round(rng.gamma(0.5, 0.8, size=(samples, DIMENSIONS)).clip(max=4) * 2**16) / 2**16
    shift = np.round(rng.normal(0, 0.1, size=DIMENSIONS) * 2**16) / 2**16
    return first, first + shift, float(shift @ shift)


def timed(function: Distance, a: Float64, b: Float64) -> tuple[float, float, float]:
    """What ``function`` gives, its wall time and its CPU time in seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    value = function(a, b)
    return value, time.perf_counter() - wall, time.process_time() - cpu


def measure(samples: int, sides: list[str]) -> dict[str, Any]:
    a, b, known = pair(samples)
    for side in sides:  # imports what it takes, and starts the threads of BLAS
        SIDES[side][0](a[:2, :2], b[:2, :2])
    runs: dict[str, list[tuple[float, float, float]]] = {side: [] for side in sides}
    for turn in range(ROUNDS):
        for side in sides:
            if turn < SIDES[side][1]:
                runs[side].append(timed(SIDES[side][0], a, b))
    rows = {
        side: {
            "seconds": _short(min(wall for _, wall, _ in some)),
            "cpu_seconds": _short(min(cpu for _, _, cpu in some)),
            "relative_error": _short(abs(some[0][0] - known) / known),
        }
        for side, some in runs.items()
    }
    best = min((side for side in sides if side != OURS), key=lambda side: rows[side]["seconds"])
    ratio, cpu = (_short(rows[OURS][unit] / rows[best][unit]) for unit in ("seconds", "cpu_seconds"))
    for side, row in rows.items():
        print(f"{samples:>5} {side:<28} {row['seconds']:>9.4f} s {row['cpu_seconds']:>9.4f} s of CPU", flush=True)
    print(f"{samples:>5} ours takes {ratio} times as long as {best}")
    return {
        "samples": samples,
        "sides": rows,
        "fastest_of_the_others": best,
        "ours_takes_times_as_long": ratio,
        "ours_takes_times_the_cpu": cpu,
    }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def main() -> None:
    sides = [side for side in SIDES if side != "clean-fid" or find_spec("cleanfid") is not None]
    libraries = ["numpy", "scipy"]
    if "clean-fid" in sides:
        libraries.append("clean-fid")
    else:
        print("not measured, since it is not installed: clean-fid")
    sizes = [measure(n, [side for side in sides if side != "clean-fid" or n == max(SAMPLES)]) for n in SAMPLES]
    write("frechet", {"dimensions": DIMENSIONS, "sizes": sizes}, libraries)


if __name__ == "__main__":
    main()
