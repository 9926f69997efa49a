"""The training loop: what was stopped anywhere goes on as if it had not been, and nothing that is
kept is a pickle."""

import pytest
import torch
from safetensors import safe_open
from torch import Tensor, nn

from lab.trio import loop
from lab.trio.loop import Place, train
from lab.trio.settings import Course

STEPS = 7
COURSE = Course(steps=STEPS, rate=0.1, memory=0.9)
Weights = dict[str, Tensor]


@pytest.fixture(autouse=True)
def save_often(monkeypatch):
    """Every second step."""
    monkeypatch.setattr(loop, "_SAVE_EVERY", 2)
    monkeypatch.setattr(loop, "_WARM_UP", 3)


class KilledError(Exception):
    """Instead of a kill."""


class Noisy:
    """Squared error of a line through noise, which both kinds of random numbers make; it may break
    at a call."""

    def __init__(self, model, breaks_at=None, value=None):
        self.model, self.calls, self._breaks_at, self._value = (
            model,
            0,
            breaks_at,
            value,
        )

    def __call__(self, random):
        self.calls += 1
        inputs = torch.from_numpy(random.standard_normal((8, 3), dtype="float32"))
        error = (
            self.model(inputs)
            - inputs.sum(dim=1, keepdim=True)
            + torch.randn(8, 1) / 10
        ) ** 2
        if self.calls == self._breaks_at:
            if self._value is None:
                raise KilledError
            return error.mean() * self._value
        return error.mean()


def untrained():
    torch.manual_seed(0)
    return nn.Linear(3, 1)


def at(folder, seed=1):
    return Place(folder, "cpu", seed)


def trained(folder, milestones=(), course=COURSE, seed=1):
    model = untrained()
    learnt = train("line", model, Noisy(model), course, at(folder, seed), milestones)
    return {step: dict(one.state_dict()) for step, one in learnt.items()}


def same(one, other):
    return one.keys() == other.keys() and all(
        torch.equal(one[step][key], other[step][key])
        for step in one
        for key in one[step]
    )


def step_of(file):
    with safe_open(file, framework="pt") as opened:
        return int(opened.metadata()["step"])


# stopping and going on


@pytest.mark.parametrize("broken_at", range(1, STEPS + 1))
def test_training_that_was_stopped_goes_on_as_if_it_had_not_been(tmp_path, broken_at):
    whole = trained(tmp_path / "whole", milestones=[3])
    model = untrained()
    with pytest.raises(KilledError):
        train(
            "line",
            model,
            Noisy(model, broken_at),
            COURSE,
            at(tmp_path / "stopped"),
            [3],
        )
    torch.rand(5)  # whatever else draws numbers
    model = untrained()
    loss = Noisy(model)
    learnt = train("line", model, loss, COURSE, at(tmp_path / "stopped"), [3])
    assert same({step: dict(one.state_dict()) for step, one in learnt.items()}, whole)
    kept = max([step for step in (2, 3, 4, 6) if step < broken_at], default=0)
    assert loss.calls == STEPS - kept


# a loss that is no number


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_loss_that_is_no_number_stops_training_and_leaves_the_last_state(
    tmp_path, value
):
    whole = trained(tmp_path / "whole")
    model = untrained()
    with pytest.raises(FloatingPointError, match=f"the loss is {value} at step 6"):
        train("line", model, Noisy(model, 6, value), COURSE, at(tmp_path / "broken"))
    assert step_of(tmp_path / "broken" / "line.safetensors") == 4
    assert same(trained(tmp_path / "broken"), whole)
