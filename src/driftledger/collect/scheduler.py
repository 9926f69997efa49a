"""Many samples' protocols at once, each result from the store or made and stored."""

import asyncio
import sys
from collections import deque
from collections.abc import Coroutine, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from driftledger.collect.blocks import Block, Blocks
from driftledger.collect.call_result import Finished, Result
from driftledger.collect.claims import Store
from driftledger.collect.disk import Disk
from driftledger.collect.services import Services, called, is_remote
from driftledger.collect.steps import Call, Steps
from driftledger.collect.workers.base import InThisProcess, Workers
from driftledger.components.base import Component
from driftledger.components.service import Answered, RemoteComponent
from driftledger.core.progress import Progress
from driftledger.core.types import Generated, Reply

R = TypeVar("R")

Results = list[Result] | None
"""Of a task: one per sample; None where another process gave its claim back without a result."""

MOST_WAITING = 256
"""Protocols that wait at once, so that memory grows with this and not with the samples."""
_FULL = 4
"""Times as many wait as a component takes at once, where that is more: its batches, or calls to it, never run out."""
_BESIDE_WEIGHTS = 16_384
"""As many wait for components that let go of weights, beside which they weigh little: where a model and a generator
do not fit into memory together, both are loaded anew after so many samples at the soonest."""


def run_protocols(
    protocols: Iterable[Steps[R]],
    store: Store,
    progress: Progress,
    most_calls: int,
    *,
    positions: Sequence[int] | None = None,
    workers: Workers | None = None,
) -> list[R]:
    """Run every sample's protocol to its end and return what each returned, in order.

    A call to a service is made as soon as its sample is ready for it. Calls to other components are made in batches of
    neighbouring samples, as :mod:`driftledger.collect.blocks` puts them together. Where there is one device, all
    batches of one component that wait are made before another's, so that a model and a generator that do not fit into
    memory together are loaded once per step of many samples and not once per sample. A call that another process is
    making is waited for, while what is left is made.

    Args:
        protocols: one started-by-us generator per sample, each asked for when it is due: :data:`MOST_WAITING` wait for
            a call at once, or more where a component asks for that, and another begins when one of them is at its end.
        most_calls: how many calls one protocol makes at the most, for the progress bar.
        positions: where each sample stands among all, some of which another machine has, in order; None: these are all.
        workers: who makes batches; None: this process.

    Raises:
        BudgetError, ServiceError: a service cannot go on; calls under way were let finish, and are stored.
        StoreError: a result cannot be stored.
    """
    if positions is None:
        protocols = list(protocols)
        positions = range(len(protocols))
    run = _Run(protocols, positions, store, progress, most_calls, workers or InThisProcess())
    return asyncio.run(run.finish())


@dataclass(slots=True)
class _Begun(Generic[R]):
    """A protocol under way."""

    protocol: Steps[R]
    calls: int = 0
    """That it has asked for."""


def _most_waiting_for(component: Component) -> int:
    if isinstance(component, RemoteComponent):
        return _FULL * component.limits.concurrency
    holds_weights = type(component).release is not Component.release
    return max(_FULL * component.batch_size, _BESIDE_WEIGHTS if holds_weights else 0)


class _Run(Generic[R]):
    def __init__(
        self,
        protocols: Iterable[Steps[R]],
        positions: Sequence[int],
        store: Store,
        progress: Progress,
        most_calls: int,
        workers: Workers,
    ) -> None:
        self._positions = positions
        self._to_begin = zip(positions, protocols, strict=True)
        self._all_begun = False
        self._begun: dict[int, _Begun[R]] = {}  # and not at their end
        self._in_batches = 0  # of these, those whose batch is being made
        self._most_waiting = MOST_WAITING
        self._disk = Disk(store)
        self._progress = progress
        self._most_calls = most_calls
        self._services = Services(self._disk)
        self._workers = workers
        self._due: deque[tuple[int, Call]] = deque()  # to services
        self._blocks = Blocks(positions)
        self._under_way: dict[asyncio.Task[Results], list[int]] = {}
        self._over: asyncio.Queue[asyncio.Task[Results]] = asyncio.Queue()
        self._asked: dict[str, asyncio.Task[Results]] = {}  # of services, by digest
        self._batches: dict[asyncio.Task[Results], Block] = {}
        self._returned: dict[int, R] = {}
        self._has_told = False
        self._is_ending = False
        self._waiting = set[asyncio.Task[Any]]()  # for what another process does

    async def finish(self) -> list[R]:
        try:
            async with self._services, self._workers:
                await self._advance_all()
        finally:
            await self._disk.close()
        return [self._returned[position] for position in self._positions]

    async def _advance_all(self) -> None:
        try:
            await self._start_what_is_due()
            while self._under_way:
                self._take(await self._over.get())
                while not self._over.empty():
                    self._take(self._over.get_nowait())
                await self._start_what_is_due()
        except BaseException as error:
            await self._let_finish(error)
            raise

    async def _let_finish(self, error: BaseException) -> None:
        """What is under way may be paid for: let it arrive and be stored before the run ends, and start nothing new.
        What another process makes is not waited for."""
        self._services.refuse(error)
        self._is_ending = True
        for task in self._waiting:
            task.cancel()
        if isinstance(error, asyncio.CancelledError) and self._under_way.keys() - self._waiting:
            print("letting the calls under way finish; interrupt again to drop them", file=sys.stderr, flush=True)
        await asyncio.gather(*self._under_way, return_exceptions=True)

    def _begin_some(self) -> None:
        """Begin protocols until enough of them wait, or none is left."""
        while not self._all_begun and len(self._begun) - self._in_batches < self._most_waiting:
            self._begin_next()

    def _begin_next(self) -> None:
        for position, protocol in self._to_begin:
            self._begun[position] = _Begun(protocol)
            self._advance(position, None)
            return
        self._all_begun = True

    def _advance(self, position: int, result: Result | None) -> None:
        begun = self._begun[position]
        try:
            call = next(begun.protocol) if result is None else begun.protocol.send(result)
        except StopIteration as stop:
            del self._begun[position]
            self._returned[position] = stop.value
            self._blocks.end(position)
            self._progress.skip(self._most_calls - begun.calls)
        else:
            begun.calls += 1
            self._most_waiting = max(self._most_waiting, _most_waiting_for(call.component))
            if is_remote(call):
                self._due.append((position, call))
            else:
                self._blocks.add(position, call)

    def _take(self, task: asyncio.Task[Results]) -> None:
        positions, results = self._under_way.pop(task), task.result()
        if block := self._batches.pop(task, None):
            self._in_batches -= len(positions)
            if results is None:
                for position, call in block.calls.items():
                    self._blocks.add(position, call)
                return
        else:
            del self._asked[task.get_name()]
            results = (results or []) * len(positions)
        for position, result in zip(positions, results, strict=True):
            self._advance(position, result)
        self._progress.update(len(positions))

    async def _start_what_is_due(self) -> None:
        self._begin_some()
        while self._due or await self._start_a_batch():
            if self._due:
                await self._start_call(*self._due.popleft())
            self._begin_some()

    async def _start_a_batch(self) -> bool:
        """Start the batch that comes next. Where none is whole and nothing is under way, protocols begin before any
        batch is made without the samples that are missing from it."""
        is_stuck = not self._under_way
        if block := self._blocks.take(self._workers.has_room, partial=is_stuck and self._all_begun):
            await self._start_batch(block)
        elif is_stuck and not self._all_begun:
            self._begin_next()
        else:
            return False
        return True

    async def _start_call(self, position: int, call: Call) -> None:
        digest = call.key.digest
        if digest not in self._asked:
            await self._services.open_for(call)
            self._asked[digest] = self._start(self._call(call, digest), digest)
        self._under_way[self._asked[digest]].append(position)

    def _start(self, work: Coroutine[Any, Any, Results], name: str) -> asyncio.Task[Results]:
        task = asyncio.create_task(work, name=name)
        task.add_done_callback(self._over.put_nowait)
        self._under_way[task] = []
        return task

    async def _call(self, call: Call, digest: str) -> list[Result]:
        while True:
            async with self._services.slot(call):
                results, mine = await self._disk.claim([digest])
                answered = await self._ask(call, digest) if mine and not results else None
            if answered is not None:
                return await self._keep(call, digest, answered)
            if results:
                self._progress.share(called(call.component)).done += 1
                return list(results.values())
            await self._changed()

    async def _ask(self, call: Call, digest: str) -> Answered[Reply] | Answered[Generated]:
        try:
            return await self._services.ask(call)
        except BaseException:
            await self._disk.release([digest])
            raise

    async def _keep(self, call: Call, digest: str, answered: Answered[Reply] | Answered[Generated]) -> list[Result]:
        try:
            async with self._services.keeping(call, answered) as finished:
                self._note(call.component, [finished])
                return await self._disk.put([finished])
        except BaseException:
            await self._disk.release([digest])
            raise

    async def _start_batch(self, block: Block) -> None:
        """Have a batch made, or wait for the process that makes a call of it."""
        digests = [call.key.digest for call in block.calls.values()]
        missing = dict(zip(digests, block.calls.values(), strict=True))
        results, mine = await self._disk.claim(list(missing))
        for digest in results:
            del missing[digest]
        self._progress.share(called(block.component)).done += len(digests) - len(missing)
        work = self._perform(digests, missing, results) if mine else self._wait_for(digests)
        task = self._start(work, "batch")
        self._batches[task], self._under_way[task] = block, list(block.calls)
        self._in_batches += len(block.calls)
        await asyncio.sleep(0)  # the task takes its room
        if mine and missing and (after := self._blocks.after(block)):
            self._workers.expect(list(after.calls.values()))

    async def _perform(self, digests: Sequence[str], missing: dict[str, Call], results: dict[str, Result]) -> Results:
        """The results of a batch: stored ones from the store, the others made and stored."""
        if missing:
            try:
                finished = await self._workers.make(list(missing.values()))
                self._note(next(iter(missing.values())).component, finished)
                results |= zip(missing, await self._disk.put(finished), strict=True)
            except BaseException:
                await self._disk.release(list(missing))
                raise
        return [results[digest] for digest in digests]

    def _note(self, component: Component, finished: Sequence[Finished]) -> None:
        share = self._progress.share(called(component))
        share.done += len(finished)
        share.made += len(finished)
        costs = [item.cost.cost for item in finished if item.cost.cost is not None]
        share.cost = (share.cost or 0.0) + sum(costs) if costs else share.cost
        if not isinstance(component, RemoteComponent):
            share.batches += 1
            share.replicas = self._workers.replicas(component)

    async def _changed(self) -> None:
        if self._is_ending:
            raise asyncio.CancelledError
        if not self._has_told:
            self._has_told = True
            print(
                "some of these calls are being made already; their results are waited for", file=sys.stderr, flush=True
            )
        task = asyncio.current_task()
        assert task is not None
        self._waiting.add(task)
        try:
            await self._disk.changed()
        finally:
            self._waiting.remove(task)

    async def _wait_for(self, digests: Sequence[str]) -> Results:
        """What another process stores; None once it is this one's turn to make what is missing."""
        while True:
            await self._changed()
            results, mine = await self._disk.claim(list(dict.fromkeys(digests)))
            missing = [digest for digest in digests if digest not in results]
            if not missing:
                return [results[digest] for digest in digests]
            if mine:
                await self._disk.release(missing)
                return None
