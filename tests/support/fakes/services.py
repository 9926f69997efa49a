"""A model and a generator behind a service that is not there: they count and misbehave on
demand."""

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from PIL import Image

from driftledger.components.service import (
    Attempt,
    RemoteComponent,
    RemoteGenerator,
    RemoteModel,
    TransientError,
)
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Result, Usage

ASKED: Counter[str] = Counter()
"""How often each thing was asked, attempts that failed included."""
AT_ONCE: list[int] = [0, 0]
"""How many attempts are on their way, and the most there ever were."""


class Far(RemoteComponent):
    """A service that counts attempts; the first ``hiccups`` at the same thing fail."""

    version: ClassVar[str] = "1"
    seconds: float = 0.0
    hiccups: int = 0

    @property
    def title(self) -> str:
        return self.provider.replace("_", " ")

    @asynccontextmanager
    async def connect(self) -> AsyncIterator[Attempt]:
        yield self.attempt

    @abstractmethod
    async def attempt(self, *call: Any) -> Result:
        """Make one attempt at a call."""

    async def wait(self, what: str) -> None:
        """Take the time of an attempt, and fail while hiccups are left."""
        before = ASKED[what]
        ASKED[what] += 1
        AT_ONCE[0] += 1
        AT_ONCE[1] = max(AT_ONCE)
        try:
            await asyncio.sleep(self.seconds)
        finally:
            AT_ONCE[0] -= 1
        if before < self.hiccups:
            raise TransientError("503: come back later")


class FarModel(Far, RemoteModel):
    """Says the size of the image."""

    provider: ClassVar[str] = "far_model"
    breaks_at: int = 0
    """The service is gone for good once the width of an image is this."""

    def expected(self, conversation: Conversation) -> Usage:
        return Usage(input_tokens=100, output_tokens=50)

    async def attempt(self, conversation: Conversation) -> Result:
        shown = conversation.last_medium
        assert shown is not None
        width, height = shown.open().size
        if width == self.breaks_at:
            raise ServiceError("far model: the key is not valid; set FAR_KEY")
        await self.wait(f"{width}x{height}")
        return Result(f"{width}x{height}", served_model="far-1", usage=Usage(80, 10))


class FarGenerator(Far, RemoteGenerator):
    """Draws an image one pixel wider than the description says."""

    provider: ClassVar[str] = "far_generator"

    def expected(self, prompt: str) -> Usage:
        return Usage(images=1)

    async def attempt(self, prompt: str, seed: int) -> Result:
        await self.wait(prompt)
        width, height = (int(side) for side in prompt.split("x"))
        image = Image.new("RGB", (width + 1, height))
        return Result(image=image, served_model="pen-1", usage=Usage(images=1))
