"""Calls to services: one open line per component, and each call as it becomes due."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from functools import partial
from typing import Any, NamedTuple

from driftledger.collect.call_result import Cost, Finished
from driftledger.collect.call_store import CallStore
from driftledger.collect.disk import Disk
from driftledger.collect.steps import Ask, Call, Draw, failed, result_of
from driftledger.components.base import Component
from driftledger.components.service import Answered, RemoteComponent, RemoteGenerator, RemoteModel, ServiceClient
from driftledger.core.types import Generated, Reply


def is_remote(call: Call) -> bool:
    return isinstance(call.component, RemoteComponent)


def called(component: Component) -> str:
    """What a line about its calls says for a component."""
    return component.title if isinstance(component, RemoteComponent) else component.provider


def say_spent(component: Component, store: CallStore) -> None:
    """What a service has cost so far, for whoever watches a stage."""
    if isinstance(component, RemoteComponent):
        spent = store.spent(component.fingerprint)
        cost = f", cost {spent.cost:.2f}" if component.prices else ""
        print(f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True)


class _Line(NamedTuple):
    """What is open to one component."""

    client: ServiceClient
    once: Any
    """Makes one attempt."""
    room: asyncio.Semaphore
    """For answers that are on their way into the store: as many as calls, since images wait there decoded."""


class Services:
    """The services of one run. An async context: the lines close with it."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._stack = AsyncExitStack()
        self._open: dict[str, _Line] = {}

    async def __aenter__(self) -> "Services":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def open_for(self, call: Call) -> None:
        """Open a line to a call's component, unless it is open."""
        component = call.component
        if component.fingerprint not in self._open and isinstance(component, RemoteModel | RemoteGenerator):
            once = await self._stack.enter_async_context(component.connect())
            client, most = component.line(self._disk.budget_of(component)), component.limits.concurrency
            self._open[component.fingerprint] = _Line(client, once, asyncio.Semaphore(most))

    def slot(self, call: Call) -> AbstractAsyncContextManager[None]:
        """One of the calls to a component that may be on their way at once; :meth:`ask` is called inside."""
        return self._line(call).client.slot()

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt; whoever asks for one gets ``reason``."""
        for line in self._open.values():
            line.client.refuse(reason)

    async def ask(self, call: Call) -> Answered[Reply] | Answered[Generated]:
        """Make one call, and wait until there is room for its answer; :meth:`keeping` follows, outside of the slot."""
        line = self._line(call)
        answered = await _answer(line.client, line.once, call)
        await line.room.acquire()
        return answered

    @asynccontextmanager
    async def keeping(self, call: Call, answered: Answered[Reply] | Answered[Generated]) -> AsyncIterator[Finished]:
        """An answer as it is stored inside; what could not be had is a result whose outcome is ``failed``."""
        try:
            finish = partial(_finished, call, answered)
            # Encoding an image takes longer than handing it to a thread.
            yield finish() if isinstance(answered.answer, Reply) else await self._disk.with_image(finish)
        finally:
            self._line(call).room.release()

    def _line(self, call: Call) -> _Line:
        return self._open[call.component.fingerprint]


def _finished(call: Call, answered: Answered[Reply] | Answered[Generated]) -> Finished:
    result, png = result_of(answered.answer or failed(call, answered.error))
    usage = answered.answer.usage if answered.answer else None
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    bill = answered.bill
    cost = bill.cost if isinstance(call.component, RemoteComponent) and call.component.prices else None
    return Finished(call.key, call.context, result, png, Cost(bill.seconds, *tokens, cost, bill.attempts))


async def _answer(line: ServiceClient, once: Any, call: Call) -> Answered[Reply] | Answered[Generated]:
    component = call.component
    if isinstance(call, Ask) and isinstance(component, RemoteModel):
        return await line.call_in_slot(partial(once, call.conversation), component.expected(call.conversation))
    if isinstance(call, Draw) and isinstance(component, RemoteGenerator):
        return await line.call_in_slot(partial(once, call.prompt, call.seed), component.expected(call.prompt))
    raise TypeError(f"{component.provider} is not behind a service")
