"""Ratings by people beside metrics of the same samples."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from driftledger.core.grouping import grouped
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.metrics.ratings import agreement, rated_correlation
from driftledger.reports.scores import RowsOf
from driftledger.reports.tables import (
    Numbers,
    name_cell,
    names_of,
    section_of,
    shown_numbers,
    spec_of,
)
from driftledger.reports.tests import units_in
from driftledger.scoring.frame import by_setup, scores_in
from driftledger.scoring.metric import Input
from driftledger.scoring.score import Score
from driftledger.scoring.table import Cell, Cells, Table, number_cell

_HEAD = ("", "metric", "rated", "r with ratings", "smallest r", "the metric")


def rating_tables(numbers: Numbers, rows_of: RowsOf) -> Iterator[Table]:
    """Yield a table for each setup whose descriptions people have rated.

    It has a row per model and metric of the same data through the same components.
    """
    alike = grouped(by_setup(numbers), lambda part: tuple(names_of(part)))
    for names, parts in alike.items():
        values = [*_values(chain.from_iterable(parts), rows_of)]
        for part in parts:
            rated = [score for score in scores_in(part) if _rated_samples(score)]
            rows = []
            for score in rated:
                described = {row.unit for row in rows_of(score) if row.outcome.goes_on}
                for title, other, worths in values:
                    if other.model == score.model:
                        every = {key: worths[key] for key in worths if key in described}
                        cells = _cells(_rated_samples(score), every, score.confidence)
                        rows.append([name_cell(score), title, *cells])
            if rows:
                yield Table(
                    f"Do metrics follow people's ratings? {' · '.join(names)}",
                    _HEAD,
                    rows=rows,
                    notes=[*_notes(rated)],
                    name=f"ratings-{section_of(part[0].score)}",
                )


def _rated_samples(score: Score) -> Mapping[str, Any]:
    """Return sample → its ratings."""
    samples: Mapping[str, Any] = score.details.get("ratings", {}).get("samples", {})
    return samples


def _values(
    numbers: Iterable[Any], rows_of: RowsOf
) -> Iterator[tuple[str, Score, dict[str, float]]]:
    """Yield title, score and values by sample of each headline about images.

    These headlines see redrawings or use an encoder; of a metric over t it is the last t.
    """
    for part in by_setup(numbers):
        spec = spec_of(part)
        for metric in spec.metrics.shown("headline"):
            is_seen = metric.needs & {Input.DRAWN, Input.ENCODER}
            if metric.in_rows and metric.is_higher and is_seen:
                for number in shown_numbers(part, metric):
                    title = f"{spec.title} {metric.titled(number.t)}"
                    units = units_in(number, rows_of)
                    worths = {unit: worth for unit, (worth, *_) in units.items()}
                    yield title, number.score, worths


def _cells(
    samples: Mapping[str, Any], every: Mapping[str, float], confidence: float
) -> Cells:
    """Return the cells of a row, in the order of ``_HEAD`` after the metric."""
    chosen = [sample for sample in samples if sample in every]
    values = np.array([every[sample] for sample in chosen])
    ratings = [samples[sample] for sample in chosen]
    r, ends, smallest = rated_correlation(values, ratings, confidence)
    meaning = "may be noise"
    if ends and ends.low > 0:
        meaning = "follows the ratings"
    elif ends and ends.high < 0:
        meaning = "contradicts the ratings"
    return [
        f"{len(chosen)} of {len(every)}",
        estimate_cell(r, ends),
        number_cell(smallest),
        meaning,
    ]


def estimate_cell(value: float, ends: ConfidenceInterval | None) -> Cell:
    """Return a value with its interval in brackets."""
    more = f"{ends.low:.2f} to {ends.high:.2f}" if ends else ""
    return number_cell(None if np.isnan(value) else value, more=more)


def _notes(scores: Sequence[Score]) -> Iterator[str]:
    """Yield notes on how far raters agree, and on how to read the table."""
    confidence = scores[0].confidence
    texts: dict[str, list[Sequence[float]]] = {}
    for score in scores:
        for sample, ratings in _rated_samples(score).items():
            texts.setdefault(sample, []).append(ratings)
    estimate = agreement([*texts.values()], confidence)
    alpha = estimate_cell(estimate.value, estimate.interval)
    yield (
        f"Agreement of raters, Krippendorff's alpha: {alpha}. 1 is perfect, 0 is chance; it needs "
        "several ratings of some descriptions."
    )
    yield (
        f"In brackets the interval of {confidence:.0%}; a metric whose r has 0 in it may be noise. "
        "Smallest r: what so many ratings show four times out of five."
    )
