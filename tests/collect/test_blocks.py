"""Batches by counters, against the rule itself, which looks at all that waits for each batch."""

from collections.abc import Callable
from random import Random

import pytest

from driftledger.collect.blocks import Block, Blocks, queue_of
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask, Call, Draw
from driftledger.components.base import Component
from driftledger.core.types import Conversation, Turn
from tests.support.fakes import EchoModel, SizeGenerator

CONTEXT = Context("d", "s", 0)
QUESTION = Conversation((Turn("user", ("What is it?",)),))

KINDS: tuple[Call, ...] = (
    Ask(EchoModel(batch_size=3), "describe", QUESTION, CONTEXT),
    Ask(EchoModel(batch_size=1), "describe", QUESTION, CONTEXT),
    Draw(SizeGenerator(batch_size=4), "draw 3x4", 1, CONTEXT),
)


class Rule:
    """Which batch is next, by its definition."""

    def __init__(self, positions: list[int]) -> None:
        self.going = set(positions)
        self.waiting: dict[int, Call] = {}
        self.at_work: str | None = None

    def blocks(self) -> list[Block]:
        """All batches as far as their calls are there, each with the samples in order."""
        found: dict[tuple[object, int], dict[int, Call]] = {}
        for position, call in sorted(self.waiting.items()):
            number = position // call.component.batch_size
            found.setdefault((queue_of(call), number), {})[position] = call
        return [Block(calls) for calls in found.values()]

    def is_whole(self, block: Block) -> bool:
        most = block.component.batch_size
        number = min(block.calls) // most
        return {each for each in self.going if each // most == number} == set(block.calls)

    def take(self, has_room: Callable[[Component], bool], *, partial: bool) -> Block | None:
        whole = [block for block in self.blocks() if self.is_whole(block)]
        ready = [block for block in whole if has_room(block.component)]
        if not ready and (whole or not partial):
            return None
        free = ready or [block for block in self.blocks() if has_room(block.component)]
        if not free:
            return None

        def turn(block: Block) -> tuple[bool, int]:
            return bool(ready) and block.component.fingerprint != self.at_work, min(block.calls)

        chosen = min(free, key=turn)
        self.at_work = chosen.component.fingerprint
        for position in chosen.calls:
            del self.waiting[position]
        return chosen

    def after(self, block: Block) -> Block | None:
        same = [each for each in self.blocks() if each.queue == block.queue and self.is_whole(each)]
        return min(same, key=lambda each: min(each.calls), default=None)


@pytest.mark.parametrize("seed", range(60))
def test_the_same_batches_in_the_same_order_as_by_the_rule(seed: int) -> None:
    """Samples take other ways and end early, batches come back in any order, and some without a result."""
    random = Random(seed)
    positions = sorted(random.sample(range(40), random.randint(1, 30)))
    rest = {position: [random.choice(KINDS) for _ in range(random.randint(0, 5))] for position in positions}
    blocks, rule = Blocks(positions), Rule(positions)
    under_way: list[Block] = []

    def advance(position: int) -> None:
        if rest[position]:
            call = rest[position].pop(0)
            blocks.add(position, call)
            rule.waiting[position] = call
        else:
            blocks.end(position)
            rule.going.discard(position)

    for position in positions:
        advance(position)
    while blocks or under_way:
        full = {random.choice(KINDS).component.fingerprint} if under_way else set()

        def has_room(component: Component, full: set[str] = full) -> bool:
            return component.fingerprint not in full

        partial = not under_way or random.random() < 0.2
        block, expected = blocks.take(has_room, partial=partial), rule.take(has_room, partial=partial)
        assert block == expected
        assert bool(blocks) == bool(rule.waiting)
        if block is not None:
            assert list(block.calls) == sorted(block.calls)
            assert blocks.after(block) == rule.after(block)
            under_way.append(block)
        if under_way and (block is None or random.random() < 0.5):
            back = under_way.pop(random.randrange(len(under_way)))
            given_back = random.random() < 0.1
            for position, call in back.calls.items():
                if given_back:
                    blocks.add(position, call)
                    rule.waiting[position] = call
                else:
                    advance(position)
    assert not any(rest.values())
    assert not rule.waiting


class Position(int):
    """Counts how often two are compared."""

    compared = 0

    def __lt__(self, other: int) -> bool:
        Position.compared += 1
        return int(self) < int(other)


def comparisons(samples: int) -> int:
    """Of positions, until all batches are taken, where neighbours ask different components and none becomes whole."""
    blocks, before = Blocks(map(Position, range(samples))), Position.compared
    for position in range(samples):
        blocks.add(Position(position), KINDS[0] if position % 2 else KINDS[2])
    while block := blocks.take(lambda _: True, partial=True):
        for position in block.calls:
            blocks.end(position)
    assert not blocks
    return Position.compared - before


def test_four_times_the_samples_are_four_times_the_work() -> None:
    assert 0 < comparisons(400) <= 5 * comparisons(100)
