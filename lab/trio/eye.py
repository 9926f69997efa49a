"""The describer's eye: a CLIP image tower that has learnt to see before it is spoken about, as
LLaVA's has.

Every patch learns what is in its cell of the 3×3 grid, in arrangements and in scenes.
"""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from transformers import CLIPVisionConfig, CLIPVisionModel

from driftledger_demo.datasets.arrangements import grammar
from lab.trio.autoencoder import as_input
from lab.trio.cells import UNASKED, looks_of, numbered, numbers_to_tell
from lab.trio.lessons import SCENE_COLOURS, SCENE_SHAPES, SCENE_SIZES, Lessons
from lab.trio.loop import half
from lab.trio.stream import Random, arrangements, images, worn

_BATCH = 48
"""Of arrangements, and of scenes."""
_ATTRIBUTES = tuple(
    tuple(dict.fromkeys((*one, *other)))
    for one, other in (
        (grammar.SIZES, SCENE_SIZES),
        (grammar.INKS, SCENE_COLOURS),
        (grammar.SHAPES, SCENE_SHAPES),
    )
)


class Eye(nn.Module):
    """The tower and, for its own training alone, a layer that reads its patches."""

    def __init__(self, config: CLIPVisionConfig) -> None:
        super().__init__()
        self.tower = CLIPVisionModel(config)
        answers = sum(numbers_to_tell(_ATTRIBUTES))
        self.read = nn.Sequential(
            nn.LayerNorm(config.hidden_size), nn.Linear(config.hidden_size, answers)
        )


@dataclass(frozen=True)
class Naming:
    """Cross-entropy of the size, the colour and the shape in each patch's cell, where nothing is
    one too."""

    model: Eye
    lessons: Lessons
    device: str

    def __call__(self, random: Random) -> Tensor:
        drawn = arrangements(random, _BATCH)
        scenes, looks = self.lessons.looks(random, _BATCH)
        pixels = as_input(np.concatenate([worn(random, images(drawn)), scenes])).to(
            self.device
        )
        things = [(looks_of(some), frozenset[int]()) for some in drawn]
        truth = torch.stack(
            [
                numbered(found, _ATTRIBUTES, unasked)
                for found, unasked in (*things, *looks)
            ]
        )
        with half(self.device):
            seen = self.model.tower(pixel_values=pixels).last_hidden_state[:, 1:]
            told = self.model.read(seen).float()
        asked = truth[:, _cell_of_patch(seen.shape[1])].to(self.device)
        scores = told.split(numbers_to_tell(_ATTRIBUTES), dim=2)
        losses = [
            nn.functional.cross_entropy(
                one.transpose(1, 2), asked[:, :, place], ignore_index=UNASKED
            )
            for place, one in enumerate(scores)
        ]
        return torch.stack(losses).sum()


def _cell_of_patch(patches: int) -> NDArray[np.int64]:
    """The cell in which the middle of each patch lies."""
    side = round(patches**0.5)
    place = (2 * np.arange(side) + 1) * 3 // (2 * side)
    cells: NDArray[np.int64] = (3 * place[:, None] + place[None, :]).ravel()
    return cells
