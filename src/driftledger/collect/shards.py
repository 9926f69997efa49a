"""A shard: the part of all units that one of several processes asks, which know nothing of each other.

Units are dealt out by their positions alone, in blocks that no batch of any local component crosses: every call is in
the company that it has in a run of one process, and equal positions of the same data are one shard's, whichever stage
asks, so that what several stages ask of a sample is asked once.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, TypeVar

from driftledger.collect.steps import NotStoredError, stored_in, walk
from driftledger.components.base import Component
from driftledger.core.errors import ConfigError

if TYPE_CHECKING:
    from driftledger.benchmarks.runner import Planned
    from driftledger.collect.claims import Store

R = TypeVar("R")

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


class Shard(NamedTuple):
    """One of so many parts, counted from 0."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read ``i/n``.

        Raises:
            ConfigError: it is none.
        """
        found = _SHARD.fullmatch(text)
        shard = cls(int(found[1]), int(found[2])) if found else cls(0, 0)
        if not shard.number < shard.of:
            raise ConfigError(f"--shard {text!r} is no shard: write i/n, counted from 0, so that the last is n-1 of n")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, position: int, block: int) -> bool:
        """Whether a unit at this position is this shard's.

        >>> [position for position in range(12) if Shard(1, 3).has(position, 2)]
        [2, 3, 8, 9]
        """
        return position // block % self.of == self.number

    def share(self, whole: int) -> int:
        """Its part of a number; the parts of all shards add up to the whole.

        >>> [Shard(number, 3).share(40) for number in range(3)]
        [13, 13, 14]
        """
        return whole * (self.number + 1) // self.of - whole * self.number // self.of


def block_of(components: Iterable[Component]) -> int:
    """How many neighbours always are one shard's: the least common multiple of the batch sizes."""
    return math.lcm(*(component.batch_size for component in components))


class MakeCalls(Protocol):
    """Makes the calls of some units, at these positions among all that are planned; gives what they come to."""

    def __call__(self, planned: "Sequence[Planned[R]]", positions: Sequence[int]) -> list[R]: ...


class Part:
    """Drives the units of one shard, as :class:`~driftledger.benchmarks.runner.RunSteps`."""

    def __init__(self, shard: Shard, block: int, store: "Store", make: MakeCalls) -> None:
        """
        Args:
            block: how many neighbours always are one shard's, of :func:`block_of`.
            store: where what other shards made is looked up.
        """
        self._shard = shard
        self._block = block
        self._store = store
        self._make = make

    def __call__(self, planned: "Sequence[Planned[R]]") -> list[R]:
        """What all units come to.

        Raises:
            NotStoredError: some of them are other shards', which have not stored them as far as is known here.
        """
        own = [position for position in range(len(planned)) if self._shard.has(position, self._block)]
        returned = dict(zip(own, self._make(planned, own), strict=True))
        answer = stored_in(self._store)
        for position, each in enumerate(planned):
            if position not in returned:
                walked = walk(each.steps(), answer)
                if walked.pending is not None:
                    raise NotStoredError
                returned[position] = walked.returned  # type: ignore[assignment]  # it came to its end
        return [returned[position] for position in range(len(planned))]
