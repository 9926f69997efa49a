"""A shard: the part of all units that one of several processes asks, which know nothing of each other.

Units are dealt out by their positions alone, in blocks that no batch of any local component crosses: every call is in
the company that it has in a run of one process, and equal positions of the same data are one shard's, whichever stage
asks, so that what several stages ask of a sample is asked once.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from driftledger.collect.steps import NotStoredError, Steps, stored_in, walk
from driftledger.components.base import Component
from driftledger.core.errors import ConfigError

if TYPE_CHECKING:
    from driftledger.benchmarks.runner import Planned
    from driftledger.collect.claims import Store

R = TypeVar("R")

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


class Shard(NamedTuple):
    """The ``index``-th of ``count`` parts, counted from 0."""

    index: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read ``i/n``.

        Raises:
            ConfigError: it is none.
        """
        found = _SHARD.fullmatch(text)
        shard = cls(int(found[1]), int(found[2])) if found else cls(0, 0)
        if not shard.index < shard.count:
            raise ConfigError(f"--shard {text!r} is no shard: write i/n, counted from 0, so that the last is n-1 of n")
        return shard

    def __str__(self) -> str:
        return f"{self.index}/{self.count}"

    def has(self, position: int, block: int) -> bool:
        """Whether a unit at this position is this shard's.

        >>> [position for position in range(12) if Shard(1, 3).has(position, 2)]
        [2, 3, 8, 9]
        """
        return position // block % self.count == self.index

    def share(self, whole: int) -> int:
        """Its part of a number; the parts of all shards add up to the whole.

        >>> [Shard(index, 3).share(40) for index in range(3)]
        [13, 13, 14]
        """
        return whole * (self.index + 1) // self.count - whole * self.index // self.count


def block_of(components: Iterable[Component]) -> int:
    """How many neighbours always are one shard's: the least common multiple of the batch sizes."""
    return math.lcm(*(component.batch_size for component in components))


class Part:
    """Drives the units of one shard, as :class:`~driftledger.benchmarks.runner.RunSteps`."""

    def __init__(
        self,
        shard: Shard,
        block: int,
        store: "Store",
        run: "Callable[[Mapping[int, Steps[R]], Sequence[Planned[R]]], Mapping[int, R]]",
    ) -> None:
        """``run`` makes the calls of the units that it is given, by position, of all that are planned."""
        self._shard = shard
        self._block = block
        self._store = store
        self._run = run

    def __call__(self, planned: "Sequence[Planned[R]]") -> list[R]:
        """What all units come to.

        Raises:
            NotStoredError: some of them are other shards', and nobody has stored them yet.
        """
        own = {at: each.steps() for at, each in enumerate(planned) if self._shard.has(at, self._block)}
        returned = dict(self._run(own, planned)) if own else {}
        answer = stored_in(self._store)
        for at, each in enumerate(planned):
            if at not in returned:
                walked = walk(each.steps(), answer)
                if walked.pending is not None:
                    raise NotStoredError
                returned[at] = walked.returned  # type: ignore[assignment]  # it came to its end
        return [returned[at] for at in range(len(planned))]
