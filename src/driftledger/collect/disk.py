"""A store beside an event loop: one thread works on its rows, and what arrives together is written together."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple, ParamSpec, TypeVar

from driftledger.collect.call_result import Finished, Result
from driftledger.collect.claims import Store
from driftledger.components.remote.client import Admission
from driftledger.components.remote.component import RemoteComponent

P = ParamSpec("P")
T = TypeVar("T")

_GLANCE = 0.05
"""Seconds between two looks at what other processes do."""

_MOST_GLANCES = 20
"""After so many without a change, those who wait look for themselves: a process that died changes nothing."""


class Claimed(NamedTuple):
    """What is stored of some calls; ``mine`` says that this process may make the others."""

    results: dict[str, Result]
    mine: bool


class Disk:
    """Nothing else uses the store meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="call-store")
        self._due: list[tuple[Finished, asyncio.Future[Result]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    async def _in_thread(self, work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> T:
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *arguments)

    async def claim(self, digests: Sequence[str]) -> Claimed:
        """The stored results among ``digests``, and the others, all or none, as calls for this process to make."""
        return await self._in_thread(self._claim, digests)

    def _claim(self, digests: Sequence[str]) -> Claimed:
        found = self._store.get(digests)
        missing = [digest for digest in digests if digest not in found]
        if not missing:
            return Claimed(found, True)
        if not self._store.claim(missing):
            return Claimed(found, False)
        if arrived := self._store.get(missing):  # between the first look and the claim
            self._store.release(list(arrived))
        return Claimed(found | arrived, True)

    async def release(self, digests: Sequence[str]) -> None:
        """Give claims back without a result."""
        await self._in_thread(self._store.release, digests)

    async def changed(self) -> None:
        """Wait until another process may have stored a result, given a claim back or died."""
        if self._watch is None or self._watch.done():
            self._watch = asyncio.create_task(self._glance())
        await asyncio.shield(self._watch)

    async def _glance(self) -> None:
        before = await self._in_thread(self._store.version)
        for _ in range(_MOST_GLANCES):
            await asyncio.sleep(_GLANCE)
            if await self._in_thread(self._store.version) != before:
                return

    async def put(self, finished: Sequence[Finished]) -> list[Result]:
        """As :meth:`Store.put`: images side by side, and rows in one transaction with whatever else is due."""
        loop = asyncio.get_running_loop()
        kept = await asyncio.gather(*(self._kept(item) for item in finished))
        futures = [loop.create_future() for _ in kept]
        self._due += zip(kept, futures, strict=True)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        return list(await asyncio.gather(*futures))

    async def _kept(self, item: Finished) -> Finished:
        return item if item.png is None else await asyncio.to_thread(self._store.keep_image, item)

    async def _write(self) -> None:
        while self._due:
            batch, self._due = self._due, []
            try:
                results = await self._in_thread(self._store.put, [item for item, _ in batch])
            except Exception as error:
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    future.set_result(result)
        self._writer = None

    def budget_of(self, component: RemoteComponent) -> "SharedBudget":
        return SharedBudget(self, component)

    async def admit(self, component: RemoteComponent, most: float) -> Admission | None:
        """As :meth:`Store.admit`."""
        return await self._in_thread(self._store.admit, component.fingerprint, component.title, most, component.limits)

    async def settle(self, admission: Admission, cost: float | None) -> None:
        """As :meth:`Store.settle`."""
        await self._in_thread(self._store.settle, admission, cost)

    def close(self) -> None:
        self._thread.shutdown()


class SharedBudget:
    """What all processes that use a store may spend on a component together: a
    :class:`~driftledger.components.remote.client.Budget`."""

    def __init__(self, disk: Disk, component: RemoteComponent) -> None:
        self._disk = disk
        self._component = component

    async def admit(self, most: float) -> Admission:
        while (admission := await self._disk.admit(self._component, most)) is None:
            await self._disk.changed()
        return admission

    async def settle(self, admission: Admission, cost: float | None) -> None:
        await self._disk.settle(admission, cost)
