"""Count the calls still needed, without making any."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeVar

from driftledger.collect.call import Batch, Call, NotStoredError, Planned, Spent, walk
from driftledger.collect.store import CallStore
from driftledger.collect.tables import component_id
from driftledger.components.base import Component
from driftledger.components.service import RemoteComponent
from driftledger.core.canonical import Json
from driftledger.core.types import Conversation, Result, Usage

R = TypeVar("R")


@dataclass
class PlannedCalls:
    """The calls to one component.

    Tokens and ``most_cost`` are upper bounds, by estimate; free calls cost None.
    """

    component: Component
    stored: int = 0
    to_make: int = 0
    batches: Sequence[Batch] = ()
    """Batches that the service has under way; ``spent`` has their largest cost."""
    in_batches: int = 0
    """Needed calls that are in these batches."""
    input_tokens: int = 0
    output_tokens: int = 0
    most_cost: float | None = None
    likely_cost: float | None = None
    steps: int = 0
    """The most calls of one unit, which are made one after the other."""
    spent: Spent = field(default_factory=Spent)
    mean: Usage = field(default_factory=Usage)
    """Mean of its stored calls; for a model without any, of the texts of all models."""
    mean_size: float | None = None
    """Mean bytes of its stored images; None if none is stored."""

    def add(self, content: Conversation | str) -> None:
        """Count a call that is to be made, by a stand-in for its input."""
        self.to_make += 1
        if not isinstance(self.component, RemoteComponent):
            return
        most = self.component.expected(content)
        self.input_tokens += most.input_tokens or 0
        self.output_tokens += most.output_tokens or 0
        prices = self.component.prices
        if prices is not None:
            usual = self.component.usual(content)
            tokens_in = self.mean.input_tokens or usual.input_tokens
            tokens_out = self.mean.output_tokens or usual.output_tokens
            usual = replace(usual, input_tokens=tokens_in, output_tokens=tokens_out)
            most_cost = prices.cost(most, self.component.batch)
            likely = min(most_cost, prices.cost(usual, self.component.batch))
            self.most_cost = (self.most_cost or 0.0) + most_cost
            self.likely_cost = (self.likely_cost or 0.0) + likely

    def to_dict(self) -> Json:
        """Return it ready for JSON."""
        return {
            "kind": self.component.kind,
            "stored": self.stored,
            "to_make": self.to_make,
            "in_batches": self.in_batches,
            "most_input_tokens": self.input_tokens,
            "most_output_tokens": self.output_tokens,
            "most_cost": self.most_cost,
            "likely_cost": self.likely_cost,
            "attempts_so_far": self.spent.attempts,
            "most_spent": self.spent.cost,
        }


@dataclass
class Plan:
    """Counts the calls of protocols; a call that several of them make is counted once."""

    store: CallStore
    calls: dict[str, PlannedCalls] = field(default_factory=dict)
    """Fingerprint of a component → its counts."""
    checks: dict[str, PlannedCalls] = field(default_factory=dict)
    """Fingerprint of a component → counts of the calls to make that check the component itself."""
    recorded: dict[str, Result] = field(default_factory=dict)
    """Key → result in records, of calls that the store lacks."""
    _seen: set[str] = field(default_factory=set)
    """Keys of the counted calls."""

    def run(self, planned: Iterable[Planned[R]]) -> list[R]:
        """Count the calls of protocols, as :class:`~driftledger.collect.call.RunSteps`.

        Raises:
            NotStoredError: some of them are still to be made.
        """
        returned: list[Any] = []
        after: list[Any] = []
        complete = True
        for unit in planned:
            after += unit.after
            walked = walk(unit.steps, self._stored)
            returned.append(walked.returned)
            if walked.pending is not None:
                complete = False
                digest = walked.pending.key
                skipped = digest in self._seen
                self._seen.add(digest)
                if skipped and unit.is_check:
                    continue
                if not skipped:
                    calls = self.of(walked.pending.component)
                    if any(digest in batch.keys for batch in calls.batches):
                        calls.in_batches += 1
                        skipped = True
                pending = [
                    (component, content)
                    for component, content in unit.calls[walked.answered + skipped :]
                    if content is not None
                ]
                following = (*pending, *unit.after)
                names = [component.fingerprint for component, _ in following]
                for component, content in pending:
                    calls = self.of(component)
                    if unit.is_check:
                        own = PlannedCalls(component, mean=calls.mean)
                        calls = self.checks.setdefault(component.fingerprint, own)
                    calls.add(content)
                    calls.steps = max(calls.steps, names.count(component.fingerprint))
        if not complete:
            for component, content in after:
                self.of(component).add(content)
            raise NotStoredError
        return returned

    def of(self, component: Component) -> PlannedCalls:
        """Return the counts of a component so far."""
        if component.fingerprint not in self.calls:
            spent = self.store.spent(component.fingerprint)
            batches = self.store.submitted(component.fingerprint)
            of_others = self._means[0] if component.kind == "model" else Usage()
            of_others = replace(of_others, input_tokens=None)
            mean = self._means.get(component_id(component.fingerprint), of_others)
            size = None
            if component.kind == "generator":
                size = self.store.pictures.mean_size(component.fingerprint)
            self.calls[component.fingerprint] = PlannedCalls(
                component,
                batches=batches,
                spent=spent,
                mean=mean,
                mean_size=size,
            )
        return self.calls[component.fingerprint]

    @property
    def likely_cost(self) -> float:
        """Likely cost of all calls that are still to be made."""
        return sum(calls.likely_cost or 0.0 for calls in self.calls.values())

    @cached_property
    def _means(self) -> dict[int, Usage]:
        return self.store.means()

    def _stored(self, call: Call) -> Result | None:
        digest = call.key
        result = self.store.find(digest) or self.recorded.get(digest)
        if result is not None:
            self.note_stored(digest, call.component)
        return result

    def note_stored(self, digest: str, component: Component) -> None:
        """Count a call whose result is stored or in records, by its key."""
        if digest not in self._seen:
            self._seen.add(digest)
            self.of(component).stored += 1
