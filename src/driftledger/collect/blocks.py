"""Which calls are made together: batches of neighbouring samples, fixed by the samples' positions.

A resumed run, a run in which some samples have dropped out, and a shard put no call into other company.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
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


class _Waiting:
    """The calls of one kind to one component that wait for their batch."""

    def __init__(self, component: Component) -> None:
        self.component = component
        self.blocks: dict[int, dict[int, Call]] = defaultdict(dict)
        self.whole: list[int] = []  # a heap of numbers of blocks

    def number(self, position: int) -> int:
        return position // self.component.batch_size

    def block(self, number: int) -> Block:
        return Block(dict(sorted(self.blocks[number].items())))


class Blocks:
    """Calls to components on this machine that wait for the others of their batch."""

    def __init__(self, positions: Iterable[int]) -> None:
        self._going = set(positions)
        self._waiting: dict[Queue, _Waiting] = {}
        self._at_work: str | None = None

    def __bool__(self) -> bool:
        return any(waiting.blocks for waiting in self._waiting.values())

    def add(self, position: int, call: Call) -> None:
        """A sample is ready for a call."""
        waiting = self._waiting.setdefault(queue_of(call), _Waiting(call.component))
        number = waiting.number(position)
        waiting.blocks[number][position] = call
        self._look(waiting, number)

    def end(self, position: int) -> None:
        """A sample is at its end: nobody waits for it."""
        self._going.discard(position)
        for waiting in self._waiting.values():
            if (number := waiting.number(position)) in waiting.blocks:
                self._look(waiting, number)

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
        first = min(begun, key=lambda each: min(map(min, each.blocks.values())), default=None)
        return self._start(first, min(first.blocks)) if first else None

    def after(self, block: Block) -> Block | None:
        """The batch of the same component and kind that is whole and comes next, which stays."""
        waiting = self._waiting[block.queue]
        return waiting.block(waiting.whole[0]) if waiting.whole else None

    def _turn(self, waiting: _Waiting) -> tuple[bool, int]:
        return waiting.component.fingerprint != self._at_work, min(waiting.blocks[waiting.whole[0]])

    def _start(self, waiting: _Waiting, number: int) -> Block:
        self._at_work = waiting.component.fingerprint
        block = waiting.block(number)
        del waiting.blocks[number]
        return block

    def _look(self, waiting: _Waiting, number: int) -> None:
        """Note a block all of whose samples that are not at their end are in it."""
        most = waiting.component.batch_size
        members = range(number * most, (number + 1) * most)
        if len(waiting.blocks[number]) == sum(position in self._going for position in members):
            heappush(waiting.whole, number)
