"""Components as actors of a Ray cluster: the way to several GPUs or machines. Only the driver writes to the store.

No code is shipped: an actor imports what is installed on its node, makes the component from its settings, and refuses
one with another fingerprint. When an actor is lost, its batch is made again by another one: Ray's own retries are used
up within the seconds in which a lost node only looks unavailable.
"""

import asyncio
import os
import socket
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from driftledger.collect.batches import Run, Workers
from driftledger.collect.call import Ask, Call
from driftledger.collect.settings import WorkerSettings
from driftledger.components.base import Component, QueueModel
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import ConfigError, DriftledgerError, first_few
from driftledger.core.registry import import_extra, import_place, place_of
from driftledger.core.text import changes, say, shortened
from driftledger.core.types import Medium, Result

_MOST_LOSSES = 5
"""Actors that may be lost over one batch."""
_PATIENCE = 30.0
"""Seconds that an actor waits for room in the cluster before a line says so."""
_CONNECTS = 10.0
"""Seconds that a cluster has to answer."""
_OF_A_QUEUE = 32
"""Calls that are handed to an actor together, where its engine has a queue."""


class WorkersError(DriftledgerError):
    """The cluster cannot be used, or a batch takes down every actor."""


def import_ray(*, local: bool = False) -> Any:
    """Import Ray with its telemetry off.

    Args:
        local: whether clusters that this process starts are for this machine alone.

    Raises:
        MissingExtraError: it is not installed.
    """
    names = ["RAY_USAGE_STATS_ENABLED", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"]
    for name in [*names, "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] if local else names:
        os.environ.setdefault(name, "0")
    return import_extra("ray")


class RayWorkers(Workers):
    """Makes batches by actors."""

    def __init__(self, address: str | None, settings_of: Callable[[Component], WorkerSettings | None]) -> None:
        """
        Args:
            address: of a cluster; None starts one on this machine that ends with this object.
            settings_of: a component's actors; None for a component that is asked in this process.
        """
        super().__init__()
        self._address = address
        self._settings_of = settings_of
        self._crews: dict[str, _Crew | None] = {}

    def _crew(self, component: Component) -> "_Crew | None":
        if component.fingerprint not in self._crews:
            settings = self._settings_of(component)
            self._crews[component.fingerprint] = None if settings is None else _Crew(self, component, settings)
        return self._crews[component.fingerprint]

    @cached_property
    def ray(self) -> Any:
        """The library, connected to the cluster at the first use.

        Raises:
            WorkersError: the cluster cannot be used.
        """
        ray = import_ray(local=self._address is None)
        local = {} if self._address else {"include_dashboard": False, "object_store_memory": 2**30}
        try:
            host, _, port = (self._address or "").removeprefix("ray://").rpartition(":")
            if host and port.isdecimal():  # else Ray takes minutes, or the whole process, if no server listens
                socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTS).close()
            ray.init(address=self._address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
            place = f"the Ray cluster at {self._address or 'this machine'}"
            raise WorkersError(f"{place} cannot be used ({_message(error)}); start it or correct its address") from None
        return ray

    def batches(self, component: Component) -> tuple[int, int]:
        return super().batches(component) if (crew := self._crew(component)) is None else crew.batches

    async def make(self, calls: Sequence[Call], run: Run | None = None) -> list[Result]:
        if (crew := self._crew(calls[0].component)) is None:
            return await super().make(calls, run)
        async with crew.slots:
            if run is not None and run.stopped is not None:
                raise run.stopped
            return await crew.make(calls)

    async def release(self, component: Component) -> None:
        crew = self._crews.pop(component.fingerprint, None)
        if crew is None:
            await super().release(component)
        else:
            crew.close()

    def close(self) -> None:
        for crew in self._crews.values():
            if crew is not None:
                crew.close()
        if "ray" in vars(self):
            self.ray.shutdown()
        super().close()


class _Crew:
    """The actors of one component."""

    def __init__(self, workers: RayWorkers, component: Component, settings: WorkerSettings) -> None:
        self._workers = workers
        self._name = component.provider
        kind, beside, devices = type(component), None, tuple[str, ...]()
        file = getattr(sys.modules[kind.__module__.partition(".")[0]], "__file__", None)
        if file is not None and ":" in component.provider:
            beside = Path(file).absolute().parents[Path(file).stem == "__init__"]
        made_of = component.model_dump(mode="json")
        if isinstance(component, CheckpointComponent):  # Ray shows an actor its own GPUs alone
            devices = component.devices
            made_of |= {"device": devices[0].partition(":")[0]}
        self._recipe = place_of(kind), beside, made_of, component.spec, Path.cwd()
        """What an actor makes its component of; see :class:`_Actor`."""
        self.most = settings.replicas or len(devices) or 1
        queues = isinstance(component, QueueModel)
        size = min(_OF_A_QUEUE, component.batch_size) if queues else component.batch_size
        self.batches = size, size if queues else component.neighbours
        self.at_once = max(1, component.batch_size // _OF_A_QUEUE) if queues else 1
        """Batches that an actor has; one, so that the batch which takes it down is known."""
        on_gpu = component.spec["identity"].get("device") == "cuda"
        gpus = float(on_gpu) if settings.num_gpus is None else settings.num_gpus
        self.slots = asyncio.Semaphore(self.most * (self.at_once + 1))
        self._needs = {"num_gpus": gpus, "num_cpus": settings.num_cpus, "resources": settings.resources}
        self._actors: list[Any] = []
        self._idle: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks = set[asyncio.Task[None]]()

    async def make(self, calls: Sequence[Call]) -> list[Result]:
        """Make a batch by an actor; if that is lost, by another one."""
        conversations = [call.conversation for call in calls if isinstance(call, Ask)]
        parts = [part for each in conversations for turn in each.turns for part in turn.parts]
        media = {part.sha256 + part.path.suffix: part.path.read_bytes() for part in parts if isinstance(part, Medium)}
        work = [replace(call, component=None) for call in calls]  # type: ignore[arg-type]  # the actor has its own
        for _ in range(_MOST_LOSSES):
            self._start_if_needed()
            while (actor := await self._idle.get()) not in self._actors:
                self._start_if_needed()
            try:
                results: list[Result] = await actor.make.remote(work, media)
            except self._workers.ray.exceptions.RayTaskError as error:  # what the component raised
                self._idle.put_nowait(actor)
                raise error.cause from None
            except self._workers.ray.exceptions.RayError as error:
                message = _message(error)
                if actor in self._actors:  # else another batch of it has said so
                    say(f"{self._name}: an actor was lost ({message}); another starts")
                    self._workers.ray.kill(actor)  # one that cannot be reached may still be at work
                    self._actors.remove(actor)
            else:
                self._idle.put_nowait(actor)
                return results
        self._start_if_needed()  # for batches that wait
        first = f"{calls[0].context.dataset}/{calls[0].context.sample}"
        raise WorkersError(
            f"{self._name}: {_MOST_LOSSES} actors were lost over the batch of {len(calls)} calls that begins "
            f"with {first} ({message}); see whether it fits into memory, or take a smaller batch_size"
        )

    def _start_if_needed(self) -> None:
        if self._idle.empty() and len(self._actors) < self.most:
            needs = self._needs | {"max_concurrency": self.at_once}
            actor = self._workers.ray.remote(_Actor).options(**needs).remote(*self._recipe)
            self._actors.append(actor)
            task = asyncio.create_task(self._wait_for(actor))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _wait_for(self, actor: Any) -> None:
        """Wait until the cluster has room for an actor, and let it have batches; one that is lost says so then."""
        ready = asyncio.ensure_future(actor.ready.remote())
        if not (await asyncio.wait([ready], timeout=_PATIENCE))[0]:
            say(f"{self._name}: an actor waits for room in the cluster ({self._needs}); give fewer to others")
        await asyncio.wait([ready])
        ready.exception()  # a lost one is met by the batch that it is given
        for _ in range(self.at_once):
            self._idle.put_nowait(actor)

    def close(self) -> None:
        """Kill all actors, also those at work."""
        for task in self._tasks:
            task.cancel()
        for actor in self._actors:
            with suppress(self._workers.ray.exceptions.RayError):
                self._workers.ray.kill(actor)
        self._actors.clear()


class _Actor:
    """One replica of a component, in a process that Ray started."""

    def __init__(
        self, place: str, beside: Path | None, settings: dict[str, Any], spec: dict[str, Any], folder: Path
    ) -> None:
        """
        Args:
            place: the component's class, ``package.module:Class``.
            beside: the folder of a module that is not installed.
            spec: what the component must be.
            folder: where relative paths in the settings start, if the node has such a folder.
        """
        self._recipe = place, beside, settings, spec, folder
        self._workers = Workers()

    @cached_property
    def _component(self) -> Component:
        place, beside, settings, spec, folder = self._recipe
        where, remedy = f"{spec['provider']} on {socket.gethostname()}", "install there what is installed here"
        if folder.is_dir():
            os.chdir(folder)
        try:
            component: Component = import_place(place, beside).model_validate(settings)
        except (ConfigError, ValidationError) as error:
            raise ConfigError(f"{where} cannot be made ({shortened(str(error))}); {remedy}") from None
        if component.spec != spec:
            differs = first_few([*map(str, changes(spec, component.spec))], 3)
            raise ConfigError(f"{where} is another component ({differs}); {remedy}, with the same weights")
        return component

    async def ready(self) -> None:
        """Answers when there is room for the actor."""

    async def make(self, work: Sequence[Any], media: dict[str, bytes]) -> list[Result]:
        """Make a batch: calls without their component, and the files behind them, by name."""
        with tempfile.TemporaryDirectory(prefix="driftledger-actor-") as folder:
            for name, data in media.items():
                Path(folder, name).write_bytes(data)

            def here(medium: Medium) -> Medium:
                return replace(medium, path=Path(folder, medium.sha256 + medium.path.suffix))

            calls = [replace(each, component=self._component) for each in work]
            for number, call in enumerate(calls):
                if isinstance(call, Ask):
                    calls[number] = replace(call, conversation=call.conversation.with_media(here))
            return await self._workers.make(calls)


def _message(error: BaseException) -> str:
    return shortened(str(error).strip().split("\n\tactor_id")[0]).strip() or type(error).__name__
