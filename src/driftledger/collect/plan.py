"""What collecting would still cost, computed from the call store without making a call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from driftledger.collect.call import Call, NotStoredError, Planned, Spent, walk
from driftledger.collect.store import CallStore
from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent
from driftledger.core.types import Conversation, Result

R = TypeVar("R")


@dataclass
class PlannedCalls:
    """The calls to one component. Tokens and costs are upper bounds, by estimate; None for a free component."""

    component: Component
    stored: int = 0
    to_make: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    most_cost: float | None = None
    spent: Spent = field(default_factory=Spent)

    def add(self, content: Conversation | str) -> None:
        """Count a call by a stand-in for its input."""
        self.to_make += 1
        if not isinstance(self.component, RemoteComponent):
            return
        each = self.component.expected(content)
        self.input_tokens += each.input_tokens or 0
        self.output_tokens += each.output_tokens or 0
        if self.component.prices is not None:
            self.most_cost = (self.most_cost or 0.0) + self.component.prices.cost(each)

    def to_dict(self) -> dict[str, Any]:
        """Ready for JSON; what is likely goes by the mean cost of an attempt so far."""
        likely_cost = None
        if self.most_cost is not None and self.spent.attempts:
            likely_cost = self.to_make * self.spent.cost / self.spent.attempts
        return {
            "stored": self.stored,
            "to_make": self.to_make,
            "most_input_tokens": self.input_tokens,
            "most_output_tokens": self.output_tokens,
            "most_cost": self.most_cost,
            "likely_cost": likely_cost,
            "attempts_so_far": self.spent.attempts,
            "spent": self.spent.cost,
        }


@dataclass
class Plan:
    """Counts the calls of protocols; a call that several of them make is counted once."""

    store: CallStore
    calls: dict[str, PlannedCalls] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)
    """The digest of each call."""

    def run(self, planned: Sequence[Planned[R]]) -> list[R]:
        """Count the calls of protocols, as :class:`~driftledger.collect.call.RunSteps`.

        Raises:
            NotStoredError: some of them are still to be made.
        """
        returned: list[Any] = []
        complete = True
        for each in planned:
            walked = walk(each.steps(), self._stored)
            returned.append(walked.returned)
            if walked.pending is not None:
                complete = False
                digest = walked.pending.key
                skipped = digest in self._seen
                self._seen.add(digest)
                for component, content in each.calls[walked.answered + skipped :]:
                    self.of(component).add(content)
        if not complete:
            for component, content in (call for each in planned for call in each.after):
                self.of(component).add(content)
            raise NotStoredError
        return returned

    def of(self, component: Component) -> PlannedCalls:
        """What has been counted for a component so far."""
        if component.fingerprint not in self.calls:
            spent = self.store.spent(component.fingerprint)
            self.calls[component.fingerprint] = PlannedCalls(component, spent=spent)
        return self.calls[component.fingerprint]

    def _stored(self, call: Call) -> Result | None:
        digest = call.key
        result = self.store.find(digest)
        if result is not None:
            self.note_stored(digest, call.component)
        return result

    def note_stored(self, digest: str, component: Component) -> None:
        """Count a call with this digest of its key, which is stored or in records."""
        if digest not in self._seen:
            self._seen.add(digest)
            self.of(component).stored += 1
