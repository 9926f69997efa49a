"""Random weights that make tiny models tell their inputs apart, and a way to change one of them."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import nn

from tests.support.cases import cases

PARTS: dict[str, dict[str, Any]] = {
    each.pop("part"): each for each in cases(__file__, "parts")
}
"""Settings of configurations."""
GAIN = 1.5
"""Times 1/√fan_in. With the libraries' own initialisation all inputs give nearly equal outputs."""


@contextmanager
def seeded(seed: int) -> Iterator[None]:
    """Torch's random numbers from ``seed``, and the caller's untouched."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        yield


@torch.no_grad()
def randomise(model: nn.Module, gain: float = GAIN) -> nn.Module:
    """Draw every matrix of ``model`` anew; vectors (biases, norms) keep what the library gave
    them."""
    for weight in model.parameters():
        if weight.ndim > 1:
            weight.normal_(0, gain / weight[0].numel() ** 0.5)
    return model.eval()


def change_one_weight(folder: Path) -> Path:
    """Add one to one value in the first safetensors file below ``folder``; returns the file."""
    return _edit(folder, lambda tensors, name: tensors[name].view(-1)[0].add_(1))


def drop_one_weight(folder: Path) -> Path:
    """Remove one tensor from the first safetensors file below ``folder``; returns the file."""
    return _edit(folder, lambda tensors, name: tensors.pop(name))


def _edit(
    folder: Path, change: Callable[[dict[str, torch.Tensor], str], object]
) -> Path:
    file = min(folder.rglob("*.safetensors"))
    with safe_open(file, framework="pt") as opened:
        metadata = opened.metadata()
    tensors = load_file(file)
    change(tensors, min(tensors))
    save_file(tensors, file, metadata)
    return file
