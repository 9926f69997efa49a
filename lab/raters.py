"""Do the intervals of kappa and alpha hold what raters agree by as often as they say?

Run as ``python -m lab.raters`` in the top folder; it writes ``reports/perf/raters.json``. Two or three raters grade the
same answers, of which each sees the worth with mistakes of its own. Beside the interval that is used stand that of
Fleiss, Cohen and Everitt (1969, "Large Sample Standard Errors of Kappa and Weighted Kappa"), which takes each answer
for itself, and the percentile bootstrap over images.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import typer

from driftledger.core.files import write_json
from driftledger.core.types import Float64
from driftledger.metrics.correction import normal_quantile
from driftledger.metrics.intervals.raters import alpha_of_sums, ends_on_z, jackknife_error, kappa_of_sums
from lab.entry import new_app, run

RESULTS = "reports/perf/raters.json"
CONFIDENCE = 0.95
ANSWERS = (20, 50, 200)
PER_IMAGE = (1, 2)
KINDS = ("right or wrong", "tenths")
MISTAKES = (0.05, 0.15, 0.3)
"""Of right-or-wrong grades the share that is exchanged; of tenths the standard deviation of half of the grades."""
RESAMPLES = 400
SEVERAL = 400_000
"""Answers by which the true coefficient is known."""
COEFFICIENTS = {"kappa": 2, "alpha": 3}
"""And how many raters there are."""
METHODS = ("Fleiss, Cohen and Everitt", "bootstrap", "used")

app = new_app(__doc__ or "")

Random = np.random.Generator


def grades(kind: str, mistakes: float, shape: tuple[int, int, int], per_image: int, dice: Random) -> Float64:
    """Runs × raters × answers; answers about one image are alike in how likely they are right."""
    runs, _, n = shape
    easy = np.repeat(dice.beta(0.9, 0.6, (runs, n // per_image)), per_image, axis=1)
    if kind == "right or wrong":
        right = (dice.random((runs, n)) < easy)[:, None]
        return np.where(dice.random(shape) < mistakes, ~right, right).astype(np.float64)
    worth = np.where(dice.random((runs, n)) < 0.3, easy, dice.random((runs, n)) < easy)[:, None]
    moved = dice.normal(0, mistakes, shape) * (dice.random(shape) < 0.5)
    return np.asarray(np.round(np.clip(worth + moved, 0, 1) * 10) / 10, dtype=np.float64)


def sums_of(coefficient: str, given: Float64, per_image: int) -> Float64:
    """Runs × images × what the coefficient is computed of."""
    raters = given.shape[1]
    if coefficient == "kappa":
        a, b = given[:, 0], given[:, 1]
        each = np.stack([np.ones_like(a), (a - b) ** 2, a, a * a, b, b * b], axis=-1)
    else:
        total, squares = given.sum(axis=1), (given * given).sum(axis=1)
        apart = 2 * (raters * squares - total * total) / (raters - 1)
        each = np.stack([apart, np.full_like(total, raters), total, squares], axis=-1)
    runs, n, columns = each.shape
    sums: Float64 = each.reshape(runs, n // per_image, per_image, columns).sum(axis=2)
    return sums


def fleiss_cohen_everitt(table: Float64, weights: Float64) -> tuple[Float64, Float64]:
    """Weighted kappa and its large-sample standard error.

    Args:
        table: … × k × k, how often the raters gave what; no row and no column has to be filled.
        weights: k × k, 1 where both give the same.
    """
    n = table.sum(axis=(-2, -1))
    p = table / n[..., None, None]
    rows, columns = p.sum(axis=-1), p.sum(axis=-2)
    observed = (p * weights).sum(axis=(-2, -1))
    expected = np.einsum("...i,ij,...j->...", rows, weights, columns)
    of_row, of_column = columns @ weights.T, rows @ weights
    inner = weights * (1 - expected)[..., None, None]
    inner = inner - (of_row[..., :, None] + of_column[..., None, :]) * (1 - observed)[..., None, None]
    squares = (p * inner**2).sum(axis=(-2, -1)) - (observed * expected - 2 * expected + observed) ** 2
    error = np.sqrt(np.maximum(squares, 0) / n) / (1 - expected) ** 2
    return (observed - expected) / (1 - expected), error


def _tables(given: Float64) -> Float64:
    """Runs × 11 × 11, of tenths."""
    a, b = np.rint(10 * given[:, 0]).astype(int), np.rint(10 * given[:, 1]).astype(int)
    runs = np.arange(len(given))[:, None]
    cells = np.bincount((runs * 121 + a * 11 + b).ravel(), minlength=121 * len(given))
    return cells.reshape(len(given), 11, 11).astype(np.float64)


def _ends(coefficient: str, given: Float64, per_image: int, dice: Random) -> dict[str, tuple[Float64, Float64]]:
    of_sums = kappa_of_sums if coefficient == "kappa" else alpha_of_sums
    sums = sums_of(coefficient, given, per_image)
    value, images = of_sums(sums.sum(axis=1)), sums.shape[1]
    weights = dice.multinomial(images, np.full(images, 1 / images), RESAMPLES).astype(np.float64)
    drawn = np.stack([of_sums(weights @ each) for each in sums])
    low, high = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=1)
    found = {"bootstrap": (low, high), "used": ends_on_z(value, jackknife_error(of_sums, sums), images, CONFIDENCE)}
    if coefficient == "kappa":
        tenths = np.arange(11) / 10
        kappa, error = fleiss_cohen_everitt(_tables(given), 1 - (tenths[:, None] - tenths) ** 2)
        half = normal_quantile(CONFIDENCE) * error
        found["Fleiss, Cohen and Everitt"] = (kappa - half, kappa + half)
    return found


def covered(coefficient: str, kind: str, mistakes: float, n: int, per_image: int, runs: int) -> dict[str, float]:
    """Share of runs in which each interval holds the truth, of those in which raters do not agree in everything, how
    many do not, and the truth."""
    dice = np.random.default_rng([n, per_image, round(100 * mistakes), KINDS.index(kind), len(coefficient)])
    of_sums, raters = (kappa_of_sums if coefficient == "kappa" else alpha_of_sums), COEFFICIENTS[coefficient]
    many = grades(kind, mistakes, (1, raters, SEVERAL), per_image, dice)
    truth = float(of_sums(sums_of(coefficient, many, per_image).sum(axis=1))[0])
    given = grades(kind, mistakes, (runs, raters, n), per_image, dice)
    sums = sums_of(coefficient, given, per_image)
    there = np.isfinite(jackknife_error(of_sums, sums)) & (of_sums(sums.sum(axis=1)) < 1 - 1e-12)
    ends = _ends(coefficient, given[there], per_image, dice)
    held = {name: float(np.mean((low <= truth) & (truth <= high))) for name, (low, high) in ends.items()}
    return held | {"there": float(there.mean()), "truth": truth}


def table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rows of the table in docs/statistics.md: lowest and highest coverage over mistakes, kinds and images."""
    rows = ["| coefficient | answers | " + " | ".join(METHODS) + " |", "|---|---|" + "---|" * len(METHODS)]
    for coefficient in COEFFICIENTS:
        for n in ANSWERS:
            some = [each for each in found if (each["coefficient"], each["answers"]) == (coefficient, n)]
            cells = [_range([each[name] for each in some if name in each]) for name in METHODS]
            rows.append(f"| {coefficient} | {n} | {' | '.join(cells)} |")
    return rows


def _range(shares: Sequence[float]) -> str:
    return f"{min(shares):.1%} to {max(shares):.1%}" if shares else "–"


@app.command()
def simulate(runs: int = typer.Option(2000, help="Of each kind, number of answers and share of mistakes.")) -> None:
    """Let raters agree by coefficients that are known."""
    results: list[dict[str, Any]] = []
    for coefficient in COEFFICIENTS:
        for kind in KINDS:
            for mistakes in MISTAKES:
                for n in ANSWERS:
                    for per_image in PER_IMAGE:
                        named = {"coefficient": coefficient, "kind": kind, "mistakes": mistakes}
                        named |= {"answers": n, "per_image": per_image}
                        results.append(named | covered(coefficient, kind, mistakes, n, per_image, runs))
                        print(json.dumps(results[-1]), flush=True)
    write_json(Path.cwd() / RESULTS, {"runs": runs, "confidence": CONFIDENCE, "found": results})


if __name__ == "__main__":
    run(app)
