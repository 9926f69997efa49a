"""Every score of the models and generators that are ranked, by its place among benchmarks, datasets and components."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks.settings import Bootstrap
from driftledger.core.paths import Combination, Layout
from driftledger.project.settings import Run
from lab.validity import scores
from lab.validity.scores import Reading, Scored

_NO_ENCODER, _NO_GENERATOR = "ssim", "clip_s"
"""Metrics of fidelity that are the same whatever the encoder, or the generator, of the combination."""


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

    layout: Layout
    run: Run
    iterations: int
    bootstrap: Bootstrap
    models: Sequence[str]
    generators: Sequence[str]


def collect(source: Source) -> Readings:
    """All of GenCeption, fidelity, TRAC and the question sets that ``run:`` selects, for these models and generators.

    TRAC is of the first way to ask and the first text encoder. A metric that a score file has not is not in it.

    Raises:
        StoreError: a file is missing, or is of another T than ``params.yaml``.
    """
    found: Readings = {}
    for part in (_drifted, _redrawn, _told, _asked):
        for place, reading in part(source):
            found.setdefault(place, reading)  # a metric without an encoder is the same through each
    return found


def _drifted(source: Source) -> Iterator[tuple[Place, Reading]]:
    for dataset, combination in product(source.run.genception, _combinations(source)):
        score = scores.genception(source.layout, dataset, combination, source.iterations)
        model, generator, encoder = combination
        for t in range(1, source.iterations + 1):
            yield from _reading(Place("genception", dataset, f"gc_at_{t}", encoder, generator, model), score)


def _redrawn(source: Source) -> Iterator[tuple[Place, Reading]]:
    for dataset, combination in product(source.run.fidelity, _combinations(source)):
        score = scores.fidelity(source.layout, dataset, combination)
        model, generator, encoder = combination
        for metric in score.metrics:
            through = "" if metric == _NO_ENCODER else encoder
            by = "" if metric == _NO_GENERATOR else generator
            yield from _reading(Place("fidelity", dataset, metric, through, by, model), score)


def _told(source: Source) -> Iterator[tuple[Place, Reading]]:
    run = source.run
    for dataset, model in product(run.trac, source.models):
        encoder = run.text_encoders[0]
        score = scores.trac(source.layout, dataset, model, run.descriptions[0], encoder)
        yield from _reading(Place("trac", dataset, "top1", encoder, "", model), score)


def _asked(source: Source) -> Iterator[tuple[Place, Reading]]:
    for name, model in product(source.run.question_sets, source.models):
        score = scores.questions(source.layout, name, model, source.bootstrap, source.run.seed)
        yield from _reading(Place(score.benchmark, name, scores.headline(score.benchmark), "", "", model), score)


def _combinations(source: Source) -> Iterable[Combination]:
    return (Combination(*names) for names in product(source.models, source.generators, source.run.encoders))


def _reading(place: Place, score: Scored) -> Iterator[tuple[Place, Reading]]:
    """One, if the score has the metric."""
    reading = score.reading(place.metric)
    if reading is not None:
        yield place, reading
