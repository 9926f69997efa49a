"""Do totals that are corrected by people's grades hold the truth as often as they say, and does the judge help at all?

Run as ``python -m lab.people`` in the top folder; it writes ``reports/perf/people.json`` and the table in
``docs/statistics.md``. Models of known totals answer the same questions, a judge of known sensitivity and specificity
grades all answers, and people those of a few questions, drawn by lot, of every model: what ``driftledger grades`` does.
Some images are harder than others, and some mislead the judge, whoever answers. The controls are a judge without
mistakes, and one whose grades have nothing to do with what an answer is worth.

Beside what is used stand the intervals of the uncorrected total; of the published formulas, which take answers for
independent (Rogan and Gladen 1978 with the delta method; Lee et al. 2025, arXiv 2511.21140, equations 4 to 7); of the
correction by eight clear-cut calibration answers, on which the judge errs a third as often; and of people's grades
without any judge. *Model by model* is the regression estimator, which lets each model's own answers say what the
judge's grades are worth.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from scipy.stats import norm, t

from driftledger.core.files import write_text
from driftledger.core.types import Float64
from driftledger.metrics.correction import (
    Operating,
    corrected_mean,
    count_of,
    operating_characteristics,
    regression_mean,
)
from lab.coverage import CONFIDENCE, NORMAL, Ends, Linearised, wilson
from lab.entry import here, new_app, run
from lab.marked import put_between

JSON, PAGE = Path("reports/perf/people.json"), Path("docs/statistics.md")
MARKS = "<!-- python -m lab.people: begin -->", "<!-- python -m lab.people: end -->"
TOTALS = (0.05, 0.2, 0.4, 0.6, 0.8)
"""Of the models, as shares."""
QUESTIONS = {120: 120, 218: 200}
"""And images that they are about: the shipped sets, and MM-Vet's own."""
GRADED = (10, 20, 50)
"""Questions of which people grade every model's answer; ``grades sheet`` takes 20, and nothing is corrected model by
model of fewer."""
KINDS = ("right or wrong", "tenths")
"""Of grades; in tenths answers are worth 0, ½ or 1, and graded five times."""
CLEAR = (1.0, 1.0, 1.0, 1.0, 0.5, 0.0, 0.0, 0.0)
"""What the calibration answers are worth."""
ALIKE, MISLED = 0.4, 0.3
"""The share of luck that all answers about one image have in common: whether they are right, and how the judge errs."""

app = new_app(__doc__ or "")

Random = np.random.Generator


class Judge(NamedTuple):
    """A judge, and the people beside it."""

    sensitivity: float
    specificity: float
    favours: float = 0.0
    """By how much its specificity is lower where the middle model answers."""
    slips: float = 0.0
    """How often people call a right answer wrong, or a wrong one right."""

    @property
    def on_clear_answers(self) -> "Judge":
        """It errs a third as often, unless it knows nothing."""
        if self.sensitivity + self.specificity <= 1:
            return self
        return Judge(1 - (1 - self.sensitivity) / 3, 1 - (1 - self.specificity) / 3)

    def mean_grade(self, worth: Float64, more: Float64 | float = 0.0) -> Float64:
        """Of answers that are worth so much; ``more`` is what it gives those too many that are worth nothing."""
        wrong = 1 - self.specificity + more
        return np.asarray(wrong + worth * (self.sensitivity - wrong))


JUDGES: Mapping[str, Sequence[Judge]] = {
    "no mistakes": (Judge(1, 1),),
    "errs": (Judge(0.95, 0.95), Judge(0.9, 0.7), Judge(0.98, 0.9)),
    "knows nothing": (Judge(0.5, 0.5),),
    "favours a model": (Judge(0.95, 0.9, favours=0.3),),
    "errs, and so do people": (Judge(0.95, 0.9, slips=0.05),),
}
METHODS = (
    "uncorrected",
    "Rogan and Gladen",
    "arXiv 2511.21140",
    "used, by calibration answers",
    "used, all models at once",
    "people alone",
    "used, model by model",
)
WIDE = METHODS[3:]
"""Those of which the table says how wide they are."""


class Drawn(NamedTuple):
    """Many runs, and the images that their questions are about."""

    grades: Float64
    """Runs × models × questions × gradings."""
    people: Float64
    """Runs × models × questions that people grade, which are the first."""
    clear: Float64
    """Runs × calibration answers: what the judge gives them on average."""
    images: np.ndarray

    @property
    def seen(self) -> Float64:
        """What the judge gives the answers that people grade, on average."""
        return np.asarray(self.grades[..., : self.people.shape[-1], :].mean(axis=-1).round(12))


def drawn(kind: str, judge: Judge, questions: int, graded: int, runs: int, dice: Random) -> Drawn:
    """Runs of models whose totals are :data:`TOTALS`."""
    images = np.arange(questions) % QUESTIONS[questions]
    totals = np.array(TOTALS)[:, None]
    half = 0.3 * np.minimum(totals, 1 - totals) if kind == "tenths" else 0.0
    luck = _luck(runs, images, ALIKE, dice)
    worth = 0.5 * (luck < totals - half) + 0.5 * (luck < totals + half)
    favoured = judge.favours * (totals == TOTALS[len(TOTALS) // 2])
    grades = _grades(kind, judge.mean_grade(worth, favoured), _luck(runs, images, MISLED, dice), dice)
    people = worth[..., :graded]
    people = np.where(dice.random(people.shape) < judge.slips, 1 - people, people)
    clear = judge.on_clear_answers.mean_grade(np.tile(clear_answers(kind), (runs, 1)))
    told = _grades(kind, clear, dice.random(clear.shape), dice).mean(axis=-1).round(12)
    return Drawn(grades, people, told, images)


def clear_answers(kind: str) -> Float64:
    """What the calibration answers are worth; where grades are right or wrong, the half ones are left out."""
    worth = np.array(CLEAR)
    return worth if kind == "tenths" else worth[worth != 0.5]


def _luck(runs: int, images: np.ndarray, shared: float, dice: Random) -> Float64:
    """Runs × models × questions, even from 0 to 1, of which a share is the image's, whoever answers."""
    common = dice.normal(size=(runs, 1, images.max() + 1))[..., images]
    own = dice.normal(size=(runs, len(TOTALS), len(images)))
    return np.asarray(norm.cdf(math.sqrt(shared) * common + math.sqrt(1 - shared) * own))


def _grades(kind: str, mean: Float64, luck: Float64, dice: Random) -> Float64:
    """One grading of right or wrong, or five in tenths about a grade that is off by as much as its mean allows."""
    if kind == "right or wrong":
        return np.asarray((luck < mean)[..., None], dtype=np.float64)
    own = mean + (2 * luck - 1) * np.minimum(mean, 1 - mean)
    return np.asarray(np.floor(own[..., None] * 10 + dice.random((*own.shape, 5))) / 10)


def uncorrected(run: Drawn) -> Ends:
    """Of the total as scores have it: Wilson's over images."""
    sizes = (np.bincount(run.images) * run.grades.shape[-1]).astype(np.float64)
    one_by_one = [run.grades[:, :, run.images == image].sum(axis=(2, 3)).ravel() for image in range(len(sizes))]
    found = Linearised.of(np.stack(one_by_one, axis=-1).astype(np.float64), sizes).shares
    return Ends(*(each.reshape(run.grades.shape[:2]) for each in found))


def people_alone(run: Drawn) -> Ends:
    """Wilson's, of the mean of what people give."""
    n = run.people.shape[-1]
    mean, variance = run.people.mean(axis=-1), run.people.var(axis=-1, ddof=1) / n
    return _wilson(mean, variance, n)


def regression(run: Drawn) -> Ends:
    """What is used model by model, of each model's own answers."""
    seen, everywhere = run.seen, run.grades.mean(axis=-1)
    ends = np.empty((*seen.shape[:2], 2))
    for place in np.ndindex(*seen.shape[:2]):
        some = (run.people[place].tolist(), seen[place].tolist(), everywhere[place].tolist())
        found = regression_mean(*some, confidence=CONFIDENCE)
        ends[place] = (math.nan, math.nan) if found is None else found[1:]
    return Ends(*np.moveaxis(ends, -1, 0))


def _wilson(mean: Float64, variance: Float64, n: int) -> Ends:
    with np.errstate(divide="ignore", invalid="ignore"):
        effective = np.where((variance > 1e-12) & (mean > 0) & (mean < 1), mean * (1 - mean) / variance, n)
    return wilson(mean, effective, float(t.ppf((1 + CONFIDENCE) / 2, n - 1)))


def rogan_gladen(mean: float, n: int, by: Operating) -> tuple[float, float]:
    """Rogan and Gladen's estimate with the delta method, of n answers that the judge gives this mean."""
    q1, q0 = by.sensitivity, by.specificity
    if q0 + q1 <= 1:
        return math.nan, math.nan
    estimate = (mean + q0 - 1) / (q0 + q1 - 1)
    return _ends(estimate, 0.0, mean * (1 - mean) / n, (q0, by.wrong), (q1, by.right))


def published(mean: float, n: int, by: Operating) -> tuple[float, float]:
    """Equations 5 to 7 of arXiv 2511.21140."""
    more, right, wrong = n + NORMAL**2, by.right + 2, by.wrong + 2
    mean = (n * mean + NORMAL**2 / 2) / more
    q1, q0 = (by.right * by.sensitivity + 1) / right, (by.wrong * by.specificity + 1) / wrong
    if q0 + q1 <= 1:
        return math.nan, math.nan
    estimate = (mean + q0 - 1) / (q0 + q1 - 1)
    moved = 2 * NORMAL**2 * (estimate * q1 * (1 - q1) / right - (1 - estimate) * q0 * (1 - q0) / wrong)
    return _ends(estimate, moved, mean * (1 - mean) / more, (q0, wrong), (q1, right))


def _ends(
    estimate: float, moved: float, variance: float, wrong: tuple[float, float], right: tuple[float, float]
) -> tuple[float, float]:
    (q0, m0), (q1, m1) = wrong, right
    variance += (1 - estimate) ** 2 * q0 * (1 - q0) / m0 + estimate**2 * q1 * (1 - q1) / m1
    half = NORMAL * math.sqrt(variance) / (q0 + q1 - 1)
    return tuple(min(1.0, max(0.0, estimate + moved + sign * half)) for sign in (-1, 1))  # type: ignore[return-value]


def corrected(run: Drawn, kind: str) -> dict[str, Ends]:
    """The published formulas, and the correction that is used, by both of what it is used with; NaN where a judge
    corrects nothing."""
    names = METHODS[1:5]
    clear, images = clear_answers(kind).tolist(), run.images.astype(str).tolist()
    counts = [run.grades.shape[-1]] * len(images)
    sums, means = run.grades.sum(axis=-1).round(1).tolist(), run.grades.mean(axis=(2, 3))
    ends = {name: np.full((*means.shape, 2), np.nan) for name in names}
    for at, (worth, seen, told) in enumerate(zip(run.people, run.seen, run.clear, strict=True)):
        known, given = worth.ravel().tolist(), seen.ravel().tolist()
        by = operating_characteristics(known, given)
        for model in range(means.shape[1]):
            graded = count_of(sums[at][model], counts, images)
            by_clear = corrected_mean(graded, clear, told.tolist(), confidence=CONFIDENCE)
            by_people = corrected_mean(graded, known, given, confidence=CONFIDENCE)
            found = [each and each[1:] for each in (by_clear, by_people)]
            if by is not None:
                mean = min(1.0, float(means[at, model]))
                found = [rogan_gladen(mean, len(images), by), published(mean, len(images), by), *found]
            else:
                found = [None, None, *found]
            for name, each in zip(names, found, strict=True):
                ends[name][at, model] = (math.nan, math.nan) if each is None else each
    return {name: Ends(*np.moveaxis(each, -1, 0)) for name, each in ends.items()}


def covered(kind: str, judge: Judge, questions: int, graded: int, runs: int) -> list[dict[str, Any]]:
    """Of each model: how often each interval holds its total, of those that there are, how wide it is, both in
    percent, and how often there is none."""
    seed = [questions, graded, KINDS.index(kind), *(round(100 * each) for each in judge)]
    run = drawn(kind, judge, questions, graded, runs, np.random.default_rng(seed))
    ends = {"uncorrected": uncorrected(run), **corrected(run, kind)}
    ends |= {"people alone": people_alone(run), "used, model by model": regression(run)}
    rows = []
    for model, total in enumerate(TOTALS):
        own = {name: Ends(ends[name].low[:, model], ends[name].high[:, model]) for name in METHODS}
        there = {name: each for name, each in own.items() if not np.isnan(each.low).all()}
        rows.append(
            {
                "total": total,
                "held": {name: round(each.holds(total), 1) for name, each in there.items()},
                "width": {
                    name: round(100 * float(np.nanmean(each.high - each.low)), 1) for name, each in there.items()
                },
                "none": {name: round(100 * float(np.isnan(each.low).mean()), 1) for name, each in own.items()},
            }
        )
    return rows


def table(found: Sequence[Mapping[str, Any]]) -> str:
    """The lowest and the highest coverage over judges of a name, sets of questions and models, and the mean width."""
    lines = [
        f"| grades | the judge | people grade | {' | '.join(METHODS)} |",
        "|---|---|---|" + "---|" * len(METHODS),
    ]
    for kind in KINDS:
        for judge in JUDGES:
            for graded in GRADED:
                some = [
                    each for each in found if (each["kind"], each["judge"], each["graded"]) == (kind, judge, graded)
                ]
                cells = (_cell(name, some) for name in METHODS)
                lines.append(f"| {' | '.join([kind, judge, str(graded), *cells])} |")
    return "\n".join(lines) + "\n"


def _cell(name: str, some: Sequence[Mapping[str, Any]]) -> str:
    held = [each["held"][name] for each in some if name in each["held"]]
    if not held:
        return "–"
    told = f"{min(held):.0f}–{max(held):.0f}"
    if name in WIDE:
        told += f" ({np.mean([each['width'][name] for each in some if name in each['width']]):.0f})"
    return told


def with_table(page: str, found: Sequence[Mapping[str, Any]]) -> str:
    """The page with the table in its place."""
    return put_between(page, MARKS, table(found))


def as_json(runs: int, found: Sequence[Mapping[str, Any]]) -> str:
    """A line for each model of each case."""
    lines = ",\n".join(json.dumps(each, sort_keys=True) for each in found)
    return f'{{"confidence": {CONFIDENCE}, "runs": {runs}, "found": [\n{lines}\n]}}\n'


@app.command(help=__doc__)
def main(runs: int = typer.Option(500, help="Of each judge and design.")) -> None:
    """Simulate, and write what was found."""
    top, found = here().root, list[dict[str, Any]]()
    for kind in KINDS:
        for name, judges in JUDGES.items():
            for judge in judges:
                for questions in QUESTIONS:
                    for graded in GRADED:
                        design = {"kind": kind, "judge": name, **judge._asdict()}
                        design |= {"questions": questions, "graded": graded}
                        found += [design | each for each in covered(kind, judge, questions, graded, runs)]
                        print(json.dumps(found[-1]), flush=True)
    write_text(top / JSON, as_json(runs, found))
    (top / PAGE).write_text(with_table((top / PAGE).read_text(encoding="utf-8"), found), encoding="utf-8")


if __name__ == "__main__":
    run(app)
