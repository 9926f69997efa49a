"""The loop that drives protocols: each missing call is made once, and stored at its end."""

import asyncio
import re
from collections.abc import Callable, Coroutine, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import AsyncExitStack, suppress
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, Self, TypeAlias, TypeVar

from driftledger.collect.batches import (
    ENDED,
    Units,
    Waiting,
    Workers,
    finished,
    set_error,
)
from driftledger.collect.call import (
    Call,
    NotStoredError,
    Planned,
    Spent,
    Steps,
    walk,
)
from driftledger.collect.child import ChildCalls
from driftledger.collect.progress import Progress
from driftledger.collect.store import CallStore
from driftledger.collect.submitted import Submitted
from driftledger.collect.tables import component_id
from driftledger.components.base import Component, Readiness
from driftledger.components.budget import Meter
from driftledger.components.openai_batches import open_batches
from driftledger.components.service import (
    Attempt,
    RemoteComponent,
    ServiceClient,
)
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.text import for_line, say
from driftledger.core.types import Result

R = TypeVar("R")
Service: TypeAlias = tuple[ServiceClient, Attempt | Submitted]

_THREADS = 64
"""Of results that are decoded and stored: many wait for the disk together, hardly longer than one.
"""
_OF_BATCHES = {
    "concurrency": 10**9,
    "requests_per_minute": None,
    "timeout": 1e8,
    "deadline": 1e9,
}
"""Limits of calls that wait for a batch; nothing but the time of the service limits them."""


class StoppedError(Exception):
    """The user has interrupted the run."""


async def _drop_all() -> None:
    """End all other work of the event loop."""
    dropped = asyncio.all_tasks() - {asyncio.current_task()}
    for task in dropped:
        task.cancel()
    await asyncio.gather(*dropped, return_exceptions=True)


class Collector:
    """The calls of any number of runs at once, in an event loop that has a thread of its own.

    Services are asked side by side, each as many calls at once as its limits allow. Local
    components compute meanwhile: a batch begins while the results of the last are encoded and
    stored. As long as batches of the component at work are complete, others wait, so that two
    components that do not fit into memory together are not loaded in turn.
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
        self._workers = workers or Workers(ChildCalls())
        self._shards = shards
        self._driven: list[Units] = []
        self._asked: dict[str, asyncio.Future[Result]] = {}
        """Calls under way, by the digest of their keys."""
        self._readiness: dict[str, asyncio.Task[Readiness]] = {}
        """What each component lacks, and what to know before its first call."""
        self._services: dict[str, asyncio.Task[Service]] = {}
        self._held = dict[str, float]()
        """Key → largest cost, of calls in batches of earlier runs."""
        self._connections = AsyncExitStack()
        self._tasks: set[asyncio.Task[None]] = set()
        self._spent: dict[str, Spent] = {}
        """Attempts and costs that are written with the next results."""
        self._stopped: BaseException | None = None
        """The reason that no run starts a call any more."""

    def __enter__(self) -> Self:
        self._loop = asyncio.new_event_loop()
        self._loop.set_default_executor(ThreadPoolExecutor(_THREADS))
        self._thread = Thread(target=self._turn, name="collector", daemon=True)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stopped = self._stopped or StoppedError("interrupted")
        try:
            if kind is not None and not issubclass(kind, Exception) and self._driven:
                say("finishing the calls under way; interrupt again to drop them")
                self._wait_for(self._finish())
        finally:
            self._wait_for(self.aclose())
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()

    def _turn(self) -> None:
        """Run the event loop until it is stopped, and let nobody wait for it then."""
        self._loop.run_forever()
        self._loop.run_until_complete(_drop_all())

    def _wait_for(self, work: Coroutine[Any, Any, R]) -> R:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def run(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """Run every unit's protocol to its end, and return their values in order; from any thread.

        Args:
            protocols: a generator per unit that has not been started.
            positions: of these units among all, in order, if other machines have the others.

        Raises:
            BudgetError, ServiceError: a service cannot go on; calls under way were stored first.
            StoreError: a result cannot be stored.
        """
        if self._stopped is not None:  # for the sake of another run
            raise self._stopped
        return self._wait_for(self.drive(protocols, progress, positions))

    def side_by_side(self, jobs: Sequence[Callable[[], R]]) -> list[R]:
        """Do each job, which calls :meth:`run`, in a thread of its own.

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
        """Free a local component that no run asks any more; the next call loads it again."""
        if self._stopped is None:  # the end frees all
            self._wait_for(self._workers.release(component))

    async def drive(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """Do :meth:`run` inside the event loop."""
        started = list(protocols)
        positions = range(len(started)) if positions is None else positions
        units = Units(progress, positions)
        self._driven.append(units)
        try:
            driven = map(partial(self._unit, units), positions, started)
            returned = await asyncio.gather(*driven, return_exceptions=True)
        finally:
            self._driven.remove(units)
        await self._put()  # the cost of failed attempts
        units.check()
        return returned  # type: ignore[return-value]  # an exception would have stopped the run

    async def _finish(self) -> None:
        """Start nothing new, and wait for the calls under way, since they may be paid for."""
        self._stop(StoppedError("interrupted"))
        await asyncio.wait([units.task for units in self._driven])

    def _stop(self, reason: BaseException) -> None:
        """Start no call any more, in any run; those under way go on."""
        self._stopped = reason
        for service in self._services.values():
            if service.done() and not service.exception():
                service.result()[0].refuse(reason)
        for units in self._driven:
            units.stop(reason)

    async def aclose(self) -> None:
        """Drop what is still under way, and close the connections to services."""
        if self._driven:
            await _drop_all()
        await self._connections.aclose()
        self._workers.close()
        await asyncio.get_running_loop().shutdown_default_executor()

    async def _unit(self, units: Units, position: int, protocol: Steps[R]) -> R:
        """Drive one protocol to its end; an error stops its run."""
        result = None
        step = 0
        try:
            while True:
                try:
                    call = next(protocol) if result is None else protocol.send(result)
                except StopIteration as stop:
                    units.step[position] = ENDED
                    self._start_complete(units, position)
                    value: R = stop.value
                    return value
                waiting = None
                component = call.component
                result = self.store.find(call.key)
                if result is None:
                    units.check()
                    if lacks := await self._look_at(component):
                        raise ConfigError("; ".join(lacks))
                units.step[position] = step
                if isinstance(component, RemoteComponent):
                    if result is None and component.batch:
                        # a step of all units at once
                        waiting = units.add(position, call, units.span, units.span)
                elif result is None or component.batch_size < component.batch_window:
                    waiting = units.add(
                        position, call, component.batch_size, component.batch_window
                    )
                    if result is not None:
                        waiting.set_result(result)
                self._start_complete(units, position)
                if waiting is not None:
                    result = await waiting
                if result is None:
                    result = await self._from_service(units, call)
                units.progress.update()
                step += 1
        except BaseException as error:
            units.stop(error)
            raise

    def lacking(self, component: Component) -> list[str]:
        """List what a component lacks on this machine, and say what to know before its first call;
        it is looked at once."""
        return self._wait_for(self._look_at(component))

    async def _look_at(self, component: Component) -> list[str]:
        name = component.fingerprint
        if name not in self._readiness:
            look = asyncio.to_thread(component.readiness)
            self._readiness[name] = asyncio.create_task(look)
        readiness = self._readiness[name]
        if not readiness.done():
            await asyncio.shield(readiness)
        lacks, knows = readiness.result()
        while knows:
            say(for_line(f"{component.entry_name}: {knows.pop(0)}"))
        return lacks

    # Local components

    def _start_complete(self, units: Units, position: int) -> None:
        """Start the batches that this unit completes."""
        for batch in units.complete(position):
            if isinstance(batch[0][0].component, RemoteComponent):
                for _, waiting in batch:  # is over
                    waiting.set_result(None)
            else:
                self._start(units, batch)

    def _start(self, units: Units, batch: Sequence[Waiting]) -> None:
        task = asyncio.create_task(self._make(units, batch))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _make(self, units: Units, batch: Sequence[Waiting]) -> None:
        """Make and store the missing calls of a batch, and give each unit its result."""
        missing: dict[str, Waiting] = {}
        try:
            for call, waiting in batch:
                digest = call.key
                if waiting.done():
                    continue
                result = self.store.find(digest)
                if result is not None:  # stored since
                    waiting.set_result(result)
                elif digest in self._asked:
                    pass_on = partial(self._pass_on, units, (call, waiting))
                    self._asked[digest].add_done_callback(pass_on)
                else:
                    self._asked[digest] = waiting
                    missing[digest] = call, waiting
            if missing:
                calls = [call for call, _ in missing.values()]
                made = await self._workers.make(calls, units)
                results = await self._put(zip(calls, made, strict=True))
                units.progress.count(calls[0].component, results)
                for (_, waiting), result in zip(missing.values(), results, strict=True):
                    if not waiting.done():
                        waiting.set_result(result)
        except BaseException as error:
            if isinstance(
                error, KeyboardInterrupt | SystemExit
            ):  # they would end the event loop
                error = RuntimeError(f"a component raised {error!r}")
            set_error((waiting for _, waiting in batch), error)
            if not isinstance(error, Exception):
                raise
        finally:
            for digest in missing:
                del self._asked[digest]

    def _pass_on(
        self, units: Units, own: Waiting, done: asyncio.Future[Result]
    ) -> None:
        """Give a unit the result of another unit's call; if that one's run has stopped, make it."""
        if done.cancelled():
            own[1].cancel()
        elif done.exception() is not None:
            self._start(units, [own])
        elif not own[1].done():
            own[1].set_result(done.result())

    # Services

    async def _from_service(self, units: Units, call: Call) -> Result:
        component = call.component
        assert isinstance(component, RemoteComponent)
        digest = call.key
        while digest in self._asked:
            with suppress(Exception):  # another run has stopped: this one asks itself
                return await asyncio.shield(self._asked[digest])
        self._asked[digest] = future = asyncio.get_running_loop().create_future()
        try:
            name = component.fingerprint
            if name not in self._services:
                self._services[name] = asyncio.create_task(self._connect(component))
            client, attempt = await asyncio.shield(self._services[name])
            if digest in self._held and not isinstance(attempt, Submitted):
                raise ConfigError(
                    f"{component.title}: calls that are needed are in a batch under way; set "
                    "`batch: true` in its entry until they are collected"
                )
            async with client.slots:
                units.check()
                expected = component.expected(call.given[0])
                if isinstance(attempt, Submitted):
                    attempted = partial(attempt.attempt, call, expected)
                else:
                    attempted = partial(attempt, *call.given)
                held = self._held.pop(digest, None)
                reply = await client.call(attempted, expected, held)
                result = await asyncio.to_thread(finished, call, reply)
                if isinstance(attempt, Submitted):
                    spent = attempt.unstored(digest)
                    await self._note_spent(component.fingerprint, *spent, False)
                [result] = await self._put([(call, result)])
            units.progress.count(component, [result])
            future.set_result(result)
            return result
        except BaseException as error:
            set_error([future], error)
            raise
        finally:
            del self._asked[digest]

    async def _connect(self, component: RemoteComponent) -> Service:
        """Open the connection to a service, for all calls of this collector."""
        opened = open_batches(component) if component.batch else component.connect()
        attempt: Any = await self._connections.enter_async_context(opened)
        limits = component.limits
        spent = self.store.spent(component.fingerprint)
        if (
            self.store.fallback is not None
        ):  # a shard may spend its part of what is left
            before = self.store.fallback.spent(component.fingerprint)
            part: dict[str, float] = {}
            if limits.max_calls is not None:
                part["max_calls"] = (
                    max(limits.max_calls - before.attempts, 0) // self._shards
                )
            if limits.max_cost is not None:
                part["max_cost"] = (
                    max(limits.max_cost - before.cost, 0.0) / self._shards
                )
            limits = limits.model_copy(update=part)
        note = partial(self._note_spent, component.fingerprint)
        budget = Meter(limits, component.title, spent.attempts, spent.cost, note)
        limits = component.limits
        if component.batch:  # the store counts calls while they are in batches
            budget.note = None
            limits = limits.model_copy(update=_OF_BATCHES)
        client = ServiceClient(
            limits,
            component.prices,
            budget,
            answered=component_id(component.fingerprint) in self.store.means(),
            in_batches=component.batch,
        )
        for batch in self.store.submitted(component.fingerprint):
            self._held.update(batch.keys)
        if component.batch:
            return client, Submitted(self.store, component, client, attempt)
        return client, attempt

    # The store

    async def _put(self, made: Iterable[tuple[Call, Result]] = ()) -> list[Result]:
        spent = self._spent
        self._spent = {}
        try:
            return await asyncio.to_thread(self.store.put, made, spent)
        except StoreError as error:  # of a full disk: what is asked now is lost, too
            self._stop(error)
            raise

    async def _note_spent(
        self,
        fingerprint: str,
        attempts: int,
        cost: float,
        at_once: bool,
    ) -> None:
        """Add attempts and cost of a component, before this returns or with the next results."""
        before = self._spent.get(fingerprint, Spent())
        self._spent[fingerprint] = Spent(before.attempts + attempts, before.cost + cost)
        if at_once:
            await self._put()


class Shard(NamedTuple):
    """Part ``number`` of ``of`` parts, from 0, that one of several machines collects.

    Units are dealt out by their positions alone, in blocks that no batch of a local component
    crosses: every call is in the batch that it has in a run of one process, and equal positions of
    the same data belong to one shard, whichever stage asks, so that a question of several stages
    about a sample is asked once.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read ``i/n``.

        Raises:
            ConfigError: it is not a shard.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not shard.number < shard.of:
            form = "write i/n, counted from 0, so that the last is n-1 of n"
            raise ConfigError(f"--shard {text!r} is not a shard: {form}")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def store(self, folder: Path) -> Path:
        """Return the folder of its store inside ``folder``, which all shards share."""
        return folder / f"shard-{self.number}-of-{self.of}"


def part_of(
    planned: Iterable[Planned[R]],
    shard: Shard,
    block: int,
    collector: Collector,
    progress: Progress,
) -> list[R]:
    """Drive the units of one shard, and look up those of the other shards.

    Args:
        block: units in a row that always belong to one shard: a multiple of all batch sizes.

    Raises:
        NotStoredError: units of other shards are in no store that the collector looks into.
    """
    units = [*planned]
    positions = range(len(units))
    own = [
        position
        for position in positions
        if position // block % shard.of == shard.number
    ]
    results = collector.run((units[position].steps for position in own), progress, own)
    returned: dict[int, Any] = dict(zip(own, results, strict=True))
    for position, unit in enumerate(units):
        if position not in returned:
            walked = walk(unit.steps, collector.store.answer)
            if walked.pending is not None:
                raise NotStoredError
            returned[position] = walked.returned
    return [returned[position] for position in positions]
