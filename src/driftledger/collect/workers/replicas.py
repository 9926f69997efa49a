"""Replicas of components, each of which makes one batch at a time; whoever launches them is not known here.

A thread per replica hands it the next batch, waits, and replaces it when it is lost; threads and not tasks, since
replicas, with the weights they hold, outlive the event loop of one stage.
"""

import asyncio
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from itertools import cycle, islice
from types import TracebackType
from typing import Protocol, Self

from driftledger.collect.call_result import Finished
from driftledger.collect.steps import Call
from driftledger.collect.workers.base import Workers
from driftledger.collect.workers.settings import WorkerSettings
from driftledger.collect.workers.work import Made, Recipe, Work, packed
from driftledger.components.base import Component
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import DriftledgerError
from driftledger.core.shortening import shortened

MOST_LOSSES = 5
"""How many replicas may be lost over one batch, or in a row before their first one."""

AHEAD = 2
"""Batches per replica that are accepted: the one at work, and the one that it goes on with while results are stored."""

PATIENCE = 5.0
"""Seconds that a component waits for its first replica before idle ones of others make room."""

Wanted = Callable[[Component], WorkerSettings | None]
"""Whether batches of a component are made by replicas, and by which."""


class WorkersError(DriftledgerError):
    """No replica can be had, or a batch takes every one down."""


class ReplicaLostError(Exception):
    """The process, actor or node is gone, and with it the batch at work."""


class Replica(Protocol):
    """One copy of a component, somewhere."""

    def make(self, work: Work) -> Made:
        """Make a batch, and wait for it.

        Raises:
            ReplicaLostError: it is gone; nothing is known of the batch.
        """

    def stop(self) -> None:
        """Let it go, whatever it is at; may be called at any time, and twice."""


class Launcher(Protocol):
    """Starts replicas."""

    def open(self) -> None:
        """Get ready, before the first start; called in a thread that outlives all replicas: the kernel ends Ray's
        processes with the thread that started them.

        Raises:
            DriftledgerError: no replica can be had.
        """

    def start(self, recipe: Recipe, settings: WorkerSettings, given_up: Callable[[], bool]) -> Replica | None:
        """Start a replica, and wait until there is room for it; None once ``given_up`` says so.

        Raises:
            ReplicaLostError: it was lost on the way.
            DriftledgerError: it cannot be had.
        """

    def close(self) -> None:
        """Let go of whatever was launched."""


class _Job:
    def __init__(self, work: Work) -> None:
        self.work = work
        self.made: Future[Made] = Future()
        self.losses = 0


class Replicas:
    """Makes batches by replicas where they are wanted, and all others by ``rest``.

    Unlike other :class:`Workers`, what it started outlives its async context, since the next stage may go on with the
    same weights; :meth:`close` ends it.
    """

    def __init__(self, launcher: Launcher, wanted: Wanted, rest: Workers) -> None:
        self._launcher = launcher
        self._wanted = wanted
        self._rest = rest
        self._change = threading.Condition()
        self._crews: dict[str, _Crew] = {}

    def has_room(self, component: Component) -> bool:
        crew = self._crew(component)
        return self._rest.has_room(component) if crew is None else crew.has_room()

    async def make(self, calls: Sequence[Call]) -> list[Finished]:
        crew = self._crew(calls[0].component)
        if crew is None:
            return await self._rest.make(calls)
        made = await asyncio.wrap_future(crew.ask(packed(calls)))
        return made.finished(calls)

    def expect(self, calls: Sequence[Call]) -> None:
        if self._crew(calls[0].component) is None:
            self._rest.expect(calls)

    def replicas(self, component: Component) -> int | None:
        """How many replicas of a component are there now; None where none is wanted."""
        crew = self._crew(component)
        return None if crew is None else crew.there

    def release(self, component: Component) -> None:
        """Let go of a component's replicas; the next batch starts them anew."""
        crew = self._crews.pop(component.fingerprint, None)
        if crew is not None:
            crew.close()

    def close(self) -> None:
        """Let go of all replicas, whatever they are at."""
        for fingerprint in list(self._crews):
            self._crews.pop(fingerprint).close()
        self._launcher.close()

    async def __aenter__(self) -> Self:
        await self._rest.__aenter__()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._rest.__aexit__(kind, error, trace)

    def _crew(self, component: Component) -> "_Crew | None":
        fingerprint = component.fingerprint
        if fingerprint not in self._crews:
            settings = self._wanted(component)
            if settings is None:
                return None
            self._launcher.open()
            self._crews[fingerprint] = _Crew(component, settings, self._launcher, self._change, self._others_starve)
        return self._crews[fingerprint]

    def _others_starve(self, asking: "_Crew") -> bool:
        return any(crew.starves() for crew in list(self._crews.values()) if crew is not asking)


class _Crew:
    """The replicas of one component, and the batches that wait for them. All state is guarded by ``change``."""

    def __init__(
        self,
        component: Component,
        settings: WorkerSettings,
        launcher: Launcher,
        change: threading.Condition,
        others_starve: "Callable[[_Crew], bool]",
    ) -> None:
        devices = component.devices if isinstance(component, CheckpointComponent) else ()
        most = settings.replicas or len(devices) or 1
        recipe = Recipe.of(component)
        self._waiting_room = AHEAD * most
        self._recipes = [recipe.on(device) for device in islice(cycle(devices or (None,)), most)]
        self._settings = settings
        self._launcher = launcher
        self._change = change
        self._others_starve = others_starve
        self._jobs: deque[_Job] = deque()
        self._open = 0  # jobs that are waiting or at work
        self._since = 0.0  # when the first job was left waiting without any replica
        self._closing = False
        self._threads: list[threading.Thread] = []
        self._at_work: set[Replica] = set()
        self.there = 0
        self._losses = 0  # of replicas in a row that have made nothing

    def has_room(self) -> bool:
        return self._open < self._waiting_room

    def starves(self) -> bool:
        return bool(self._jobs) and not self.there and time.monotonic() - self._since > PATIENCE

    def ask(self, work: Work) -> "Future[Made]":
        job = _Job(work)
        with self._change:
            self._since = self._since if self._jobs else time.monotonic()
            self._jobs.append(job)
            self._open += 1
            if len(self._threads) < min(len(self._recipes), self._open):
                recipe = self._recipes[len(self._threads)]
                thread = threading.Thread(target=self._work, args=(recipe,), daemon=True, name=recipe.name)
                self._threads.append(thread)
                thread.start()
            self._change.notify_all()
        return job.made

    def close(self) -> None:
        """Stop all replicas, those at work too, whose batches are not made."""
        with self._change:
            self._closing = True
            for job in self._jobs:
                job.made.cancel()
            self._jobs.clear()
            self._change.notify_all()
            at_work = list(self._at_work)
        for replica in at_work:
            replica.stop()
        for thread in self._threads:
            thread.join()

    def _work(self, recipe: Recipe) -> None:
        """What the thread of one replica does until the crew is closed."""
        replica: Replica | None = None
        while self._has_work(replica is not None):
            try:
                replica = replica or self._start(recipe)
            except ReplicaLostError as error:
                self._note_loss(str(error))
                continue
            except Exception as error:
                self._fail(error)
                continue
            if replica is not None and (job := self._take()) is not None:
                replica = self._see_through(job, replica)
            elif replica is not None and not self._closing and self._others_starve(self):
                self._let_go(replica)
                replica = None
        if replica is not None:
            self._let_go(replica)

    def _has_work(self, holds_one: bool) -> bool:
        """Wait for a job, or for others to need the room; False once the crew is closed."""
        with self._change:
            while not (self._closing or self._jobs or (holds_one and self._others_starve(self))):
                self._change.wait(1.0 if holds_one else None)
            return not self._closing

    def _start(self, recipe: Recipe) -> Replica | None:
        replica = self._launcher.start(recipe, self._settings, lambda: self._closing or not self._jobs)
        if replica is not None:
            with self._change:
                self.there += 1
        return replica

    def _let_go(self, replica: Replica) -> None:
        replica.stop()
        with self._change:
            self.there -= 1
            self._since = time.monotonic()

    def _take(self) -> _Job | None:
        with self._change:
            while self._jobs:
                job = self._jobs.popleft()
                if job.losses or job.made.set_running_or_notify_cancel():
                    return job
                self._open -= 1
        return None

    def _see_through(self, job: _Job, replica: Replica) -> Replica | None:
        """Have a job made; the replica, unless it was lost over it."""
        with self._change:
            self._at_work.add(replica)
        try:
            made = replica.make(job.work)
        except ReplicaLostError as error:
            self._let_go(replica)
            self._ask_again(job, str(error))
            return None
        except Exception as error:
            self._end(job, error)
        else:
            self._end(job, made)
        finally:
            with self._change:
                self._at_work.discard(replica)
        return replica

    def _end(self, job: _Job, came: Made | Exception) -> None:
        with self._change:
            self._open -= 1
            self._losses = 0
        if isinstance(came, Exception):
            job.made.set_exception(came)
        else:
            job.made.set_result(came)

    def _ask_again(self, job: _Job, said: str) -> None:
        job.losses += 1
        name = self._recipes[0].name
        if self._closing:
            self._end(job, WorkersError(f"{name} was let go of while a batch was at work"))
        elif job.losses >= MOST_LOSSES:
            first = f"{job.work[0].context.dataset}/{job.work[0].context.sample}"
            self._end(
                job,
                WorkersError(
                    f"{name}: {job.losses} replicas were lost over the batch of {len(job.work)} calls that begins with "
                    f"{first} ({shortened(said)}); see whether it fits into their memory, or take a smaller batch_size"
                ),
            )
        else:
            _say(f"{name}: a replica was lost ({shortened(said)}); another one takes its place")
            with self._change:
                self._jobs.appendleft(job)
                self._change.notify_all()

    def _note_loss(self, said: str) -> None:
        with self._change:
            self._losses += 1
            losses = self._losses
        if losses >= MOST_LOSSES * len(self._recipes):
            self._fail(
                WorkersError(
                    f"{self._recipes[0].name}: {losses} replicas in a row did not start ({shortened(said)}); mend it"
                )
            )

    def _fail(self, error: Exception) -> None:
        """No replica can be had: let everything that waits for one know."""
        with self._change:
            jobs, self._jobs = list(self._jobs), deque()
        for job in jobs:
            if job.losses or job.made.set_running_or_notify_cancel():
                self._end(job, error)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
