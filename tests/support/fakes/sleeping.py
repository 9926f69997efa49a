"""A model and a generator that take their time and write down when they were at work, in whichever
process."""

import os
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from PIL import Image

from driftledger.components.base import Component, Generator, Model, Operational
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import OutOfMemoryError
from driftledger.core.types import Conversation, Result


class Shift(NamedTuple):
    """One batch, as whoever made it wrote it down; ``ended`` is None where it was killed over
    it."""

    pid: int
    began: float
    ended: float | None
    asked: tuple[str, ...]


class Sleeper(Component):
    """Sleeps over every batch, and notes in ``log`` what it was asked and when it began and
    ended."""

    version: ClassVar[str] = "1"
    seconds: Operational[float] = 0.0
    log: Operational[str]
    deadly: Operational[str | None] = None
    """Part of a call that its process does not survive."""
    heavy: Operational[int] = 4096
    """Batches of more do not fit into memory."""

    def work(self, asked: Sequence[str]) -> None:
        if len(asked) > self.heavy:
            raise OutOfMemoryError(f"no room for {len(asked)}")
        began = time.time()
        self._note("began", began, asked)
        if self.deadly and any(self.deadly in each for each in asked):
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(self.seconds)
        self._note("ended", began, asked)

    def _note(self, what: str, began: float, asked: Sequence[str]) -> None:
        line = (
            "\t".join([what, str(os.getpid()), repr(began), repr(time.time()), *asked])
            + "\n"
        )
        with Path(self.log).open("ab", buffering=0) as log:
            log.write(line.encode())


def shifts(log: Path) -> list[Shift]:
    """What was written down, in the order in which it began."""
    found: dict[tuple[Any, ...], Shift] = {}
    for line in log.read_text().splitlines():
        what, pid, began, now, *asked = line.split("\t")
        ended = float(now) if what == "ended" else None
        found[pid, began, *asked] = Shift(int(pid), float(began), ended, tuple(asked))
    return sorted(found.values(), key=lambda shift: shift.began)


class SleepingModel(Sleeper, Model):
    """Says the beginning of the image's SHA-256, as it reads it from the file."""

    provider: ClassVar[str] = "sleeping_model"

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        shown = [conversation.last_medium for conversation in conversations]
        seen = [
            sha256_bytes(image.path.read_bytes())[:16]
            for image in shown
            if image is not None
        ]
        said = [conversation.turns[0].parts[1] for conversation in conversations]
        self.work(
            [
                f"{question} {digest}"
                for question, digest in zip(said, seen, strict=True)
            ]
        )
        return [Result(text) for text in seen]


class SleepingGenerator(Sleeper, Generator):
    """Draws a prompt's first six letters as a colour."""

    provider: ClassVar[str] = "sleeping_generator"

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        self.work(
            [f"{prompt} {seed}" for prompt, seed in zip(prompts, seeds, strict=True)]
        )
        drawn = [
            Image.new("RGB", (9 + seed, 9), f"#{prompt[:6]}")
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]
        return [Result(image=image) for image in drawn]
