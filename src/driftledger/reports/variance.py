"""Where the variance of the headlines comes from, and the smallest difference that a comparison can find: a table of
each benchmark and data, and a figure of all.

Computed from the values that stand in the rows behind the scores; what they say is a matter of
:mod:`driftledger.metrics.variance` and :mod:`driftledger.metrics.power`.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from driftledger.benchmarks.base import Cell, Cells, Table
from driftledger.benchmarks.crossed import Crossed, ScoreRows, crossed, metric_to_cross
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.tables import cell, grouped
from driftledger.charts.bars import Bar, Panel, bars
from driftledger.charts.figure import Figure
from driftledger.charts.palette import COLOURS, GREY, Series
from driftledger.core.canonical import pretty_json
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_markdown
from driftledger.core.files import write_text
from driftledger.metrics.power import POWER, Noise, Plan, noise_of_a_difference
from driftledger.metrics.variance import REPEAT, SAMPLE, Component, Decomposition, Term
from driftledger.reports.tables import markdown

MODEL = "model"
NAME = "variance"
"""Of the report's files: ``.md`` for people, ``.json`` for programs, ``.svg``."""

LEAST_SHOWN = 0.005
"""Of all variance, the share that a source must have on some data to stand in the figure."""

_BETWEEN_MODELS, _NOISE, _SHARED = Series(COLOURS[0]), Series(COLOURS[1]), Series(GREY)


class VarianceFound(NamedTuple):
    """The components of variance of one metric on some data."""

    crossed: Crossed
    found: Decomposition

    @property
    def models(self) -> int:
        return len(self.crossed.levels.get(MODEL, ()))

    def shares(self) -> Mapping[Term, float]:
        """Of all variance, a negative component counted as none."""
        positive = {each.term: max(each.variance, 0.0) for each in self.found.components}
        total = math.fsum(positive.values())
        return {term: variance / total if total else 0.0 for term, variance in positive.items()}

    def noise(self, plan: Plan | None = None) -> Noise | None:
        """Of a difference between two of its models, each through one generator; of a run like the one that is there,
        or of a planned one. None where there are no two models or too few images."""
        layout = self.found.layout
        if MODEL not in layout.levels:
            return None
        return noise_of_a_difference(self.found, plan or Plan.of_categories(layout.sizes, layout.repeats))

    def detectable(self, power: float = POWER, plan: Plan | None = None) -> float | None:
        """The minimum detectable difference, in the unit of the score."""
        noise = self.noise(plan)
        return None if noise is None else noise.detectable(power=power, confidence=self.found.confidence)


def variance_found(scored: Sequence[ScoreRows], metric: str | None = None) -> VarianceFound:
    """Of the scores of one benchmark on the same data.

    Args:
        metric: by its key; None: the first at a glance.

    Raises:
        LedgerError: there is nothing to decompose, see :func:`~driftledger.benchmarks.crossed.crossed`.
    """
    scores = [score for score, _ in scored]
    of = crossed(scored, metric_to_cross(benchmark(scores[0].benchmark), scores, metric))
    return VarianceFound(of, of.decomposed(scores[0].confidence))


def without_controls(scored: Sequence[ScoreRows]) -> tuple[list[ScoreRows], list[str]]:
    """Those of models that look, and the names of the controls; all where fewer than two look.

    Controls lie far below all others, so that with them nearly all variance is theirs.
    """
    looking = [each for each in scored if not each[0].components[MODEL].is_control]
    if len({score.model for score, _ in looking}) < 2:
        return list(scored), []
    return looking, list(dict.fromkeys(s.model for s, _ in scored if s.components[MODEL].is_control))


def by_data(scored: Sequence[ScoreRows]) -> list[list[ScoreRows]]:
    """Those of one benchmark on the same data together, in the order in which they first come."""
    return list(grouped(scored, lambda each: (each[0].benchmark, each[0].on)).values())


def write_variance(reports: Path, scored: Sequence[ScoreRows]) -> None:
    """Write the tables, the numbers and the figure of all benchmarks and data whose scores tell.

    Args:
        scored: in the order of the selection.
    """
    found, lines = [], ["# Where the variance comes from", "", *_HEAD]
    for some in by_data(scored):
        kept, controls = without_controls(some)
        try:
            of = variance_found(kept)
        except LedgerError as error:
            lines += [f"- {for_markdown(str(error))}", ""]
            continue
        found.append(of)
        lines += [f"## {of.crossed.spec.title} on {of.crossed.on}", "", *markdown(variance_table(of, controls))]
    write_text(reports / f"{NAME}.md", "\n".join(lines))
    write_text(reports / f"{NAME}.json", pretty_json([as_json(of) for of in found]))
    write_text(reports / f"{NAME}.svg", variance_figure(found).svg)


_HEAD = (
    "Every value is one model's on one sample, through one generator and encoder where there are any. Its variance is",
    "the sum of components: how far models differ on the whole, samples, the two together, and so on. What has *model*",
    "and *sample* or *repeat* in it is the noise of a comparison; what has no *model* in it is shared, and cancels.",
    "Components are estimated from mean squares, without bias, and may come out below 0. Of other runs",
    "`driftledger variance` tells it; `driftledger design` says how many images tell two models apart.",
    "",
    f"![Shares of the variance, a panel per benchmark]({NAME}.svg)",
    "",
)


def source(term: Term) -> str:
    """A term as people read it.

    >>> source(("model", "text_encoder", "sample"))
    'model × text encoder × sample'
    """
    return " × ".join(name.replace("_", " ") for name in term)


def variance_table(of: VarianceFound, controls: Sequence[str] = ()) -> Table:
    """A row per source."""
    digits, shares = of.crossed.metric.digits, of.shares()
    rows: list[Cells] = [
        [
            source(each.term),
            cell(float(each.df), digits=0),
            cell(each.variance, digits=2 * digits),
            _deviation(each, digits),
            cell(100 * shares[each.term], digits=1),
            cell(100 * each.share, digits=1),
        ]
        for each in of.found.components
    ]
    confidence = f"{of.found.confidence:.0%}"
    head = ["", "df", "variance", f"deviation ({confidence} interval)", "% of variance", "% of squares"]
    title = f"Where the variance of {of.crossed.title} comes from: {of.crossed.extent}"
    name = f"variance-{of.crossed.spec.name}-{of.crossed.on}"
    return Table(title, head, rows, [*_notes(of, controls)], name=name, detail=True)


def _deviation(each: Component, digits: int) -> Cell:
    """The root of a component; of a negative one the interval alone."""
    ends = "–".join(f"{math.sqrt(end):.{digits}f}" for end in each.interval)
    if each.variance < 0:
        return Cell("below 0", more=ends)
    return cell(math.sqrt(each.variance), digits=digits, more=ends)


def _notes(of: VarianceFound, controls: Sequence[str] = ()) -> Iterator[str]:
    smallest, noise = of.detectable(), of.noise()
    if smallest is not None and noise is not None:
        factors = [name for name in of.crossed.levels if name != MODEL]
        through = f", through one {' and one '.join(factors).replace('_', ' ')}" if factors else ""
        digits, count = of.crossed.metric.digits, len(of.crossed.categories)
        yield (
            f"{count} {of.crossed.things} show a difference of {smallest:.{digits}f} between two models{through}, "
            f"with a power of {POWER:.0%}."
        )
    if of.crossed.left_out:
        yield f"{of.crossed.left_out} {of.crossed.things} that some score has no value for are left out."
    if len(set(of.found.layout.sizes)) > 1:
        yield "Categories differ in size, and count alike, as in the score."
    if controls:
        yield f"Without the controls {', '.join(controls)}."
    if any(len(names) == 2 for names in of.crossed.levels.values()):
        yield "Of a factor with two levels the variance is hardly known: its interval says so."


def as_json(of: VarianceFound) -> dict[str, Any]:
    """For programs, all digits."""
    noise = of.noise()
    return {
        "benchmark": of.crossed.spec.name,
        "on": of.crossed.on,
        "metric": of.crossed.key,
        "levels": {factor: list(names) for factor, names in of.crossed.levels.items()},
        "samples": len(of.crossed.categories),
        "categories": len(of.found.layout.sizes),
        "repeats": of.found.layout.repeats,
        "left_out": of.crossed.left_out,
        "confidence": of.found.confidence,
        "components": [
            {
                "of": list(each.term),
                "df": each.df,
                "mean_square": each.mean_square,
                "variance": each.variance,
                "low": each.interval.low,
                "high": each.interval.high,
                "share_of_squares": each.share,
            }
            for each in of.found.components
        ],
        "standard_error_of_a_difference": None if noise is None else math.sqrt(noise.variance),
        "minimum_detectable_difference": of.detectable(),
        "power": POWER,
    }


def variance_figure(every: Sequence[VarianceFound]) -> Figure:
    """A panel per benchmark and data, a bar per source."""
    shares = [each.shares() for each in every]
    most = {term: max(of.get(term, 0.0) for of in shares) for of in shares for term in of}
    terms = sorted((term for term in most if most[term] >= LEAST_SHOWN), key=lambda term: (len(term), -most[term]))
    if not terms:
        return Figure.of(NAME, bars(_NO_VARIANCE, [Panel("", [])]))
    panels = [
        Panel(
            f"{each.crossed.spec.title}, {each.crossed.on}",
            [Bar(source(term), _series(term), 100 * of[term] if term in of else None) for term in terms],
            digits=0,
        )
        for each, of in zip(every, shares, strict=True)
    ]
    note = (
        "Per cent of all variance of single values; a source without a bar does not vary there. Blue: how models "
        "differ; orange: what comparing two of them has as noise; grey: what they share, which cancels."
    )
    return Figure.of(NAME, bars("Where the variance comes from", panels, note=note))


_NO_VARIANCE = "No scores tell where the variance comes from"


def _series(term: Term) -> Series:
    if MODEL not in term:
        return _SHARED
    return _NOISE if SAMPLE in term or REPEAT in term else _BETWEEN_MODELS
