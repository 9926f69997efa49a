"""The two ways to make a folder of records: by asking, and from the results that it holds.

Collecting, ``plan`` and ``verify`` drive the same protocols, so that none of them knows how a
benchmark goes.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, cast

from driftledger.benchmarks.base.records import (
    CARD,
    RECORDS,
    CollectedCard,
    CollectedRecord,
    RecordedResult,
    Records,
    results_of,
    stream_records,
)
from driftledger.benchmarks.base.usage import CALLS, CallUsage
from driftledger.collect.call import Call, NotStoredError, Planned, RunSteps, walk
from driftledger.components.base import (
    Component,
    ComponentCard,
    Generator,
    Model,
)
from driftledger.core.canonical import open_regular
from driftledger.core.files import (
    link_file,
    new_folder,
    read_json,
    write_json,
    write_jsonl,
)
from driftledger.core.types import Result, Sample
from driftledger.data.records import (
    QUESTION_SET_CARD,
    DatasetCard,
    QuestionEntry,
    QuestionSetCard,
    read_questions,
    read_samples,
)

if TYPE_CHECKING:
    from driftledger.benchmarks.base.benchmark import Benchmark

R = TypeVar("R")


class FailedCalls(NamedTuple):
    """The records that a failed call ended, which the next run tries again."""

    failed: list[str]
    """One phrase each, with the reason."""
    total: int
    things: str
    """What they are: ``chains``."""

    def __str__(self) -> str:
        ended = f"{len(self.failed)} of {self.total} {self.things}"
        return f"{ended} were ended by a failed call"


@dataclass(frozen=True, kw_only=True)
class Collecting:
    """A folder of records to make: the data, who is asked, and how.

    It is made from a project, or from the card of a folder that was made before.
    """

    spec: "Benchmark"
    keys: Mapping[str, str]
    """The words that name the folder: dataset or question set, model, generator, …"""
    data: Path
    """The folder of the dataset or question set."""
    components: Mapping[str, tuple[str, Component]]
    """Role → catalogue name and component."""
    section: Any = None
    """The benchmark's section of ``params.yaml``; not of a card, which has the protocol."""
    seed: int = 0
    """The project's."""
    description: Any = None
    """The project's :class:`~driftledger.benchmarks.base.descriptions.Description`, where the keys
    or the section name one."""
    protocol: Mapping[str, Any] = field(default_factory=dict)
    """The requests, as the card holds them and :meth:`Benchmark.protocol` returns them."""

    def model(self, role: str = "model") -> Model:
        """Return the model that plays a role."""
        return cast(Model, self.components[role][1])

    def generator(self) -> Generator:
        """Return who draws."""
        return cast(Generator, self.components["generator"][1])

    @cached_property
    def dataset(self) -> DatasetCard:
        """The dataset's card."""
        return read_json(self.data / "dataset.json", DatasetCard)

    @cached_property
    def samples(self) -> Sequence[Sample]:
        """The samples of the dataset."""
        return read_samples(self.data)

    @cached_property
    def questions(self) -> Sequence[QuestionEntry]:
        """The questions of the question set."""
        return read_questions(self.data)

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
        """The protocols that depend on no result of others, not started."""
        planned = list[Planned[Any]]()

        def note(some: Iterable[Planned[Any]]) -> list[Any]:
            planned.extend(some)
            raise NotStoredError

        with suppress(NotStoredError):
            self.run(note)
        return planned

    @property
    def calls(self) -> int:
        """The largest number of calls that can be made."""
        return sum(len(each.calls) + len(each.after) for each in self.planned)

    def card(self) -> CollectedCard:
        """Return the card that stands beside the records."""
        if "dataset" in self.keys:
            digest = self.dataset.digest
        else:
            digest = read_json(self.data / QUESTION_SET_CARD, QuestionSetCard).digest
        cards = {}
        for role, named in self.components.items():
            cards[role] = ComponentCard.of(*named)
        return CollectedCard(
            benchmark=self.spec.name,
            stage=self.spec.collects.name,
            keys=dict(self.keys),
            data_digest=digest,
            components=cards,
            protocol=dict(self.protocol),
        )


def write_collected(
    target: Path,
    collecting: Collecting,
    records: Sequence[CollectedRecord],
    calls: Sequence[CallUsage] = (),
) -> None:
    """Write a stage's records, images and card as the folder ``target``, whole or not at all.

    Args:
        calls: what they took, where that is noted.
    """
    with new_folder(target) as folder:
        for each in results_of(records):
            if each.medium is not None and each.file is not None:
                link_file(each.medium.path, folder / each.file)
        write_jsonl(folder / RECORDS, records)
        write_json(folder / CARD, collecting.card())
        if calls:
            write_jsonl(folder / CALLS, calls)


class Recorded(NamedTuple):
    """A call that records tell of, and what it gave."""

    call: Call
    place: str
    """The record, for people."""
    gave: RecordedResult


class Replay:
    """Drives protocols with the results that a folder of records holds, as :class:`RunSteps`.

    The records stay on disk; in memory is where each result is.
    """

    def __init__(self, folder: Path, *, keeps_calls: bool = True) -> None:
        """Look through the records; errors as in :func:`stream_records`."""
        self.folder = folder
        self.calls: dict[str, Recorded] = {}
        """Digest of the key → each call that was asked for, if they are kept."""
        self._keeps_calls = keeps_calls
        self._starts: dict[str, int] = {}
        self._record_at = lru_cache(maxsize=1)(partial(_record_at, folder))
        start = 0
        records = stream_records(folder)
        with open_regular(folder / RECORDS) as lines:
            for record, line in zip(records, lines, strict=True):
                for each in record.results:
                    self._starts[each.key] = start
                start += len(line)

    def __call__(self, planned: Iterable[Planned[R]]) -> Iterator[R]:
        """Yield what the protocols return, one after the other.

        Raises:
            LookupError: no record holds the result of a call.
        """
        for each in planned:
            walked = walk(each.steps, self._answer)
            call = walked.pending
            if call is not None:
                raise LookupError(
                    f"no record holds what was asked about {call.context.sample}, "
                    f"t={call.context.t}"
                )
            yield cast(R, walked.returned)

    def _answer(self, call: Call) -> Result | None:
        if call.key not in self._starts:
            return None
        record = self._record_at(self._starts[call.key])
        [*_, result] = [each for each in record.results if each.key == call.key]
        if self._keeps_calls:
            self.calls[call.key] = Recorded(call, record.place, result)
        return result


def _record_at(folder: Path, start: int) -> CollectedRecord:
    return next(stream_records(folder, start=start))
