"""Every score of the models and generators that are ranked, and whether they are in the order of
their training."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.ledger.compare import coverage_difference
from driftledger.ledger.comparison import Difference
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import mean_interval
from driftledger.project.settings import Settings
from driftledger.scoring.metric import Input
from driftledger.scoring.score import ROWS, SCORE, Row, Score, base_key

ALL_METRICS = ("fidelity",)
"""Benchmarks of which every metric is ranked, since they have no one headline; of the others the
first is."""


class Reading(NamedTuple):
    """A metric's value with its interval, if it has one."""

    value: float
    low: float | None
    high: float | None
    score: Score | None = None
    """Which says how much of what was asked is in it."""

    @property
    def point(self) -> dict[str, float | None]:
        """As the report holds it, to six decimals: later ones vary with the processor."""
        coverage = 1.0 if self.score is None else self.score.scored / self.score.total
        point = {
            "value": self.value,
            "coverage": coverage,
            "low": self.low,
            "high": self.high,
        }
        return {
            name: None if value is None else round(value, 6) + 0.0
            for name, value in point.items()
        }


class Place(NamedTuple):
    """Which score of which metric; empty where a role has no part in it."""

    benchmark: str
    on: str
    """The dataset or question set."""
    metric: str
    encoder: str
    generator: str
    model: str


def collect(
    root: Path,
    settings: Settings,
    iterations: int,
    models: Sequence[str],
    generators: Sequence[str],
) -> dict[Place, Reading]:
    """Read every score that ``run:`` selects of these models and generators; of TRAC the first
    prompt and text encoder.

    Raises:
        StoreError: a file is missing, or has another T than ``params.yaml``.
    """
    run = settings.run
    ranked = {"model": models, "generator": generators}
    ranked |= {
        "description": run.descriptions[:1],
        "text_encoder": run.text_encoders[:1],
    }
    readings: dict[Place, Reading] = {}
    for spec in benchmarks():
        for keys in settings.keys_of(spec):
            if any(
                keys[key] not in names for key, names in ranked.items() if key in keys
            ):
                continue
            folder = root / spec.scores.at(keys)
            for file in (folder / SCORE, folder / ROWS):
                if not file.is_file():
                    raise StoreError(
                        f"{file} is missing; run 'make run-neural': it is in build/neural"
                    )
            score, rows = (
                read_json(folder / SCORE, Score),
                read_jsonl(folder / ROWS, Row),
            )
            if (
                "{t}" in spec.metrics.first.key
                and score.inputs.protocol.get("iterations") != iterations
            ):
                raise StoreError(
                    f"{folder} has another T than params.yaml; run 'make run-neural'"
                )
            for place, reading in _readings(spec, keys, score, rows):
                # a metric without an encoder is the same through each
                readings.setdefault(place, reading)
    return readings


def _readings(
    spec: Benchmark, keys: Mapping[str, str], score: Score, rows: Sequence[Row]
) -> list[tuple[Place, Reading]]:
    readings = []
    every = sorted(key for key in score.metrics if base_key(key) == key)
    for key in (
        every if spec.name in ALL_METRICS else spec.keys_of(spec.metrics.first, score)
    ):
        metric = spec.metric(key)
        if metric is None or (
            spec.name in ALL_METRICS and metric.higher_is_better is None
        ):
            continue
        low, high = score.interval(key) or (None, None)
        if low is None:
            scale = 100.0 if metric.pairing == "ratio" else 1.0
            per_row = [
                (row.group, [v for v in metric.values_in(row, key) if v is not None])
                for row in rows
            ]
            units = [
                (group, scale * exact_mean(values))
                for group, values in per_row
                if values
            ]
            if units:
                values, strata = (
                    np.array([value for _, value in units]),
                    [group for group, _ in units],
                )
                low, high = mean_interval(
                    values, strata, score.confidence
                ).interval or (None, None)
        through = keys.get("encoder") or keys.get("text_encoder") or ""
        place = Place(
            spec.name,
            score.on,
            key,
            through if metric.needs & {Input.ENCODER, Input.TEXT_ENCODER} else "",
            keys.get("generator", "") if Input.DRAWN in metric.needs else "",
            score.model,
        )
        readings.append((place, Reading(score.metrics[key], low, high, score)))
    return readings


def rank(
    place: Place,
    readings: Mapping[str, Reading],
    names: Sequence[str],
    controls: Sequence[str] = (),
) -> dict[str, Any]:
    """Say whether one metric puts ``names``, from the least trained to the most, in this order, and
    controls last.

    A verdict is None where a reading or an interval is missing, or where coverages lie too far
    apart.
    """
    metric = benchmark(place.benchmark).metric(place.metric)
    sign = -1.0 if metric is not None and metric.higher_is_better is False else 1.0
    points = {name: reading.point for name, reading in readings.items()}
    values = {name: sign * reading.value for name, reading in readings.items()}
    stages = [name for name in names if name in readings]
    complete = (
        len(stages) == len(names)
        and _apart([readings[name] for name in stages]) is None
    )
    neighbours = list(pairwise(stages))
    below = {}
    for control in controls:
        if control in readings:
            fair = (
                complete
                and _apart([*(readings[name] for name in stages), readings[control]])
                is None
            )
            below[control] = {
                "point": points[control],
                "last": all(values[control] < values[name] for name in stages)
                if fair
                else None,
                "disjoint": _all(
                    _disjoint(points[control], points[name]) for name in stages
                )
                if fair
                else None,
            }
    apart = _apart(readings.values())
    return {
        **{role: name or None for role, name in place._asdict().items()},
        "higher_is_better": sign > 0,
        "values": {name: points[name] for name in stages},
        "rises": all(values[one] < values[other] for one, other in neighbours)
        if complete
        else None,
        "disjoint": _all(
            _disjoint(points[one], points[other]) for one, other in neighbours
        )
        if complete
        else None,
        "controls": below,
        "apart": apart.reason if apart else None,
    }


def _apart(readings: Iterable[Reading]) -> Difference | None:
    """How much less is counted of one than of another, where that is too much to rank them, as
    ``compare`` has it."""
    scores = [each.score for each in readings if each.score is not None]
    scores.sort(key=lambda score: score.counted / score.total)
    most = coverage_difference(scores[-1], scores[0]) if scores else None
    return most if most and most.why else None


def _disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    if None in (one["low"], one["high"], other["low"], other["high"]):
        return None
    return bool(one["high"] < other["low"] or other["high"] < one["low"])


def _all(verdicts: Iterable[bool | None]) -> bool | None:
    known = list(verdicts)
    return None if None in known else all(known)
