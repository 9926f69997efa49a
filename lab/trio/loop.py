"""One training loop for everything: seeded, resumable at any step, and without pickles.

All that is random in a step is a function of the seed and the step's number, so that a run that was
killed goes on as if it had not been.
"""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from math import cos, pi
from pathlib import Path
from typing import NamedTuple, TypeVar

import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from tqdm import tqdm

from lab.trio.settings import Course
from lab.trio.stream import Random, random_for

Learnt = TypeVar("Learnt", bound=nn.Module)
Loss = Callable[[Random], Tensor]
"""One step's loss on a fresh batch, which the random numbers determine."""


class Place(NamedTuple):
    """Where training stands between two runs of it."""

    folder: Path
    device: str
    seed: int


_WARM_UP = 200
_SAVE_EVERY = 100
_LARGEST_GRADIENT = 1.0
_STEP = "step"
_PLAIN = [SDPBackend.MATH]
_ANY = [SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]


def train(
    name: str,
    model: Learnt,
    loss: Loss,
    course: Course,
    place: Place,
    milestones: Collection[int] = (),
) -> dict[int, Learnt]:
    """Train ``model``, or go on where it was left.

    The state is in ``<folder>/<name>.safetensors``, what was learnt by each milestone beside it.
    All of it stays there when all is done, so that training again ends at once.

    Returns:
        The averaged model after the steps of each milestone, and after the last.
    """
    averaged = deepcopy(model).requires_grad_(False)
    optimizer = torch.optim.AdamW(
        model.parameters(), lr=course.rate, betas=(0.9, 0.98), weight_decay=0.01
    )
    file = place.folder / f"{name}.safetensors"
    wanted = {
        step: place.folder / f"{name}-{step}.safetensors"
        for step in {*milestones, course.steps}
    }
    done = _restore(file, model, averaged, optimizer) if file.is_file() else 0
    with tqdm(
        total=course.steps,
        initial=done,
        desc=name,
        unit="step",
        mininterval=10,
        ascii=True,
    ) as progress:
        for step in range(done + 1, course.steps + 1):
            value = _step(model, loss, optimizer, _rate(step, course), place, step)
            _average(averaged, model, min(course.memory, step / (step + 10)))
            progress.set_postfix(loss=f"{value:.4f}", refresh=False)
            progress.update()
            if step in wanted:
                _write(wanted[step], step, averaged.state_dict())
            if step % _SAVE_EVERY == 0 or step in wanted:
                _write(file, step, _state(model, averaged, optimizer))
    # also where there was nothing to do: what is built next starts from the same numbers
    _seed(place, course.steps)
    return {step: _learnt(averaged, path) for step, path in sorted(wanted.items())}


@contextmanager
def half(device: str) -> Iterator[None]:
    """Matrix products in bfloat16, the rest in float32; on a CPU not the fused attention, whose
    gradient is slow."""
    kind = torch.device(device).type
    with (
        torch.autocast(kind, torch.bfloat16),
        sdpa_kernel(_PLAIN if kind == "cpu" else _ANY),
    ):
        yield


def _step(
    model: nn.Module,
    loss: Loss,
    optimizer: torch.optim.Optimizer,
    rate: float,
    place: Place,
    step: int,
) -> float:
    _seed(place, step)
    for group in optimizer.param_groups:
        group["lr"] = rate
    value = loss(random_for(place.seed, step))
    if not torch.isfinite(value):
        raise FloatingPointError(f"the loss is {value.item()} at step {step}")
    optimizer.zero_grad(set_to_none=True)
    value.backward()
    steepness = nn.utils.clip_grad_norm_(model.parameters(), _LARGEST_GRADIENT)
    if not torch.isfinite(steepness):
        raise FloatingPointError(
            f"the gradient's norm is {steepness.item()} at step {step}"
        )
    optimizer.step()
    return float(value.item())


def _seed(place: Place, step: int) -> None:
    torch.manual_seed(place.seed * 1_000_003 + step)


def _rate(step: int, course: Course) -> float:
    begins = max(end for end in (0, *course.restarts) if end < step)
    ends = min(end for end in (*course.restarts, course.steps) if end >= step)
    fallen = max(0.0, 1 - (1 - (step - begins) / (ends - begins)) / course.fall)
    return (
        course.rate
        * min((step - begins) / _WARM_UP, 1.0)
        * max(0.5 + 0.5 * cos(pi * fallen), 0.01)
    )


@torch.no_grad()
def _average(averaged: nn.Module, model: nn.Module, memory: float) -> None:
    for kept, new in zip(
        averaged.state_dict().values(), model.state_dict().values(), strict=True
    ):
        if kept.is_floating_point():
            kept.lerp_(new, 1 - memory)


def _state(
    model: nn.Module, averaged: nn.Module, optimizer: torch.optim.Optimizer
) -> dict[str, Tensor]:
    moments = {
        f"optimizer.{number}.{key}": value
        for number, state in optimizer.state_dict()["state"].items()
        for key, value in state.items()
    }
    return _named("model", model) | _named("averaged", averaged) | moments


def _write(file: Path, step: int, tensors: Mapping[str, Tensor]) -> None:
    """All or nothing."""
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    save_file(
        {key: value.detach().contiguous().clone() for key, value in tensors.items()},
        partial,
        {_STEP: str(step)},
    )
    partial.replace(file)


def _learnt(averaged: Learnt, file: Path) -> Learnt:
    found = deepcopy(averaged)
    found.load_state_dict(load_file(file))
    return found


def _restore(
    file: Path, model: nn.Module, averaged: nn.Module, optimizer: torch.optim.Optimizer
) -> int:
    with safe_open(file, framework="pt") as opened:
        step = int(opened.metadata()[_STEP])
        names = opened.keys()  # it is no mapping
        tensors = {key: opened.get_tensor(key) for key in names}
    for name, module in (("model", model), ("averaged", averaged)):
        module.load_state_dict(
            {key: tensors[f"{name}.{key}"] for key in module.state_dict()}
        )
    state: dict[int, dict[str, Tensor]] = {}
    for key, value in tensors.items():
        if key.startswith("optimizer."):
            _, number, what = key.split(".")
            state.setdefault(int(number), {})[what] = value
    optimizer.load_state_dict(
        {"state": state, "param_groups": optimizer.state_dict()["param_groups"]}
    )
    return step


def _named(prefix: str, module: nn.Module) -> dict[str, Tensor]:
    return {f"{prefix}.{key}": value for key, value in module.state_dict().items()}
