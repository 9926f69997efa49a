"""Components with weights that need no torch, and do what they are asked to."""

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from PIL import Image

from driftledger.components.base import Encoder, Generator, Model
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import OutOfMemoryError
from driftledger.core.types import Conversation, Float32, PromptUsage, Result

LOADED: list[str] = []
"""Providers, each time that one has loaded its weights in this process."""


def wait_for_ever(file: str) -> None:
    Path(file).write_text(str(os.getpid()))
    time.sleep(3600)


def raise_error(kind: type[Exception], text: str) -> None:
    raise kind(text)


COMMANDS: dict[str, Callable[[str], Any]] = {
    "read": lambda address: ctypes.string_at(int(address)),
    "kill": lambda number: os.kill(os.getpid(), int(number)),
    "print": print,
    "exit": lambda code: os._exit(int(code)),
    "wait": wait_for_ever,
    "index": lambda text: raise_error(IndexError, text),
    "runtime": lambda text: raise_error(RuntimeError, text),
    "memory": lambda text: raise_error(OutOfMemoryError, text),
}


def is_gone(process: int) -> bool:
    """Return True if a process has ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    state = Path(f"/proc/{process}/stat")  # one whose parent is gone, not yet collected
    return state.is_file() and state.read_text().rpartition(")")[2].split()[0] == "Z"


class Held(CheckpointComponent):
    version: ClassVar[str] = "1"
    libraries: ClassVar[tuple[str, ...]] = ()
    device: str = "cpu"

    def load(self, source: Any) -> Any:
        raise NotImplementedError

    def obey(self, text: str) -> str:
        """Do what a text says, and return the process and how often this one has loaded."""
        if "held" not in self.__dict__:
            self.__dict__["held"] = True
            LOADED.append(self.provider)
        command, _, argument = text.partition(" ")
        if command in COMMANDS:
            COMMANDS[command](argument)
        return f"{os.getpid()} {LOADED.count(self.provider)}"

    def release(self) -> None:
        self.__dict__.pop("held", None)


class HeldModel(Held, Model):
    provider: ClassVar[str] = "held_model"

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return [Result(self.obey(each.turns[0].text)) for each in conversations]


class OtherModel(HeldModel):
    provider: ClassVar[str] = "other_model"


class Crashing(HeldModel):
    """Ends its process when it is released."""

    provider: ClassVar[str] = "crashing"

    def release(self) -> None:
        os._exit(3)


class Looker(HeldModel):
    """Says the size of an image, which was decoded before."""

    provider: ClassVar[str] = "looker"

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        media = [each.last_medium for each in conversations]
        sizes = [medium.content.size for medium in media if medium]
        return [Result(f"{width}x{height}") for width, height in sizes]


class HeldGenerator(Held, Generator):
    """Draws what a prompt names: ``draw 20x30``."""

    provider: ClassVar[str] = "held_generator"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        results = []
        for prompt in prompts:
            width, height = map(int, prompt.removeprefix("draw ").split("x"))
            results.append(Result(image=Image.new("RGB", (width + 1, height), "red")))
        return results


class HeldEncoder(Held, Encoder):
    """Sees the size of an image; reads the process, and how often this one has loaded."""

    provider: ClassVar[str] = "held_encoder"

    def encode_images(self, images: Sequence[Image.Image]) -> Float32:
        return np.array([image.size for image in images], np.float32)

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        return np.array([self.obey(text).split() for text in texts]).astype(np.float32)

    def read_texts(self, texts: Sequence[str]) -> list[PromptUsage]:
        return [PromptUsage(os.getpid(), len(text)) for text in texts]


class OtherEncoder(HeldEncoder):
    provider: ClassVar[str] = "other_encoder"


class LearningEncoder(HeldEncoder):
    """Reads the process, and how many texts it has learnt from, not in its fingerprint."""

    provider: ClassVar[str] = "learning_encoder"

    def fitted(self, texts: Sequence[str]) -> Encoder:
        encoder = self.model_copy()
        encoder.__dict__["learnt"] = len(texts)
        return encoder

    def encode_texts(self, texts: Sequence[str]) -> Float32:
        row = [os.getpid(), self.__dict__["learnt"]]
        return np.array([row] * len(texts), np.float32)
