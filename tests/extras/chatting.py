"""What the tests of vision-language checkpoints share: the tiny ones, images to ask about, and ways
to damage a copy.

Heavy libraries are imported by what uses them: the other tests of this folder run where there are
    none.
"""

import shutil
from pathlib import Path

import pytest

from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.types import Conversation, Medium, Outcome, Turn
from tests.conftest import draw

LAYOUTS = ("llava", "qwen2_5_vl", "smolvlm")
PROMPTS = [
    "Describe it.",
    "a",
    "Is the house red or green or blue?",
    "What is on the street with the cat? " * 3,
]
SIZES = [(96, 72), (72, 96), (64, 64), (120, 40)]


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    """A checkpoint of each layout, to look at only."""
    from tests.support.checkpoints import vision_language

    root = tmp_path_factory.mktemp("checkpoints")
    return {name: vision_language.build(root / name, name) for name in LAYOUTS}


@pytest.fixture(params=LAYOUTS)
def checkpoint(request, built):
    """Each of them in turn."""
    return built[request.param]


@pytest.fixture
def llava(built, tmp_path):
    """A copy to change."""
    return Path(shutil.copytree(built["llava"], tmp_path / "llava"))


@pytest.fixture(scope="session")
def images(tmp_path_factory):
    root = tmp_path_factory.mktemp("images")
    drawn = [
        draw(root / f"{number}.png", number, size) for number, size in enumerate(SIZES)
    ]
    return [Medium(path, sha256_file(path)) for path in drawn]


@pytest.fixture(scope="session")
def asked(images):
    """Four conversations of different lengths about images of different shapes."""
    return [
        Conversation.ask(prompt, image)
        for prompt, image in zip(PROMPTS, images, strict=True)
    ]


def model(folder, **settings):
    return Transformers.model_validate(
        {"path": str(folder), "device": "cpu", "max_new_tokens": 16} | settings
    )


def says(*turns):
    return Conversation(
        tuple(
            Turn(role, parts if isinstance(parts, tuple) else (parts,))
            for role, parts in turns
        )
    )


def texts(replies):
    return [reply.text for reply in replies]


def failure(reply):
    """Why a call failed, which then says nothing."""
    assert (reply.outcome, reply.text or "") == (Outcome.FAILED, "")
    return str(reply.error)


def refused(folder, conversation, **settings):
    """The one sentence with which a ConfigError comes."""
    with pytest.raises(ConfigError) as caught:
        model(folder, **settings).respond([conversation])
    assert "\n" not in str(caught.value)
    return str(caught.value)


def write_template(folder, template):
    (folder / "chat_template.jinja").write_text(template, encoding="utf-8")
