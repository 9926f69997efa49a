"""Each part trained for two steps, saved, and loaded by the ordinary adapters: they are shown what
it was taught on."""

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
import yaml
from PIL import Image

from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.media import png_bytes
from driftledger.core.types import Conversation, Medium
from driftledger_demo import scenes
from lab.trio import autoencoder, describer, eye, looker, painter, pair, train
from lab.trio.lessons import Asked, Lessons, Prompts
from lab.trio.settings import FOLDER, TrioSettings, choice_prompt, ways_to_ask
from lab.trio.stream import arrangements, images, random_for
from tests.conftest import REPOSITORY
from tests.support.params import default_settings

SETTINGS = default_settings()
STEPS, SCENES = 2, 20
DRAWINGS = Path(scenes.__file__).parent / "data" / "drawings"
BATCHES: dict[ModuleType, tuple[str, ...]] = {
    autoencoder: ("_BATCH", "_MEASURED"),
    eye: ("_BATCH",),
    looker: ("_BATCH",),
    painter: ("_BATCH",),
    pair: ("_BATCH",),
}
MODELS, GENERATORS, ENCODERS = (
    {"llava_early", "llava_middle", "llava_final"},
    {"sd_1", "sd_2"},
    {"clip", "vit"},
)


@cache
def short():
    """The shipped settings, but for how long is trained."""
    content: dict[str, Any] = yaml.safe_load(
        (REPOSITORY / FOLDER / "params.yaml").read_text(encoding="utf-8")
    )
    for part in content.values():
        if isinstance(part, dict) and "course" in part:
            part["course"]["steps"] = STEPS
            part |= {"mix": dict.fromkeys(part["mix"], 4)} if "mix" in part else {}
            names = part.get("milestones", {})
            names.update(
                {name: min(steps, STEPS) for steps, name in enumerate(names, 1)}
            )
    return TrioSettings.model_validate(content)


@pytest.fixture(scope="module")
def lessons(tmp_path_factory):
    """Some of the shipped drawings and questions, as lessons."""
    folder = tmp_path_factory.mktemp("lessons")
    images = [
        Image.open(DRAWINGS / "images" / f"{number:04d}.png").resize((64, 64))
        for number in range(SCENES)
    ]
    np.save(folder / "images.npy", np.stack([np.asarray(image) for image in images]))
    rows = [
        {
            "choices": [],
            "plain": [],
            "things": {"4": ["large", "red", "star"]},
            "taken": [0, 1],
        }
        for _ in range(SCENES)
    ]
    for line in (DRAWINGS / "mm_sap.jsonl").read_text(encoding="utf-8").splitlines():
        asked = json.loads(line)
        if (number := int(asked["id"][:4])) < SCENES:
            right = asked.get("answer", asked["refusal"])
            rows[number]["choices"].append([asked["question"], asked["options"], right])
            rows[number]["plain"].append([asked["question"], right])
    (folder / "scenes.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8"
    )
    return folder


def workshop(root, lessons):
    made = train.workshop(SETTINGS, short(), root / "state", root / FOLDER)
    return replace(made, place=made.place._replace(device="cpu"), lessons=lessons)


@pytest.fixture(scope="module", autouse=True)
def little():
    """Batches of four."""
    with pytest.MonkeyPatch.context() as patch:
        for module, names in BATCHES.items():
            for name in names:
                patch.setattr(module, name, 4)
        yield


@pytest.fixture(scope="module")
def trained(little, lessons, tmp_path_factory):
    """All parts."""
    at = workshop(tmp_path_factory.mktemp("trained"), lessons)
    for part in train.PARTS.values():
        part(at)
    return at


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Three arrangements, drawn into files."""
    some = arrangements(random_for(9), 3, held_out=True)
    return {
        one: saved(tmp_path_factory.mktemp("shown"), pixels)
        for one, pixels in zip(some, images(some), strict=True)
    }


def saved(folder, pixels):
    file = folder / "image.png"
    file.write_bytes(png_bytes(Image.fromarray(pixels)))
    return Medium(file, sha256_file(file))


def hashes(folder):
    return {
        str(file.relative_to(folder)): sha256_file(file)
        for file in folder.rglob("*")
        if file.is_file()
    }


def model(at, name="llava_final"):
    return Transformers(path=str(at.folder / name), max_new_tokens=8, device="cpu")


# what is saved


def test_a_folder_for_each_checkpoint_and_no_pickle_in_it(trained):
    assert {
        folder.name for folder in trained.folder.iterdir()
    } == MODELS | GENERATORS | ENCODERS
    assert {file.suffix for file in map(Path, hashes(trained.folder))} <= {
        ".safetensors",
        ".json",
        ".txt",
        ".jinja",
    }


def test_training_again_writes_the_same_bytes_whatever_was_there_already(
    trained, tmp_path
):
    """Once from the finished state, and once anew where somebody has trained the first halves
    before."""
    again = replace(trained, folder=tmp_path / "again")
    anew = workshop(tmp_path / "anew", trained.lessons)
    prompts = Prompts(ways_to_ask(SETTINGS), choice_prompt(SETTINGS))
    train.train_eye(anew, Lessons(prompts, trained.lessons))
    train.train_autoencoder(anew)
    for at in (again, anew):
        for part in train.PARTS.values():
            part(at)
    for at in (again, anew):
        assert hashes(at.folder) == hashes(trained.folder)


# the describer


def test_the_describer_is_asked_as_it_was_taught(trained, shown):
    """The same tokens up to the answer, and the same pixels."""
    chat = model(trained).loaded.chat
    processor = describer.build_processor(
        Lessons(Prompts(ways_to_ask(SETTINGS), ""), trained.lessons).words
    )
    for way in (
        *ways_to_ask(SETTINGS),
        "Is there a ring?\nA. No\nB. Perhaps, \U0001f600",
    ):
        for one, image in shown.items():
            asked = chat.encode([chat.prompt(Conversation.ask(way, image))])
            lesson = Asked(images([one]), [way], [one.caption])
            inputs, targets = describer.encode(chat.processor, lesson)
            before = inputs["input_ids"][targets < 0][None]
            assert torch.equal(before, asked["input_ids"])
            assert torch.equal(inputs["pixel_values"], asked["pixel_values"])
            assert torch.equal(
                describer.encode(processor, lesson)[0]["pixel_values"],
                asked["pixel_values"],
            )
