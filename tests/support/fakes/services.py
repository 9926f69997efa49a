"""A model and a generator behind a service that is not there: they count and misbehave on
demand."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import ClassVar

from PIL import Image

from driftledger.components.service import RemoteGenerator, RemoteModel, TransientError
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Result, Usage

ASKED: Counter[str] = Counter()
"""How often each thing was asked, attempts that failed included."""
AT_ONCE: list[int] = [0, 0]
"""How many attempts are on their way, and the most there ever were."""


@asynccontextmanager
async def counted(what: str, seconds: float) -> AsyncIterator[int]:
    """Count an attempt and let it take ``seconds``; yields how often the same was asked before."""
    before = ASKED[what]
    ASKED[what] += 1
    AT_ONCE[0] += 1
    AT_ONCE[1] = max(AT_ONCE)
    try:
        await asyncio.sleep(seconds)
        yield before
    finally:
        AT_ONCE[0] -= 1


class FarModel(RemoteModel):
    """Says the size of the image, after ``hiccups`` attempts that failed."""

    provider: ClassVar[str] = "far_model"
    version: ClassVar[str] = "1"
    seconds: float = 0.0
    hiccups: int = 0
    breaks_at: int = 0
    """The service is gone for good once the width of an image is this."""

    @property
    def title(self) -> str:
        return "far model"

    def expected(self, conversation: Conversation) -> Usage:
        return Usage(input_tokens=100, output_tokens=50)

    @asynccontextmanager
    async def connect(
        self,
    ) -> AsyncIterator[Callable[[Conversation], Awaitable[Result]]]:
        yield self._reply

    async def _reply(self, conversation: Conversation) -> Result:
        shown = conversation.last_medium
        assert shown is not None
        width, height = shown.open().size
        if width == self.breaks_at:
            raise ServiceError("far model: the key is not valid; set FAR_KEY")
        async with counted(f"{width}x{height}", self.seconds) as before:
            if before < self.hiccups:
                raise TransientError("503: come back later")
        return Result(f"{width}x{height}", served_model="far-1", usage=Usage(80, 10))


class FarGenerator(RemoteGenerator):
    """Draws an image one pixel wider than the description says, after ``hiccups`` attempts that
    failed."""

    provider: ClassVar[str] = "far_generator"
    version: ClassVar[str] = "1"
    seconds: float = 0.0
    hiccups: int = 0

    @property
    def title(self) -> str:
        return "far generator"

    def expected(self, prompt: str) -> Usage:
        return Usage(images=1)

    @asynccontextmanager
    async def connect(
        self,
    ) -> AsyncIterator[Callable[[str, int], Awaitable[Result]]]:
        yield self._draw

    async def _draw(self, prompt: str, seed: int) -> Result:
        async with counted(prompt, self.seconds) as before:
            if before < self.hiccups:
                raise TransientError("503: no ink")
            width, height = (int(side) for side in prompt.split("x"))
            return Result(
                image=Image.new("RGB", (width + 1, height)),
                served_model="pen-1",
                usage=Usage(images=1),
            )
