"""Components with the timing of real ones on the virtual clock, to measure how busy they are.

Answers have 20 to 1,000 tokens. A drawing takes 0.05 seconds; to encode what was made, 0.1 seconds.
The store's one writer takes what waits for it, and 0.05 seconds for that: the disk's.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from PIL import Image

from driftledger.collect.batches import Workers, finished
from driftledger.collect.drive import Driver
from driftledger.collect.progress import Progress
from driftledger.collect.store import CallStore
from driftledger.components.base import Generator, Model
from driftledger.core.types import Conversation, Medium, Result
from tests.collect.chains import chain
from tests.support import virtual_time

TOKEN, ITEM, ENCODING, WRITING = 0.02, 0.0001, 0.1, 0.05
"""Seconds: of a token, and more for each item of a batch; to encode a drawing; to store results."""
CARD: list[tuple[float, float]] = []
"""When the device began to compute a batch, and when it ended."""


def length(conversation: Conversation) -> int:
    shown = conversation.last_medium
    return min(
        1000, 20 + int(random.Random(shown and shown.sha256).expovariate(1 / 130))
    )


class Batches(Model):
    """As transformers: a batch takes as long as its longest answer."""

    provider: ClassVar[str] = "batches"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        seconds = max(map(length, conversations)) * (TOKEN + ITEM * len(conversations))
        CARD.append((time.monotonic(), time.monotonic() + seconds))
        return [Result(f"{len(CARD)}-{number}") for number in range(len(conversations))]


class Pen(Generator):
    provider: ClassVar[str] = "pen"
    version: ClassVar[str] = "1"
    batch_size: int = 8
    seconds: float = 0.05

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        CARD.append((time.monotonic(), time.monotonic() + self.seconds * len(prompts)))
        image = Image.new("RGB", (1, 1))
        return [
            Result(image=image, data=f"{len(CARD)} {number}".encode())
            for number in range(len(prompts))
        ]


class Writer:
    """The store's thread: what has come while it wrote waits for the disk together."""

    def __init__(self) -> None:
        self._free = asyncio.Lock()
        self._waiting: list[asyncio.Future[None]] = []

    async def wait(self) -> None:
        written = asyncio.get_running_loop().create_future()
        self._waiting.append(written)
        async with self._free:
            if not written.done():
                group = self._waiting
                self._waiting = []
                await asyncio.sleep(WRITING)
                for each in group:
                    each.set_result(None)


class OneDevice(Workers):
    """What a component computes takes as long as it says."""

    def __init__(self) -> None:
        super().__init__()
        self._free = asyncio.Lock()

    async def on_device(self, work: Any, *given: Any) -> Any:
        async with self._free:
            result = work(*given)
            await asyncio.sleep(max(0.0, CARD[-1][1] - time.monotonic()))
        return result


def simulate(
    model: Model, generator: Generator, samples: int, iterations: int, folder: Path
) -> dict[str, Any]:
    """Describe and draw chains; return how busy the device was, and how often it was idle."""

    async def in_time(work: Any, *given: Any) -> Any:
        if work == store.put:
            await writer.wait()
        elif work is finished:
            await asyncio.sleep(ENCODING)
        return work(*given)

    async def collect() -> float:
        with store:
            driver = Driver(store, OneDevice())
            images = [Medium(folder, f"{number:064x}") for number in range(samples)]
            chains = [
                chain(model, generator, each, number, iterations)
                for number, each in enumerate(images)
            ]
            await driver.drive(chains, Progress("chains", 0))
            return time.monotonic()

    store = CallStore(folder)
    writer = Writer()
    CARD.clear()
    with mock.patch.object(asyncio, "to_thread", in_time):
        end = virtual_time.run(collect())
    seconds = end - virtual_time.STARTED
    starts = [start for start, _ in CARD] + [end]
    ends = [virtual_time.STARTED] + [until for _, until in CARD]
    idle = [start - until for start, until in zip(starts, ends, strict=True)]
    return {
        "seconds": round(seconds),
        "utilisation": round(1 - sum(idle) / seconds, 3),
        "gaps": sum(seconds > 0.05 for seconds in idle),
    }
