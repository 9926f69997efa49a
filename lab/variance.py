"""Are components of variance what they are said to be, and is a promised power reached? On simulated data.

Run as ``python -m lab.variance measure`` in the top folder (some minutes), which writes ``reports/perf/variance.json``;
``python -m lab.variance page`` puts its tables into ``docs/statistics.md``. The designs are those of scores in this
repository, with components near those that ``driftledger variance`` finds there; effects are normal, or skewed as a
centred exponential variable is. Beside the intervals that are used stand two others: by Satterthwaite's degrees of
freedom, and by Williams' and Tukey's bounds on a difference of two mean squares, each side with Satterthwaite's.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from driftledger.core.files import write_json
from driftledger.core.types import Float64
from driftledger.metrics.power import Noise, Plan, images_needed, noise_of_a_difference
from driftledger.metrics.variance import (
    CATEGORY,
    REPEAT,
    SAMPLE,
    Decomposition,
    Layout,
    Term,
    generalized_interval,
    mean_squares,
)
from lab.entry import new_app, run

RUNS, AT_ONCE = 4000, 250
CONFIDENCE, POWER, SEED = 0.95, 0.8, 20
FILE, PAGE = Path("reports/perf/variance.json"), Path("docs/statistics.md")
BEGIN, END = "<!-- python -m lab.variance: begin -->", "<!-- python -m lab.variance: end -->"

app = new_app(__doc__ or "")

Method = Callable[[Mapping[Term, float], Mapping[Term, Float64], Mapping[Term, int], float], tuple[Float64, Float64]]


class Case(NamedTuple):
    """A design and its true components; those that are not named are 0."""

    layout: Layout
    components: Mapping[str, float]

    @property
    def true(self) -> dict[Term, float]:
        return {term: self.components.get(" ".join(term), 0.0) for term in self.layout.terms}


CASES = {
    "3 models × 2 generators × 2 encoders × 30 samples in 3 categories": Case(
        Layout({"model": 3, "generator": 2, "encoder": 2}, (10, 10, 10)),
        {
            **{"model": 0.06, "generator": 0.0003, "encoder": 0.0035, "category": 0.003, "sample": 0.001},
            **{"model sample": 0.005, "encoder sample": 0.001, "model encoder sample": 0.013},
            **{"model generator sample": 0.0001, "model generator encoder sample": 0.0015},
        },
    ),
    "3 models × 21 samples in 6 categories": Case(
        Layout({"model": 3}, (4, 4, 4, 4, 3, 2)),
        {"model": 0.036, "category": 0.0096, "model category": 0.002, "sample": 0.004, "model sample": 0.0155},
    ),
    "3 models × 21 samples in 6 categories × 3 repeats": Case(
        Layout({"model": 3}, (4, 4, 4, 4, 3, 2), repeats=3),
        {
            **{"model": 0.036, "category": 0.0096, "sample": 0.004, "model sample": 0.012},
            **{"repeat": 0.001, "model repeat": 0.004},
        },
    ),
    "3 models × 60 samples": Case(Layout({"model": 3}, (60,)), {"model": 16.0, "sample": 460.0, "model sample": 70.0}),
    "6 models × 120 samples × 5 repeats": Case(
        Layout({"model": 6}, (120,), repeats=5),
        {"model": 1000.0, "sample": 77.0, "model sample": 190.0, "repeat": 78.0, "model repeat": 124.0},
    ),
}

PILOTS = {
    "21 samples in 6 categories": ("3 models × 21 samples in 6 categories", 0.05),
    "30 samples in 3 categories, through one of 2 generators and 2 encoders": (
        "3 models × 2 generators × 2 encoders × 30 samples in 3 categories",
        0.05,
    ),
    "21 samples in 6 categories × 3 repeats": ("3 models × 21 samples in 6 categories × 3 repeats", 0.05),
    "120 samples × 5 repeats": ("6 models × 120 samples × 5 repeats", 3.0),
}
"""Stored scores, and the difference that is to be found."""


def simulated(case: Case, runs: int, rng: np.random.Generator, skewed: bool) -> Float64:
    """``runs`` × levels × samples × repeats values."""
    layout = case.layout
    category = np.repeat(np.arange(len(layout.sizes)), layout.sizes)
    total = np.zeros((runs, *layout.levels.values(), layout.samples, layout.repeats))
    for term, variance in case.true.items():
        outer = [count if name in term else 1 for name, count in layout.levels.items()]
        samples = (
            layout.samples if {SAMPLE, REPEAT}.intersection(term) else len(layout.sizes) if CATEGORY in term else 1
        )
        shape = (runs, *outer, samples, layout.repeats if REPEAT in term else 1)
        effects = (rng.exponential(size=shape) - 1) if skewed else rng.standard_normal(shape)
        if CATEGORY in term:
            effects = effects[..., category, :]
        total += math.sqrt(variance) * effects
    return total


def rows_of(layout: Layout) -> list[list[int]]:
    ends = np.cumsum(layout.sizes)
    return [list(range(end - size, end)) for end, size in zip(ends.tolist(), layout.sizes, strict=True)]


def satterthwaite(
    coefficients: Mapping[Term, float], squares: Mapping[Term, Float64], degrees: Mapping[Term, int], confidence: float
) -> tuple[Float64, Float64]:
    """The sum as if it were one mean square; nothing below 0 has an interval."""
    value, df = _as_one(coefficients, squares, degrees)
    with np.errstate(all="ignore"):
        ends = [value * df / stats.chi2.isf(tail, df) for tail in _tails(confidence)]
    return np.where(value > 0, ends[0], 0.0), np.where(value > 0, np.nan_to_num(ends[1], posinf=1e30), 0.0)


def williams_tukey(
    coefficients: Mapping[Term, float], squares: Mapping[Term, Float64], degrees: Mapping[Term, int], confidence: float
) -> tuple[Float64, Float64]:
    """Williams 1962, Tukey 1951; exact at both ends for a difference of two mean squares."""
    above, n = _as_one({term: part for term, part in coefficients.items() if part > 0}, squares, degrees)
    taken = {term: -part for term, part in coefficients.items() if part < 0}
    if not taken:
        low, high = (above * n / stats.chi2.isf(tail, n) for tail in _tails(confidence))
        return low, high
    below, m = _as_one(taken, squares, degrees)
    low, high = ((above - stats.f.isf(tail, n, m) * below) * n / stats.chi2.isf(tail, n) for tail in _tails(confidence))
    return low, high


def _as_one(
    coefficients: Mapping[Term, float], squares: Mapping[Term, Float64], degrees: Mapping[Term, int]
) -> tuple[Float64, Float64]:
    parts = {term: part * squares[term] for term, part in coefficients.items()}
    value = np.sum([*parts.values()], axis=0)
    spread = np.sum([part**2 / degrees[term] for term, part in parts.items()], axis=0)
    return value, np.maximum(value**2 / spread, 1e-3)


def _tails(confidence: float) -> tuple[float, float]:
    return (1 - confidence) / 2, (1 + confidence) / 2


METHODS: Mapping[str, Method] = {
    "generalized": generalized_interval,
    "williams_tukey": williams_tukey,
    "satterthwaite": satterthwaite,
}


def coverage(case: Case, runs: int, skewed: bool) -> dict[str, Any]:
    """Per component the mean of the estimates, and how often each method's interval holds the true one, in per cent."""
    layout, rng = case.layout, np.random.default_rng(SEED)
    degrees = {term: layout.df(term) for term in layout.terms}
    held = {term: dict.fromkeys(METHODS, 0) for term in layout.terms}
    sums = dict.fromkeys(layout.terms, 0.0)
    for first in range(0, runs, AT_ONCE):
        some = min(AT_ONCE, runs - first)
        squares = mean_squares(simulated(case, some, rng, skewed), layout, rows_of(layout))
        for term, variance in case.true.items():
            parts = layout.solved[term]
            sums[term] += sum(part * float(squares[square].sum()) for square, part in parts.items())
            for name, method in METHODS.items():
                low, high = method(parts, squares, degrees, CONFIDENCE)
                inside = (np.maximum(low, 0) <= variance) & (variance <= np.maximum(high, 0))
                held[term][name] += int(inside.sum())
    return {
        " × ".join(term): {
            "true": case.true[term],
            "mean_estimate": float(f"{sums[term] / runs:.4g}"),
            **{name: round(100 * count / runs, 1) for name, count in held[term].items()},
        }
        for term in layout.terms
    }


def reached(name: str, detect: float, pilots: int, runs: int) -> dict[str, Any]:
    """The power that designs reach: from the true components, and from those that pilots estimate.

    A comparison is a t test of the differences of two models that are ``detect`` apart, each a mean of category means.
    """
    case, rng = CASES[name], np.random.default_rng(SEED)
    layout = case.layout
    known = Decomposition(layout, 0.0, expected_squares(case), CONFIDENCE)
    squares = mean_squares(simulated(case, pilots, rng, skewed=False), layout, rows_of(layout))
    estimated = [
        Decomposition(layout, 0.0, {term: float(each[place]) for term, each in squares.items()}, CONFIDENCE)
        for place in range(pilots)
    ]
    wanted = [_images(found, detect) for found in (known, *estimated)]
    powers = {images: _power_of(case, images, detect, runs, rng) for images in sorted(set(wanted))}
    return {
        "design": name,
        "detect": detect,
        "images": wanted[0],
        "power_from_true_components": round(100 * powers[wanted[0]], 1),
        "mean_power_from_pilots": round(100 * float(np.mean([powers[images] for images in wanted[1:]])), 1),
        "images_from_pilots": [int(np.quantile(wanted[1:], share)) for share in (0.05, 0.5, 0.95)],
    }


def expected_squares(case: Case) -> dict[Term, float]:
    """The expected mean squares: each holds the components of all terms that hold its own."""
    layout, true = case.layout, case.true
    estimates = np.array([[layout.solved[one].get(two, 0.0) for two in layout.terms] for one in layout.terms])
    squares = np.linalg.solve(estimates, np.array([true[term] for term in layout.terms]))
    return dict(zip(layout.terms, squares.tolist(), strict=True))


def _images(found: Decomposition, detect: float) -> int:
    categories = len(found.layout.sizes)

    many = 1000 * categories
    of_many = noise_of_a_difference(found, Plan(many, categories, found.layout.repeats))
    assert of_many is not None

    def noise(images: int) -> Noise | None:
        if images <= categories:
            return None
        return of_many._replace(variance=of_many.variance * many / images, df=images - categories)

    needed = images_needed(noise, detect, categories=categories, power=POWER, confidence=CONFIDENCE)
    assert needed is not None  # without new generators more images always help
    return needed


def _power_of(case: Case, images: int, detect: float, runs: int, rng: np.random.Generator) -> float:
    """How often a t test over so many images finds the difference between two models, through one generator and
    encoder."""
    layout, true = case.layout, case.true
    of_image = sum(v for term, v in true.items() if "model" in term and SAMPLE in term)
    of_repeat = sum(v for term, v in true.items() if "model" in term and REPEAT in term)
    sd, categories = math.sqrt(2 * (of_image + of_repeat / layout.repeats)), len(layout.sizes)
    each = images // categories
    found = 0
    for first in range(0, runs, AT_ONCE):
        some = min(AT_ONCE, runs - first)
        differences = detect + sd * rng.standard_normal((some, categories, each))
        if each < 2:
            return 0.0
        variances = differences.var(axis=2, ddof=1) / each / categories**2
        error = np.sqrt(variances.sum(axis=1))
        df = variances.sum(axis=1) ** 2 / (variances**2 / (each - 1)).sum(axis=1)  # Satterthwaite's, as compare has it
        found += int((np.abs(differences.mean(axis=(1, 2))) > stats.t.isf((1 - CONFIDENCE) / 2, df) * error).sum())
    return found / runs


@app.command()
def measure(runs: int = RUNS, pilots: int = 200) -> None:
    """Simulate, and write the figures."""
    cases = {
        name: {kind: coverage(case, runs, skewed) for kind, skewed in (("normal", False), ("skewed", True))}
        for name, case in CASES.items()
    }
    powers = {name: reached(*of, pilots, runs) for name, of in PILOTS.items()}
    write_json(
        FILE,
        {
            "runs": runs,
            "pilots": pilots,
            "confidence": CONFIDENCE,
            "power": POWER,
            "cases": cases,
            "power_reached": powers,
        },
    )


@app.command()
def page() -> None:
    """Put the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(re.sub(f"{BEGIN}.*{END}", lambda _: in_markers(), text, flags=re.DOTALL), encoding="utf-8")


def in_markers() -> str:
    """What stands between the markers of the page."""
    return "\n".join([BEGIN, "", *tables(json.loads(FILE.read_bytes())), END])


def tables(measured: Mapping[str, Any]) -> Iterator[str]:
    """Markdown of the figures: per design how often intervals hold, from the worst component to the best."""
    yield f"How often a 95 % interval of a component holds, in per cent of {measured['runs']:,} simulated sets of"
    yield "scores, from the worst component to the best:"
    yield ""
    yield "| design | effects | used here | Williams–Tukey | Satterthwaite |"
    yield "|---|---|---:|---:|---:|"
    for name, kinds in measured["cases"].items():
        for kind, components in kinds.items():
            cells = (_range([of[method] for of in components.values()]) for method in METHODS)
            yield f"| {name} | {kind} | {' | '.join(cells)} |"
    yield ""
    yield "How often a comparison finds the difference that its design was made for, with a power of 80 %, in per cent:"
    yield ""
    yield "| stored scores | difference | images | power, components known | mean power, components estimated |"
    yield "|---|---:|---:|---:|---:|"
    for name, of in measured["power_reached"].items():
        figures = (of["detect"], of["images"], of["power_from_true_components"], of["mean_power_from_pilots"])
        yield f"| {name} | {' | '.join(map(str, figures))} |"
    yield ""


def _range(values: Sequence[float]) -> str:
    return f"{min(values):.1f} to {max(values):.1f}"


if __name__ == "__main__":
    run(app)
