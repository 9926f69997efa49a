"""What runs a benchmark: what each stage asks, how records become a score, which calls can be made again.

DVC's stages, ``collect``, ``plan`` and ``verify --regenerate`` drive the same runner, so that none of them knows how a
benchmark goes. It imports components, and is imported when it is used.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, overload

from driftledger.benchmarks.records import CollectedCard, CollectedRecord
from driftledger.collect.call import Call, Result, Steps, Uncounted
from driftledger.components.base import Component, Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.types import Conversation, ImageFile

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark
    from driftledger.benchmarks.scoring import Scored, ToScore
    from driftledger.collect.features import FeatureStore
    from driftledger.project.project import Project

R = TypeVar("R")
T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True)
class Planned(Generic[R]):
    """One unit's protocol, and the calls that it makes at most, in order, with stand-ins for what is not known yet."""

    steps: Callable[[], Steps[R]]
    calls: Sequence[tuple[Component, Conversation | str]]


class PlannedWhenDue(Sequence[Planned[R]], Generic[U, R]):
    """The protocols of many units, each planned when it is looked at, so that they are not in memory all at once."""

    def __init__(self, plan: Callable[[U], Planned[R]], units: Sequence[U]) -> None:
        self._plan = plan
        self._units = units

    def __len__(self) -> int:
        return len(self._units)

    @overload
    def __getitem__(self, index: int) -> Planned[R]: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Planned[R]]: ...
    def __getitem__(self, index: int | slice) -> Planned[R] | Sequence[Planned[R]]:
        if isinstance(index, slice):
            return PlannedWhenDue(self._plan, self._units[index])
        return self._plan(self._units[index])


class RunSteps(Protocol):
    """Drives protocols: makes their calls, or only counts them.

    Raises:
        NotStoredError: calls are only counted (:mod:`driftledger.collect.plan`), and some are still to be made.
    """

    def __call__(self, planned: Sequence[Planned[R]]) -> list[R]: ...


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

    draws: ClassVar[bool] = False
    """Whether what comes of it is looked at by image encoders."""

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

    @abstractmethod
    def failures(self, collected: T) -> FailedCalls:
        """Which failed calls there were."""

    @abstractmethod
    def write(self, folder: Path, collected: T) -> CollectedCard:
        """Write ``records.jsonl``, and what belongs to it, into ``folder``; the driver adds the card."""

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

    def show(self, collected: T, encoder: Encoder, features: "FeatureStore") -> None:  # most have no images
        """Show an image encoder what the scoring stage will, batch by batch, so that it need not be loaded there."""


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
    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> Collecting[Any]:
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
