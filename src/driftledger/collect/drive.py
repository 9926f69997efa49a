"""Drive protocols: make each missing call once, and store it."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import TypeVar

from driftledger.collect.batches import (
    ENDED,
    Units,
    Waiting,
    Workers,
    finished,
    set_error,
)
from driftledger.collect.call import Call, Spent, Steps
from driftledger.collect.progress import Progress
from driftledger.collect.services import Services
from driftledger.collect.store import CallStore
from driftledger.collect.submitted import Submitted
from driftledger.components.base import Component, Readiness
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.text import for_line, say
from driftledger.core.types import Result

R = TypeVar("R")


async def drop_all() -> None:
    """End all other work of the event loop."""
    dropped = asyncio.all_tasks() - {asyncio.current_task()}
    for task in dropped:
        task.cancel()
    await asyncio.gather(*dropped, return_exceptions=True)


class Driver:
    """The calls of any number of runs at once, in one event loop.

    Services are asked side by side, each as many calls at once as its limits allow. Local
    components compute meanwhile: a batch begins while the results of the last are encoded and
    stored. As long as batches of the component at work are complete, others wait, so that two
    components that do not fit into memory together are not loaded in turn.
    """

    def __init__(self, store: CallStore, workers: Workers, shards: int = 1) -> None:
        """Set up the driver; see :class:`~driftledger.collect.run.Collector`."""
        self.store = store
        self.workers = workers
        self.stopped: BaseException | None = None
        """The reason that no run starts a call any more."""
        self.driven: list[Units] = []
        """The units of the runs under way."""
        self._services = Services(store, shards, self._note_spent)
        self._asked: dict[str, asyncio.Future[Result]] = {}
        """Calls under way, by the digest of their keys."""
        self._readiness: dict[str, asyncio.Task[Readiness]] = {}
        """What each component lacks, and what to know before its first call."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._spent: dict[str, Spent] = {}
        """Attempts and costs that are written with the next results."""

    async def drive(
        self,
        protocols: Iterable[Steps[R]],
        progress: Progress,
        positions: Sequence[int] | None = None,
    ) -> list[R]:
        """Run every unit's protocol to its end, as ``Collector.run`` does from any thread."""
        started = list(protocols)
        positions = range(len(started)) if positions is None else positions
        units = Units(progress, positions)
        self.driven.append(units)
        try:
            driven = map(partial(self._unit, units), positions, started)
            returned = await asyncio.gather(*driven, return_exceptions=True)
        finally:
            self.driven.remove(units)
        await self._put()  # the cost of failed attempts
        units.check()
        return returned  # type: ignore[return-value]  # an exception would have stopped the run

    async def finish(self, reason: BaseException) -> None:
        """Start nothing new, and wait for the calls under way, since they may be paid for."""
        self.stop(reason)
        await asyncio.wait([units.task for units in self.driven])

    def stop(self, reason: BaseException) -> None:
        """Start no call any more, in any run; those under way go on."""
        self.stopped = reason
        self._services.refuse(reason)
        for units in self.driven:
            units.stop(reason)

    async def aclose(self) -> None:
        """Drop what is still under way, and close the connections to services."""
        if self.driven:
            await drop_all()
        await self._services.aclose()
        self.workers.close()
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
                    if missing := await self.look_at(component):
                        raise ConfigError("; ".join(missing))
                units.step[position] = step
                if isinstance(component, RemoteComponent):
                    if result is None and component.batch:
                        # a step of all units at once
                        waiting = units.add(position, call, units.span)
                elif result is None:
                    waiting = units.add(position, call, component.batch_size)
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

    async def look_at(self, component: Component) -> list[str]:
        """List what a component lacks, as ``Collector.lacking`` does."""
        name = component.fingerprint
        if name not in self._readiness:
            look = asyncio.to_thread(component.readiness)
            self._readiness[name] = asyncio.create_task(look)
        readiness = self._readiness[name]
        if not readiness.done():
            await asyncio.shield(readiness)
        missing, hints = readiness.result()
        while hints:
            say(for_line(f"{component.entry_name}: {hints.pop(0)}"))
        return missing

    def _start_complete(self, units: Units, position: int) -> None:
        """Start the batches that this unit completes."""
        for batch in units.complete(position):
            if isinstance(batch[0][0].component, RemoteComponent):
                for _, waiting in batch:  # the wait is over
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
                made = await self.workers.make(calls, units)
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
        """Give a unit the result of another unit's call.

        If the run of that unit has stopped, make the call.
        """
        if done.cancelled():
            own[1].cancel()
        elif done.exception() is not None:
            self._start(units, [own])
        elif not own[1].done():
            own[1].set_result(done.result())

    async def _from_service(self, units: Units, call: Call) -> Result:
        component = call.component
        assert isinstance(component, RemoteComponent)
        digest = call.key
        while digest in self._asked:
            with suppress(Exception):  # another run has stopped: this one asks itself
                return await asyncio.shield(self._asked[digest])
        self._asked[digest] = future = asyncio.get_running_loop().create_future()
        try:
            client, attempt = await self._services.connected(component)
            if digest in self._services.held and not isinstance(attempt, Submitted):
                raise ConfigError(
                    f"{component.title}: calls that are needed are in a batch under way; set "
                    "`batch: true` in its entry until they are collected"
                )
            async with client.slots:
                units.check()
                expected = component.expected(call.arguments[0])
                if isinstance(attempt, Submitted):
                    attempted = partial(attempt.attempt, call, expected)
                else:
                    attempted = partial(attempt, *call.arguments)
                held = self._services.held.pop(digest, None)
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

    async def _put(self, made: Iterable[tuple[Call, Result]] = ()) -> list[Result]:
        spent = self._spent
        self._spent = {}
        try:
            return await asyncio.to_thread(self.store.put, made, spent)
        except StoreError as error:  # of a full disk: what is asked now is lost, too
            self.stop(error)
            raise

    async def _note_spent(
        self,
        fingerprint: str,
        attempts: int,
        cost: float,
        at_once: bool,
    ) -> None:
        """Add attempts and cost of a component: at once, or with the next results."""
        before = self._spent.get(fingerprint, Spent())
        self._spent[fingerprint] = Spent(before.attempts + attempts, before.cost + cost)
        if at_once:
            await self._put()
