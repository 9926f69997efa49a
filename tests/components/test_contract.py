"""Each check of the contract finds a component that breaks it, and no other check does."""

from itertools import count

import numpy as np
import pytest
from PIL import Image

from driftledger.components.base import Encoder, Generator, Model
from driftledger.components.contract import check_component
from driftledger.core.types import Result

NUMBERS = count()


class Seer(Model):
    version = "1"

    def respond(self, conversations):
        return [Result(self.say(conversation)) for conversation in conversations]

    def say(self, conversation):
        return " ".join(str(part) for part in conversation.turns[0].parts)[-80:]


class Brush(Generator):
    version = "1"

    def generate(self, prompts, seeds):
        colours = [
            (len(prompt), seed % 256, 0)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        return [Result(image=Image.new("RGB", (8, 8), colour)) for colour in colours]


class Eye(Encoder):
    version = "1"

    def encode_images(self, images):
        rows = [
            np.asarray(image.convert("RGB"), np.float32).mean(axis=(0, 1)) + 1
            for image in images
        ]
        return np.array(rows, np.float32).reshape(-1, 3)


class OneShort(Seer):
    def respond(self, conversations):
        return super().respond(conversations)[1:]


class Grey(Brush):
    def generate(self, prompts, seeds):
        drawn = super().generate(prompts, seeds)
        return [Result(image=result.image.convert("L")) for result in drawn]


class Double(Eye):
    def encode_images(self, images):
        return super().encode_images(images).astype(np.float64)


class Blinded(Eye):
    def encode_images(self, images):
        return super().encode_images(images) * np.nan


class Counting(Seer):
    def say(self, conversation):
        return str(next(NUMBERS))


class InCompany(Seer):
    def respond(self, conversations):
        return [
            Result(f"{reply.text} of {len(conversations)}")
            for reply in super().respond(conversations)
        ]


class Sorting(Seer):
    def respond(self, conversations):
        return sorted(super().respond(conversations), key=lambda reply: reply.text)


@pytest.mark.parametrize("component", [Seer, Brush, Eye])
def test_components_that_keep_their_contract(component):
    assert check_component(component()) == []


PROBLEMS = {
    OneShort: "replies: expected 3 for 3 calls, got 2",
    Grey: "a Result with an RGB image, got <PIL.Image.Image image mode=L",
    Double: "image vectors: expected a float32 array, 3 × d, got float64 (3, 3)",
    Blinded: "image vectors hold NaN or infinity, or zeros alone",
    Counting: "3 of 3 replies differ when they are made again",
    InCompany: "3 of 3 replies differ when they are each made alone",
    Sorting: "2 of 3 replies differ when they are asked for in reversed order",
}


@pytest.mark.parametrize("component", PROBLEMS)
def test_what_is_wrong_is_said(component):
    problems = check_component(component())
    assert PROBLEMS[component] in "\n".join(problems)
