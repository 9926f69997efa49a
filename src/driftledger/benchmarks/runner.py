"""What runs a benchmark: what each stage asks, how records become a score, which calls can be made again.

DVC's stages, ``collect``, ``plan`` and ``verify --regenerate`` drive the same runner, so that none of them knows how a
benchmark goes. It imports components, and is imported when it is used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, TypeVar, cast

from driftledger.benchmarks.descriptions import Description
from driftledger.benchmarks.records import CARD, RECORDS, CalledRecord, CollectedCard, CollectedRecord
from driftledger.collect.call import Call, Planned, Result, RunSteps, Uncounted
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.components.card import ComponentCard
from driftledger.core.errors import StoreError
from driftledger.core.files import new_folder, read_json, write_json, write_jsonl
from driftledger.core.types import ImageFile, Outcome, Sample
from driftledger.data.records import DatasetCard, read_samples

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark
    from driftledger.benchmarks.scoring import Scored, ToScore

__all__ = ["Caller", "Collecting", "FailedCalls", "Planned", "RecordedCall", "RunSteps", "Runner", "StageInputs"]

T = TypeVar("T")


@dataclass(frozen=True)
class StageInputs:
    """What a runner gets of a project to collect with."""

    keys: Mapping[str, str]
    """The words that name the folder of records: dataset or question set, model, generator, …"""
    section: Any
    """The benchmark's section of ``params.yaml``."""
    seed: int
    folders: Mapping[str, Path]
    """Stage → the folder that it writes: the data's and every collect stage's."""
    model: Callable[[str], Model]
    generator: Callable[[str], Generator]
    encoder: Callable[[str], Encoder]
    """Catalogue name → component, as ``resolve`` noted it; raises StoreError if it has changed since."""
    description: Callable[[str], Description]
    """Catalogue name → a way to ask for a description."""
    judge: str | None = None
    """The catalogue's name of the model that grades answers."""

    def data(self) -> Path:
        """Return the folder of the dataset or question set.

        Raises:
            StoreError: its stage has not run.
        """
        kind = "dataset" if "dataset" in self.keys else "question_set"
        folder = self.folders[kind]
        if not folder.is_dir():
            raise StoreError(
                f"{kind.replace('_', ' ')} {self.keys[kind]} is not built yet; run 'dvc repro data', which asks no "
                "model, or 'dvc pull'"
            )
        return folder

    def dataset(self) -> tuple[DatasetCard, list[Sample]]:
        """Return what the dataset says about itself, and its samples; errors as in :meth:`data`."""
        return read_json(self.data() / "dataset.json", DatasetCard), read_samples(self.data())


class FailedCalls(NamedTuple):
    """What was ended by a failed call, which the next run tries again."""

    failed: list[str]
    """One phrase each, with the reason."""
    total: int
    things: str
    """What they are: ``chains``."""


@dataclass(frozen=True)
class Collecting(ABC, Generic[T]):
    """What one collect stage asks, and how it writes what came of it. ``T`` is what came of it, in memory."""

    benchmark: str
    stage: str
    keys: Mapping[str, str]

    things: ClassVar[str] = "descriptions"
    """What its records are, for people."""

    @property
    def title(self) -> str:
        """For whoever watches: ``photos · blind · painter``."""
        return " · ".join(self.keys.values())

    @property
    def components(self) -> Sequence[Component]:
        """Those that are asked."""
        return ()

    @property
    def calls(self) -> int:
        """How many at most; 0 for a stage that only reads."""
        return 0

    @abstractmethod
    def run(self, run: RunSteps) -> T:
        """Ask, by ``run``; errors as in :class:`RunSteps`."""

    def records(self, collected: T) -> Sequence[CalledRecord]:
        """Return the records of what came of it; by default, that is a list of them."""
        return cast(Sequence[CalledRecord], collected)

    def failures(self, collected: T) -> FailedCalls:
        """Return which failed calls there were."""
        records = self.records(collected)
        failed = [each for each in records if each.outcome is Outcome.FAILED]
        phrases = [f"{each.place}: {each.error or 'no reason given'}" for each in failed]
        return FailedCalls(phrases, len(records), self.things)

    def write(self, folder: Path, collected: T) -> CollectedCard:
        """Write ``records.jsonl``, and what belongs to it, into ``folder``; the driver adds the card."""
        write_jsonl(folder / RECORDS, self.records(collected))
        return self.about()

    def about(self) -> CollectedCard:
        """Return the card that stands beside the records."""
        raise NotImplementedError

    def card(
        self,
        data_digest: str,
        components: Mapping[str, tuple[str, Component] | None],
        protocol: Mapping[str, Any],
        records: Mapping[str, str] | None = None,
    ) -> CollectedCard:
        """The card that stands beside the records.

        Args:
            components: role → catalogue name and component; None where there is none.
            records: as :attr:`CollectedCard.records`.
        """
        return CollectedCard(
            benchmark=self.benchmark,
            stage=self.stage,
            keys=dict(self.keys),
            data_digest=data_digest,
            components={role: ComponentCard.of(*named) for role, named in components.items() if named is not None},
            protocol=dict(protocol),
            records=dict(records or {}),
        )

    def uncounted(self) -> "Sequence[Uncounted]":
        """What would be asked at most, where calls are only counted and an earlier stage is not complete."""
        return ()


def write_collected(target: Path, collecting: Collecting[T], collected: T) -> None:
    """Write what came of a collect stage as the folder ``target``, whole or not at all."""
    with new_folder(target) as folder:
        write_json(folder / CARD, collecting.write(folder, collected))


class RecordedCall(NamedTuple):
    """A call that the records tell of, and the text or the image that is stored for it."""

    kind: str
    """What it was for, e.g. ``chain: draw``."""
    component: Component
    where: str
    """The file and the record in it."""
    call: Callable[[], Call]
    """Gives the call as it was; put together when it is needed."""
    gave: str | ImageFile
    moves: int = 1
    """How many of its unit's values stand on it: of a chain's, those of its own and of every later iteration."""
    result: Result | None = None
    """The result of the call, where the record says all of it: a new store is given it instead of asking again."""


class Caller(NamedTuple):
    """A component at work behind a score, and the calls that were made to it."""

    role: str
    card: ComponentCard
    folder: str
    """The output that tells of the calls, relative to the top folder."""
    calls: Callable[..., Iterator[RecordedCall]]
    """Given the component, and the model that is needed beside it."""
    needs: ComponentCard | None = None
    """The model that said what no record holds, and that has to say it again: a description shown as an example."""


class Reread(NamedTuple):
    """The records of a stage, read once more in what was answered."""

    records: Sequence[CollectedRecord]
    unlike: str = ""
    """Why these cannot be had: what is here reads otherwise than what the stage's card names."""


class Runner(ABC):
    """Runs one benchmark."""

    def __init__(self, spec: "Benchmark") -> None:
        self.spec = spec

    @abstractmethod
    def collecting(self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None) -> Collecting[Any]:
        """What a collect stage asks.

        Args:
            earlier: stage → what came of the collect stages before it, where that is in memory and not on disk; empty
                where calls are only counted and an earlier stage is not complete; then only ``uncounted`` is asked.

        Raises:
            StoreError: the data's stage, or an earlier one, has not run.
        """

    @abstractmethod
    def score(self, given: "ToScore") -> "Scored":
        """Compute a score from records.

        Raises:
            CoverageError: too little could be scored.
        """

    @abstractmethod
    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        """List who was called on the way to a score.

        Args:
            paths: collect stage → its folder, relative to the top folder; those that are left out are not read.
            where: stage → the folder with the recorded bytes of what it wrote.

        Raises:
            LedgerError: the records are not at hand.
        """

    def reread(self, stage: str, where: Callable[[str], Path]) -> Reread | None:
        """The records of a collect stage, made again without a call: read in the answers of the stage before, or in
        what a judge said. None where the stage reads nothing.

        Args:
            where: as in :meth:`callers`.

        Raises:
            LedgerError: the records are not at hand.
            LookupError: they do not fit together.
        """
        return None
