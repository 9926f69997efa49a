"""What collecting would still cost, worked out from the call store without making a call."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from driftledger.benchmarks.genception.chain import ChainProtocol
from driftledger.benchmarks.trac.describe import DescribeProtocol, collect
from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore, Spent
from driftledger.collect.steps import Ask, Call, Steps
from driftledger.collect.walk import stored_in, walk
from driftledger.components.base import Component
from driftledger.components.remote.component import RemoteComponent, RemoteGenerator, RemoteModel
from driftledger.core.types import Conversation, Sample, Usage

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


class _NotStoredError(Exception):
    """What comes next hangs on calls that are still to be made."""


@dataclass
class Plan:
    """The calls of several protocols; one that two of them need is counted once."""

    store: CallStore
    calls: dict[str, PlannedCalls] = field(default_factory=dict)
    _seen: set[str] = field(default_factory=set)

    def add_one(self, steps: Steps[R]) -> R | None:
        """Count the calls of a protocol that makes one: what it returned if its call is stored, and None if not."""
        walked = walk(steps, self._stored)
        if walked.pending is not None and self._is_new(walked.pending):
            asked = walked.pending.conversation if isinstance(walked.pending, Ask) else walked.pending.prompt
            component = walked.pending.component
            self.of(component).add(1, expected_of(component, asked))
        return walked.returned

    def add_chains(self, protocol: ChainProtocol, samples: Sequence[Sample]) -> None:
        """Count what ``protocol`` has and would ask for ``samples``."""
        drawing = expected_of(protocol.generator, protocol.generate_prompt)
        for sample in samples:
            walked = walk(protocol.run(sample), self._stored)
            if walked.pending is None:
                continue
            shared = not self._is_new(walked.pending)
            describing = expected_of(protocol.model, Conversation.ask(protocol.describe_prompt, sample.image))
            described, drawn = (walked.known + 1) // 2, walked.known // 2
            first_is_shared = shared and isinstance(walked.pending, Ask)
            self.of(protocol.model).add(protocol.iterations - described - first_is_shared, describing)
            self.of(protocol.generator).add(protocol.iterations - drawn, drawing)

    def add_descriptions(self, protocol: DescribeProtocol, samples: Sequence[Sample]) -> None:
        """Count what ``protocol`` has and would ask for ``samples``.

        Which examples are shown may hang on descriptions that are still to be made; until then, each call with examples
        counts as one without.
        """
        counted = 0

        def run(steps: Sequence[Steps[Result]]) -> list[Result]:
            nonlocal counted
            results = [self.add_one(each) for each in steps]
            counted += len(results)
            there = [result for result in results if result is not None]
            if len(there) < len(results):
                raise _NotStoredError
            return there

        try:
            collect(protocol, samples, run)
        except _NotStoredError:
            rest = len(protocol.conditions) * len(samples) - counted
            asked = Conversation.ask(protocol.prompt, samples[0].image)
            self.of(protocol.model).add(max(rest, 0), expected_of(protocol.model, asked))

    def _stored(self, call: Call) -> Result | None:
        result = stored_in(self.store)(call)
        if result is not None and self._is_new(call):
            self.of(call.component).stored += 1
        return result

    def _is_new(self, call: Call) -> bool:
        digest = call.key.digest
        new = digest not in self._seen
        self._seen.add(digest)
        return new

    def of(self, component: Component) -> PlannedCalls:
        """What has been counted for a component so far."""
        if component.fingerprint not in self.calls:
            spent = self.store.spent(component.fingerprint)
            self.calls[component.fingerprint] = PlannedCalls(component, spent=spent)
        return self.calls[component.fingerprint]


def expected_of(component: Component, asked: Conversation | str) -> Usage | None:
    """The most that one call may consume; None where nobody counts."""
    if isinstance(component, RemoteModel) and isinstance(asked, Conversation):
        return component.expected(asked)
    if isinstance(component, RemoteGenerator) and isinstance(asked, str):
        return component.expected(asked)
    return None
