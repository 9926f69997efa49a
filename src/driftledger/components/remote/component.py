"""Components behind a service: the same interfaces, with one call as an awaitable underneath."""

import asyncio
from abc import abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from functools import partial
from typing import ClassVar, Literal, TypeAlias, TypeVar

from driftledger.components.base import Component, Generator, Model, Operational
from driftledger.components.remote.client import Answered, Budget, Meter, ServiceClient
from driftledger.components.remote.limits import Limits, Prices
from driftledger.core.types import Conversation, Generated, Outcome, Reply, Usage

R = TypeVar("R", Reply, Generated)

NEVER_TWICE = "a service does not answer twice the same"

OneReply: TypeAlias = Callable[[Conversation], Awaitable[Reply]]
OneImage: TypeAlias = Callable[[str, int], Awaitable[Generated]]


class RemoteComponent(Component):
    """What a model and a generator behind a service have in common."""

    code_is_identity: ClassVar[bool] = False

    batch_size: Operational[Literal[1]] = 1
    limits: Operational[Limits] = Limits()
    prices: Operational[Prices | None] = None

    @property
    @abstractmethod
    def title(self) -> str:
        """What sentences call it, e.g. ``openai gpt-4o-2024-08-06``."""

    @property
    def unrepeatable(self) -> str:
        return NEVER_TWICE

    def line(self, budget: Budget | None = None) -> ServiceClient:
        """A line to the service; without a budget that others share, one that begins with this line."""
        return ServiceClient(self.limits, self.prices, budget or Meter(self.limits, self.title))


class RemoteModel(RemoteComponent, Model):
    """A model behind a service."""

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[OneReply]:
        """A client, open for as long as the context lasts; what it yields makes one attempt at one reply.

        That function raises :class:`TransientError` for what may pass, :class:`ServiceError` for what would meet every
        call, and answers with an outcome for everything else. It does not retry and does not sleep.
        """

    @abstractmethod
    def expected(self, conversation: Conversation) -> Usage:
        """The most that answering ``conversation`` may consume, by estimate; its ``max_tokens`` bounds the answer."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        async def replies() -> list[Reply]:
            async with self.connect() as reply:
                calls = [(partial(reply, each), self.expected(each)) for each in conversations]
                made = await _all(self, calls)
                return [each.answer or Reply("", Outcome.FAILED, error=each.error) for each in made]

        return asyncio.run(replies())


class RemoteGenerator(RemoteComponent, Generator):
    """A generator behind a service."""

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[OneImage]:
        """As for :class:`RemoteModel`; what it yields makes one attempt at one image."""

    @abstractmethod
    def expected(self, prompt: str) -> Usage:
        """The most that drawing ``prompt`` may consume, by estimate."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        async def images() -> list[Generated]:
            async with self.connect() as draw:
                pairs = zip(prompts, seeds, strict=True)
                calls = [(partial(draw, prompt, seed), self.expected(prompt)) for prompt, seed in pairs]
                made = await _all(self, calls)
                return [each.answer or Generated(None, Outcome.FAILED, error=each.error) for each in made]

        return asyncio.run(images())


async def _all(
    component: RemoteComponent, calls: Sequence[tuple[Callable[[], Awaitable[R]], Usage]]
) -> list[Answered[R]]:
    line = component.line()
    return list(await asyncio.gather(*(line.call(attempt, expected) for attempt, expected in calls)))
