"""Calls to services: one open line per component, and each call as it becomes due."""

import asyncio
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from typing import Any

from driftledger.collect.call_result import Cost, Finished
from driftledger.collect.call_store import CallStore
from driftledger.collect.disk import Disk
from driftledger.collect.steps import Ask, Call, Draw, failed, result_of
from driftledger.components.base import Component
from driftledger.components.remote.client import Answered, ServiceClient
from driftledger.components.remote.component import RemoteComponent, RemoteGenerator, RemoteModel
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


class Services:
    """The services of one run. An async context: the lines close with it."""

    def __init__(self, disk: Disk) -> None:
        self._disk = disk
        self._stack = AsyncExitStack()
        self._open: dict[str, tuple[ServiceClient, Any]] = {}

    async def __aenter__(self) -> "Services":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._stack.aclose()

    async def open_for(self, call: Call) -> None:
        """Open a line to a call's component, unless it is open."""
        component = call.component
        if component.fingerprint not in self._open and isinstance(component, RemoteModel | RemoteGenerator):
            once = await self._stack.enter_async_context(component.connect())
            self._open[component.fingerprint] = component.line(self._disk.budget_of(component)), once

    def slot(self, call: Call) -> AbstractAsyncContextManager[None]:
        """One of the calls to a component that may be on their way at once; :meth:`make` is called inside."""
        line, _ = self._open[call.component.fingerprint]
        return line.slot()

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt; whoever asks for one gets ``reason``."""
        for line, _ in self._open.values():
            line.refuse(reason)

    async def make(self, call: Call) -> Finished:
        """Make one call; what cannot be had is a result whose outcome is ``failed``."""
        line, once = self._open[call.component.fingerprint]
        answered = await _answer(line, once, call)
        answer = answered.answer or failed(call, answered.error)
        # Encoding an image takes longer than handing it to a thread.
        result, png = result_of(answer) if isinstance(answer, Reply) else await asyncio.to_thread(result_of, answer)
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
