"""Every score of the models and generators that are ranked, by its place among benchmarks, datasets and components."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks.base import Benchmark, Input
from driftledger.benchmarks.registry import benchmarks
from driftledger.core.errors import StoreError
from driftledger.project.settings import Settings
from lab.validity.scores import Reading, Scored, read_scored

ALL_METRICS = ("fidelity",)
"""Benchmarks of which every metric is ranked, since they have no one headline; of the others the first is."""


class Place(NamedTuple):
    """Which score of which metric; empty where a role has no part in it."""

    benchmark: str
    on: str
    """The dataset or question set."""
    metric: str
    encoder: str
    generator: str
    model: str


Readings: TypeAlias = dict[Place, Reading]


class Source(NamedTuple):
    """Where to read, and what of it."""

    root: Path
    settings: Settings
    iterations: int
    models: Sequence[str]
    generators: Sequence[str]


def collect(source: Source) -> Readings:
    """All that ``run:`` selects, for these models and generators; of TRAC the first way to ask and text encoder.

    A metric that a score has not is not in it.

    Raises:
        StoreError: a file is missing, or is of another T than ``params.yaml``.
    """
    found: Readings = {}
    for spec in benchmarks():
        for keys in source.settings.keys_of(spec):
            if _is_ranked(source, keys):
                for place, reading in _readings(source, read_scored(source.root, spec, keys)):
                    found.setdefault(place, reading)  # a metric without an encoder is the same through each
    return found


def _is_ranked(source: Source, keys: Mapping[str, str]) -> bool:
    run = source.settings.run
    among = {
        "model": source.models,
        "generator": source.generators,
        "description": run.descriptions[:1],
        "text_encoder": run.text_encoders[:1],
    }
    return all(keys[key] in names for key, names in among.items() if key in keys)


def _readings(source: Source, scored: Scored) -> Iterator[tuple[Place, Reading]]:
    keys, spec = scored.score.keys, scored.spec
    t = scored.score.inputs.protocol.get("iterations")
    if "{t}" in spec.metrics[0].key and t != source.iterations:
        raise StoreError(f"{spec.scores.at(keys)} is of another T than params.yaml; run 'make run-neural'")
    for key in _ranked_metrics(spec, scored):
        reading, metric = scored.reading(key), spec.metric(key)
        if reading is not None and metric is not None:
            encoder = keys.get("encoder") or keys.get("text_encoder") or ""
            through = encoder if metric.needs & {Input.ENCODER, Input.TEXT_ENCODER} else ""
            by = keys.get("generator", "") if Input.DRAWN in metric.needs else ""
            yield Place(spec.name, scored.score.on, key, through, by, scored.score.model), reading


def _ranked_metrics(spec: Benchmark, scored: Scored) -> Sequence[str]:
    return scored.metrics if spec.name in ALL_METRICS else spec.members(spec.metrics[0], scored.score)
