"""Bases of benchmarks with independent calls.

The shortest benchmark is a class derived from :class:`OneCallPerSample`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, ClassVar, NamedTuple

from driftledger.benchmarks.base.benchmark import Benchmark, Collecting, Scored, Scoring
from driftledger.benchmarks.base.records import (
    CollectedRecord,
    Folders,
    RecordedResult,
    Records,
    stream_records,
)
from driftledger.benchmarks.base.scoring import clusters_of, copies
from driftledger.benchmarks.base.stage import DATASET, RECORDS_OF, Stage, score_stage
from driftledger.benchmarks.base.traces import Shown, Step, Trace, shot
from driftledger.benchmarks.base.traces import values_of as trace_values
from driftledger.collect.call import Ask, Planned, RunSteps, Steps
from driftledger.core.canonical import Json
from driftledger.core.types import Conversation, Outcome, Sample, Subject
from driftledger.data.records import ONE_CATEGORY, read_samples
from driftledger.scoring.means import numbers
from driftledger.scoring.number import Number
from driftledger.scoring.score import AnyFlag, Row, Rows, Score


class OneCall(Benchmark):
    """Asks for replies that each have a record of their own."""

    @abstractmethod
    def asks(self, collecting: Collecting) -> Iterator[tuple[Ask, Json]]:
        """Yield the calls, each with the ``extra`` of its record."""

    def planned(self, collecting: Collecting) -> Iterator[Planned[Records]]:
        """Yield the protocol of each unit; by default it is one call, and its record."""
        for ask, extra in self.asks(collecting):
            calls = [(ask.component, ask.conversation)]
            yield Planned(answered(ask, ask.context.t, extra=extra), calls)

    def collect(
        self, collecting: Collecting, run: RunSteps
    ) -> Iterable[CollectedRecord]:
        return chain.from_iterable(run(self.planned(collecting)))


def answered(
    ask: Ask, step: int, *, extra: Json, role: str = "model"
) -> Steps[Records]:
    """Make one call, and return its record.

    Args:
        role: who is asked.
    """
    result = yield ask
    reply = RecordedResult.of(role, ask, result)
    unit = ask.context.sample
    return [CollectedRecord(unit=unit, step=step, results=[reply], extra=extra)]


class Reply(NamedTuple):
    """A model's reply about a sample."""

    sample: Sample
    record: CollectedRecord
    text: str
    """Empty where the reply has none that counts."""


class RepliesPerSample(OneCall):
    """Asks once about each sample of a dataset, and compares all replies together."""

    data = DATASET
    asks_to: ClassVar[str] = "answer"
    """The name of its stage and of its calls; calls to ``describe`` are shared with chains."""
    asked: ClassVar[tuple[str, ...]] = ()
    """The settings that :meth:`ask` depends on."""
    seen_by: ClassVar[tuple[str, ...]] = ()
    """Further keys of its scores: ``encoder``."""
    worst: ClassVar[float] = 0.0
    """The worth in each metric of a reply that cannot be read, unless ``unread`` leaves it out.
    Where less is better, set it to the worst value."""

    def __init_subclass__(cls) -> None:
        if not hasattr(cls, "name"):
            return
        keys = ("dataset", "model")
        path = f"{RECORDS_OF}/{cls.name}/{{dataset}}"
        cls.collects = Stage(cls.asks_to, keys, path, settings=cls.asked)
        cls.scores = score_stage(cls.name, (*keys, *cls.seen_by), version=3)
        for metric in cls.metrics:
            worst = cls.worst * metric.scale
            low, high = metric.range
            is_best = worst >= high if metric.is_higher else worst <= low
            if metric.in_rows and metric.has_direction and is_best:
                raise TypeError(
                    f"{cls.__name__}.worst is {cls.worst}, the best value of {metric.name}; set it "
                    "to the worst one"
                )

    @abstractmethod
    def ask(self, sample: Sample, settings: Mapping[str, Any]) -> str:
        """Return the prompt about a sample, which is sent with its image."""

    def asks(self, collecting: Collecting) -> Iterator[tuple[Ask, Json]]:
        for sample in collecting.samples:
            subject = Subject(sample.id, 1, collecting.on)
            prompt = self.ask(sample, collecting.protocol)
            conversation = Conversation.ask(prompt, sample.medium, subject)
            yield Ask(collecting.model(), self.asks_to, conversation, subject), {}

    @abstractmethod
    def columns(
        self, scoring: Scoring, replies: Sequence[Reply]
    ) -> Mapping[str, Sequence[float | None]]:
        """Return metric → the worth of each reply, None for one that cannot be read."""

    def beside(
        self, scoring: Scoring, replies: Sequence[Reply]
    ) -> tuple[Sequence[Number], Sequence[AnyFlag]]:
        """Return further numbers, and further flags."""
        return (), ()

    def score(self, scoring: Scoring) -> Scored:
        """Average the worth of the replies, with an interval over samples."""
        replies = self._replies(scoring)
        columns = self.columns(scoring, replies)
        further, flags = self.beside(scoring, replies)
        rows, lost = self._rows(scoring, replies, columns)
        values = [
            value for name in columns for row in rows for value in row.values_of(name)
        ]
        counted = len({value.sample for value in values})
        scored = len(rows) - len(lost)
        what = "samples could be scored"
        remarks = scoring.coverage_flags(scored, len(rows), what, lost, counted)
        confidence = scoring.section.confidence
        score = scoring.score(
            [*numbers(values, self.metrics, {}, confidence), *further],
            scored=scored,
            counted=counted,
            total=len(rows),
            outcomes=[row.outcome for row in rows],
            flags=[*flags, *remarks, *copies(scoring.samples), *scoring.facts.noted()],
        )
        return Scored(score, rows)

    def traces(self, folders: Folders, score: Score, rows: Rows) -> Iterator[Trace]:
        """Yield a trace per row: the sample and the reply."""
        samples = {sample.id: sample for sample in read_samples(folders["dataset"])}
        stored = stream_records(folders[self.collects.name])
        records = {record.unit: record for record in stored}
        values = trace_values(self.metrics, score)
        for row in rows:
            record = records[row.unit]
            sample = samples[row.unit]
            start: Mapping[str, Shown] = {
                "sample": row.unit,
                **shot(sample.medium.path),
            }
            reply = {"reply": record.text}
            step = Step(
                self.asks_to,
                "model",
                inputs={"prompt": self.ask(sample, score.inputs.protocol), **start},
                outputs=reply,
                outcome=record.outcome,
                error=record.error,
                column="sample",
            )
            yield Trace(
                unit=row.unit,
                name="reply",
                inputs=start,
                outputs=reply,
                outcome=row.outcome,
                steps=[step],
                values=values(row),
                start="sample",
            )

    def _replies(self, scoring: Scoring) -> list[Reply]:
        """Return the reply about each sample."""
        records = {record.unit: record for record in scoring.read()}
        scoring.require((sample.id, 1, 0) for sample in scoring.samples)
        replies = []
        for sample in scoring.samples:
            record = records[sample.id]
            text = record.text if record.has_text else None
            replies.append(Reply(sample, record, text or ""))
        return replies

    def _rows(
        self,
        scoring: Scoring,
        replies: Sequence[Reply],
        columns: Mapping[str, Sequence[float | None]],
    ) -> tuple[list[Row], list[str]]:
        """Return a row per reply, and a phrase for each that cannot be read."""
        clusters = clusters_of(scoring.samples)
        counts_worst = scoring.section.unread == "worst"
        rows = []
        lost = []
        for place, (sample, record, _) in enumerate(replies):
            worths = {name: column[place] for name, column in columns.items()}
            if worths[self.metrics.first.name] is None:
                lost.append(f"{record.place}: {record.error or record.outcome}")
                if counts_worst and record.outcome is not Outcome.FAILED:
                    worths = dict.fromkeys(worths, self.worst)
            row = Row(
                unit=sample.id,
                group=ONE_CATEGORY,
                cluster=clusters[sample.id],
                outcome=record.outcome,
                values={name: [worth] for name, worth in worths.items()},
            )
            rows.append(row)
        return rows, lost


class OneCallPerSample(RepliesPerSample):
    """Asks once about each sample of a dataset, and averages the worth of the replies.

    A benchmark of this kind has a name, a title, a section of settings, one metric that rows hold
    and that says how to ``estimate`` it, and the methods :meth:`ask` and :meth:`worth`.
    """

    @abstractmethod
    def worth(self, sample: Sample, text: str) -> float | None:
        """Return the value of a reply; None if nothing can be read in it."""

    def columns(
        self, scoring: Scoring, replies: Sequence[Reply]
    ) -> Mapping[str, Sequence[float | None]]:
        worths = []
        for reply in replies:
            worths.append(self.worth(reply.sample, reply.text) if reply.text else None)
        return {self.metrics.first.name: worths}
