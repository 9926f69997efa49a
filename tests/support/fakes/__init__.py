"""Components that count and misbehave on demand, for tests of what runs them."""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder, Generator, Model
from driftledger.core.types import Conversation, Float32, Outcome, PromptUsage, Result

SEEN: list[list[str]] = []
"""One entry per batch that a fake model was given: the sizes of its images."""


class EchoModel(Model):
    """Says the size of the image; refuses images of width ``refuses``, fails on width ``fails``,
    says nothing to width ``stares``."""

    provider: ClassVar[str] = "echo"
    version: ClassVar[str] = "1"
    refuses: int = 0
    stares: int = 0
    fails: int = 0

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        images = [conversation.last_medium for conversation in conversations]
        sizes = [image.open().size for image in images if image]
        SEEN.append([f"{width}x{height}" for width, height in sizes])
        return [self._reply(width, height) for width, height in sizes]

    def _reply(self, width: int, height: int) -> Result:
        if width == self.refuses:
            return Result("I cannot help with that.", Outcome.REFUSED)
        if width == self.stares:
            return Result("", Outcome.TRUNCATED, error="the budget went into thoughts")
        if width == self.fails:
            return Result("", Outcome.FAILED, error="TimeoutError: no answer")
        return Result(
            f"{width}x{height} \ud800 \x1b[31m \u2028 <b>", served_model="echo-2026"
        )


class SizeGenerator(Generator):
    """Draws an image one pixel wider than the description says; filters prompts that hold
    ``filters``."""

    provider: ClassVar[str] = "size"
    version: ClassVar[str] = "1"
    filters: str = "never"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        return [
            self._draw(prompt, seed)
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def _draw(self, prompt: str, seed: int) -> Result:
        if self.filters in prompt:
            return Result(outcome=Outcome.FILTERED, error="content policy")
        width, height = (int(side) for side in prompt.split()[1].split("x"))
        image = Image.new("RGB", (width + 1, height), (seed % 256, 0, 0))
        return Result(image=image, revised_prompt=f"revised {prompt}")


class TableEncoder(Encoder):
    """The vector of an image is its first pixel, as two coordinates of a plane."""

    provider: ClassVar[str] = "table"
    version: ClassVar[str] = "1"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.array(
            [image.getpixel((0, 0))[:2] for image in images], dtype=np.float32
        )


class LetterEncoder(TableEncoder):
    """With a text tower: how often each letter occurs; it reads the first two words alone, it
    says."""

    provider: ClassVar[str] = "letters"
    wide: int = 26

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        letters = "abcdefghijklmnopqrstuvwxyz"[: self.wide]
        return np.array(
            [[text.count(letter) for letter in letters] for text in texts],
            dtype=np.float32,
        )

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        return [
            PromptUsage(len(text.split()), min(2, len(text.split()))) for text in texts
        ]


HEARD: list[Conversation] = []
"""Every conversation that a :class:`ColourModel` was given."""


class ColourModel(Model):
    """Says the first pixel's red and green as words, ``red7 green3``; refuses where blue is 1,
    fails where it is 2."""

    provider: ClassVar[str] = "colour"
    version: ClassVar[str] = "1"
    prefix: str = ""

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        HEARD.extend(conversations)
        return [self._reply(conversation) for conversation in conversations]

    def _reply(self, conversation: Conversation) -> Result:
        shown = conversation.last_medium
        if shown is None:
            return Result("nothing")
        red, green, blue = shown.open().getpixel((0, 0))
        if blue == 1:
            return Result("No.", Outcome.REFUSED)
        if blue == 2:
            return Result("", Outcome.FAILED, error="TimeoutError: no answer")
        words = f"{self.prefix} red{red} green{green} {'pixel ' * 5}".split()
        said = (
            words
            if conversation.max_tokens is None
            else words[: conversation.max_tokens]
        )
        return Result(
            " ".join(said),
            Outcome.OK if said == words else Outcome.TRUNCATED,
            served_model="colour-2026",
        )
