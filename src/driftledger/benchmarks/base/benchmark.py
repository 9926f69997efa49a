"""The base of benchmarks, and what they collect and score from.

The attributes of a :class:`Benchmark` describe it for the rest of the program: stages, metrics,
rules of fair comparison, tables and figures. A new benchmark is a folder and a line in
:mod:`driftledger.benchmarks.registry`. What asks
and what scores is imported when it is used: the command line starts without it.
"""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, cast

from driftledger.benchmarks.base.layout import Lines, PaperTables, Scatter
from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CallFacts,
    CollectedCard,
    CollectedRecord,
    FailedCalls,
    Folders,
    Records,
    changed_versions,
    stream_records,
)
from driftledger.benchmarks.base.settings import Section
from driftledger.benchmarks.base.stage import Stage
from driftledger.collect.call import NotStoredError, Planned, RunSteps
from driftledger.components.base import (
    Component,
    ComponentCard,
    Encoder,
    Generator,
    Model,
)
from driftledger.core.canonical import Json, sha256_file
from driftledger.core.errors import CoverageError, StoreError, first_few
from driftledger.core.files import read_json
from driftledger.core.media import Kind
from driftledger.core.types import Outcome, Sample
from driftledger.data.question_sets.base import QuestionRules
from driftledger.data.records import (
    DATASET_CARD,
    QUESTION_SET_CARD,
    DatasetCard,
    QuestionEntry,
    QuestionSetCard,
    loss_notes,
    notes_of,
    read_questions,
    read_samples,
)
from driftledger.metrics.exact import exact_mean
from driftledger.scoring.metric import Input, Metric, MetricTable
from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import (
    Answer,
    AnyFlag,
    Inputs,
    Row,
    Rows,
    Score,
    Scores,
    answer_as,
)
from driftledger.scoring.table import Table

if TYPE_CHECKING:
    from driftledger.benchmarks.base.traces import Trace
    from driftledger.collect.features import FeatureStore


class Rule(NamedTuple):
    """A fact in which two scores must agree to be ranked."""

    fact: str
    """A role, a key of the protocol or of the settings of scoring, or one that the benchmark's
    ``facts`` adds."""
    why: str
    moves: Input | None = None
    """It affects only metrics that depend on this input; None: all metrics."""
    concerns: tuple[str, ...] = ()
    """Names of the only metrics that it affects, where ``moves`` would be too wide."""

    def is_about(self, metric: Metric) -> bool:
        """Return True if it affects a metric."""
        if self.concerns:
            return metric.name in self.concerns
        return self.moves is None or self.moves in metric.needs


UNREAD_COUNTS = Rule(
    "unread",
    "a reply that holds nothing to go on from counts as the worst value in one of them only",
)
"""The rule of every benchmark."""


class OnData:
    """The data that records or a score are about, read once."""

    keys: Mapping[str, str]
    """The words that name the folder: dataset or question set, model, generator, …"""
    data: Path
    """The folder of the dataset or question set."""

    @cached_property
    def dataset(self) -> DatasetCard:
        """The card of the dataset."""
        return read_json(self.data / DATASET_CARD, DatasetCard)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """The samples of the dataset."""
        return read_samples(self.data)

    @cached_property
    def question_set(self) -> QuestionSetCard:
        """The card of the question set."""
        return read_json(self.data / QUESTION_SET_CARD, QuestionSetCard)

    @cached_property
    def questions(self) -> Sequence[QuestionEntry]:
        """The questions of the question set."""
        return read_questions(self.data)

    @property
    def data_card(self) -> DatasetCard | QuestionSetCard:
        """The card of the dataset or question set."""
        return self.dataset if "dataset" in self.keys else self.question_set


@dataclass(frozen=True, kw_only=True)
class Collecting(OnData):
    """A folder of records to make: the data, who is asked, and how.

    It is made from a project, or from the card of a folder that was made before.
    """

    spec: "Benchmark"
    keys: Mapping[str, str]
    data: Path
    components: Mapping[str, tuple[str, Component]]
    """Role → catalogue name and component."""
    section: Any = None
    """The benchmark's section of ``params.yaml``; None if made from a card, which has the
    protocol."""
    seed: int = 0
    """The seed of the project."""
    description: Any = None
    """The project's :class:`~driftledger.benchmarks.base.descriptions.Description`, where the keys
    or the section name one."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """The requests, as the card holds them and :meth:`Benchmark.protocol` returns them."""

    def model(self, role: str = "model") -> Model:
        """Return the model that plays a role."""
        return cast(Model, self.components[role][1])

    def generator(self) -> Generator:
        """Return the generator."""
        return cast(Generator, self.components["generator"][1])

    @property
    def on(self) -> str:
        """The name of the dataset or question set."""
        return self.keys[self.spec.data.name]

    @property
    def title(self) -> str:
        """The label of a bar of progress: ``GenCeption · photos · blind · painter``."""
        return " · ".join([self.spec.title, *self.keys.values()])

    def run(self, run: RunSteps) -> Records:
        """Drive the benchmark's protocols by ``run``; errors as in :class:`RunSteps`."""
        return [*self.spec.collect(self, run)]

    @property
    def planned(self) -> list[Planned[Any]]:
        """The protocols that need no results of other protocols; none is started."""
        planned = list[Planned[Any]]()

        def note(protocols: Iterable[Planned[Any]]) -> list[Any]:
            planned.extend(protocols)
            raise NotStoredError

        with suppress(NotStoredError):
            self.run(note)
        return planned

    @property
    def calls(self) -> int:
        """The largest number of calls that can be made."""
        return sum(len(planned.calls) + len(planned.after) for planned in self.planned)

    def card(self) -> CollectedCard:
        """Return the card to write beside the records."""
        cards = {}
        for role, named in self.components.items():
            cards[role] = ComponentCard.of(*named)
        return CollectedCard(
            benchmark=self.spec.name,
            stage=self.spec.collects.name,
            keys=dict(self.keys),
            data_digest=self.data_card.digest,
            components=cards,
            protocol=dict(self.protocol),
        )


class Scored(NamedTuple):
    """A score and its rows."""

    score: Score
    rows: list[Row]


@dataclass
class Scoring(OnData):
    """A folder of records that is scored, and all that the score is computed with."""

    spec: "Benchmark"
    keys: Mapping[str, str]
    folders: Folders
    """Stage → the folder that it wrote, the data's and every collect stage's."""
    section: Any
    """The benchmark's section of ``params.yaml``, or the settings of a score that is computed
    again."""
    seed: int
    encoders: Mapping[str, Encoder] = field(default_factory=dict)
    """Role (``encoder``, ``text_encoder``) → encoder, if the benchmark has one."""
    beside: Folders = field(default_factory=dict)
    """Setting → the user's file, for the settings that the scoring stage lists in ``beside``."""
    features: "FeatureStore | None" = None
    facts: CallFacts = field(default_factory=CallFacts)
    """What :meth:`read` has noted about the calls."""
    data: Path = field(init=False)
    _places: set[tuple[str, int, int]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.data = self.folders[self.spec.data.name]

    @property
    def folder(self) -> Path:
        """The folder of the records."""
        return self.folders[self.spec.collects.name]

    @cached_property
    def card(self) -> CollectedCard:
        """The card beside the records."""
        return read_json(self.folder / CARD, CollectedCard)

    @property
    def kind(self) -> Kind:
        """The kind of the samples: images or texts."""
        if "dataset" not in self.keys:
            return "image"
        return self.samples[0].medium.kind

    def read(self) -> Iterator[CollectedRecord]:
        """Yield the records, one at a time, and note what the score says of their calls.

        Read them once, before :meth:`score` is called.
        """
        for record in stream_records(self.folder, self.spec.collects.holds):
            self.facts.add(record)
            self._places.add((intern(record.unit), record.step, record.repeat))
            yield record

    def require(self, places: Iterable[tuple[str, int, int]]) -> None:
        """Raise if a unit has no record; call it after reading all records.

        Raises:
            StoreError: naming the unit, step and repeat.
        """
        for unit, step, repeat in places:
            if (unit, step, repeat) not in self._places:
                lacks = f"lacks the record of {unit}, step {step}, repeat {repeat}"
                raise StoreError(
                    f"{self.folder / RECORDS} {lacks}; run 'dvc repro' to make it again"
                )

    def coverage_flags(
        self, scored: int, total: int, what: str, lost: Sequence[str], counted: int = 0
    ) -> list[str]:
        """Return a sentence if so little could be scored that the model has no rank.

        Args:
            what: the end of the sentence: ``answers could be read``.
            lost: a phrase for each unit that could not be scored.
            counted: how many units are in the denominators, if more than ``scored``.

        Raises:
            CoverageError: nothing is in the denominators.
        """
        if not (scored or counted):
            raise CoverageError(
                f"none of {total} {what} ({first_few(lost)}): there is nothing to score"
            )
        least = self.section.min_coverage
        if scored / total >= least:
            return []
        required = f"{self.card.benchmark}.min_coverage asks for {least:.0%}"
        return [
            f"only {scored} of {total} {what} ({first_few(lost)}), and {required}: no rank"
        ]

    def score(
        self,
        numbers: Sequence[Number],
        *,
        scored: int,
        counted: int,
        total: int,
        outcomes: Iterable[Outcome],
        flags: Iterable[AnyFlag] = (),
        details: Json | None = None,
        **parser: str,
    ) -> Score:
        """Return a score with these numbers and everything it was computed from.

        Args:
            scored: how many units, answers or gradings could be read.
            counted: how many are in the denominators.
            outcomes: of the units, answers or gradings.
            flags: further flags, after those that every benchmark has.
            parser: the version of the parser, which the protocol of the score holds.
        """
        components = dict(self.card.components)
        for role, encoder in self.encoders.items():
            name = self.keys.get(role) or getattr(self.section, role, None) or ""
            components[role] = ComponentCard.of(name, encoder)
        return Score(
            benchmark=self.card.benchmark,
            keys=dict(self.keys),
            components=components,
            numbers=[*numbers],
            scored=scored,
            counted=counted,
            total=total,
            outcomes=dict(Counter(map(str, outcomes))),
            served=self.facts.served(),
            flags=[*self._notes(), *flags],
            details=details or {},
            inputs=self._inputs(parser),
        )

    def _inputs(self, parser: Json) -> Inputs:
        beside = {setting: sha256_file(file) for setting, file in self.beside.items()}
        return Inputs(
            data_digest=self.data_card.digest,
            records={self.spec.collects.name: sha256_file(self.folder / RECORDS)},
            protocol=self.card.protocol | parser,
            settings=self.spec.scored_with(self.section, self.seed),
            beside=beside,
        )

    def _notes(self) -> Iterator[AnyFlag]:
        """Yield flags about the calls and the data."""
        model = self.card.components["model"]
        generator = self.card.components.get("generator")
        if not model.control:
            yield from self.facts.alarms()
        if generator is not None and generator.fingerprint == model.fingerprint:
            yield f"{model.name} describes and draws, so the drift is that of both roles"
        yield from changed_versions(self.facts.served())
        if "dataset" in self.keys:
            yield from loss_notes(self.dataset, self.dataset.samples, f"{self.kind}s")
        else:
            yield from notes_of(
                self.question_set, self.question_set.questions, "questions' images"
            )
        yield from self.facts.reasoned()


class Benchmark(ABC):
    """The specification of a benchmark."""

    name: ClassVar[str]
    """The word that stages, modules, params and MLflow use."""
    title: ClassVar[str]
    """For people: ``MM-SAP``."""
    data: ClassVar[Stage]
    """:data:`DATASET` or :data:`QUESTION_SET`."""
    questions: ClassVar[QuestionRules | None] = None
    """Rules for the questions of its sets; None for a benchmark over datasets."""
    takes_texts: ClassVar[bool] = False
    """True if its datasets may be texts as well as images."""
    encoders_read: ClassVar[bool] = False
    """True if its encoders have to read texts as well as see images."""
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

    def protocol(self, collecting: Collecting) -> Mapping[str, Any]:
        """Return how components are asked, as the card holds it.

        By default this is the settings of the stage and the seed.

        Args:
            collecting: what the project has, without a protocol.
        """
        settings = {
            name: getattr(collecting.section, name) for name in self.collects.settings
        }
        return settings | {"seed": collecting.seed}

    @abstractmethod
    def collect(
        self, collecting: Collecting, run: RunSteps
    ) -> Iterable[CollectedRecord]:
        """Drive the protocols of all units by ``run``; errors as in :class:`RunSteps`."""

    def failures(self, records: Sequence[CollectedRecord]) -> FailedCalls:
        """Return the failed calls."""
        phrases = []
        for record in records:
            if any(result.outcome is Outcome.FAILED for result in record.results):
                phrases.append(f"{record.place}: {record.error or 'no reason given'}")
        return FailedCalls(phrases, len(records), "records")

    @abstractmethod
    def score(self, scoring: Scoring) -> Scored:
        """Compute a score from records.

        Raises:
            CoverageError: too little could be scored.
        """

    def scored_with(self, section: Section, seed: int) -> Json:
        """Return the settings that the scoring depends on, for ``inputs.settings``.

        Settings that also collecting depends on are left out if null.
        """
        names = {*self.scores.settings} - {*self.scores.beside}
        settings = section.model_dump(mode="json", include=names)
        for name in self.collects.settings:
            if settings.get(name, "") is None:
                del settings[name]
        return settings | {"seed": seed}

    def facts(self, score: Score) -> Json:
        """Return the facts that the rules in :attr:`unfair` compare, by name."""
        facts = dict(score.inputs.protocol)
        for name, value in score.inputs.settings.items():
            if name != "confidence":
                facts[name] = (
                    value if facts.get(name, value) == value else [facts[name], value]
                )
        return facts

    def rows_in(self, score: Score, kind: str, name: str, rows: Rows) -> Rows:
        """Return the rows behind the numbers of a group; empty if unknown.

        By default they name the group in their ``extra``, or are averaged in it.
        """
        named = [row for row in rows if row.extra.get(kind) == name]
        return named or [row for row in rows if row.group == name]

    def worths(self, row: Row) -> Sequence[float | None]:
        """Return the worth of each answer of a row, 0 to 1, by the first metric."""
        return row.values.get(self.metrics.first.name, [])

    def answers(self, row: Row) -> Iterator[Answer]:
        """Yield the answers of a row with their readings, without failed calls.

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
            units = [row.unit]
            outcomes = [row.outcome]
            read = worths
        steps: Counter[str] = Counter()
        for unit, outcome, worth, reading in zip(
            units, outcomes, worths, read, strict=True
        ):
            steps[unit] += 1
            if outcome != Outcome.FAILED:
                yield answer_as(
                    unit, steps[unit], Outcome(outcome), worth=worth, read=reading
                )

    def is_complete(self, score: Score, place: Place) -> bool:
        """Return False if a number averages only a part of the groups and gets no rank."""
        return True

    def tables(self, scores: Scores) -> Iterator[Table]:
        """Yield tables that only this benchmark has; the scores are on the same data."""
        return iter(())

    def notes(self, scores: Scores) -> Iterator[str]:
        """Yield lines to print below the first table of these scores."""
        return iter(())

    def figures(self, scores: Scores) -> Iterator[Scatter]:
        """Yield further figures than bars and lines; the scores are on the same data."""
        return iter(())

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator["Trace"]:
        """Yield the units of these rows step by step, as MLflow's trace view shows them.

        Args:
            folders: stage → the folder that it wrote, from the data to the score.
        """
        return iter(())


Selected = Sequence[tuple[Benchmark, Mapping[str, str]]]
"""The benchmark and the keys of each selected score, in the order of the selection."""
