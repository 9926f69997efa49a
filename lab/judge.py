"""Does the interval of a corrected score hold the truth as often as it says, and how wide is it?

Run as ``python -m lab.judge`` in the top folder; it writes ``reports/perf/judge.json``. Answers are right or wrong, or
worth tenths; a judge of known sensitivity and specificity grades them, several times each, two questions about each
image in part. Beside the interval that is used stand the plain one, of the mean grade as if the judge made no mistakes,
and that of Rogan and Gladen's estimate without what Lang and Reiczigel add to small samples.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer

from driftledger.core.files import write_json
from driftledger.core.types import Float64
from driftledger.metrics.correction import (
    Graded,
    corrected_mean,
    count_of,
    normal_quantile,
    operating_characteristics,
)
from lab.entry import new_app, run

RESULTS = "reports/perf/judge.json"
CONFIDENCE = 0.95
CALIBRATIONS = ((4, 3), (10, 10), (20, 20), (50, 50), (250, 250))
"""Right and wrong answers; the first are those of MM-Vet's calibration that are not forged."""
JUDGES = ((1.0, 1.0), (0.95, 0.95), (0.9, 0.7), (0.98, 0.9))
"""Sensitivity and specificity."""
TRUTHS = (0.05, 0.2, 0.5, 0.9)
QUESTIONS = (60, 218)
"""Half as many as the shipped sets have, and MM-Vet's own."""

app = new_app(__doc__ or "")

Random = np.random.Generator


class Drawn(NamedTuple):
    """A run: a model's answers as the judge graded them, and the calibration."""

    sums: list[float]
    counts: list[int]
    images: list[str]
    known: list[float]
    given: list[float]


def right_or_wrong(
    truth: float, judge: tuple[float, float], calibration: tuple[int, int], n: int, dice: Random
) -> Drawn:
    """A judge that says the same however often it is asked, and questions about as many images."""
    worth, known = dice.random(n) < truth, np.repeat([True, False], calibration)
    sums, given = (_judged(each, judge, dice).astype(float).tolist() for each in (worth, known))
    return Drawn(sums, [1] * n, [str(number) for number in range(n)], known.astype(float).tolist(), given)


def _judged(worth: np.ndarray, judge: tuple[float, float], dice: Random) -> np.ndarray:
    return dice.random(len(worth)) < np.where(worth, judge[0], 1 - judge[1])


def in_tenths(truth: float, judge: tuple[float, float], calibration: tuple[int, int], n: int, dice: Random) -> Drawn:
    """Grades of tenths, five gradings that differ by some, and two questions about each image that go alike."""
    images = np.repeat(np.arange(n // 2), 2)
    easy = np.clip(truth + dice.normal(0, 0.15, n // 2), 0, 1)[images]
    worth = np.where(dice.random(n) < 0.2, 0.5, dice.random(n) < (easy - 0.1) / 0.8)
    known = np.concatenate([np.repeat([1.0, 0.0], calibration), np.full(sum(calibration) // 7, 0.5)])
    sums, given = (_graded(each, judge, dice) for each in (worth, known))
    means = (given.sum(axis=1) / 5).round(12).tolist()
    return Drawn(sums.sum(axis=1).round(1).tolist(), [5] * n, [str(image) for image in images], known.tolist(), means)


def _graded(worth: np.ndarray, judge: tuple[float, float], dice: Random) -> Float64:
    """Answers × gradings; on average on the line between the judge's two ends."""
    wrong = 1 - judge[1]
    mean = wrong + worth * (judge[0] - wrong)
    answer = np.clip(mean, 0.02, 0.98)
    own = dice.beta(2 * answer, 2 * (1 - answer))[:, None]  # of the answer, in all of its gradings
    lowered = np.floor(own * 10 + dice.random((len(worth), 5)))
    return np.asarray(np.clip(lowered, 0, 10) / 10, dtype=np.float64)


KINDS = {"right or wrong": right_or_wrong, "tenths, five gradings, two questions an image": in_tenths}


def _truth_in_tenths(truth: float, runs: int, dice: Random) -> float:
    """The mean worth of what :func:`in_tenths` draws."""
    easy = np.clip(truth + dice.normal(0, 0.15, 200_000), 0, 1)
    return float(0.2 * 0.5 + 0.8 * np.clip((easy - 0.1) / 0.8, 0, 1).mean())


def covered(kind: str, judge: tuple[float, float], calibration: tuple[int, int], n: int, runs: int) -> dict[str, float]:
    """Share of runs in which each interval holds the truth, over all :data:`TRUTHS`, and the mean width of the last."""
    held = dict.fromkeys(("plain", "Rogan and Gladen", "used"), 0)
    width, made, none = 0.0, 0, 0
    for truth in TRUTHS:
        dice = np.random.default_rng([round(1000 * truth), n, *calibration, *(round(100 * each) for each in judge)])
        true = truth if kind == "right or wrong" else _truth_in_tenths(truth, runs, dice)
        for _ in range(runs):
            drawn = KINDS[kind](truth, judge, calibration, n, dice)
            graded = count_of(drawn.sums, drawn.counts, drawn.images)
            found = corrected_mean(graded, drawn.known, drawn.given, confidence=CONFIDENCE)
            if found is None:
                none += 1
                continue
            made += 1
            held["plain"] += _holds(_plain(graded), true)
            held["Rogan and Gladen"] += _holds(_unadjusted(graded, drawn), true)
            held["used"] += found.low <= true <= found.high
            width += found.high - found.low
    return {name: count / made for name, count in held.items()} | {"width": width / made, "none": none / (made + none)}


def _holds(ends: tuple[float, float], truth: float) -> bool:
    return max(0.0, ends[0]) <= truth <= min(1.0, ends[1])


def _plain(graded: Graded) -> tuple[float, float]:
    half = normal_quantile(CONFIDENCE) * math.sqrt(graded.mean * (1 - graded.mean) / graded.n)
    return graded.mean - half, graded.mean + half


def _unadjusted(graded: Graded, drawn: Drawn) -> tuple[float, float]:
    """The interval of the delta method, of 0 and 1 alone."""
    found = operating_characteristics(drawn.known, drawn.given)
    assert found is not None  # or it was left out
    q1, q0 = found.sensitivity, found.specificity
    mean = (graded.mean + q0 - 1) / (q0 + q1 - 1)
    variance = graded.mean * (1 - graded.mean) / graded.n
    variance += (1 - mean) ** 2 * q0 * (1 - q0) / found.wrong + mean**2 * q1 * (1 - q1) / found.right
    half = normal_quantile(CONFIDENCE) * math.sqrt(variance) / (q0 + q1 - 1)
    return mean - half, mean + half


def table(found: Sequence[Mapping[str, Any]]) -> list[str]:
    """The rows of the table in docs/mm_vet.md: lowest and highest coverage over judges and sizes, and mean width."""
    rows = [
        "| grades | right, wrong calibration answers | uncorrected | Rogan and Gladen alone | used | its width |",
        "|---|---|---|---|---|---|",
    ]
    for kind in KINDS:
        for right, wrong in CALIBRATIONS:
            some = [each for each in found if (each["kind"], each["right"], each["wrong"]) == (kind, right, wrong)]
            shares = (
                f"{min(each[name] for each in some):.0%} to {max(each[name] for each in some):.0%}"
                for name in ("plain", "Rogan and Gladen", "used")
            )
            width = 100 * sum(each["width"] for each in some) / len(some)
            rows.append(f"| {' | '.join([kind, f'{right}, {wrong}', *shares, f'{width:.0f}'])} |")
    return rows


@app.command()
def simulate(runs: int = typer.Option(500, help="Of each truth, judge, calibration and size.")) -> None:
    """Correct scores of which the truth is known."""
    results = []
    for kind in KINDS:
        for calibration in CALIBRATIONS:
            for judge in JUDGES:
                for n in QUESTIONS:
                    named = {"kind": kind, "right": calibration[0], "wrong": calibration[1], "questions": n}
                    named |= {"sensitivity": judge[0], "specificity": judge[1]}
                    results.append(named | covered(kind, judge, calibration, n, runs))
                    print(json.dumps(results[-1]), flush=True)
    write_json(Path.cwd() / RESULTS, {"runs": runs, "truths": TRUTHS, "confidence": CONFIDENCE, "found": results})


if __name__ == "__main__":
    run(app)
