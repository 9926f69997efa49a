"""A stand-in for the Inception network of the FID, as clean-fid loads it."""

from pathlib import Path

import torch
from torch.nn import functional

from tests.support.checkpoints.weights import randomise, seeded


def build_inception(folder: Path, seed: int = 0) -> Path:
    """What clean-fid's ``InceptionV3W(folder, download=False)`` loads: 2048 features of a
    thumbnail."""
    folder.mkdir(parents=True, exist_ok=True)
    with seeded(seed):
        network = randomise(Inception())
    torch.jit.script(network).save(str(folder / "inception-2015-12-05.pt"))
    return folder


class Layers(torch.nn.Module):
    """2048 features of a 4 × 4 thumbnail.

    The weight is its own, because the names of torch's layers in the file depend on what was
    scripted before.
    """

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.empty(2048, 3 * 4 * 4))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        thumbnails = functional.adaptive_avg_pool2d(images, 4).flatten(1)
        return functional.relu(functional.linear(thumbnails, self.weight))


class Inception(torch.nn.Module):
    """The calls clean-fid makes: ``layers`` on -1 to 1 and 299 × 299, or the whole on 0 to 255 and
    any size."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = Layers()

    def forward(
        self, images: torch.Tensor, return_features: bool = False
    ) -> torch.Tensor:
        return self.layers((images - 128) / 128)
