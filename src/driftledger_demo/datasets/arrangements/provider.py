"""The provider ``arrangements``: all of them held out from what the shipped checkpoints were trained on."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import count, islice
from typing import ClassVar, get_args

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.images import png_bytes
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    PLACES,
    SHAPES,
    SIZES,
    Arrangement,
    Thing,
    draw,
)

Key = tuple[str | int, ...]


def roll(bound: int, *key: str | int) -> int:
    """A whole number in 0 … ``bound`` − 1 that is a function of the key.

    >>> roll(6, "beetle", 7, "size") == roll(6, "beetle", 7, "size")
    True
    """
    return int(sha256_of(key), 16) % bound


def between(low: int, high: int, *key: str | int) -> int:
    """The same in ``low`` … ``high``, both included."""
    return low + roll(high - low + 1, *key)


def labels() -> list[str]:
    """Every colour of every shape, e.g. ``red circle``."""
    return [f"{colour} {shape}" for colour in INKS for shape in SHAPES]


def of_count(things: int, seed: int) -> Iterator[Arrangement]:
    """Arrangements of so many things, no two alike. Of one thing there are 545."""

    def make(number: int) -> Arrangement:
        key = ("count", things, seed, number)
        cells = sorted(_shuffled(range(len(PLACES)), *key)[:things])
        return Arrangement(_choice(GROUNDS, *key), tuple(_thing(cell, *key) for cell in cells))

    return _held_out(make)


def of_label(label: str, split: Split, seed: int) -> Iterator[Arrangement]:
    """Arrangements whose large thing is what ``label`` says, no two alike, and none in both splits.

    One or two others are small.

    Raises:
        ValueError: no such label.
    """
    if label not in labels():
        raise ValueError(f"no such label: {label!r}")
    colour, shape = label.split()

    def make(number: int) -> Arrangement:
        key = ("label", label, split, seed, number)
        large, *small = _shuffled(range(len(PLACES)), *key)[: 2 + roll(2, "others", *key)]
        things = [Thing(large, "large", colour, shape), *(_thing(cell, *key)._replace(size="small") for cell in small)]
        return Arrangement(_choice(GROUNDS, *key), tuple(sorted(things)))

    return (one for one in _held_out(make) if _split(one) == split)


def _split(one: Arrangement) -> Split:
    """Each is of one split, whatever the label and the seed, so that none is ever in both."""
    splits: tuple[Split, ...] = get_args(Split)
    things = (f"{cell} {size} {colour} {shape}" for cell, size, colour, shape in one.things)
    return splits[roll(len(splits), "split", one.ground, *things)]


def _held_out(make: Callable[[int], Arrangement]) -> Iterator[Arrangement]:
    """Those of ``make(0)``, ``make(1)``, … that are held out and have not come before."""
    seen: set[Arrangement] = set()
    for one in map(make, count()):
        if one.held_out and one not in seen:
            seen.add(one)
            yield one


def _thing(cell: int, *key: str | int) -> Thing:
    return Thing(
        cell,
        _choice(SIZES, "size", cell, *key),
        _choice(INKS, "colour", cell, *key),
        _choice(SHAPES, "shape", cell, *key),
    )


def _choice(names: Iterable[str], *key: str | int) -> str:
    every = list(names)
    return every[roll(len(every), *key)]


def _shuffled(items: Sequence[int], *key: str | int) -> list[int]:
    return sorted(items, key=lambda item: sha256_of(["order", item, *key]))


_COUNTS = ("one", "two", "three")
"""Categories, by the number of things."""


class Arrangements(DatasetProvider):
    """Drawn, seeded; a larger count leaves the earlier ones as they are.

    Without labels the categories are how many things there are. ``labelled``, the label is the colour and the shape of
    the one large thing; others beside it are small.
    """

    provider: ClassVar[str] = "arrangements"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel changes."""

    general_category: str | None = Field(default="shapes", pattern=r"\S")
    labelled: bool = False
    per_category: int = Field(default=10, ge=1, le=500)
    """Without labels: how many of each number of things are drawn; of one thing 545 are held out."""
    support_per_label: int = Field(default=2, ge=1, le=10)
    test_per_label: int = Field(default=2, ge=1, le=10)
    seed: int = Field(default=1, ge=0, lt=2**32)

    @property
    def unused(self) -> set[str]:
        return set() if self.first else {"sample_seed"}

    def items(self) -> Iterator[SourceItem]:
        yield from self._labelled() if self.labelled else self._counted()

    def _counted(self) -> Iterator[SourceItem]:
        for things, category in enumerate(_COUNTS, 1):
            for number, one in enumerate(islice(of_count(things, self.seed), self.per_category)):
                yield SourceItem(
                    id=f"{category}-{number:04d}",
                    name=f"arrangement {number} of {things}",
                    read=partial(_png, one),
                    category=category,
                    source={"caption": one.caption},
                )

    def _labelled(self) -> Iterator[SourceItem]:
        for label in labels():
            for split in get_args(Split):
                count = self.support_per_label if split == "support" else self.test_per_label
                for number, one in enumerate(islice(of_label(label, split, self.seed), count)):
                    yield SourceItem(
                        id=f"{split}-{label.replace(' ', '-')}-{number:03d}",
                        name=f"{split} arrangement {number} of a {label}",
                        read=partial(_png, one),
                        label=label,
                        split=split,
                        source={"caption": one.caption},
                    )

    def source_digest(self) -> str:
        counts = [self.support_per_label, self.test_per_label] if self.labelled else [self.per_category]
        return sha256_of([self.version, self.labelled, *counts, self.seed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


def _png(one: Arrangement) -> bytes:
    return png_bytes(Image.fromarray(draw(one)))
