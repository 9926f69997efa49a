"""The training loop: what was stopped anywhere goes on as if it had not been, and nothing that is kept is a pickle."""

from collections.abc import Collection
from copy import deepcopy
from itertools import pairwise
from pathlib import Path

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from lab.trio import loop
from lab.trio.loop import Place, train
from lab.trio.settings import Course
from lab.trio.stream import Random

STEPS = 7
COURSE = Course(steps=STEPS, rate=0.1, memory=0.9)
Weights = dict[str, Tensor]


@pytest.fixture(autouse=True)
def save_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every second step."""
    monkeypatch.setattr(loop, "_SAVE_EVERY", 2)
    monkeypatch.setattr(loop, "_WARM_UP", 3)


class KilledError(Exception):
    """Instead of a kill."""


class Noisy:
    """Squared error of a line through noise, which both kinds of random numbers make; it may break at a call."""

    def __init__(self, model: nn.Module, breaks_at: int | None = None, value: float | None = None) -> None:
        self.model, self.calls, self._breaks_at, self._value = model, 0, breaks_at, value

    def __call__(self, random: Random) -> Tensor:
        self.calls += 1
        inputs = torch.from_numpy(random.standard_normal((8, 3), dtype="float32"))
        error = (self.model(inputs) - inputs.sum(dim=1, keepdim=True) + torch.randn(8, 1) / 10) ** 2
        if self.calls == self._breaks_at:
            if self._value is None:
                raise KilledError
            return error.mean() * self._value
        return error.mean()


def untrained() -> nn.Linear:
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def at(folder: Path, seed: int = 1) -> Place:
    return Place(folder, "cpu", seed)


def trained(
    folder: Path, milestones: Collection[int] = (), course: Course = COURSE, seed: int = 1
) -> dict[int, Weights]:
    model = untrained()
    learnt = train("line", model, Noisy(model), course, at(folder, seed), milestones)
    return {step: dict(one.state_dict()) for step, one in learnt.items()}


def same(one: dict[int, Weights], other: dict[int, Weights]) -> bool:
    return one.keys() == other.keys() and all(
        torch.equal(one[step][key], other[step][key]) for step in one for key in one[step]
    )


def step_of(file: Path) -> int:
    with safe_open(file, framework="pt") as opened:
        return int(opened.metadata()["step"])


# --- stopping and going on --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("broken_at", range(1, STEPS + 1))
def test_training_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path: Path, broken_at: int) -> None:
    whole = trained(tmp_path / "whole", milestones=[3])
    model = untrained()
    with pytest.raises(KilledError):
        train("line", model, Noisy(model, broken_at), COURSE, at(tmp_path / "stopped"), [3])
    torch.rand(5)  # whatever else draws numbers
    model = untrained()
    loss = Noisy(model)
    learnt = train("line", model, loss, COURSE, at(tmp_path / "stopped"), [3])
    assert same({step: dict(one.state_dict()) for step, one in learnt.items()}, whole)
    kept = max([step for step in (2, 3, 4, 6) if step < broken_at], default=0)
    assert loss.calls == STEPS - kept


def test_training_again_ends_at_once_and_returns_every_milestone(tmp_path: Path) -> None:
    first = trained(tmp_path, milestones=[2, 5])
    assert [*first] == [2, 5, STEPS]
    assert not any(torch.equal(one["weight"], other["weight"]) for one, other in pairwise(first.values()))
    files = {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()}
    model = untrained()
    loss = Noisy(model)
    again = train("line", model, loss, COURSE, at(tmp_path), [2, 5])
    assert loss.calls == 0
    assert same({step: dict(one.state_dict()) for step, one in again.items()}, first)
    assert {file.name: file.stat().st_mtime_ns for file in tmp_path.iterdir()} == files


# --- a loss that is no number -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_training_and_leaves_the_last_state(tmp_path: Path, value: float) -> None:
    whole = trained(tmp_path / "whole")
    model = untrained()
    with pytest.raises(FloatingPointError, match=f"the loss is {value} at step 6"):
        train("line", model, Noisy(model, 6, value), COURSE, at(tmp_path / "broken"))
    assert step_of(tmp_path / "broken" / "line.safetensors") == 4
    assert same(trained(tmp_path / "broken"), whole)


# --- what is kept -----------------------------------------------------------------------------------------------------


def test_without_memory_it_is_adamw_with_clipped_gradients(tmp_path: Path) -> None:
    """Against a loop of its own, whose rate is what the settings say: up over the first steps, then along a cosine."""
    course = Course(steps=STEPS, rate=0.1, memory=0)
    [learnt] = trained(tmp_path, course=course).values()
    model = untrained()
    loss = Noisy(deepcopy(model))
    loss.model = model
    optimizer = torch.optim.AdamW(model.parameters(), betas=(0.9, 0.98), weight_decay=0.01)
    for step in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = loop._rate(step, course)
        torch.manual_seed(1_000_003 + step)
        optimizer.zero_grad()
        loss(loop.random_for(1, step)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    assert torch.equal(learnt["weight"], model.weight)
    assert torch.equal(learnt["bias"], model.bias)


def test_the_rate_rises_and_falls_as_the_settings_say() -> None:
    course = Course(steps=1000, rate=0.5, memory=0.9)
    rates = [loop._rate(step, course) for step in range(1, 1001)]
    assert rates[:2] == pytest.approx([0.5 / 3, 1 / 3], rel=0.001)  # the warm-up is of three steps here
    assert max(rates) == pytest.approx(0.5, rel=0.001)
    assert all(one > other for one, other in pairwise(rates[3:900]))
    assert rates[499] == pytest.approx(0.25, rel=0.01)
    assert rates[-1] == pytest.approx(0.005)
    late = [loop._rate(step, course.model_copy(update={"fall": 0.25})) for step in range(1, 1001)]
    assert set(late[3:750]) == {0.5}
    assert late[874] == pytest.approx(0.25, rel=0.01)
    assert late[-1] == rates[-1]
