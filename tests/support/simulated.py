"""Components with the timing of real ones, on the virtual clock, and how busy collecting keeps
them.

Answers have 20 to 1,000 tokens. A drawing takes 0.05 seconds; to encode what was made, 0.1 seconds.
The store's one writer takes what waits for it, and 0.05 seconds for that: the disk's.
"""

import asyncio
import random
import time
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

from PIL import Image

from driftledger.collect import batches
from driftledger.collect.batches import Workers
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.components.base import Generator, Model, QueueModel
from driftledger.core.types import Conversation, Medium, Result
from tests.collect.chains import chain
from tests.support import virtual_time

SLOTS, TOKEN, BUSY_SLOT, ENCODING, WRITING = 64, 0.02, 0.0001, 0.1, 0.05
LEFT: dict[int, int] = {}
"""Calls in the queue → tokens that are left; as many as there are slots are being computed."""
ENGINE: list[tuple[float, float, float]] = []
CARD: list[tuple[float, float, float]] = []
"""When a device began to compute and ended, and which part of it was used: an engine's slots; all,
by a batch."""


def length(conversation: Conversation) -> int:
    shown = conversation.last_medium
    return min(
        1000, 20 + int(random.Random(shown and shown.sha256).expovariate(1 / 130))
    )


class Queue(QueueModel):
    """As vLLM: a process of its own, in which each slot computes a token while others do."""

    provider: ClassVar[str] = "queue"
    version: ClassVar[str] = "1"
    batch_size: int = 1024

    def begin(self, number: int, conversation: Conversation) -> None:
        if not LEFT:
            ENGINE.append((time.monotonic(), time.monotonic(), 0.0))
        LEFT[number] = length(conversation)

    def step(self) -> dict[int, Result]:
        ended = dict[int, Result]()
        # what has ended by now, or what ends next
        for until in (time.monotonic(), time.monotonic() + 0.1):
            while LEFT and not ended and (start := ENGINE[-1][1]) < until:
                active = [*islice(LEFT, SLOTS)]
                pace = TOKEN + BUSY_SLOT * len(active)
                tokens = min(
                    [LEFT[each] for each in active]
                    + [max(1, int((until - start) / pace))]
                )
                ENGINE.append((start, start + tokens * pace, len(active) / SLOTS))
                LEFT.update({number: LEFT[number] - tokens for number in active})
                done = [number for number in active if not LEFT[number]]
                ended = {
                    number: Result(f"{len(ENGINE)}-{number}-{LEFT.pop(number)}")
                    for number in done
                }
        return ended


class BriefQueue(Queue):
    """An engine that is asked for one word: answers of 6 tokens."""

    provider: ClassVar[str] = "brief_queue"

    def begin(self, number: int, conversation: Conversation) -> None:
        super().begin(number, conversation)
        LEFT[number] = 6


class Batches(Model):
    """As transformers: a batch takes as long as its longest answer."""

    provider: ClassVar[str] = "batches"
    version: ClassVar[str] = "1"

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        seconds = max(map(length, conversations)) * (
            TOKEN + BUSY_SLOT * len(conversations)
        )
        CARD.append((time.monotonic(), time.monotonic() + seconds, 1.0))
        return [Result(f"{len(CARD)}-{number}") for number in range(len(conversations))]


class Pen(Generator):
    provider: ClassVar[str] = "pen"
    version: ClassVar[str] = "1"
    batch_size: int = 8
    seconds: float = 0.05

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        CARD.append(
            (time.monotonic(), time.monotonic() + self.seconds * len(prompts), 1.0)
        )
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
            before = len(CARD)
            result = work(*given)
            ends = (CARD if len(CARD) > before else ENGINE or [(0.0, 0.0, 0.0)])[-1][1]
            await asyncio.sleep(max(0.0, ends - time.monotonic()))
        return result


def simulate(
    model: Model, generator: Generator, samples: int, iterations: int, folder: Path
) -> dict[str, Any]:
    """Describe and draw chains; say how busy each device was, and when it had nothing to do:
    [start, seconds]."""

    async def in_time(work: Any, *given: Any) -> Any:
        if work == store.put:
            await writer.wait()
        else:
            await asyncio.sleep(ENCODING)
        return work(*given)

    async def collect() -> float:
        with store:
            collector = Collector(store, OneDevice())
            images = [Medium(folder, f"{number:064x}") for number in range(samples)]
            chains = [
                chain(model, generator, each, number, iterations)
                for number, each in enumerate(images)
            ]
            await collector.drive(chains, Progress("chains", 0))
            return time.monotonic()

    store = CallStore(folder)
    writer = Writer()
    for seen in (LEFT, ENGINE, CARD):
        seen.clear()
    with (
        mock.patch.object(asyncio, "to_thread", in_time),
        mock.patch.object(batches, "_LOOK", 0.0),
    ):
        end = virtual_time.run(collect())
    report: dict[str, Any] = {"seconds": round(end - virtual_time.STARTED)}
    for name, busy in [("engine", ENGINE), ("card", CARD)][not ENGINE :]:
        gaps, at = [], virtual_time.STARTED
        for start, until, _ in [*busy, (end, end, 0.0)]:
            gaps += (
                [[round(at - virtual_time.STARTED, 1), round(start - at, 1)]]
                if start - at > 0.05
                else []
            )
            at = until
        used = sum((until - start) * share for start, until, share in busy) / (
            end - virtual_time.STARTED
        )
        report[name] = {
            "utilisation": round(used, 3),
            "gaps": len(gaps),
            "longest": sorted(gaps, key=lambda x: -x[1])[:3],
        }
    return report
