"""Components that break their contract in one way each: the control that could refute every check.

They stand in a module, so that another process finds them too.
"""

import os
from collections.abc import Sequence
from functools import cached_property
from itertools import count
from random import Random
from typing import Any, ClassVar

import numpy as np
from PIL import Image
from pydantic import PrivateAttr, field_serializer

from driftledger.components.base import Encoder, Generator, Model
from driftledger.components.functions import encoder, generator, model
from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation, Float32, Generated, Outcome, Reply
from tests.support.fakes.services import FarGenerator, counted

_KEPT: list[bytes] = []
_CALLS = count()


class MeanColour(Encoder):
    """Nothing is wrong with it: the mean colour, and one."""

    version: ClassVar[str] = "1"
    frechet_name: ClassVar[str] = "frechet_mean_colour"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        means = [np.asarray(image.convert("RGB"), np.float64).mean(axis=(0, 1)) for image in images]
        return np.array([[*mean, 1] for mean in means], np.float32).reshape(-1, 4)


class WithoutVersion(Encoder):
    frechet_name: ClassVar[str] = "frechet_x"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.ones((len(images), 2), np.float32)


class Towerless(Encoder):
    version: ClassVar[str] = "1"


class Forgetful(MeanColour):
    """Writes another setting than the one that it has."""

    side: int = 8

    @field_serializer("side", when_used="json")
    def _other(self, side: int) -> int:
        return side + 1


class DoublePrecision(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Any:
        return super().encode_images(images).astype(np.float64)


class OneVector(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Any:
        return super().encode_images(images)[0]


class NotANumber(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) + np.float32("nan")


class AllZero(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) * np.float32(0)


class Listed(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Any:
        return super().encode_images(images).tolist()


class RaisesAlways(MeanColour):
    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        raise KeyError("pixel_values")


class TwoSpaces(MeanColour):
    """Its texts have other lengths than its images."""

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return np.array([[1, len(text)] for text in texts], np.float32).reshape(-1, 2)

    def read_texts(self, texts: Sequence[str]) -> list[Any]:
        return []


class Unsteady(MeanColour):
    """Another result for each call."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) + np.float32(next(_CALLS))


class Remembers(MeanColour):
    """The first one of a process answers otherwise than those that are made later."""

    _number: int = PrivateAttr(default_factory=lambda: next(_CALLS))

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) + np.float32(self._number)


class Centred(MeanColour):
    """Adds as much of the first image's vector as it has company."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        vectors = super().encode_images(images)
        return vectors + np.float32(len(images)) * vectors[:1]


class Sorted(MeanColour):
    """Gives the darkest image's vector first."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        vectors = super().encode_images(images)
        return vectors[np.argsort(vectors.sum(axis=1), kind="stable")]


class OnlyOnce(MeanColour):
    """Cannot be used again once it was released."""

    _used: bool = PrivateAttr(default=False)
    _gone: bool = PrivateAttr(default=False)

    def release(self) -> None:
        self._gone = self._used

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        if self._gone:
            raise AttributeError("weights")
        self._used = True
        return super().encode_images(images)


class KeepsWeights(MeanColour):
    """Loads four megabytes, and keeps them."""

    @cached_property
    def weights(self) -> Float32:
        return np.ones(1 << 20, np.float32)

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) * self.weights[0]


class Grows(MeanColour):
    """Keeps something of every call."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        _KEPT.extend(os.urandom(100_000) for _ in images)
        return super().encode_images(images)


class KeepsItself(MeanColour):
    """Is in a list from its first call on."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        _KEPT.append(self)  # type: ignore[arg-type]
        return super().encode_images(images)


class OnlyRGB(MeanColour):
    """Knows three channels alone."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images([{"RGB": image}[image.mode] for image in images])


class SaysPages(MeanColour):
    """Explains itself in several lines."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        if any(image.mode != "RGB" for image in images):
            raise ValueError("one\ntwo")
        return super().encode_images(images)


class KnowsItsProcess(MeanColour):
    def identity(self) -> dict[str, Any]:
        return {"process": os.getpid()}


class Hashes(MeanColour):
    """Depends on Python's ``hash``, which every process seeds anew."""

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return super().encode_images(images) + np.float32(hash("seed") % 1000)


class Hue(Generator):
    """Nothing is wrong with it: a plane whose colour is the prompt's hash."""

    version: ClassVar[str] = "1"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return [self._draw(*each) for each in zip(prompts, seeds, strict=True)]

    def _draw(self, prompt: str, seed: int) -> Generated:
        red, green, blue = bytes.fromhex(sha256_of([prompt.encode(errors="replace").decode(), seed])[:6])
        return Generated(Image.new("RGB", (16, 16), (red, green, blue)))


class Grey(Hue):
    """Draws images of another mode."""

    def _draw(self, prompt: str, seed: int) -> Generated:
        return Generated(Image.new("L", (16, 16), seed % 256))


class DrawsNothing(Hue):
    """Says that all went well, and gives no image."""

    def _draw(self, prompt: str, seed: int) -> Generated:
        return Generated(None)


class DrawsTooFew(Hue):
    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        return super().generate(prompts, seeds)[:-1]


class IgnoresSeeds(Hue):
    """Has dice of its own."""

    def _draw(self, prompt: str, seed: int) -> Generated:
        return super()._draw(prompt, Random().getrandbits(32))


class Echo(Model):
    """Nothing is wrong with it: it says how long the last text is."""

    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [self._reply(each) for each in conversations]

    def _reply(self, conversation: Conversation) -> Reply:
        return Reply(" ".join(str(len(part)) for part in conversation.turns[-1].parts if isinstance(part, str)))


class SaysTexts(Echo):
    def respond(self, conversations: Sequence[Conversation]) -> list[Any]:
        return [each.text for each in super().respond(conversations)]


class FailsSilently(Echo):
    """Fails once without saying why."""

    def _reply(self, conversation: Conversation) -> Reply:
        return super()._reply(conversation) if conversation.last_image else Reply("", Outcome.FAILED)


class AnswersNothing(Echo):
    """As a sheet that nobody has filled in."""

    def _reply(self, conversation: Conversation) -> Reply:
        return Reply("", Outcome.FAILED, error="nothing is written")


class LooksAtPaths(Echo):
    """Depends on where an image lies."""

    def _reply(self, conversation: Conversation) -> Reply:
        return Reply(str(conversation.last_image.path) if conversation.last_image else "")


class OftenOther(Echo):
    """Another reply to every call, as it says itself."""

    @property
    def unrepeatable(self) -> str:
        return "it throws dice"

    def _reply(self, conversation: Conversation) -> Reply:
        return Reply(str(next(_CALLS)))


class Afar(FarGenerator):
    """Behind a service, which draws whatever it is asked for."""

    async def _draw(self, prompt: str, seed: int) -> Generated:
        async with counted(prompt, 0):
            return Generated(Image.new("RGB", (8, 8), (seed % 256, 0, 0)))


class Rude(Echo):
    """Raises what would colour a terminal."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        raise TypeError("\x1b[31m no")


@model
def shout(prompt: str, images: list[Image.Image], *, end: str = "!") -> str:
    return f"{prompt.upper()} {len(images)}{end}"


@generator
def plane(prompt: str, seed: int) -> Image.Image:
    return Image.new("RGB", (32, 32), (len(prompt) % 256, seed % 256, 0))


lengths = encoder(texts=lambda texts: [[len(text), 1.0] for text in texts] or np.zeros((0, 2)))
NAMES = {shout: "shout", plane: "plane", lengths: "lengths"}
"""Where components made of functions stand here."""
