"""Arrangements that are held out, each a function of what was asked for and of nothing else."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import count
from typing import get_args

from driftledger.core.canonical import sha256_of
from driftledger.core.types import Split
from driftledger_demo.choices import roll
from driftledger_demo.datasets.arrangements.grammar import GROUNDS, INKS, PLACES, SHAPES, SIZES, Arrangement, Thing


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
