"""Every score of the models and generators that are ranked, with the values of single samples behind it."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import Benchmark, Input
from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.score import ROWS, SCORE, Row, Score, base_key
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json, read_jsonl
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals import mean_interval
from driftledger.project.settings import Settings

ALL_METRICS = ("fidelity",)
"""Benchmarks of which every metric is ranked, since they have no one headline; of the others the first is."""


class Unit(NamedTuple):
    """One sample or question behind a score."""

    value: float
    stratum: str
    """A category of the score: each counts once, whatever its size, and is drawn from by itself."""
    cluster: str
    """What is drawn with it: questions about one image are answered well or badly together."""


class Reading(NamedTuple):
    """A metric's value with its interval; no units for a metric of all samples together, as a Fréchet distance is."""

    value: float
    low: float | None
    high: float | None
    units: Mapping[str, Unit]
    score: Score | None
    """Which says how much of what was asked is in it."""


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
    root: Path, settings: Settings, iterations: int, models: Sequence[str], generators: Sequence[str]
) -> dict[Place, Reading]:
    """Read every score that ``run:`` selects of these models and generators; of TRAC the first prompt and text encoder.

    Raises:
        StoreError: a file is missing, or has another T than ``params.yaml``.
    """
    run = settings.run
    ranked = {"model": models, "generator": generators}
    ranked |= {"description": run.descriptions[:1], "text_encoder": run.text_encoders[:1]}
    found: dict[Place, Reading] = {}
    for spec in benchmarks():
        for keys in settings.keys_of(spec):
            if any(keys[key] not in names for key, names in ranked.items() if key in keys):
                continue
            folder = root / spec.scores.at(keys)
            for file in (folder / SCORE, folder / ROWS):
                if not file.is_file():
                    raise StoreError(f"{file} is missing; run 'make run-neural', which writes it")
            score, rows = read_json(folder / SCORE, Score), read_jsonl(folder / ROWS, Row)
            if "{t}" in spec.metrics[0].key and score.inputs.protocol.get("iterations") != iterations:
                raise StoreError(f"{folder} has another T than params.yaml; run 'make run-neural'")
            for place, reading in _readings(spec, keys, score, rows):
                found.setdefault(place, reading)  # a metric without an encoder is the same through each
    return found


def _readings(
    spec: Benchmark, keys: Mapping[str, str], score: Score, rows: Sequence[Row]
) -> list[tuple[Place, Reading]]:
    found = []
    every = sorted(key for key in score.metrics if base_key(key) == key)
    for key in every if spec.name in ALL_METRICS else spec.members(spec.metrics[0], score):
        metric = spec.metric(key)
        if metric is None or (spec.name in ALL_METRICS and metric.higher_is_better is None):
            continue
        scale = 100.0 if metric.pairing == "ratio" else 1.0
        units = {}
        for row in rows:
            values = [value for value in metric.values_in(row, key) if value is not None]
            if values:
                units[row.unit] = Unit(scale * exact_mean(values), row.group, row.cluster)
        low, high = score.interval(key) or (None, None)
        if low is None and units:
            values, strata = [unit.value for unit in units.values()], [unit.stratum for unit in units.values()]
            low, high = mean_interval(np.array(values), strata, score.confidence).interval or (None, None)
        through = keys.get("encoder") or keys.get("text_encoder") or ""
        place = Place(
            spec.name,
            score.on,
            key,
            through if metric.needs & {Input.ENCODER, Input.TEXT_ENCODER} else "",
            keys.get("generator", "") if Input.DRAWN in metric.needs else "",
            score.model,
        )
        found.append((place, Reading(score.metrics[key], low, high, units, score)))
    return found
