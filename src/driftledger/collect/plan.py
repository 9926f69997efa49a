"""What collecting would still cost, worked out from the call store without making a call."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

from driftledger.collect.call_result import Result, Spent
from driftledger.collect.claims import Store
from driftledger.collect.steps import Call, NotStoredError, walk_together
from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent, RemoteGenerator, RemoteModel
from driftledger.core.types import Conversation, Usage

if TYPE_CHECKING:
    from driftledger.benchmarks.runner import Planned, RunSteps

R = TypeVar("R")


@dataclass
class PlannedCalls:
    """What one component would be asked. Tokens and costs are upper bounds, by estimate; None where nobody is paid."""

    component: Component
    stored: int = 0
    to_make: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    most_cost: float | None = None
    spent: Spent = field(default_factory=Spent)

    def add(self, count: int, each: Usage | None) -> None:
        """``count`` more calls, each of which may consume ``each``."""
        self.to_make += count
        if each is None or not isinstance(self.component, RemoteComponent):
            return
        self.input_tokens += count * (each.input_tokens or 0)
        self.output_tokens += count * (each.output_tokens or 0)
        if self.component.prices is not None:
            self.most_cost = (self.most_cost or 0.0) + count * self.component.prices.cost(each)

    @property
    def likely_cost(self) -> float | None:
        """At the mean cost of an attempt so far; None where nothing has been paid yet."""
        if self.most_cost is None or not self.spent.attempts:
            return None
        return self.to_make * self.spent.cost / self.spent.attempts

    def to_dict(self) -> dict[str, Any]:
        return {
            "stored": self.stored,
            "to_make": self.to_make,
            "most_input_tokens": self.input_tokens,
            "most_output_tokens": self.output_tokens,
            "most_cost": self.most_cost,
            "likely_cost": self.likely_cost,
            "attempts_so_far": self.spent.attempts,
            "spent": self.spent.cost,
        }


@dataclass
class Plan:
    """The calls of several protocols; one that two of them need is counted once."""

    store: Store
    calls: dict[str, PlannedCalls] = field(default_factory=dict)
    found: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    """Digest of each call that was found stored → whose it is, and the hash of its image; for whoever empties it."""
    _seen: set[str] = field(default_factory=set)
    _known: Counter[str] = field(default_factory=Counter)
    """Stored calls of components that nobody has named yet, by their fingerprints."""

    def run(self, planned: "Sequence[Planned[R]]") -> list[R]:
        """Count the calls of protocols, as :class:`~driftledger.benchmarks.runner.RunSteps`.

        Raises:
            NotStoredError: some of them are still to be made.
        """
        walked = walk_together([each.steps() for each in planned], self._stored)
        for number, found in enumerate(walked):
            if found.pending is not None:
                shared = not self._is_new(found.pending.key.digest)
                for component, asked in planned[number].calls[found.known + shared :]:  # which may be planned anew
                    self.add(component, asked, 1)
        if any(found.pending is not None for found in walked):
            raise NotStoredError
        return [found.returned for found in walked]  # type: ignore[misc]  # all of them came to their end

    def whole(self, collect: "Callable[[RunSteps], R]") -> R:
        """Count the calls of a stage where all of them are stored.

        Raises:
            NotStoredError: some are not, and none is counted.
        """
        trial = Plan(self.store)
        collected = collect(trial.run)
        self.found |= trial.found
        self.recall(by_component(trial.found))
        return collected

    def recorded(self, collect: "Callable[[RunSteps], R]") -> "R | None":
        """Count a stage whose records are here; nothing where its calls are not, since somebody else made them."""
        try:
            return self.whole(collect)
        except NotStoredError:
            return None

    def recall(self, calls: Mapping[str, Sequence[str]]) -> None:
        """Count calls that are known to be stored: by the fingerprint of a component, the digests."""
        for fingerprint, digests in calls.items():
            new = set(digests) - self._seen
            self._seen |= new
            if fingerprint in self.calls:
                self.calls[fingerprint].stored += len(new)
            else:
                self._known[fingerprint] += len(new)

    def add(self, component: Component, asked: Conversation | str, count: int) -> None:
        """Count calls by a stand-in for what is asked."""
        self.of(component).add(count, expected_of(component, asked))

    def _stored(self, calls: Sequence[Call]) -> list[Result | None]:
        digests = [call.key.digest for call in calls]
        stored = self.store.get(digests)
        for call, digest in zip(calls, digests, strict=True):
            if (result := stored.get(digest)) is not None:
                image = None if result.image is None else result.image.sha256
                self.found[digest] = call.component.fingerprint, image
                if self._is_new(digest):
                    self.of(call.component).stored += 1
        return [stored.get(digest) for digest in digests]

    def _is_new(self, digest: str) -> bool:
        new = digest not in self._seen
        self._seen.add(digest)
        return new

    def of(self, component: Component) -> PlannedCalls:
        """What has been counted for a component so far."""
        if component.fingerprint not in self.calls:
            spent = self.store.spent(component.fingerprint)
            stored = self._known.pop(component.fingerprint, 0)
            self.calls[component.fingerprint] = PlannedCalls(component, stored, spent=spent)
        return self.calls[component.fingerprint]


def by_component(found: Mapping[str, tuple[str, str | None]]) -> dict[str, list[str]]:
    """Fingerprint → the digests of its calls, of what :attr:`Plan.found` holds."""
    calls: dict[str, list[str]] = {}
    for digest, (fingerprint, _) in found.items():
        calls.setdefault(fingerprint, []).append(digest)
    return calls


def expected_of(component: Component, asked: Conversation | str) -> Usage | None:
    """The most that one call may consume; None where nobody counts."""
    if isinstance(component, RemoteModel) and isinstance(asked, Conversation):
        return component.expected(asked)
    if isinstance(component, RemoteGenerator) and isinstance(asked, str):
        return component.expected(asked)
    return None
