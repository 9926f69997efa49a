"""The Fréchet distance against the quickest other ways to compute it.

Run: python perf/frechet.py (a minute)

- *svd of A Bᵀ*: the nuclear norm of the n×m product, as in FastFID (2020), the quickest for few samples;
- *Cholesky and eigvalsh*: of d×d matrices, the quickest for more samples than features;
- *clean-fid*: its own function, from means and covariances, if it is installed; measured once, at the most samples.

The ratio is to the fastest of the others. Each size is measured on a set and a shifted copy of it, whose distance is
‖shift‖²; the relative error of each way is reported too. Sides take turns, and the least wall and CPU time counts.
"""

import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
from _report import write

from driftledger.core.types import Float64
from driftledger.metrics.frechet import frechet_distance

DIMENSIONS = 2048  # of Inception v3's features
SAMPLES = (60, 300, 1000, 3000)
ROUNDS = 3
OURS = "frechet_distance"
Distance = Callable[[Float64, Float64], float]


def by_svd(a: Float64, b: Float64) -> float:
    shift, x, y = a.mean(axis=0) - b.mean(axis=0), _centred(a), _centred(b)
    roots = np.linalg.svd(x @ y.T, compute_uv=False).sum()
    return float(shift @ shift + (x * x).sum() + (y * y).sum() - 2 * roots)


def by_cholesky(a: Float64, b: Float64) -> float:
    shift, x, y = a.mean(axis=0) - b.mean(axis=0), _centred(a), _centred(b)
    root = np.linalg.cholesky(x.T @ x)
    roots = np.sqrt(np.linalg.eigvalsh(root.T @ (y.T @ y) @ root).clip(0)).sum()
    return float(shift @ shift + (x * x).sum() + (y * y).sum() - 2 * roots)


def by_clean_fid(a: Float64, b: Float64) -> float:
    from cleanfid.fid import frechet_distance as clean

    return float(clean(a.mean(0), np.cov(a, rowvar=False), b.mean(0), np.cov(b, rowvar=False)))


def _centred(features: Float64) -> Float64:
    centred: Float64 = (features - features.mean(axis=0)) / np.sqrt(len(features) - 1)
    return centred


SIDES: dict[str, Distance] = {
    OURS: frechet_distance,
    "svd of A Bᵀ": by_svd,
    "Cholesky and eigvalsh": by_cholesky,
    "clean-fid": by_clean_fid,
}


def sides(samples: int) -> list[str]:
    """Return the ways that are measured with so many samples."""
    quickest = "svd of A Bᵀ" if samples <= DIMENSIONS else "Cholesky and eigvalsh"
    clean = samples == max(SAMPLES) and find_spec("cleanfid") is not None
    return [OURS, quickest, *(["clean-fid"] if clean else [])]


def pair(samples: int) -> tuple[Float64, Float64, float]:
    """Return features in 0..4, like Inception's after pooling, a shifted copy, and their distance.

    They are multiples of 2⁻¹⁶, so that the copy is exact.
    """
    rng = np.random.default_rng(samples)
    first = np.round(rng.gamma(0.5, 0.8, size=(samples, DIMENSIONS)).clip(max=4) * 2**16) / 2**16
    shift = np.round(rng.normal(0, 0.1, size=DIMENSIONS) * 2**16) / 2**16
    return first, first + shift, float(shift @ shift)


def measure(samples: int) -> dict[str, Any]:
    a, b, known = pair(samples)
    rows: dict[str, dict[str, float]] = {}
    for turn in range(ROUNDS):
        for side in sides(samples):
            if side == "clean-fid" and turn:
                continue
            wall, cpu = time.perf_counter(), time.process_time()
            error = abs(SIDES[side](a, b) - known) / known
            took = {"seconds": time.perf_counter() - wall, "cpu_seconds": time.process_time() - cpu}
            best = rows.get(side, took)
            rows[side] = {key: min(value, best[key]) for key, value in took.items()} | {"relative_error": error}
    others = [side for side in rows if side != OURS]
    best_other = min(others, key=lambda side: rows[side]["seconds"])
    ratios = {key: _short(rows[OURS][key] / rows[best_other][key]) for key in ("seconds", "cpu_seconds")}
    for side, row in rows.items():
        print(f"{samples:>5} {side:<28} {row['seconds']:>9.4f} s {row['cpu_seconds']:>9.4f} s of CPU", flush=True)
    print(f"{samples:>5} ours takes {ratios['seconds']} times as long as {best_other}")
    return {
        "samples": samples,
        "sides": {side: {key: _short(value) for key, value in row.items()} for side, row in rows.items()},
        "fastest_of_the_others": best_other,
        "ours_takes_times_as_long": ratios["seconds"],
        "ours_takes_times_the_cpu": ratios["cpu_seconds"],
    }


def _short(value: float) -> float:
    return float(f"{value:.3g}")


def main() -> None:
    measure(2)  # imports, and starts the threads of BLAS
    libraries = ["numpy", *(["clean-fid"] if find_spec("cleanfid") else [])]
    write("frechet", {"dimensions": DIMENSIONS, "sizes": [measure(n) for n in SAMPLES]}, libraries)


if __name__ == "__main__":
    main()
