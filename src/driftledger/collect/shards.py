"""Shards: parts of all units that several machines collect, each into a store of its own, for ``driftledger merge``.

Units are dealt out by their positions alone, in blocks that no batch of a local component crosses: every call is in the
batch that it has in a run of one process, and equal positions of the same data belong to one shard, whichever stage
asks, so that what several stages ask of a sample is asked once.
"""

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from driftledger.collect.call import NotStoredError, Planned, walk
from driftledger.collect.run import Collector
from driftledger.collect.store import DATABASE
from driftledger.components.base import Component
from driftledger.core.errors import ConfigError
from driftledger.core.terminal import Progress

R = TypeVar("R")

_SHARD = re.compile(r"([0-9]{1,6})/([0-9]{1,6})")


class Shard(NamedTuple):
    """Part ``number`` of ``of`` parts, counted from 0."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read ``i/n``.

        Raises:
            ConfigError: it is not a shard.
        """
        match = _SHARD.fullmatch(text)
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not shard.number < shard.of:
            raise ConfigError(
                f"--shard {text!r} is not a shard: write i/n, counted from 0, so that the last is n-1 of n"
            )
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def has(self, position: int, block: int) -> bool:
        """Whether the unit at this position belongs to this shard.

        >>> [position for position in range(12) if Shard(1, 3).has(position, 2)]
        [2, 3, 8, 9]
        """
        return position // block % self.of == self.number

    def store(self, folder: Path) -> Path:
        """The folder of its store inside ``folder``, which all shards share."""
        return folder / f"shard-{self.number}-of-{self.of}"


def block_of(components: Iterable[Component]) -> int:
    """How many neighbours always belong to one shard: the least common multiple of the batch sizes."""
    return math.lcm(*(component.batch_size for component in components))


def stores_in(folder: Path) -> list[Path]:
    """The stores of shards: the folder itself, or those inside it."""
    inside = sorted(folder.glob("shard-*-of-*/"))
    return [each for each in (folder, *inside) if (each / DATABASE).is_file()]


def part_of(
    planned: Sequence[Planned[R]], shard: Shard, block: int, collector: Collector, progress: Progress
) -> list[R]:
    """Drive the units of one shard; look up what the other shards have made.

    Args:
        block: of :func:`block_of`.

    Raises:
        NotStoredError: units of other shards are in no store that the collector looks into.
    """
    own = [position for position in range(len(planned)) if shard.has(position, block)]
    results = collector.run((planned[position].steps() for position in own), progress, own)
    returned: dict[int, Any] = dict(zip(own, results, strict=True))
    for position, each in enumerate(planned):
        if position not in returned:
            walked = walk(each.steps(), collector.store.answer)
            if walked.pending is not None:
                raise NotStoredError
            returned[position] = walked.returned
    return [returned[position] for position in range(len(planned))]
