"""Connections to services, with budgets and batches under way."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from functools import partial
from typing import Any, TypeAlias

from driftledger.collect.store import CallStore
from driftledger.collect.submitted import Submitted, WaitingCalls
from driftledger.collect.tables import component_id
from driftledger.components.budget import Limits, Meter
from driftledger.components.openai_batches import open_batches
from driftledger.components.service import Attempt, RemoteComponent, ServiceClient

Service: TypeAlias = tuple[ServiceClient, Attempt | Submitted]
NoteSpent: TypeAlias = Callable[[str, int, float, bool], Awaitable[None]]
"""Function that notes attempts at a component and their cost, at once or with the next results."""

_LIMITS_OF_BATCHES = {
    "concurrency": 10**9,
    "requests_per_minute": None,
    "timeout": 1e8,
    "deadline": 1e9,
}
"""Limits of calls that wait for a batch; only the service's own time limits them."""


class Services:
    """The open connections of a collector, in one event loop."""

    def __init__(self, store: CallStore, shards: int, note_spent: NoteSpent) -> None:
        """Start without connections.

        Args:
            shards: parts of what is left of each budget; this collector may spend one of them.
        """
        self._store = store
        self._shards = shards
        self._note_spent = note_spent
        self._services: dict[str, asyncio.Task[Service]] = {}
        self._connections = AsyncExitStack()
        self.held = dict[str, float]()
        """Key → largest cost, of calls in batches of earlier runs."""

    async def connected(self, component: RemoteComponent) -> Service:
        """Return the connection to a component's service; the first call opens it."""
        name = component.fingerprint
        if name not in self._services:
            self._services[name] = asyncio.create_task(self._connect(component))
        return await asyncio.shield(self._services[name])

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt at any service."""
        for service in self._services.values():
            if service.done() and not service.exception():
                service.result()[0].refuse(reason)

    async def aclose(self) -> None:
        """Close the connections."""
        await self._connections.aclose()

    async def _connect(self, component: RemoteComponent) -> Service:
        opened = open_batches(component) if component.batch else component.connect()
        attempt: Any = await self._connections.enter_async_context(opened)
        store = self._store
        spent = store.spent(component.fingerprint)
        note = partial(self._note_spent, component.fingerprint)
        budget = Meter(
            self._budget_of(component),
            component.title,
            spent.attempts,
            spent.cost,
            note,
        )
        limits = component.limits
        if component.batch:  # the store counts calls while they are in batches
            budget.note = None
            limits = limits.model_copy(update=_LIMITS_OF_BATCHES)
        client = ServiceClient(
            limits,
            component.prices,
            budget,
            answered=component_id(component.fingerprint) in store.means(),
            in_batches=component.batch,
        )
        for batch in store.submitted(component.fingerprint):
            self.held.update(batch.keys)
        if component.batch:
            return client, Submitted(
                WaitingCalls(store, attempt.component, client), attempt
            )
        return client, attempt

    def _budget_of(self, component: RemoteComponent) -> Limits:
        """Return the limits of a component; a shard may spend its part of what is left."""
        limits = component.limits
        if self._store.fallback is None:
            return limits
        before = self._store.fallback.spent(component.fingerprint)
        part: dict[str, float] = {}
        if limits.max_calls is not None:
            calls = max(limits.max_calls - before.attempts, 0)
            part["max_calls"] = calls // self._shards
        if limits.max_cost is not None:
            part["max_cost"] = max(limits.max_cost - before.cost, 0.0) / self._shards
        return limits.model_copy(update=part)
