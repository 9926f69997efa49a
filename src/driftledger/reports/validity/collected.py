"""Every score of the models and generators that are ranked, read from the files that ``make run-neural`` leaves."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple, TypeAlias, TypeVar

import numpy as np

from driftledger.benchmarks._questions.records import QuestionOutcome, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, Redrawn, Retrieved, TracScore
from driftledger.benchmarks.genception.records import SampleScore, ScoreFile
from driftledger.benchmarks.settings import Bootstrap
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.paths import Combination, Layout, questions_file, samples_file
from driftledger.data.question_sets.files import QUESTIONS, QuestionEntry
from driftledger.metrics.bootstrap import bootstrap_interval
from driftledger.project.settings import Run
from driftledger.reports.questions import HEADLINES
from driftledger.reports.validity.units import Units, of_chains, of_pairs, of_redrawings, of_repeats, of_retrieved

R = TypeVar("R", bound=Record)
T = TypeVar("T")

_NO_ENCODER, _NO_GENERATOR = "ssim", "clip_s"
"""Metrics of fidelity that are the same whatever the encoder, or the generator, of the combination."""
_ENDS = ("_low", "_high")


class Place(NamedTuple):
    """Which score of which metric; empty where a role has no part in it."""

    benchmark: str
    on: str
    """The dataset or question set."""
    metric: str
    encoder: str
    generator: str
    model: str


class Reading(NamedTuple):
    """A value, with the interval of its score file and what it is a mean of, where it has them."""

    value: float
    low: float | None = None
    high: float | None = None
    units: Units | None = None


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
        file = source.layout.scores("genception", dataset, combination)
        score, rows = _read(file, ScoreFile), _read_rows(samples_file(file), SampleScore)
        if score.inputs.chain.iterations != source.iterations:
            raise StoreError(f"{file} is of another T than params.yaml; run 'make run-neural'")
        model, generator, encoder = combination
        for t in range(1, source.iterations + 1):
            place = Place("genception", dataset, f"gc_at_{t}", encoder, generator, model)
            yield from _reading(place, score.metrics, of_chains(rows, t))


def _redrawn(source: Source) -> Iterator[tuple[Place, Reading]]:
    for dataset, combination in product(source.run.fidelity, _combinations(source)):
        file = source.layout.scores("fidelity", dataset, combination)
        score, rows = _read(file, FidelityScore), _read_rows(samples_file(file), Redrawn)
        model, generator, encoder = combination
        for metric in sorted(name for name in score.metrics if not name.endswith(_ENDS)):
            through = "" if metric == _NO_ENCODER else encoder
            by = "" if metric == _NO_GENERATOR else generator
            place = Place("fidelity", dataset, metric, through, by, model)
            yield from _reading(place, score.metrics, of_redrawings(rows, metric))


def _told(source: Source) -> Iterator[tuple[Place, Reading]]:
    run = source.run
    for dataset, model in product(run.trac, source.models):
        encoder = run.text_encoders[0]
        file = source.layout.trac_scores(dataset, model, run.descriptions[0], encoder)
        score, rows = _read(file, TracScore), _read_rows(samples_file(file), Retrieved)
        place = Place("trac", dataset, "top1", encoder, "", model)
        yield from _reading(place, score.metrics, of_retrieved(rows, score.by_class))


def _asked(source: Source) -> Iterator[tuple[Place, Reading]]:
    for name in source.run.question_sets:
        questions = source.layout.question_set(name) / QUESTIONS
        asked = {entry.id: entry for entry in _read_rows(questions, QuestionEntry)}
        for model in source.models:
            file = source.layout.question_scores(name, model)
            score, rows = _read(file, QuestionScore), _read_rows(questions_file(file), QuestionOutcome)
            unknown = [row.question for row in rows if row.question not in asked]
            if unknown:
                raise StoreError(
                    f"{file} has the question {unknown[0]!r:.80}, which {questions} has not; run 'make run-neural'"
                )
            place = Place(score.benchmark, name, HEADLINES[score.benchmark], "", "", model)
            units = (of_pairs if score.benchmark == "mme" else of_repeats)(rows, asked)
            yield from _reading(place, _with_interval(score, units, source), units)


def _combinations(source: Source) -> Iterable[Combination]:
    return (Combination(*names) for names in product(source.models, source.generators, source.run.encoders))


def _reading(place: Place, metrics: Mapping[str, float], units: Units) -> Iterator[tuple[Place, Reading]]:
    """One, if the score has the metric."""
    if place.metric in metrics:
        low, high = (metrics.get(place.metric + end) for end in _ENDS)
        yield place, Reading(metrics[place.metric], low, high, units or None)


def _with_interval(score: QuestionScore, units: Units, source: Source) -> dict[str, float]:
    """The metrics, with the interval that MME's score file leaves out: over images, inside their categories."""
    if score.benchmark != "mme" or not units:
        return dict(score.metrics)
    low, high = bootstrap_interval(
        np.array([unit.value for unit in units.values()]),
        [unit.stratum for unit in units.values()],
        resamples=source.bootstrap.resamples,
        confidence=source.bootstrap.confidence,
        seed=source.run.seed,
    )
    return {"score_low": low, "score_high": high} | score.metrics


def _read(file: Path, kind: type[R]) -> R:
    return _there(file, lambda: read_json(file, kind))


def _read_rows(file: Path, kind: type[R]) -> list[R]:
    return _there(file, lambda: read_jsonl(file, kind))


def _there(file: Path, read: Callable[[], T]) -> T:
    if not file.is_file():
        raise StoreError(f"{file} is missing; run 'make run-neural', which writes it")
    return read()
