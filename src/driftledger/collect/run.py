"""The loop that drives protocols: each missing call is made once, and stored as soon as it is finished."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import AsyncExitStack, suppress
from functools import partial
from threading import Thread
from types import TracebackType
from typing import Any, NamedTuple, Self, TypeVar

from driftledger.collect.batches import ENDED, Batches, InThisProcess, Waiting, Workers, say, set_error
from driftledger.collect.call import Ask, Call, Cost, Finished, Result, Spent, Steps, failed, result_of
from driftledger.collect.store import CallStore
from driftledger.components.base import Component
from driftledger.components.service import (
    Admission,
    Answered,
    Meter,
    RemoteComponent,
    RemoteGenerator,
    RemoteModel,
    ServiceClient,
)
from driftledger.core.errors import BudgetError, StoreError
from driftledger.core.terminal import Progress
from driftledger.core.types import Generated, Reply

R = TypeVar("R")


class StoppedError(Exception):
    """The user has interrupted the run."""


_MOST_UNSETTLED = 3
"""Batches on this machine that are being made or stored: a kill loses no more."""
_AT_ONCE = 100
"""Units that begin before anything else may run: stored calls are replayed without a pause."""


def run_protocols(
    protocols: Iterable[Steps[R]],
    store: CallStore,
    progress: Progress,
    most_calls: int,
    *,
    positions: Sequence[int] | None = None,
    workers: Workers | None = None,
) -> list[R]:
    """Run protocols to their ends by a collector of their own; otherwise as :meth:`Collector.run`."""
    with Collector(store, workers) as collector:
        return collector.run(protocols, progress, most_calls, positions=positions)


def called(component: Component) -> str:
    """A component's name in progress lines."""
    return component.title if isinstance(component, RemoteComponent) else component.provider


class Collector:
    """Makes the calls of any number of runs at once, in an event loop that has a thread of its own.

    Services are asked side by side, each as many calls at once as its limits allow. Local components compute meanwhile,
    one batch at a time; as long as batches of the component at work are complete, others wait, so that two components
    that do not fit into memory together are not loaded in turn.
    """

    def __init__(self, store: CallStore, workers: Workers | None = None, *, shards: int = 1) -> None:
        """
        Args:
            workers: make the batches of local components; None: this process, one batch at a time.
            shards: in how many parts what is left of each budget is split; this collector may spend one part.
        """
        self.store = store
        self._workers = workers or InThisProcess()
        self._shards = shards
        self._is_closing = False
        self._runs: dict[int, _Run] = {}
        self._numbers = 0
        self._asked: dict[str, asyncio.Future[Result]] = {}
        """Calls under way, by the digest of their keys."""
        self._lines: dict[str, asyncio.Future[_Line]] = {}
        self._open = AsyncExitStack()
        self._at_work: str | None = None
        self._unsettled = 0
        """Batches that are being made or stored, or whose units have not come to their next call."""
        self._tasks = set[asyncio.Task[None]]()
        self._due: list[Finished] = []
        self._spent: dict[str, Spent] = {}
        self._broken: StoreError | None = None
        self._transaction = asyncio.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="call-store")

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._thread = Thread(target=self._loop.run_forever, name="collector", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._is_closing = True
        try:
            if kind is not None and not issubclass(kind, Exception) and self._runs:
                say("finishing the calls under way; interrupt again to drop them")
                asyncio.run_coroutine_threadsafe(self._finish(), self._loop).result()
        finally:
            asyncio.run_coroutine_threadsafe(self.aclose(), self._loop).result()
            asyncio.run_coroutine_threadsafe(self._loop.shutdown_default_executor(), self._loop).result()
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def run(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        most_calls: int,
        *,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """Run every unit's protocol to its end and return what each returned, in order. Any thread may call this.

        Args:
            protocols: a generator per unit that has not been started.
            most_calls: how many calls one protocol makes at most, for the progress bar.
            positions: of these units among all that are planned, where other machines have the others; in order.

        Raises:
            BudgetError, ServiceError: a service cannot go on; calls under way were finished and stored first.
            StoreError: a result cannot be stored.
        """
        if self._is_closing:  # another thread was interrupted
            raise StoppedError("interrupted")
        coroutine = self.drive(protocols, progress, most_calls, positions=positions)
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def side_by_side(self, jobs: Sequence[Callable[[], R]]) -> list[R]:
        """Do each job, which calls :meth:`run`, in a thread of its own; when one fails, the others go on.

        Raises:
            Exception: that of the first job that failed.
        """
        threads = ThreadPoolExecutor(max(1, len(jobs)), thread_name_prefix="collect")
        try:
            futures = [threads.submit(job) for job in jobs]
            for future in as_completed(futures):
                if (error := future.exception()) is not None:  # said at once, since the others may go on for hours
                    say(f"stopped: {error}")
        finally:
            threads.shutdown(wait=False, cancel_futures=True)  # after an interrupt, the threads end with their runs
        return [future.result() for future in futures]

    def release(self, component: Component) -> None:
        """Let go of a local component; called when no run asks it any more. The next call loads it again."""
        asyncio.run_coroutine_threadsafe(self._workers.release(component), self._loop).result()

    async def drive(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        most_calls: int,
        *,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """As :meth:`run`, inside the event loop."""
        started = list(protocols)
        run = _Run(progress, most_calls, range(len(started)) if positions is None else positions)
        number = self._numbers = self._numbers + 1
        self._runs[number] = run
        units: list[asyncio.Task[R]] = []
        try:
            for position, protocol in zip(run.positions, started, strict=True):
                units.append(asyncio.create_task(self._unit(run, position, protocol)))
                units[-1].add_done_callback(partial(self._ended, run))
                if len(units) % _AT_ONCE == 0:
                    await asyncio.sleep(0)
            if units:
                await asyncio.wait(units)
        except asyncio.CancelledError as error:
            run.stop(error)
            for unit in units:
                unit.cancel()
            raise
        finally:
            del self._runs[number]
        await self._write()  # what failed attempts have cost
        if run.stopped is not None:
            raise run.stopped
        return [unit.result() for unit in units]

    def _ended(self, run: "_Run", unit: "asyncio.Task[Any]") -> None:
        """Stop a run whose unit has raised; what else is under way is finished and stored first."""
        error = asyncio.CancelledError() if unit.cancelled() else unit.exception()
        if error is None or run.stopped is not None:
            return
        others_go_on = len(self._runs) > 1 and not isinstance(error, StoreError)
        if others_go_on or isinstance(error, BudgetError):  # attempts that the budget has admitted are still made
            run.stop(error)
        else:
            self._stop(error)

    def _stop(self, error: BaseException) -> None:
        """Start no more calls of any run."""
        for line in self._lines.values():
            if line.done() and line.exception() is None:
                line.result().client.refuse(error)
        self._lines.clear()  # a later run opens new ones
        for run in self._runs.values():
            run.stop(error)

    async def _finish(self) -> None:
        """Start nothing new, and wait for the calls under way, since they may be paid for."""
        self._stop(StoppedError("interrupted"))
        while self._runs:
            await asyncio.sleep(0.01)

    async def aclose(self) -> None:
        """Drop what is still under way, and close the lines to services."""
        dropped = [task for task in asyncio.all_tasks() if self._runs and task is not asyncio.current_task()]
        for task in dropped:
            task.cancel()
        await asyncio.gather(*dropped, return_exceptions=True)
        await self._open.aclose()
        self._workers.close()
        self._writer.shutdown()

    async def _unit(self, run: "_Run", position: int, protocol: Steps[R]) -> R:
        result: Result | None = None
        step = 0
        while True:
            try:
                call = next(protocol) if result is None else protocol.send(result)
            except StopIteration as stop:
                run.batches.move(position, ENDED)
                self._start_batches()
                run.progress.skip(run.most_calls - step)
                value: R = stop.value
                return value
            run.batches.move(position, step)
            step += 1
            digest = call.key.digest
            result = self.store.find(digest)
            if result is None and run.stopped is not None:
                raise run.stopped
            waiting: asyncio.Future[Result] | None = None
            if result is None and not isinstance(call.component, RemoteComponent):
                waiting = asyncio.get_running_loop().create_future()
                run.batches.add(position, call, waiting)
            self._start_batches()  # others may have waited for this unit
            if result is not None:
                run.progress.share(called(call.component)).done += 1
            elif waiting is not None:
                result = await waiting
            else:
                result = await self._from_service(run, call, digest)
            run.progress.update()

    # Local components

    def _start_batches(self) -> None:
        """Start the batches that come next: of the component at work, else of the run that began first."""
        while ready := [
            (fingerprint != self._at_work, number, run.batches.place(fingerprint), fingerprint)
            for number, run in self._runs.items()
            for fingerprint in run.batches.complete
            if self._may_start(run.batches.components[fingerprint])
        ]:
            _, number, _, self._at_work = min(ready)
            run = self._runs[number]
            batch = []
            for call, waiting in run.batches.take(self._at_work):
                digest = call.key.digest
                if (result := self.store.find(digest)) is not None:  # stored since
                    if not waiting.done():
                        waiting.set_result(result)
                elif digest in self._asked:
                    self._asked[digest].add_done_callback(partial(_pass_on, waiting))
                else:
                    self._asked[digest] = waiting
                    batch.append((call, waiting))
            if batch:
                task = asyncio.create_task(self._make(run, batch, self._making(batch)))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)
                if self._at_work in run.batches.complete:
                    self._workers.expect([call for call, _ in run.batches.first(self._at_work)])

    def _making(self, batch: Sequence[Waiting]) -> Awaitable[list[Finished]]:
        """Begin to make a batch; whatever is raised, awaiting it raises."""
        try:
            return self._workers.make([call for call, _ in batch], self._start_batches)
        except Exception as error:
            failed_at_once: asyncio.Future[list[Finished]] = asyncio.get_running_loop().create_future()
            failed_at_once.set_exception(error)
            return failed_at_once

    def _may_start(self, component: Component) -> bool:
        if self._workers.replicas(component) is None:
            is_other = component.fingerprint != self._at_work
            if self._unsettled >= (1 if is_other else _MOST_UNSETTLED):
                return False
        return self._workers.has_room(component)

    async def _make(self, run: "_Run", batch: Sequence[Waiting], making: Awaitable[list[Finished]]) -> None:
        """Store the results of a batch that is being made, and give every unit its result."""
        component = batch[0][0].component
        is_here = self._workers.replicas(component) is None
        self._unsettled += is_here
        try:
            finished = await making
            self._count(run, component, finished)
            share = run.progress.share(called(component))
            share.batches += 1
            share.replicas = self._workers.replicas(component)
            for (_, waiting), result in zip(batch, await self._keep(finished), strict=True):
                if not waiting.done():
                    waiting.set_result(result)
            await asyncio.sleep(0)  # until every unit has come to its next call
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt | SystemExit):  # a component's own, which would end the event loop
                error = RuntimeError(f"a component raised {error!r}")
            set_error((waiting for _, waiting in batch), error)
            if not isinstance(error, Exception):
                raise
        finally:
            for call, _ in batch:
                del self._asked[call.key.digest]
            self._unsettled -= is_here
            self._start_batches()

    # Services

    async def _from_service(self, run: "_Run", call: Call, digest: str) -> Result:
        while digest in self._asked:
            with suppress(Exception):  # another run has stopped: this one asks itself
                return await asyncio.shield(self._asked[digest])
        self._asked[digest] = future = asyncio.get_running_loop().create_future()
        try:
            line = await self._line(call.component)
            async with line.client.slot():
                if run.stopped is not None:
                    raise run.stopped
                answered = await line.ask(call)
                await line.room.acquire()
            try:
                finish = partial(_finished, call, answered)
                finished = finish() if isinstance(answered.answer, Reply) else await asyncio.to_thread(finish)
                [result] = await self._keep([finished])
            finally:
                line.room.release()
            self._count(run, call.component, [finished])
            future.set_result(result)
            return result
        except BaseException as error:
            set_error([future], error)
            raise
        finally:
            del self._asked[digest]

    async def _line(self, component: Component) -> "_Line":
        """The line to a service, opened by the first call."""
        if component.fingerprint not in self._lines:
            self._lines[component.fingerprint] = opening = asyncio.get_running_loop().create_future()
            try:
                assert isinstance(component, RemoteModel | RemoteGenerator)
                once = await self._open.enter_async_context(component.connect())
                client = component.line(_Budget(self, component))
                opening.set_result(_Line(client, once, asyncio.Semaphore(component.limits.concurrency)))
            except BaseException as error:
                set_error([opening], error)
                raise
        return await asyncio.shield(self._lines[component.fingerprint])

    # The store

    async def _keep(self, finished: Sequence[Finished]) -> list[Result]:
        """Store results; those that arrive while a transaction is written share the next one."""
        items = list(finished)
        if any(item.png is not None for item in items):
            items = await asyncio.gather(*(asyncio.to_thread(self.store.keep_image, item) for item in items))
        self._due += items
        await self._write()
        return [item.result for item in items]

    async def _write(self) -> None:
        async with self._transaction:
            if self._broken is not None:
                raise self._broken
            due, self._due = self._due, []
            spent, self._spent = self._spent, {}
            try:
                if due or spent:
                    await asyncio.get_running_loop().run_in_executor(self._writer, self.store.put, due, spent)
            except StoreError as error:
                self._broken = error
                raise

    async def note_spent(self, component: Component, more: Spent, *, at_once: bool) -> None:
        """Add to what has been spent on a component, before this returns or with the next results."""
        before = self._spent.get(component.fingerprint, Spent())
        self._spent[component.fingerprint] = Spent(before.attempts + more.attempts, before.cost + more.cost)
        if at_once:
            await self._write()

    def limited(self, component: RemoteComponent) -> Meter:
        """A meter that goes on from what has been spent on a component; of a shard, with its part of what is left."""
        spent, limits = self.store.spent(component.fingerprint), component.limits
        if self._shards > 1:
            own = self.store.own_spent(component.fingerprint)
            calls, cost = spent.attempts - own.attempts, spent.cost - own.cost
            most_calls = None if limits.max_calls is None else max(limits.max_calls - calls, 0) // self._shards
            most_cost = None if limits.max_cost is None else max(limits.max_cost - cost, 0.0) / self._shards
            spent, limits = own, limits.model_copy(update={"max_calls": most_calls, "max_cost": most_cost})
        return Meter(limits, component.title, spent.attempts, spent.cost)

    def _count(self, run: "_Run", component: Component, finished: Sequence[Finished]) -> None:
        share = run.progress.share(called(component))
        share.done += len(finished)
        share.made += len(finished)
        costs = [item.cost.cost for item in finished if item.cost.cost is not None]
        share.cost = (share.cost or 0.0) + sum(costs) if costs else share.cost


class _Run:
    """Units that are driven together, from one call of :meth:`Collector.run`."""

    def __init__(self, progress: Progress, most_calls: int, positions: Sequence[int]) -> None:
        self.progress = progress
        self.most_calls = most_calls
        self.positions = positions
        self.batches = Batches(positions)
        self.stopped: BaseException | None = None

    def stop(self, error: BaseException) -> None:
        """Start no more calls."""
        self.stopped = self.stopped or error
        self.batches.fail(error)


class _Line(NamedTuple):
    """An open connection to one service."""

    client: ServiceClient
    once: Any
    """Makes one attempt."""
    room: asyncio.Semaphore
    """For answers on their way into the store: as many as calls, since images wait there decoded."""

    async def ask(self, call: Call) -> Answered[Reply] | Answered[Generated]:
        """Make one call, inside a slot of the client."""
        component = call.component
        if isinstance(call, Ask):
            assert isinstance(component, RemoteModel)
            expected = component.expected(call.conversation)
            return await self.client.call_in_slot(partial(self.once, call.conversation), expected)
        assert isinstance(component, RemoteGenerator)
        return await self.client.call_in_slot(
            partial(self.once, call.prompt, call.seed), component.expected(call.prompt)
        )


class _Budget:
    """A service's budget, kept in the store. Where there is a limit, an attempt is stored at the most that it may cost
    before it is made, so that a kill forgets none."""

    def __init__(self, collector: Collector, component: RemoteComponent) -> None:
        self._collector = collector
        self._component = component
        self._meter = collector.limited(component)
        limits = component.limits
        self._is_limited = limits.max_calls is not None or limits.max_cost is not None

    async def admit(self, most: float) -> Admission:
        admission = await self._meter.admit(most)
        await self._collector.note_spent(self._component, Spent(1, most), at_once=self._is_limited)
        return admission

    async def settle(self, admission: Admission, cost: float | None) -> None:
        await self._meter.settle(admission, cost)
        more = Spent(-1 if cost is None else 0, (cost or 0.0) - admission.most)
        await self._collector.note_spent(self._component, more, at_once=False)


def _finished(call: Call, answered: Answered[Reply] | Answered[Generated]) -> Finished:
    result, png = result_of(answered.answer or failed(call, answered.error))
    usage = answered.answer.usage if answered.answer else None
    tokens = (usage.input_tokens, usage.output_tokens) if usage else (None, None)
    bill = answered.bill
    cost = bill.cost if isinstance(call.component, RemoteComponent) and call.component.prices else None
    return Finished(call.key, call.context, result, png, Cost(bill.seconds, *tokens, cost, bill.attempts))


def _pass_on(waiting: asyncio.Future[Result], done: asyncio.Future[Result]) -> None:
    """Give a unit the result of a call that another unit has made."""
    if not waiting.done():
        if done.cancelled():
            waiting.cancel()
        elif (error := done.exception()) is not None:
            set_error([waiting], error)
        else:
            waiting.set_result(done.result())
