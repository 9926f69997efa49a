"""The provider ``arrangements``: all are held out from the training of the shipped checkpoints."""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import count, islice
from typing import ClassVar, get_args

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.media import png_bytes
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
    """Return a whole number in 0 … ``bound`` − 1 that is a function of the key.

    >>> roll(6, "beetle", 7, "size")
    3
    """
    return int(sha256_of(key), 16) % bound


def labels() -> list[str]:
    """Return every colour of every shape, e.g. ``red circle``."""
    return [f"{colour} {shape}" for colour in INKS for shape in SHAPES]


def of_count(things: int, seed: int) -> Iterator[Arrangement]:
    """Yield distinct arrangements of ``count`` things; there are only 545 of one thing."""

    def make(number: int) -> Arrangement:
        key = ("count", things, seed, number)
        cells = sorted(_shuffled_cells(*key)[:things])
        drawn = [_thing(cell, *key) for cell in cells]
        return Arrangement(_choice(GROUNDS, *key), tuple(drawn))

    return _held_out(make)


def of_label(label: str, split: Split, seed: int) -> Iterator[Arrangement]:
    """Yield distinct arrangements of a split whose one large thing is the label's.

    One or two other things are small.
    """
    colour, shape = label.split()

    def make(number: int) -> Arrangement:
        key = ("label", label, split, seed, number)
        large, *small = _shuffled_cells(*key)[: 2 + roll(2, "others", *key)]
        things = [_thing(cell, *key)._replace(size="small") for cell in small]
        things.append(Thing(large, "large", colour, shape))
        return Arrangement(_choice(GROUNDS, *key), tuple(sorted(things)))

    return (
        arrangement for arrangement in _held_out(make) if _split(arrangement) == split
    )


def _split(arrangement: Arrangement) -> Split:
    """Return the one split of an arrangement, whatever the label and the seed."""
    splits: tuple[Split, ...] = get_args(Split)
    things = [" ".join(map(str, thing)) for thing in arrangement.things]
    return splits[roll(len(splits), "split", arrangement.ground, *things)]


def _held_out(make: Callable[[int], Arrangement]) -> Iterator[Arrangement]:
    """Yield each distinct arrangement of ``make(0)``, ``make(1)``, … that is held out."""
    seen: set[Arrangement] = set()
    for arrangement in map(make, count()):
        if arrangement.held_out and arrangement not in seen:
            seen.add(arrangement)
            yield arrangement


def _thing(cell: int, *key: str | int) -> Thing:
    return Thing(
        cell,
        size=_choice(SIZES, "size", cell, *key),
        colour=_choice(INKS, "colour", cell, *key),
        shape=_choice(SHAPES, "shape", cell, *key),
    )


def _choice(names: Iterable[str], *key: str | int) -> str:
    choices = list(names)
    return choices[roll(len(choices), *key)]


def _shuffled_cells(*key: str | int) -> list[int]:
    return sorted(range(len(PLACES)), key=lambda cell: sha256_of(["order", cell, *key]))


class Arrangements(DatasetProvider):
    """Drawn arrangements, chosen by a seed; a larger count keeps the earlier ones.

    Without labels the categories are how many things there are. ``labelled``, the label is the
    colour and the shape of the one large thing; all others are small.
    """

    provider: ClassVar[str] = "arrangements"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel changes."""

    general_category: str | None = Field(default="shapes", pattern=r"\S")
    labelled: bool = False
    per_category: int = Field(default=10, ge=1, le=500)
    """Drawn of each number of things, without labels; 545 of one thing are held out."""
    support_per_label: int = Field(default=2, ge=1, le=10)
    test_per_label: int = Field(default=2, ge=1, le=10)
    seed: int = Field(default=1, ge=0, lt=2**32)

    @property
    def unused(self) -> set[str]:
        return set() if self.first else {"sample_seed"}

    def items(self) -> Iterator[SourceItem]:
        return self._labelled() if self.labelled else self._counted()

    def _counted(self) -> Iterator[SourceItem]:
        for things, category in enumerate(("one", "two", "three"), start=1):
            drawn = islice(of_count(things, self.seed), self.per_category)
            for number, arrangement in enumerate(drawn):
                yield SourceItem(
                    id=f"{category}-{number:04d}",
                    name=f"arrangement {number} of {things}",
                    read=partial(_png, arrangement),
                    category=category,
                    source={"caption": arrangement.caption},
                )

    def _labelled(self) -> Iterator[SourceItem]:
        counts: dict[Split, int] = {
            "support": self.support_per_label,
            "test": self.test_per_label,
        }
        for label in labels():
            for split, most in counts.items():
                drawn = islice(of_label(label, split, self.seed), most)
                for number, arrangement in enumerate(drawn):
                    yield SourceItem(
                        id=f"{split}-{label.replace(' ', '-')}-{number:03d}",
                        name=f"{split} arrangement {number} of a {label}",
                        read=partial(_png, arrangement),
                        label=label,
                        split=split,
                        source={"caption": arrangement.caption},
                    )

    def source_digest(self) -> str:
        counts = [self.per_category]
        if self.labelled:
            counts = [self.support_per_label, self.test_per_label]
        return sha256_of([self.version, self.labelled, *counts, self.seed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


def _png(arrangement: Arrangement) -> bytes:
    return png_bytes(Image.fromarray(draw(arrangement)))
