"""Bases of benchmarks with independent calls.

The shortest benchmark is a class derived from :class:`OneCallPerSample`.
"""

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, ClassVar

from driftledger.benchmarks.base.benchmark import Benchmark, Collecting, Scored, Scoring
from driftledger.benchmarks.base.records import CollectedRecord, RecordedResult, Records
from driftledger.benchmarks.base.scoring import clusters_of
from driftledger.benchmarks.base.stage import DATASET, RECORDS_OF, Stage, score_stage
from driftledger.collect.call import Ask, Planned, RunSteps, Steps
from driftledger.core.canonical import Json
from driftledger.core.types import Conversation, Outcome, Sample, Subject
from driftledger.data.records import ONE_CATEGORY
from driftledger.scoring.means import numbers
from driftledger.scoring.score import Row


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


class OneCallPerSample(OneCall):
    """Asks once about each sample of a dataset, and averages the worth of the replies.

    A benchmark of this kind has a name, a title, a section of settings, one metric that rows hold
    and that says how to ``estimate`` it, and the methods :meth:`ask` and :meth:`worth`.
    """

    data = DATASET
    asked: ClassVar[tuple[str, ...]] = ()
    """The settings that :meth:`ask` depends on."""
    worst: ClassVar[float] = 0.0
    """The worth of a reply that cannot be read, unless ``unread`` leaves it out."""

    def __init_subclass__(cls) -> None:
        keys = ("dataset", "model")
        path = f"{RECORDS_OF}/{cls.name}/{{dataset}}"
        cls.collects = Stage("answer", keys, path, settings=cls.asked)
        cls.scores = score_stage(cls.name, keys, version=3)

    @abstractmethod
    def ask(self, sample: Sample, settings: Mapping[str, Any]) -> str:
        """Return the prompt about a sample, which is sent with its image."""

    @abstractmethod
    def worth(self, sample: Sample, text: str) -> float | None:
        """Return the value of a reply; None if nothing can be read in it."""

    def asks(self, collecting: Collecting) -> Iterator[tuple[Ask, Json]]:
        for sample in collecting.samples:
            subject = Subject(sample.id, 1, collecting.on)
            prompt = self.ask(sample, collecting.protocol)
            conversation = Conversation.ask(prompt, sample.medium, subject)
            yield Ask(collecting.model(), "answer", conversation, subject), {}

    def score(self, scoring: Scoring) -> Scored:
        """Average the worth of the replies, with an interval over samples."""
        rows, lost = self.graded(scoring)
        scoring.require((sample.id, 1, 0) for sample in scoring.samples)
        name = self.metrics.first.name
        values = [value for row in rows for value in row.values_of(name)]
        scored = len(rows) - len(lost)
        what = "samples could be scored"
        flags = scoring.coverage_flags(scored, len(rows), what, lost, len(values))
        score = scoring.score(
            numbers(values, self.metrics, {}, scoring.section.confidence),
            scored=scored,
            counted=len(values),
            total=len(rows),
            outcomes=[row.outcome for row in rows],
            flags=flags,
        )
        return Scored(score, rows)

    def graded(self, scoring: Scoring) -> tuple[list[Row], list[str]]:
        """Return a row per reply, and a phrase for each that cannot be read."""
        samples = {sample.id: sample for sample in scoring.samples}
        clusters = clusters_of(scoring.samples)
        counts_worst = scoring.section.unread == "worst"
        rows = []
        lost = []
        for record in scoring.read():
            text = record.text if record.has_text else None
            worth = self.worth(samples[record.unit], text) if text else None
            if worth is None:
                lost.append(f"{record.place}: {record.error or record.outcome}")
                if counts_worst and record.outcome is not Outcome.FAILED:
                    worth = self.worst
            row = Row(
                unit=record.unit,
                group=ONE_CATEGORY,
                cluster=clusters[record.unit],
                outcome=record.outcome,
                values={self.metrics.first.name: [worth]},
            )
            rows.append(row)
        return rows, lost
