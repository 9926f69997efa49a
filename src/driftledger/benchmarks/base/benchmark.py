"""The base of benchmarks: tables that describe one, a protocol that asks, a function that scores.

Everything that the rest of the program wants to know of a benchmark stands in the tables: its
stages, its metrics, what makes two of its scores unfair to compare, which pictures and tables it
adds. A new benchmark is a folder and a line in :mod:`driftledger.benchmarks.registry`. What asks
and what scores is imported when it is used: the command line starts without it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias

from driftledger.benchmarks.base.collecting import Collecting, FailedCalls
from driftledger.benchmarks.base.records import (
    CollectedRecord,
    Folders,
)
from driftledger.benchmarks.base.settings import Section
from driftledger.collect.call import RunSteps
from driftledger.core.canonical import Json
from driftledger.core.media import ANY_MEDIUM
from driftledger.core.media import Kind as MediumKind
from driftledger.core.types import Outcome
from driftledger.data.question_sets.base import QuestionRules
from driftledger.metrics.exact import exact_mean
from driftledger.scoring.metric import Input, Metric, MetricTable
from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import (
    Answer,
    Row,
    Rows,
    Score,
    Scores,
    answer_as,
)
from driftledger.scoring.table import Table

if TYPE_CHECKING:
    from driftledger.benchmarks.base.scoring import Scored, Scoring
    from driftledger.benchmarks.base.traces import Trace


@dataclass(frozen=True)
class Stage:
    """A step from the data to a score, which writes a folder for each value of its keys.

    Several of these folders lie in one output of DVC: ``dvc.yaml`` has one stage for all data, and
    two for each model.
    """

    name: str
    keys: tuple[str, ...]
    path: str
    """The folder that it writes, below the top one; a template over the keys."""
    version: int = 1
    """To be raised with each change of what the stage writes, so that it runs again everywhere."""
    settings: tuple[str, ...] = ()
    """Keys of the benchmark's section that shape what it writes."""
    judged: bool = False
    """Whether ``run.judge`` is asked."""
    holds: tuple[str, ...] = ()
    """Names that ``extra`` of each of its records has to hold."""
    beside: tuple[str, ...] = ()
    """Further settings of the section, of files of the user's which go into a score:
    ``ratings``."""

    def at(self, keys: Mapping[str, str]) -> str:
        """Return the folder of these keys, relative to the top folder."""
        return self.path.format_map(keys)

    def out(self, keys: Mapping[str, str]) -> str:
        """Return the output in ``dvc.yaml`` that holds the folder, relative to the top folder.

        >>> stage = Stage("chain", ("model", "dataset"), "data/records/{model}/chains/{dataset}")
        >>> stage.out({"model": "m"})
        'data/records/m'
        """
        head, model, _ = self.path.partition("{model}")
        return (head + model).format_map(keys) if model else head.rpartition("/{")[0]

    def lock(self, keys: Mapping[str, str]) -> str:
        """Return its stage in ``dvc.lock``: ``data``, ``collect@<model>`` or ``score@<model>``."""
        if "{model}" not in self.path:
            return "data"
        return (
            f"{'score' if self.path.startswith(SCORES) else 'collect'}@{keys['model']}"
        )


SCORES = "reports/scores"
RECORDS_OF = "data/records/{model}"
"""The outputs of the stages that score and collect; the latter a template."""

DATASET = Stage("dataset", ("dataset",), "data/datasets/{dataset}")
QUESTION_SET = Stage("question_set", ("question_set",), "data/questions/{question_set}")
"""What every benchmark starts from: one of both."""


def score_stage(
    name: str,
    keys: tuple[str, ...],
    *settings: str,
    beside: tuple[str, ...] = (),
    version: int = 1,
) -> Stage:
    """Return the stage that scores a benchmark.

    It depends on these settings of the section, and on those that every section has.
    """
    places = [f"{{{key}}}" for key in keys if key != "model"]
    path = "/".join([SCORES, "{model}", name, *places])
    settings = ("min_coverage", "unread", "confidence", *settings, *beside)
    return Stage(name, keys, path, version, settings=settings, beside=beside)


class Rule(NamedTuple):
    """A fact in which two scores must agree to be ranked."""

    fact: str
    """A role, a key of the protocol or of the settings of scoring, or one that the benchmark's
    ``facts`` adds."""
    why: str
    moves: Input | None = None
    """It moves the metrics that depend on this; None is all of them."""
    concerns: tuple[str, ...] = ()
    """Metrics that it moves alone, by their names, where ``moves`` would name too many."""

    def is_about(self, metric: Metric) -> bool:
        """Return True if it moves a metric."""
        if self.concerns:
            return metric.name in self.concerns
        return self.moves is None or self.moves in metric.needs


UNREAD_COUNTS = Rule(
    "unread",
    "a reply that holds nothing to go on from counts as the worst value in one of them only",
)
"""The rule that holds of every benchmark."""


PaperTables: TypeAlias = Mapping[str, Mapping[str, Place]]
"""Title of a table with a row per model → head of a column → the place of its numbers."""


class Scatter(NamedTuple):
    """A figure with a point per model, by two numbers from 0 to 100."""

    name: str
    x: str
    """Key of a metric."""
    y: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    """Label → the ends or points of a line on which a third value is the same."""
    note: str


class Lines(NamedTuple):
    """A figure with a line per model."""

    name: str
    title: str
    across: str
    """What the line goes over: ``iteration t``."""
    points: Callable[[Score], Mapping[int, Number]]
    """The points of a model's line, from its score; none if there is no line."""


def over_t(score: Score, metric: str) -> dict[int, Number]:
    """Return the numbers of a metric by t, as points of a line."""
    numbers = score.over_t(metric)
    return {number.t: number for number in numbers if number.t is not None}


class Benchmark(ABC):
    """The specification of a benchmark.

    Its attributes are tables; its methods have defaults that do for most.
    """

    name: ClassVar[str]
    """The word that stages, modules, params and MLflow use."""
    title: ClassVar[str]
    """For people: ``MM-SAP``."""
    data: ClassVar[Stage]
    """:data:`DATASET` or :data:`QUESTION_SET`."""
    questions: ClassVar[QuestionRules | None] = None
    """What the questions of its sets must have; None for a benchmark that goes over datasets."""
    media: ClassVar[frozenset[MediumKind]] = ANY_MEDIUM
    """What its datasets may be of."""
    collects: ClassVar[Stage]
    """The one stage that asks components."""
    scores: ClassVar[Stage]
    metrics: ClassVar[MetricTable]
    """Headlines first, in the order in which a reader wants them."""
    settings: ClassVar[type[Section]]
    """Its section of ``params.yaml``."""
    unfair: ClassVar[tuple[Rule, ...]] = ()
    paper_tables: ClassVar[PaperTables] = {}
    """The tables of the paper. The first one also gets a column for each metric that is shown in
    tables and that none of them names. Empty: one table with a column per metric."""
    group_tables: ClassVar[Mapping[str, str]] = {}
    """Kind of groups with a table per metric, a row per group and a column per model → what is
    added to the title of the first: where the paper has it."""
    means_of_groups: ClassVar[str] = ""
    """Kind of groups that average those of the first such kind, with members in
    ``details["groups"]``; their means and ranks are rows of the same tables."""
    group_bars: ClassVar[tuple[str, ...]] = ()
    """Kinds of groups with a figure of the first metric."""
    lines: ClassVar[tuple[Lines, ...]] = ()
    """Figures beside those of metrics over t, or in place of one of the same name."""
    first_look: ClassVar[Mapping[str, object]] = {}
    """Settings of a first look in a notebook, in place of those that ``params.yaml`` has."""

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages from the data to the score."""
        return (self.data, self.collects, self.scores)

    def protocol(self, given: Collecting) -> Mapping[str, Any]:
        """Return how components are asked, as the card holds it.

        By default this is the settings of the stage and the seed.

        Args:
            given: what the project has, without a protocol.
        """
        settings = {
            name: getattr(given.section, name) for name in self.collects.settings
        }
        return settings | {"seed": given.seed}

    @abstractmethod
    def collect(
        self, collecting: Collecting, run: RunSteps
    ) -> Iterable[CollectedRecord]:
        """Drive the protocols of all units by ``run``; errors as of it."""

    def failures(self, records: Sequence[CollectedRecord]) -> FailedCalls:
        """Return which failed calls there were."""
        phrases = []
        for record in records:
            if any(each.outcome is Outcome.FAILED for each in record.results):
                phrases.append(f"{record.place}: {record.error or 'no reason given'}")
        return FailedCalls(phrases, len(records), "records")

    @abstractmethod
    def score(self, given: "Scoring") -> "Scored":
        """Compute a score from records.

        Raises:
            CoverageError: too little could be scored.
        """

    def scored_with(self, section: Section, seed: int) -> Json:
        """Return what ``inputs.settings`` holds: all that the scoring depends on.

        As in the protocol, a setting of chains is left out where it is null.
        """
        names = {*self.scores.settings} - {*self.scores.beside}
        settings = section.model_dump(mode="json", include=names)
        for name in self.collects.settings:
            if settings.get(name, "") is None:
                del settings[name]
        return settings | {"seed": seed}

    def facts(self, score: Score) -> Json:
        """Return what may make two scores unfair to compare, by the names in :attr:`unfair`."""
        facts = dict(score.inputs.protocol)
        for name, value in score.inputs.settings.items():
            if name != "confidence":
                facts[name] = (
                    value if facts.get(name, value) == value else [facts[name], value]
                )
        return facts

    def rows_in(self, score: Score, kind: str, name: str, rows: Rows) -> Rows:
        """Return the rows behind the numbers of one group; none if they are unknown.

        By default they name the group in their ``extra``, or are averaged in it.
        """
        named = [row for row in rows if row.extra.get(kind) == name]
        return named or [row for row in rows if row.group == name]

    def worths(self, row: Row) -> Sequence[float | None]:
        """Return what each answer behind a row is worth, from 0 to 1: its values of the first
        metric."""
        return row.values.get(self.metrics.first.name, [])

    def answers(self, row: Row) -> Iterator[Answer]:
        """Yield the answers behind a row, each with its reading; a failed call gave none.

        They are the row's :meth:`worths`, if the first metric needs answers; ``extra`` may have the
        ``questions``, the ``outcomes`` and what was ``read``. The gradings of one answer are
        averaged.
        """
        if Input.ANSWERS not in self.metrics.first.needs:
            return
        worths = self.worths(row)
        units = row.extra.get("questions", [row.unit] * len(worths))
        outcomes = row.extra.get("outcomes", [row.outcome] * len(worths))
        read = row.extra.get("read", worths)
        if self.collects.judged:
            known = [worth for worth in worths if worth is not None]
            worths = [exact_mean(known) if known else None]
            outcomes = [row.outcome]
            read = worths
        steps: Counter[str] = Counter()
        for unit, outcome, worth, each in zip(
            units, outcomes, worths, read, strict=False
        ):
            steps[unit] += 1
            if outcome != Outcome.FAILED:
                yield answer_as(
                    unit, steps[unit], Outcome(outcome), worth=worth, read=each
                )

    def is_complete(self, score: Score, place: Place) -> bool:
        """Return False for a number that lacks a part which others have, and has no rank."""
        return True

    def tables(self, scores: Scores) -> Iterator[Table]:
        """Yield tables that only this benchmark has, of scores on the same data."""
        return iter(())

    def notes(self, scores: Scores) -> Iterator[str]:
        """Yield lines to print below the first table of these scores."""
        return iter(())

    def figures(self, scores: Scores) -> Iterator[Scatter]:
        """Yield figures beside bars and lines, of scores on the same data."""
        return iter(())

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator["Trace"]:
        """Yield the units of these rows step by step, as MLflow's trace view shows them.

        Args:
            folders: stage → the folder that it wrote, from the data to the score.
        """
        return iter(())


Selected: TypeAlias = Sequence[tuple[Benchmark, Mapping[str, str]]]
"""Scores in the order of the selection: the benchmark of each, and the keys that name it."""
