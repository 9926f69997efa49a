"""Every score of the models and generators that are ranked, and whether they are in the order of
their training."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.registry import benchmark, benchmarks
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.ledger.compare import coverage_difference
from driftledger.ledger.comparison import Difference
from driftledger.ledger.measure import units_of
from driftledger.metrics.intervals import mean_interval
from driftledger.project.settings import Settings
from driftledger.scoring.metric import Input, Metric
from driftledger.scoring.number import NumberName
from driftledger.scoring.score import ROWS, SCORE, Row, Score

ALL_METRICS = ("fidelity",)
"""Benchmarks of which every metric is ranked, since they have no one headline; of the others the
first is."""
UNREAD = ("clip_s", "layout")
"""A metric and the encoder through which it is left out: ``layout`` reads the words of the embedded
describers alone."""


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
                spec.metrics.first.over_t
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
    names = [spec.metrics.first.name]
    if spec.name in ALL_METRICS:
        names = sorted(metric.name for metric in spec.metrics if metric.has_direction)
    for name in names:
        metric = spec.metrics[name]
        through = keys.get("encoder") or keys.get("text_encoder") or ""
        if (name, through) == UNREAD:
            continue
        is_encoded = metric.needs & {Input.ENCODER, Input.TEXT_ENCODER}
        generator = keys.get("generator", "") if Input.DRAWN in metric.needs else ""
        for number in score.over_t(name):
            if number.value is None:
                continue
            interval = number.interval
            low, high = interval or _interval(metric, number.t, score, rows)
            place = Place(
                spec.name,
                score.on,
                number.name,
                encoder=through if is_encoded else "",
                generator=generator,
                model=score.model,
            )
            readings.append((place, Reading(number.value, low, high, score)))
    return readings


def _interval(
    metric: Metric, t: int | None, score: Score, rows: Sequence[Row]
) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of the mean over rows, where the score has none."""
    units = units_of(metric, rows, t).values()
    if not units:
        return None, None
    values = np.array([metric.scale * value for value, _, _ in units])
    groups = [group for _, group, _ in units]
    interval = mean_interval(values, groups, score.confidence).interval
    return interval or (None, None)


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
    name = NumberName.read(place.metric)
    metric = benchmark(place.benchmark).metrics[name.metric]
    sign = -1.0 if metric.direction == "lower" else 1.0
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
