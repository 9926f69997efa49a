"""What is in each cell of the 3×3 grid, as numbers that a layer learns to tell."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from driftledger_demo.datasets.arrangements.grammar import PLACES, Arrangement

Looks = Mapping[int, tuple[str, str, str]]
"""Cell of the grid → size, colour and shape of the thing in it."""

NOTHING, UNASKED = 0, -100
"""``UNASKED`` is what PyTorch's cross-entropy leaves out."""


def looks_of(arrangement: Arrangement) -> Looks:
    """What is in its cells."""
    return {
        thing.cell: (thing.size, thing.colour, thing.shape)
        for thing in arrangement.things
    }


def numbered(
    things: Looks,
    attributes: Sequence[Sequence[str]],
    unasked: frozenset[int] = frozenset(),
) -> Tensor:
    """Cell × attribute: 0 where there is nothing, else from 1 on the number of the word among the
    attribute's words."""
    cells = torch.full((len(PLACES), len(attributes)), NOTHING)
    cells[sorted(unasked)] = UNASKED
    for cell, said in things.items():
        cells[cell] = torch.tensor(
            [
                1 + words.index(word)
                for words, word in zip(attributes, said, strict=True)
            ]
        )
    return cells


def numbers_to_tell(attributes: Sequence[Sequence[str]]) -> list[int]:
    """How many numbers there are of each attribute, that of nothing included."""
    return [len(words) + 1 for words in attributes]
