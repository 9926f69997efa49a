"""Which calls are made together: batches of neighbouring samples, fixed by the samples' positions.

A resumed run, a run in which some samples have dropped out, and a shard put no call into other company.
"""

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from heapq import heappop, heappush
from typing import NamedTuple, TypeAlias

from driftledger.collect.steps import Call
from driftledger.components.base import Component

Queue: TypeAlias = tuple[str, type[Call]]
"""A component's fingerprint, and what it is asked: a unified model describes in some batches and draws in others."""


def queue_of(call: Call) -> Queue:
    """Where a call waits."""
    return call.component.fingerprint, type(call)


class Block(NamedTuple):
    """The calls of one batch by the positions of their samples, in order."""

    calls: dict[int, Call]

    @property
    def component(self) -> Component:
        return next(iter(self.calls.values())).component

    @property
    def queue(self) -> Queue:
        return queue_of(next(iter(self.calls.values())))


@dataclass
class _Filling:
    """A batch that still waits, for calls or for its turn."""

    missing: int
    """How many samples of it may still ask for a call: neither in it nor at their end."""
    calls: dict[int, Call] = field(default_factory=dict)


class _Waiting:
    """The calls of one kind to one component that wait for their batch."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.blocks: dict[int, _Filling] = {}
        self.whole: list[int] = []  # a heap of numbers of blocks
        self._begun: list[int] = []  # another, in which those that were taken stay until they come first

    def add(self, position: int, call: Call, going: Collection[int]) -> None:
        """A sample's call; ``going`` are the samples that are not at their end."""
        most = self.component.batch_size
        number = position // most
        if number not in self.blocks:
            members = range(number * most, (number + 1) * most)
            self.blocks[number] = _Filling(sum(member in going for member in members))
            heappush(self._begun, number)
        self.blocks[number].calls[position] = call
        self._count(number)

    def end(self, position: int) -> None:
        """A sample, whose call is not here, asks for no more."""
        number = position // self.component.batch_size
        if number in self.blocks:
            self._count(number)

    def _count(self, number: int) -> None:
        """One sample less is missing from a block."""
        filling = self.blocks[number]
        filling.missing -= 1
        if not filling.missing:
            heappush(self.whole, number)

    @property
    def first(self) -> int:
        """The number of the block with the first sample of all that wait."""
        while self._begun[0] not in self.blocks:
            heappop(self._begun)
        return self._begun[0]

    def first_position(self, number: int) -> int:
        """Of the samples whose calls are in a block."""
        return min(self.blocks[number].calls)

    def block(self, number: int) -> Block:
        return Block(dict(sorted(self.blocks[number].calls.items())))


class Blocks:
    """Calls to components on this machine that wait for the others of their batch.

    What a call costs here depends neither on how many wait nor on the size of the batches.
    """

    def __init__(self, positions: Iterable[int]) -> None:
        self._going = set(positions)
        self._waiting: dict[Queue, _Waiting] = {}
        self._at_work: str | None = None

    def __bool__(self) -> bool:
        return any(waiting.blocks for waiting in self._waiting.values())

    def add(self, position: int, call: Call) -> None:
        """A sample is ready for a call."""
        queue = queue_of(call)
        if queue not in self._waiting:
            self._waiting[queue] = _Waiting(call.component)
        self._waiting[queue].add(position, call, self._going)

    def end(self, position: int) -> None:
        """A sample is at its end: nobody waits for it."""
        self._going.discard(position)
        for waiting in self._waiting.values():
            waiting.end(position)

    def take(self, has_room: Callable[[Component], bool], *, partial: bool) -> Block | None:
        """The batch to make next: one whose samples are all there, of the component at work if there is one.

        Args:
            has_room: whether a batch of the component may be made now.
            partial: whether the first of what is there is taken where samples of every batch are missing.
        """
        ready = [each for each in self._waiting.values() if each.whole and has_room(each.component)]
        if chosen := min(ready, key=self._turn, default=None):
            return self._start(chosen, heappop(chosen.whole))
        if not partial or any(each.whole for each in self._waiting.values()):
            return None
        begun = [each for each in self._waiting.values() if each.blocks and has_room(each.component)]
        first = min(begun, key=lambda each: each.first_position(each.first), default=None)
        return self._start(first, first.first) if first else None

    def after(self, block: Block) -> Block | None:
        """The batch of the same component and kind that is whole and comes next, which stays."""
        waiting = self._waiting[block.queue]
        return waiting.block(waiting.whole[0]) if waiting.whole else None

    def _turn(self, waiting: _Waiting) -> tuple[bool, int]:
        return waiting.component.fingerprint != self._at_work, waiting.first_position(waiting.whole[0])

    def _start(self, waiting: _Waiting, number: int) -> Block:
        self._at_work = waiting.component.fingerprint
        block = waiting.block(number)
        del waiting.blocks[number]
        return block
