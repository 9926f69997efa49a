"""The collector: components side by side, each call made once."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from threading import Thread
from typing import Any, Self, TypeVar

from driftledger.collect.batches import Workers
from driftledger.collect.call import Steps
from driftledger.collect.child import ChildCalls
from driftledger.collect.drive import Driver, drop_all
from driftledger.collect.progress import Progress
from driftledger.collect.store import CallStore
from driftledger.components.base import Component
from driftledger.core.text import say

R = TypeVar("R")

_THREADS = 64
"""Threads that decode and store results: storing many together takes hardly longer than one."""


class StoppedError(Exception):
    """The user has interrupted the run."""


class Collector:
    """Runs of protocols from any thread; they share a :class:`Driver`.

    Its event loop has a thread of its own.
    """

    def __init__(
        self,
        store: CallStore,
        workers: Workers | None = None,
        *,
        shards: int = 1,
    ) -> None:
        """Set up a collector, which starts as a context manager.

        Args:
            workers: make the batches of local components; None: in a child those of components
                with weights, in this process the others.
            shards: parts of what is left of each budget; this collector may spend one of them.
        """
        self.store = store
        self._driver = Driver(store, workers or Workers(ChildCalls()), shards)

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(_THREADS))
        self._thread = Thread(target=self._run_loop, name="collector", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        driver = self._driver
        driver.stopped = driver.stopped or StoppedError("interrupted")
        try:
            is_interrupt = kind is not None and not issubclass(kind, Exception)
            if is_interrupt and driver.driven:
                say("finishing the calls under way; interrupt again to drop them")
                self._wait_for(driver.finish(StoppedError("interrupted")))
        finally:
            self._wait_for(driver.aclose())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _run_loop(self) -> None:
        """Run the event loop until it is stopped, and end all that still waits."""
        self._loop.run_forever()
        self._loop.run_until_complete(drop_all())

    def _wait_for(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def run(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """Run every unit's protocol to its end, and return their values in order.

        Any thread may call this.

        Args:
            protocols: a generator per unit that has not been started.
            positions: of these units among all, in order, if other machines have the others.

        Raises:
            BudgetError, ServiceError: a service cannot go on; calls under way were stored first.
            StoreError: a result cannot be stored.
        """
        if self._driver.stopped is not None:  # because of another run
            raise self._driver.stopped
        return self._wait_for(self._driver.drive(protocols, progress, positions))

    def side_by_side(self, jobs: Sequence[Callable[[], R]]) -> list[R]:
        """Do each job in a thread of its own; jobs call :meth:`run`.

        Raises:
            Exception: the first job that failed raised it; the others have ended, too.
        """
        threads = ThreadPoolExecutor(max(1, len(jobs)), thread_name_prefix="collect")
        try:
            futures = [threads.submit(job) for job in jobs]
            wait(futures)
        finally:
            # after an interrupt, the threads end with their runs
            threads.shutdown(wait=False, cancel_futures=True)
        return [future.result() for future in futures]

    def release(self, component: Component) -> None:
        """Free a local component that no run needs; the next call loads it again."""
        if self._driver.stopped is None:  # the end frees all
            self._wait_for(self._driver.workers.release(component))

    def lacking(self, component: Component) -> list[str]:
        """List what a component lacks on this machine; it is looked at once.

        What to know before its first call is printed.
        """
        return self._wait_for(self._driver.look_at(component))
