"""The call store beside an event loop: one thread works on its rows, and what arrives together is written together."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore, Finished, Spent


class Disk:
    """Used inside one event loop; nothing else uses the store meanwhile."""

    def __init__(self, store: CallStore) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="call-store")
        self._due: list[tuple[Finished, asyncio.Future[Result]]] = []
        self._writer: asyncio.Task[None] | None = None

    async def get(self, digests: Sequence[str]) -> dict[str, Result]:
        """As :meth:`CallStore.get`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._store.get, digests)

    async def spent(self, component: str) -> Spent:
        """As :meth:`CallStore.spent`."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._store.spent, component)

    async def put(self, finished: Sequence[Finished]) -> list[Result]:
        """As :meth:`CallStore.put`: images side by side, and rows in one transaction with whatever else is due."""
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
        loop = asyncio.get_running_loop()
        while self._due:
            batch, self._due = self._due, []
            try:
                results = await loop.run_in_executor(self._thread, self._store.put, [item for item, _ in batch])
            except Exception as error:
                for _, future in batch:
                    future.set_exception(error)
            else:
                for (_, future), result in zip(batch, results, strict=True):
                    future.set_result(result)
        self._writer = None

    def close(self) -> None:
        self._thread.shutdown()
