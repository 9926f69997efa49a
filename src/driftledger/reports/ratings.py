"""Ratings by people beside metrics of the same samples: do the metrics mean anything on this data,
and what would people say of all samples?"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.metrics.ratings import agreement, corrected_mean, rated_correlation
from driftledger.reports.blocks import Block
from driftledger.reports.tables import name_cell
from driftledger.scoring.metric import Input
from driftledger.scoring.score import Score
from driftledger.scoring.table import Cell, Cells, Table, number_cell

_HEAD = ("", "metric", "rated", "r with ratings", "smallest r", "the metric", "mean")


def rating_tables(blocks: Sequence[Block]) -> Iterator[Table]:
    """Yield a table per block whose descriptions people have rated: a row per model and metric of
    the same data through the same components."""
    for block in blocks:
        rows = []
        texts: dict[str, list[Sequence[float]]] = {}
        alike = [other for other in blocks if other.names == block.names]
        for score in block.scores:
            samples = score.details.get("ratings", {}).get("samples", {})
            if not samples:
                continue
            for sample, rated in samples.items():
                texts.setdefault(sample, []).append(rated["ratings"])
            described = {
                row.unit for row in block.rows_of(score) if row.outcome.goes_on
            }
            for title, other, values in _values(alike):
                if other.model == score.model:
                    every = {key: values[key] for key in values if key in described}
                    cells = _cells(samples, every, score.confidence)
                    rows.append([name_cell(score), title, *cells])
        if rows:
            title = f"Do metrics follow people's ratings? {block.on}"
            notes = _notes([*texts.values()], block.scores[0].confidence)
            yield Table(
                title, _HEAD, rows=rows, notes=[*notes], name=f"ratings-{block.name}"
            )


def model_spreads(blocks: Sequence[Block], dataset: str) -> dict[str, float]:
    """Return sample → how far apart models are, by the first metric that two of them have.

    Controls do not count. The result is empty without such a metric.
    """
    columns: dict[str, dict[str, dict[str, float]]] = {}
    for title, score, values in _values(blocks):
        if score.on == dataset and not score.is_control:
            columns.setdefault(title, {}).setdefault(score.model, values)
    for by_model in columns.values():
        if len(by_model) > 1:
            return _spreads([*by_model.values()])
    return {}


def _spreads(models: Sequence[Mapping[str, float]]) -> dict[str, float]:
    """Return sample → the largest less the smallest value that models have for it."""
    by_sample: dict[str, list[float]] = {}
    for values in models:
        for sample, value in values.items():
            by_sample.setdefault(sample, []).append(value)
    return {sample: max(values) - min(values) for sample, values in by_sample.items()}


def _values(blocks: Sequence[Block]) -> Iterator[tuple[str, Score, dict[str, float]]]:
    """Yield each headline about redrawings or seen by an encoder, with a score's values by sample;
    of a family over t the last."""
    for block in blocks:
        for metric in block.spec.metrics:
            is_seen = metric.needs & {Input.DRAWN, Input.ENCODER}
            if not (metric.headline and metric.row and metric.is_higher and is_seen):
                continue
            for key in block.spec.keys_of(metric, *block.scores)[-1:]:
                for score in block.scores:
                    units = block.units(metric, score, key)
                    values = {unit: worth for unit, (worth, *_) in units.items()}
                    yield f"{block.spec.title} {metric.named(key)}", score, values


def _cells(
    samples: Mapping[str, Any], every: Mapping[str, float], confidence: float
) -> Cells:
    """Return how many are rated, the correlation, the smallest one, what it means, and the mean."""
    chosen = [sample for sample in samples if sample in every]
    values = np.array([every[sample] for sample in chosen])
    ratings = [samples[sample]["ratings"] for sample in chosen]
    weights = np.array([samples[sample]["weight"] for sample in chosen])
    r, ends, smallest = rated_correlation(values, ratings, weights, confidence)
    mean = corrected_mean(
        values,
        ratings,
        weights,
        every=np.array([*every.values()]),
        confidence=confidence,
    )
    meaning = "may be noise"
    if ends and ends.low > 0:
        meaning = "follows the ratings"
    elif ends and ends.high < 0:
        meaning = "contradicts the ratings"
    return [
        f"{len(chosen)} of {len(every)}",
        estimated(r, ends),
        number_cell(smallest),
        meaning,
        estimated(mean.value, mean.within(1, 5).interval),
    ]


def estimated(value: float, ends: ConfidenceInterval | None) -> Cell:
    """Return a value with its interval in brackets."""
    more = f"{ends.low:.2f} to {ends.high:.2f}" if ends else ""
    return number_cell(None if np.isnan(value) else value, more=more)


def _notes(
    samples: Sequence[Sequence[Sequence[float]]], confidence: float
) -> Iterator[str]:
    """Say how far raters agree, and how to read the table."""
    found = agreement(samples, confidence)
    alpha = estimated(found.value, found.interval)
    yield (
        f"Agreement of raters, Krippendorff's alpha: {alpha}. 1 is perfect, 0 is chance; it needs "
        "several ratings of some descriptions."
    )
    yield (
        f"In brackets the interval of {confidence:.0%}; a metric whose r has 0 in it may be noise. "
        "Smallest r: what so many ratings show four times out of five. Mean: the rating that the "
        "same people would give all samples, by prediction-powered inference with the metric."
    )
