"""The painter's first half: an AutoencoderKL between 64×64 pixels and 16×16 latents."""

from dataclasses import dataclass

import numpy as np
import torch
from diffusers import AutoencoderKL
from numpy.typing import NDArray
from torch import Tensor

from driftledger_demo.datasets.arrangements.grammar import GROUNDS, SIDE
from lab.trio.loop import Place, half
from lab.trio.stream import Random, arrangements, images, random_for

MIDDLE = [0.5, 0.5, 0.5]
"""Mean and deviation of a channel, with which image processors bring pixels to -1 … 1."""
LATENT_SIDE = SIDE // 4
CHANNELS = 4

_BATCH = 32
_THINGS_WEIGH = 4.0
"""How much more a pixel of a thing counts than one of the ground, of which there are more."""
_MEASURED = 512
_DIVERGENCE = 1e-6
"""Weight of the divergence from a standard normal distribution: little, so that latents are nearly
exact."""


def build() -> AutoencoderKL:
    """Untrained."""
    return AutoencoderKL(
        down_block_types=("DownEncoderBlock2D",) * 3,
        up_block_types=("UpDecoderBlock2D",) * 3,
        block_out_channels=(16, 32, 48),
        layers_per_block=1,
        norm_num_groups=8,
        latent_channels=CHANNELS,
        sample_size=SIDE,
        mid_block_add_attention=False,
    )


@dataclass(frozen=True)
class Reconstruction:
    """Squared error, since most pixels are ground: the median, which absolute error looks for,
    ignores the things."""

    model: AutoencoderKL
    device: str

    def __call__(self, random: Random) -> Tensor:
        pixels = images(arrangements(random, _BATCH))
        asked = as_input(pixels).to(self.device)
        with half(self.device):
            latents = self.model.encode(asked).latent_dist
            drawn = self.model.decode(latents.sample()).sample.float()
        weights = torch.from_numpy(1 + _THINGS_WEIGH * is_thing(pixels)).to(self.device)
        error = ((drawn - asked) ** 2).mean(dim=1)
        return (error * weights).mean() + _DIVERGENCE * latents.kl().float().mean()


@torch.no_grad()
def scaling_factor(model: AutoencoderKL, place: Place) -> float:
    """What latents are multiplied with, so that their standard deviation is 1."""
    pixels = images(arrangements(random_for(place.seed), _MEASURED))
    return 1 / float(
        model.encode(as_input(pixels).to(place.device)).latent_dist.mode().std()
    )


def as_input(pixels: NDArray[np.uint8]) -> Tensor:
    """N×H×W×3 in sRGB → N×3×H×W from -1 to 1."""
    return torch.from_numpy(pixels).permute(0, 3, 1, 2).float() / 127.5 - 1


def is_thing(pixels: NDArray[np.uint8]) -> NDArray[np.float32]:
    """N×H×W, 1 where a pixel has none of the grounds' colours."""
    grounds = np.array(list(GROUNDS.values()), dtype=np.uint8)
    is_ground: NDArray[np.bool_] = (
        (pixels[:, :, :, None] == grounds).all(axis=-1).any(axis=-1)
    )
    return (~is_ground).astype(np.float32)
