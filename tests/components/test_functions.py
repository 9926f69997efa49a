"""Plain functions as components: what they are given, what they may give, and what tells them
apart."""

import subprocess
import sys
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

import driftledger
from driftledger.collect.batches import finished
from driftledger.collect.call import Draw
from driftledger.core.canonical import sha256_file
from driftledger.core.code_digest import code_digest
from driftledger.core.errors import ConfigError
from driftledger.core.registry import import_place
from driftledger.core.types import (
    Conversation,
    Medium,
    Outcome,
    PromptUsage,
    Result,
    Subject,
    Turn,
)
from tests.conftest import draw
from tests.support.cases import cases, each_case


@driftledger.model
def widths(prompt, images, *, times: int = 1):
    """How wide the images are."""
    return f"{prompt}: {', '.join(str(times * image.width) for image in images)}"


@driftledger.generator
def squares(prompt, seed):
    return Image.new("L", (seed, len(prompt)))


@driftledger.encoder
def sides(images):
    return [image.size for image in images]


def lengths(texts):
    return np.array([[len(text), 1] for text in texts])


DRAW = Draw(squares(), "four", 7, Subject("a", 1))
Reader = driftledger.encoder(texts=lengths, version="3")
WORD = Conversation((Turn("user", ("W",)),))


def image(folder, number, width):
    path = draw(folder / f"{number}.png", number, (width, 40))
    return Medium(path, sha256_file(path))


def test_a_model_is_given_the_prompt_and_the_images_in_order(tmp_path):
    asked = Conversation.ask("How wide?", image(tmp_path, 0, 50))
    shown = Turn("user", (image(tmp_path, 1, 60), "Like this?"))
    several = Conversation((shown, Turn("assistant", ("60",)), *asked.turns))
    assert widths().respond([asked, several]) == [
        Result("How wide?: 50"),
        Result("Like this?\n\n60\n\nHow wide?: 60, 50"),
    ]


def test_keyword_only_arguments_are_settings_in_the_fingerprint(tmp_path):
    twice = widths(times=2)
    asked = Conversation.ask("W", image(tmp_path, 0, 50))
    assert twice.respond([asked]) == [Result("W: 100")]
    assert twice.spec["settings"]["times"] == 2
    assert twice.fingerprint != widths().fingerprint == widths(times=1).fingerprint
    with pytest.raises(ValueError, match="times"):
        widths(times="many")


def test_a_reply_may_say_its_outcome():
    reply = Result("No.", Outcome.REFUSED)
    refusing = driftledger.model(lambda prompt, images: reply)
    assert refusing().respond([WORD]) == [reply]


def test_a_generator_gives_rgb(tmp_path):
    [drawn] = squares().generate(["four"], [7])
    result = finished(DRAW, drawn)
    assert result.data is not None
    image = Image.open(BytesIO(result.data))
    assert (image.mode, image.size) == ("RGB", (7, 4))
    assert "wholly black" in str(result.note)


@each_case(cases(__file__, "drawings"))
def test_a_drawing_of_any_mode(case):
    image = Image.new(case["mode"], (8, 4), tuple(case["colour"]))
    result = finished(DRAW, Result(image=image))
    assert result.outcome == case["outcome"]
    assert case.get("note", "") in (result.note or "")
    assert bool(result.note) == ("note" in case)
    assert (result.data is None) == (case["outcome"] == "failed")


def test_an_encoder_has_the_tower_that_it_is_given():
    assert (sides().looks, sides().reads) == (True, False)
    assert sides().encode_images([Image.new("RGB", (3, 4))]).tolist() == [[3.0, 4.0]]
    reader = import_place(f"{__name__}:Reader")()
    assert (reader.looks, reader.reads, reader.version) == (False, True, "3")
    features = reader.encode_texts(["a", "abc"])
    assert (features.dtype, features.tolist()) == (np.float32, [[1.0, 1.0], [3.0, 1.0]])
    assert reader.read_texts(["a cat sits"]) == [PromptUsage(3, 3)]


def test_what_is_given_wrongly_is_said():
    with pytest.raises(TypeError, match="returned int; return text"):
        driftledger.model(lambda prompt, images: 3)().respond([WORD])
    with pytest.raises(TypeError, match="returned str; return an image"):
        driftledger.generator(lambda prompt, seed: "image")().generate(["a"], [1])
    with pytest.raises(
        TypeError, match=r"returned features of shape \(2,\) for 2 samples"
    ):
        driftledger.encoder(texts=lambda texts: [1.0, 2.0])().encode_texts(["a", "b"])
    with pytest.raises(ConfigError, match="is made of one function, not of 2"):
        driftledger.encoder(len, texts=len)
    with pytest.raises(
        ConfigError,
        match="a setting cannot be called 'batch_size'; rename the argument",
    ):
        driftledger.model(lambda prompt, images, *, batch_size: prompt)


def test_a_function_has_its_modules_code():
    model = widths()
    assert model.provider == f"{__name__}:widths"
    assert model.code_digest == code_digest(__name__)
    assert model.fingerprint == widths().fingerprint


def test_functions_that_no_place_leads_to_are_told_apart():
    def answering(text):
        return driftledger.model(lambda prompt, images: text)

    yes, no = answering("yes"), answering("no")
    assert yes().fingerprint == yes().fingerprint != no().fingerprint


def test_a_function_of_a_notebook_is_another_one_in_each_process():
    code = (
        "import driftledger; "
        "print(driftledger.model(lambda prompt, images: 'yes')().fingerprint)"
    )
    command = [sys.executable, "-c", code]
    fingerprints = {subprocess.check_output(command) for _ in range(2)}
    assert [len(fingerprint) for fingerprint in fingerprints] == [65, 65]
