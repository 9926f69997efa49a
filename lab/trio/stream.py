"""The endless stream of arrangements that everything is trained on. What is held out never
comes."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    MOST,
    PLACES,
    SHAPES,
    SIZES,
    Arrangement,
    Thing,
    draw,
)

Random = np.random.Generator

_MOST_NOISE = 12
"""Standard deviation in grey levels."""


def random_for(*key: int) -> Random:
    """Random numbers that are a function of the key, e.g. of the seed, the part and the step."""
    return np.random.default_rng(key)


def arrangements(
    random: Random, count: int, *, held_out: bool = False
) -> list[Arrangement]:
    """``count`` arrangements, of those for training or of those that are held out."""
    found: list[Arrangement] = []
    while len(found) < count:
        one = arrangement(random)
        if one.held_out == held_out:
            found.append(one)
    return found


def arrangement(random: Random) -> Arrangement:
    """One to :data:`~.grammar.MOST` things in different cells; every attribute is equally
    likely."""
    cells = sorted(
        random.permutation(len(PLACES))[: random.integers(1, MOST + 1)].tolist()
    )
    things = tuple(
        Thing(cell, _one(random, SIZES), _one(random, INKS), _one(random, SHAPES))
        for cell in cells
    )
    return Arrangement(_one(random, GROUNDS), things)


def images(some: Sequence[Arrangement]) -> NDArray[np.uint8]:
    """N×H×W×3 in sRGB."""
    return np.stack([draw(one) for one in some])


def worn(random: Random, pixels: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Some blur and some noise, a different amount for each image: what a painter draws is never
    quite sharp."""
    values = pixels.astype(np.float32)
    padded = np.pad(values, ((0, 0), (1, 1), (1, 1), (0, 0)), mode="edge")
    across = padded[:, :, :-2] + 2 * padded[:, :, 1:-1] + padded[:, :, 2:]
    blurred = (across[:, :-2] + 2 * across[:, 1:-1] + across[:, 2:]) / 16
    amount, deviation = random.random((2, len(pixels), 1, 1, 1), dtype=np.float32)
    noise = (
        _MOST_NOISE * deviation * random.standard_normal(values.shape, dtype=np.float32)
    )
    made: NDArray[np.float32] = values + amount * (blurred - values) + noise
    return made.round().clip(0, 255).astype(np.uint8)


def _one(random: Random, names: Sequence[str] | Mapping[str, object]) -> str:
    return list(names)[random.integers(len(names))]
