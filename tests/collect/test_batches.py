"""What happens when memory runs out or a component raises."""

import time

import pytest
from PIL import Image

from driftledger.collect.batches import LocalCalls
from driftledger.collect.call import Ask, Draw
from driftledger.collect.store import CallStore
from driftledger.components.base import Generator, Model
from driftledger.core.errors import ComponentError, ConfigError, OutOfMemoryError
from driftledger.core.types import (
    Conversation,
    Result,
    Subject,
)
from tests.collect.chains import eight_images, run, run_protocols
from tests.support.cases import cases, each_case
from tests.support.simulated import Batches, Pen, simulate
from tests.support.stores import found

MEMORY = {"most": 100}
HELD = {}
LOADS = []
BATCHES = []


def forget():
    for seen in (HELD, LOADS, BATCHES):
        seen.clear()


@pytest.fixture(autouse=True)
def fresh():
    yield
    MEMORY["most"] = 100
    forget()


class Heavy:
    """Weights of ``weight`` units stay until released; each item of a batch takes one more while it
    is worked on."""

    def work(self, items):
        if self.provider not in HELD:
            self.take(self.weight)
            HELD[self.provider] = self.weight
            LOADS.append(self.provider)
        self.take(items)
        time.sleep(0.05)  # longer than storing results takes, as with real checkpoints
        BATCHES.append((self.provider, items))

    def take(self, units):
        if sum(HELD.values()) + units > MEMORY["most"]:
            raise OutOfMemoryError(
                f"{self.provider}: out of memory ({units} more units)"
            )

    def release(self):
        HELD.pop(self.provider, None)


class HeavyModel(Heavy, Model):
    provider = "heavy_model"
    version = "1"
    weight: int = 50

    def respond(self, conversations):
        self.work(len(conversations))
        images = [conversation.last_medium for conversation in conversations]
        return [Result(image.sha256[:8]) for image in images if image is not None]


class HeavyGenerator(Heavy, Generator):
    provider = "heavy_generator"
    version = "1"
    weight: int = 40

    def generate(self, prompts, seeds):
        self.work(len(prompts))
        return [
            Result(image=Image.new("RGB", (8, 8), f"#{prompt[:6]}"))
            for prompt in prompts
        ]


def two_steps(model, generator, image, number):
    """Describe and draw twice; all results."""
    results = []
    for t in (1, 2):
        context = Subject(f"s{number}", t, "d")
        asked = Conversation.ask("What?", image)
        described = yield Ask(model, "describe", asked, context)
        drawn = yield Draw(generator, described.text, number, context)
        results += [described, drawn]
        image = drawn.medium
    return results


@each_case(cases(__file__, "memory"))
def test_a_lack_of_memory_changes_batches_and_no_result(case, tmp_path, capsys):
    """``models`` and ``generators`` are the sizes of their batches, in order."""
    model = HeavyModel(batch_size=case["batch"])
    generator = HeavyGenerator(batch_size=case["batch"], weight=case.get("weight", 40))
    images = eight_images(tmp_path)

    def made_with(memory, name="store"):
        forget()
        MEMORY["most"] = memory
        return run(model, generator, images, tmp_path / name, two_steps)

    expected = made_with(200, "roomy")
    if "raises" in case:
        with pytest.raises(OutOfMemoryError, match=case["raises"]):
            made_with(case["memory"])
        made = made_with(200)
    else:
        made = made_with(case["memory"])
    assert [[result.text for result in chain] for chain in made] == [
        [result.text for result in chain] for chain in expected
    ]
    assert case["loads"] == LOADS
    for component, sizes in ((model, "models"), (generator, "generators")):
        batches = [size for name, size in BATCHES if name == component.provider]
        assert batches == case[sizes]
    described = {result.note for chain in made for result in chain[::2]}
    assert described == {case.get("note")}
    assert {result.note for chain in made for result in chain[1::2]} == {None}
    printed = capsys.readouterr().err
    assert [printed.count(sentence) for sentence in case["says"]] == [1] * len(
        case["says"]
    )


class Brittle(HeavyModel):
    """Raises where an image is among those that :data:`HURTS` names."""

    provider = "brittle"

    def respond(self, conversations):
        replies = super().respond(conversations)
        for reply in replies:
            if reply.text in HURTS:
                raise HURTS[reply.text]
        return replies


HURTS = {}


@pytest.fixture
def hurt(tmp_path):
    """Calls to a component that raises about the second of four images."""
    images = eight_images(tmp_path)[:4]
    HURTS[images[1].sha256[:8]] = IndexError("index 7 is out of bounds\n for axis 0")
    chains = [two_steps(Brittle(batch_size=4), None, each, 0) for each in images]
    yield [*map(next, chains)]
    HURTS.clear()


def test_what_raises_fails_alone(hurt, tmp_path, capsys):
    def single(call):
        return (yield call)

    with CallStore(tmp_path / "store") as store:
        results = run_protocols([single(call) for call in hurt], store)
        stored = found(store, [call.key for call in hurt])
    assert [result.outcome for result in results] == ["ok", "failed", "ok", "ok"]
    assert results[1].error == "IndexError: index 7 is out of bounds for axis 0"
    assert {result.note for result in results} == {
        "made alone instead of in a batch of 4: another call of it raised"
    }
    assert hurt[1].key not in stored
    assert len(stored) == 3
    # a bug is seen, but not a thousand times
    assert capsys.readouterr().err.count("Traceback") == 1


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ConfigError("no"), ConfigError),
        (MemoryError(), MemoryError),
        (KeyboardInterrupt(), KeyboardInterrupt),
        (RuntimeError("CUDA error: an illegal memory access"), ComponentError),
    ],
)
def test_what_spares_no_other_call_ends_the_stage(hurt, error, kind):
    for name in HURTS:
        HURTS[name] = error
    with pytest.raises(kind):
        LocalCalls().make(hurt)


def test_devices_are_kept_busy(tmp_path):
    """The device waits for nothing but the end."""
    card = simulate(Batches(), Pen(), 64, 3, tmp_path / "batches")
    assert card["utilisation"] > 0.99
    assert card["gaps"] == 1
