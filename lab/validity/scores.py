"""The study's one door to stored scores: the value of a metric of one model on one dataset, and the rows behind it.

Everything that depends on how score files are laid out is here; the rest of the study knows :class:`Reading` alone.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

import numpy as np

from driftledger.benchmarks._questions.records import QuestionOutcome, QuestionScore
from driftledger.benchmarks.description_records import FidelityScore, Redrawn, Retrieved, TracScore
from driftledger.benchmarks.genception.records import SampleScore, ScoreFile
from driftledger.benchmarks.settings import Bootstrap
from driftledger.core.canonical import canonical_json
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.paths import Combination, Layout, questions_file, samples_file
from driftledger.data.question_sets.files import QUESTIONS, QuestionEntry
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.bootstrap import bootstrap_interval
from driftledger.metrics.exact import exact_mean
from driftledger.reports.questions import HEADLINES
from driftledger.benchmarks.tables import is_frechet
from lab.validity.units import Unit, Units

R = TypeVar("R", bound=Record)
T = TypeVar("T")

PERCENT = 100.0
_ENDS = ("_low", "_high")


class Reading(NamedTuple):
    """A value, with the interval of its score file and what it is a mean of, where it has them."""

    value: float
    low: float | None = None
    high: float | None = None
    units: Units | None = None


class Scored(NamedTuple):
    """One score file with its rows."""

    benchmark: str
    values: Mapping[str, float]
    """Metrics, and the ends of their intervals."""
    units: Callable[[str], Units]
    """Of a metric; empty for one that is of all samples together, as a Fréchet distance is."""

    @property
    def metrics(self) -> list[str]:
        """Names, sorted."""
        return sorted(name for name in self.values if not name.endswith(_ENDS))

    def reading(self, metric: str) -> Reading | None:
        """None if the file does not have the metric."""
        if metric not in self.values:
            return None
        low, high = (self.values.get(metric + end) for end in _ENDS)
        return Reading(self.values[metric], low, high, self.units(metric) or None)


def higher_is_better(metric: str) -> bool:
    return not is_frechet(metric)


def genception(layout: Layout, dataset: str, combination: Combination, iterations: int) -> Scored:
    """Its metrics are ``gc_at_<t>`` and others.

    Raises:
        StoreError: a file is missing, or is of another T than ``iterations``; so below, for missing files.
    """
    file = layout.scores("genception", dataset, combination)
    score, rows = _read(file, ScoreFile), _read_rows(samples_file(file), SampleScore)
    if score.inputs.chain.iterations != iterations:
        raise StoreError(f"{file} is of another T than params.yaml; run 'make run-neural'")
    return Scored("genception", score.metrics, lambda metric: of_chains(rows, int(metric.removeprefix("gc_at_"))))


def fidelity(layout: Layout, dataset: str, combination: Combination) -> Scored:
    file = layout.scores("fidelity", dataset, combination)
    score, rows = _read(file, FidelityScore), _read_rows(samples_file(file), Redrawn)
    return Scored("fidelity", score.metrics, lambda metric: of_redrawings(rows, metric))


def trac(layout: Layout, dataset: str, model: str, description: str, encoder: str) -> Scored:
    """Rows are those behind ``top1``."""
    file = layout.trac_scores(dataset, model, description, encoder)
    score, rows = _read(file, TracScore), _read_rows(samples_file(file), Retrieved)
    return Scored("trac", score.metrics, lambda _: of_retrieved(rows, score.by_class))


def questions(layout: Layout, question_set: str, model: str, bootstrap: Bootstrap, seed: int) -> Scored:
    """Rows are those behind the benchmark's :func:`headline`; MME's file leaves its interval out, which is made here.

    Raises:
        StoreError: a file is missing, or an answer is to a question that the set does not hold.
    """
    entries = layout.question_set(question_set) / QUESTIONS
    asked = {entry.id: entry for entry in _read_rows(entries, QuestionEntry)}
    file = layout.question_scores(question_set, model)
    score, rows = _read(file, QuestionScore), _read_rows(questions_file(file), QuestionOutcome)
    unknown = [row.question for row in rows if row.question not in asked]
    if unknown:
        raise StoreError(f"{file} has the question {unknown[0]!r:.80}, which {entries} has not; run 'make run-neural'")
    if score.benchmark != "mme":
        return Scored(score.benchmark, score.metrics, lambda _: of_repeats(rows, asked))
    units = of_pairs(rows, asked)
    return Scored("mme", _with_interval(score.metrics, units, bootstrap, seed), lambda _: units)


def headline(benchmark: str) -> str:
    """The metric by which a benchmark of questions is known."""
    return HEADLINES[benchmark]


def _with_interval(metrics: Mapping[str, float], units: Units, bootstrap: Bootstrap, seed: int) -> dict[str, float]:
    """Over images, inside their categories."""
    if not units:
        return dict(metrics)
    low, high = bootstrap_interval(
        np.array([unit.value for unit in units.values()]),
        [unit.stratum for unit in units.values()],
        resamples=bootstrap.resamples,
        confidence=bootstrap.confidence,
        seed=seed,
    )
    return {"score_low": low, "score_high": high, **metrics}


def of_chains(rows: Iterable[SampleScore], t: int) -> Units:
    """GC@t."""
    return {row.sample: Unit(value, row.category, row.sample) for row in rows if (value := row.gc[t - 1]) is not None}


def of_redrawings(rows: Iterable[Redrawn], metric: str) -> Units:
    """A fidelity metric."""
    return {row.sample: Unit(row.metrics[metric], ONE_CATEGORY, row.sample) for row in rows if metric in row.metrics}


def of_retrieved(rows: Iterable[Retrieved], classes: Collection[str]) -> Units:
    """TRAC's top-1, of test samples that have a description and whose class has a support description left."""
    return {
        row.sample: Unit(PERCENT * (row.top1 == row.label), ONE_CATEGORY, row.sample)
        for row in rows
        if row.outcome.goes_on and row.label in classes
    }


def of_repeats(rows: Iterable[QuestionOutcome], asked: Mapping[str, QuestionEntry]) -> Units:
    """MM-SAP's score and MM-Vet's total: a question's mean over its permutations or gradings."""
    read = {row.question: [value for value in row.values if value is not None] for row in rows}
    return {
        question: Unit(PERCENT * exact_mean(values), ONE_CATEGORY, asked[question].image_sha256)
        for question, values in read.items()
        if values
    }


def of_pairs(rows: Iterable[QuestionOutcome], asked: Mapping[str, QuestionEntry]) -> Units:
    """MME's score: what an image's two questions add to its category's accuracy and accuracy+, of 0 to 200."""
    pairs: dict[tuple[str, str], list[float | None]] = {}
    for row in rows:
        entry = asked[row.question]
        pairs.setdefault((entry.category or ONE_CATEGORY, entry.image_id), []).extend(row.values)
    names = {pair: canonical_json(pair) for pair in pairs}
    return {
        name: Unit(worth, pair[0], name) for pair, name in names.items() if (worth := _worth(pairs[pair])) is not None
    }


def _worth(values: Sequence[float | None]) -> float | None:
    read = [value for value in values if value is not None]
    return PERCENT * (exact_mean(read) + all(read)) if len(read) == len(values) else None


def _read(file: Path, kind: type[R]) -> R:
    return _there(file, lambda: read_json(file, kind))


def _read_rows(file: Path, kind: type[R]) -> list[R]:
    return _there(file, lambda: read_jsonl(file, kind))


def _there(file: Path, read: Callable[[], T]) -> T:
    if not file.is_file():
        raise StoreError(f"{file} is missing; run 'make run-neural', which writes it")
    return read()
