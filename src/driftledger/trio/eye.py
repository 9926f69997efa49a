"""The describer's eye: a CLIP image tower that has learnt to see before it is spoken about, as LLaVA's has.

Every patch learns what is in its cell of the 3×3 grid, in arrangements and in the scenes of the question sets.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import CLIPVisionConfig, CLIPVisionModel

from driftledger.datasets.arrangements import grammar
from driftledger.question_sets.scenes import knowledge
from driftledger.trio.autoencoder import as_input
from driftledger.trio.lessons import Lessons, Looks
from driftledger.trio.loop import half
from driftledger.trio.stream import Random, arrangements, images, worn

_BATCH = 48
"""Of arrangements, and of scenes."""
_ATTRIBUTES = tuple(
    tuple(dict.fromkeys((*one, *other)))
    for one, other in (
        (grammar.SIZES, knowledge.SIZES),
        (grammar.INKS, knowledge.COLOURS),
        (grammar.SHAPES, knowledge.SHAPES),
    )
)
_NOTHING, _UNASKED = 0, -100


class Eye(nn.Module):
    """The tower and, for its own training alone, a layer that reads its patches."""

    def __init__(self, config: CLIPVisionConfig) -> None:
        super().__init__()
        self.tower = CLIPVisionModel(config)
        answers = sum(len(names) + 1 for names in _ATTRIBUTES)
        self.read = nn.Sequential(nn.LayerNorm(config.hidden_size), nn.Linear(config.hidden_size, answers))


@dataclass(frozen=True)
class Naming:
    """Cross-entropy of the size, the colour and the shape in each patch's cell, where nothing is one too."""

    model: Eye
    lessons: Lessons
    device: str

    def __call__(self, random: Random) -> Tensor:
        drawn = arrangements(random, _BATCH)
        scenes, looks = self.lessons.looks(random, _BATCH)
        pixels = as_input(np.concatenate([worn(random, images(drawn)), scenes])).to(self.device)
        things = [{one.cell: (one.size, one.colour, one.shape) for one in some.things} for some in drawn]
        truth = torch.stack([*(_cells(found) for found in things), *(_cells(*found) for found in looks)])
        with half(self.device):
            seen = self.model.tower(pixel_values=pixels).last_hidden_state[:, 1:]
            told = self.model.read(seen).float()
        asked = truth[:, _cell_of_patch(seen.shape[1])].to(self.device)
        scores = told.split([len(names) + 1 for names in _ATTRIBUTES], dim=2)
        losses = [
            nn.functional.cross_entropy(one.transpose(1, 2), asked[:, :, place], ignore_index=_UNASKED)
            for place, one in enumerate(scores)
        ]
        return torch.stack(losses).sum()


def _cells(things: Looks, unasked: frozenset[int] = frozenset()) -> Tensor:
    """Cell × attribute: 0 where there is nothing, else the attribute's number from 1 on."""
    cells = torch.full((len(grammar.PLACES), len(_ATTRIBUTES)), _NOTHING)
    cells[sorted(unasked)] = _UNASKED
    for cell, said in things.items():
        cells[cell] = torch.tensor([1 + names.index(word) for names, word in zip(_ATTRIBUTES, said, strict=True)])
    return cells


def _cell_of_patch(patches: int) -> NDArray[np.int64]:
    """The cell in which the middle of each patch lies."""
    side = round(patches**0.5)
    place = (2 * np.arange(side) + 1) * 3 // (2 * side)
    cells: NDArray[np.int64] = (3 * place[:, None] + place[None, :]).ravel()
    return cells
