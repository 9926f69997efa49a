"""Many samples' protocols at once, each result from the store or made and stored."""

import asyncio
import sys
from collections import defaultdict, deque
from collections.abc import Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Generic, TypeVar

from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore, Finished, Spent
from driftledger.collect.local import LocalCalls
from driftledger.collect.services import Services, is_remote
from driftledger.collect.steps import Call, Steps
from driftledger.core.progress import Progress

R = TypeVar("R")


def run_protocols(protocols: Sequence[Steps[R]], store: CallStore, progress: Progress, most_calls: int) -> list[R]:
    """Run every sample's protocol to its end and return what each returned, in order.

    A call to a service is made as soon as its sample is ready for it. Calls to components on this machine are made in
    batches of neighbouring samples, fixed by their positions: a resumed run, or one in which some samples have dropped
    out, puts no call into other company. All batches of one component are made before another's, so that a model and a
    generator that do not fit into memory together are loaded once per step and not once per sample.

    Args:
        protocols: one started-by-us generator per sample.
        most_calls: how many calls one protocol makes at the most, for the progress bar.

    Raises:
        BudgetError, ServiceError: a service cannot go on; calls under way were let finish, and are stored.
        StoreError: a result cannot be stored.
    """
    return asyncio.run(_Run(protocols, store, progress, most_calls).finish())


class _Run(Generic[R]):
    def __init__(self, protocols: Sequence[Steps[R]], store: CallStore, progress: Progress, most_calls: int) -> None:
        self._protocols = protocols
        self._disk = Disk(store)
        self._progress = progress
        self._most_calls = most_calls
        self._services = Services()
        self._local = LocalCalls()
        self._local_thread = ThreadPoolExecutor(1, thread_name_prefix="local-calls")
        self._due: deque[tuple[int, Call]] = deque()  # to services
        self._waiting: dict[int, Call] = {}  # for their batch
        self._under_way: dict[asyncio.Task[list[Result]], list[int]] = {}
        self._over: asyncio.Queue[asyncio.Task[list[Result]]] = asyncio.Queue()
        self._asked: dict[str, asyncio.Task[list[Result]]] = {}  # of services, by digest
        self._batch: asyncio.Task[list[Result]] | None = None
        self._at_work: str | None = None  # fingerprint of the local component that was used last
        self._returned: dict[int, R] = {}
        self._made: dict[int, int] = defaultdict(int)

    async def finish(self) -> list[R]:
        try:
            async with self._services:
                await self._advance_all()
        finally:
            self._disk.close()
            self._local_thread.shutdown()
        return [self._returned[index] for index in range(len(self._protocols))]

    async def _advance_all(self) -> None:
        for index in range(len(self._protocols)):
            self._advance(index, None)
        try:
            while self._due or self._waiting or self._under_way:
                await self._start_what_is_due()
                self._take(await self._over.get())
                while not self._over.empty():
                    self._take(self._over.get_nowait())
        except BaseException as error:
            await self._let_finish(error)
            raise

    async def _let_finish(self, error: BaseException) -> None:
        """What is under way may be paid for: let it arrive and be stored before the run ends, and start nothing new."""
        self._services.refuse(error)
        if self._under_way:
            if isinstance(error, asyncio.CancelledError):
                print("letting the calls under way finish; interrupt again to drop them", file=sys.stderr, flush=True)
            await asyncio.gather(*self._under_way, return_exceptions=True)

    def _advance(self, index: int, result: Result | None) -> None:
        protocol = self._protocols[index]
        try:
            call = next(protocol) if result is None else protocol.send(result)
            self._made[index] += 1
            if is_remote(call):
                self._due.append((index, call))
            else:
                self._waiting[index] = call
        except StopIteration as stop:
            self._returned[index] = stop.value
            self._progress.skip(self._most_calls - self._made[index])

    def _take(self, task: asyncio.Task[list[Result]]) -> None:
        indices, results = self._under_way.pop(task), task.result()
        if task is self._batch:
            self._batch = None
        else:
            del self._asked[task.get_name()]
            results = results * len(indices)
        for index, result in zip(indices, results, strict=True):
            self._advance(index, result)
        self._progress.update(len(indices))

    async def _start_what_is_due(self) -> None:
        while self._due:
            await self._start_call(*self._due.popleft())
        if self._batch is None and (block := self._next_block()):
            calls = [self._waiting.pop(index) for index in block]
            self._at_work = calls[0].component.fingerprint
            self._batch = self._start(self._perform(calls), "batch")
            self._under_way[self._batch] = block

    async def _start_call(self, index: int, call: Call) -> None:
        digest = call.key.digest
        if digest not in self._asked:
            await self._services.open_for(call, self._disk.spent)
            self._asked[digest] = self._start(self._call(call, digest), digest)
        self._under_way[self._asked[digest]].append(index)

    def _start(self, work: Coroutine[Any, Any, list[Result]], name: str) -> asyncio.Task[list[Result]]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._over.put_nowait)
        self._under_way[task] = []
        return task

    async def _call(self, call: Call, digest: str) -> list[Result]:
        stored = await self._disk.get([digest])
        return list(stored.values()) or await self._disk.put([await self._services.make(call)])

    async def _perform(self, calls: Sequence[Call]) -> list[Result]:
        """The results of a batch: stored ones from the store, the others made and stored."""
        digests = [call.key.digest for call in calls]
        results = await self._disk.get(digests)
        missing = {digest: call for digest, call in zip(digests, calls, strict=True) if digest not in results}
        if missing:
            make = asyncio.get_running_loop().run_in_executor
            finished = await make(self._local_thread, self._local.make, list(missing.values()))
            results.update(zip(missing, await self._disk.put(finished), strict=True))
        return [results[digest] for digest in digests]

    def _next_block(self) -> list[int] | None:
        """The batch to make next: one whose samples are all there, of the component at work if there is one.

        If samples of every batch are missing and no service can bring them, the first of what is there is taken.
        """
        blocks: dict[tuple[str, int], list[int]] = defaultdict(list)
        for index in sorted(self._waiting):
            component = self._waiting[index].component
            blocks[component.fingerprint, index // component.batch_size].append(index)
        whole = {key: block for key, block in blocks.items() if self._is_whole(block)}
        chosen = whole or ({} if self._under_way else blocks)
        return next((block for key, block in chosen.items() if key[0] == self._at_work), None) or next(
            iter(chosen.values()), None
        )

    def _is_whole(self, block: list[int]) -> bool:
        """Whether every sample of the batch's range that is not at its end is in it."""
        most = self._waiting[block[0]].component.batch_size
        first = block[0] // most * most
        members = range(first, min(first + most, len(self._protocols)))
        return len(block) == sum(index not in self._returned for index in members)


class Disk:
    """The call store beside an event loop: one thread works on its rows, and what arrives together is written together.

    Nothing else uses the store meanwhile.
    """

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
