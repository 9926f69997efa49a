"""The looker: a ViT whose class token tells what is in each cell of an arrangement."""

from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn
from transformers import ViTConfig, ViTImageProcessor, ViTModel

from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    PLACES,
    SHAPES,
    SIDE,
    SIZES,
)
from lab.trio.autoencoder import as_input
from lab.trio.cells import looks_of, numbered, numbers_to_tell
from lab.trio.loop import half
from lab.trio.stream import Random, arrangements, images, worn

_BATCH = 96
_WIDTH = 96
_ATTRIBUTES = (tuple(SIZES), tuple(INKS), SHAPES)
_ANSWERS = numbers_to_tell(_ATTRIBUTES)


class Looker(nn.Module):
    """The ViT and, for training alone, a linear layer that reads its class token."""

    def __init__(self) -> None:
        super().__init__()
        config = ViTConfig(
            hidden_size=_WIDTH,
            intermediate_size=192,
            num_hidden_layers=3,
            num_attention_heads=3,
            image_size=SIDE,
            patch_size=8,
        )
        self.vit = ViTModel(config, add_pooling_layer=False)
        self.read = nn.Linear(_WIDTH, len(GROUNDS) + len(PLACES) * sum(_ANSWERS))


@dataclass(frozen=True)
class Naming:
    """Cross-entropy of the ground, and of the size, the colour and the shape in each cell, where
    nothing is one too."""

    model: Looker
    device: str

    def __call__(self, random: Random) -> Tensor:
        some = arrangements(random, _BATCH)
        pixels = as_input(worn(random, images(some))).to(self.device)
        with half(self.device):
            told = self.model.read(
                self.model.vit(pixel_values=pixels).last_hidden_state[:, 0]
            ).float()
        ground, *cells = told.split([len(GROUNDS), *_ANSWERS * len(PLACES)], dim=1)
        grounds = torch.tensor([list(GROUNDS).index(one.ground) for one in some]).to(
            told.device
        )
        truth = torch.stack(
            [numbered(looks_of(one), _ATTRIBUTES).flatten() for one in some]
        ).to(told.device)
        losses = [
            nn.functional.cross_entropy(scores, truth[:, place])
            for place, scores in enumerate(cells)
        ]
        return nn.functional.cross_entropy(ground, grounds) + torch.stack(
            losses
        ).sum() / len(_ANSWERS)


def save(folder: Path, model: Looker) -> None:
    """As transformers saves it, weights in half precision."""
    model.vit.half().save_pretrained(folder)
    ViTImageProcessor(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
