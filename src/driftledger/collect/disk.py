"""A store beside an event loop: one thread works on its rows, and what arrives together is done and written together.

Handing something to a thread takes longer than most of what is asked of the store.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, NamedTuple, ParamSpec, TypeVar

from driftledger.collect.call_result import Finished, Result
from driftledger.collect.claims import Store
from driftledger.components.service import Admission, RemoteComponent

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


class _Outcome(NamedTuple):
    result: Any = None
    error: BaseException | None = None


def _outcome_of(work: Callable[[], Any]) -> _Outcome:
    try:
        return _Outcome(work())
    except BaseException as error:
        return _Outcome(error=error)


class Disk:
    """Nothing else uses the store meanwhile."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="call-store")
        # Of their own: in the loop's, images that are ready for the store would queue behind all that just arrive.
        self._encoders = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="images")
        self._asked: list[tuple[Callable[[], Any], asyncio.Future[Any]]] = []
        self._at_work: asyncio.Task[None] | None = None
        self._unsettled: BaseException | None = None
        self._due: list[tuple[Finished, asyncio.Future[Result]]] = []
        self._writer: asyncio.Task[None] | None = None
        self._watch: asyncio.Task[None] | None = None

    def _in_thread(self, work: Callable[P, T], *arguments: P.args, **_: P.kwargs) -> "asyncio.Future[T]":
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._asked.append((partial(work, *arguments), future))
        if self._at_work is None:
            self._at_work = asyncio.create_task(self._work())
        return future

    async def _work(self) -> None:
        while self._asked:
            some, self._asked = self._asked, []
            for (_, future), outcome in zip(some, await self._outcomes(some), strict=True):
                if future.cancelled():
                    continue
                if outcome.error is None:
                    future.set_result(outcome.result)
                else:
                    future.set_exception(outcome.error)
        self._at_work = None

    async def _outcomes(self, some: Sequence[tuple[Callable[[], Any], asyncio.Future[Any]]]) -> list[_Outcome]:
        """What was asked for, in order and even where this is cancelled; of what nobody waits for, nothing is done."""

        def work() -> list[_Outcome]:
            return [_Outcome() if future.cancelled() else _outcome_of(each) for each, future in some]

        return await asyncio.shield(asyncio.get_running_loop().run_in_executor(self._thread, work))

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
        if any(item.png is not None for item in finished):
            kept = (loop.run_in_executor(self._encoders, self._store.keep_image, item) for item in finished)
            finished = await asyncio.gather(*kept)
        futures = [loop.create_future() for _ in finished]
        self._due += zip(finished, futures, strict=True)
        if self._writer is None:
            self._writer = asyncio.create_task(self._write())
        results = list(await asyncio.gather(*futures))
        if self._unsettled is not None:
            raise self._unsettled
        return results

    async def with_image(self, finish: Callable[[], Finished]) -> Finished:
        """What ``finish``, which may take a while, gives in a thread, with its image as a file."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._encoders, lambda: self._store.keep_image(finish()))

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

    def settle(self, admission: Admission, cost: float | None) -> None:
        """As :meth:`Store.settle`, before anything that is asked for later; :meth:`put` or :meth:`close` raises its
        errors."""
        self._in_thread(self._store.settle, admission, cost).add_done_callback(self._is_settled)

    def _is_settled(self, future: "asyncio.Future[None]") -> None:
        if not future.cancelled():
            self._unsettled = self._unsettled or future.exception()

    async def close(self) -> None:
        """Do what was asked for and not awaited, even where this is cancelled.

        Raises:
            StoreError: the store cannot be written.
        """
        try:
            while self._at_work is not None:
                await self._at_work
        finally:
            self._encoders.shutdown()
            self._thread.shutdown()
            some, self._asked = self._asked, []
            for work, future in some:
                if not future.cancelled():
                    work()
        if self._unsettled is not None:
            raise self._unsettled


class SharedBudget:
    """What all processes that use a store may spend on a component together: a
    :class:`~driftledger.components.service.Budget`."""

    def __init__(self, disk: Disk, component: RemoteComponent) -> None:
        self._disk = disk
        self._component = component

    async def admit(self, most: float) -> Admission:
        while (admission := await self._disk.admit(self._component, most)) is None:
            await self._disk.changed()
        return admission

    async def settle(self, admission: Admission, cost: float | None) -> None:
        self._disk.settle(admission, cost)
