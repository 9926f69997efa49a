"""Components as actors of a Ray cluster: the way to several GPUs or machines.

Only the driver writes to the store. No code is shipped: an actor imports what is installed on its
node, makes the component from its settings, and refuses one with another fingerprint. When an actor
is lost, its batch is made again by another one: Ray's own retries are used up within the seconds in
which a lost node only looks unavailable.
"""

import asyncio
import os
import shutil
import socket
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from driftledger.collect.batches import Units, Workers
from driftledger.collect.call import Ask, Call
from driftledger.collect.settings import WorkerSettings
from driftledger.components.base import Component
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
_AT_ONCE = 2
"""Batches that an actor has: one is prepared while the other is computed."""

FOLDERS = f"driftledger-actor-{socket.gethostname()}-"
"""The names of actors' folders, and of a file in a session's, begin so; a process id follows."""


class WorkersError(DriftledgerError):
    """The cluster cannot be used, or a batch takes down every actor."""


def import_ray(*, local: bool = False) -> Any:
    """Import Ray with its telemetry off.

    Args:
        local: clusters that this process starts are for this machine alone.

    Raises:
        MissingExtraError: it is not installed.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if local:
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    return import_extra("ray")


class RayWorkers(Workers):
    """Batches that actors make."""

    def __init__(
        self,
        address: str | None,
        settings_of: Callable[[Component], WorkerSettings | None],
    ) -> None:
        """Take the cluster, which is connected to at the first use.

        Args:
            address: of a cluster; None starts one on this machine that ends with this object.
            settings_of: a component's actors; None for a component that is asked in this process.
        """
        super().__init__()
        self._address = address
        self._settings_of = settings_of
        self._crews: dict[str, _Crew | None] = {}
        self._fits = True
        self._session: Path | None = None
        """The folder of a cluster that this object has started."""

    def expect(self, components: Iterable[Component]) -> None:
        for component in components:
            self._crew(component)

    def _crew(self, component: Component) -> "_Crew | None":
        if component.fingerprint not in self._crews:
            settings = self._settings_of(component)
            crew = None if settings is None else _Crew(self, component, settings)
            self._crews[component.fingerprint] = crew
            self._fits = False
        return self._crews[component.fingerprint]

    def _require_room(self) -> None:
        """Refuse to wait for actors that the cluster cannot have at the same time.

        Raises:
            WorkersError: it has too little of something.
        """
        nodes = [node["Resources"] for node in self.ray.nodes() if node["Alive"]]
        needs = defaultdict[str, float](float)
        asked = []
        for crew in filter(None, self._crews.values()):
            asked.append(f"{crew.most} x {crew.name}")
            for resource, amount in crew.needs.items():
                needs[resource] += crew.most * amount
                largest = max((node.get(resource, 0.0) for node in nodes), default=0.0)
                if amount > largest:
                    raise WorkersError(
                        f"an actor of {crew.name} asks for {amount:g} {resource}, and no node of "
                        f"the Ray cluster has more than {largest:g}; take less in `workers`"
                    )
        for resource, amount in needs.items():
            has = self.ray.cluster_resources().get(resource, 0.0)
            if round(amount, 4) > has:  # as Ray counts
                raise WorkersError(
                    f"{' and '.join(asked)} are at work at the same time and ask for {amount:g} "
                    f"{resource}, of which the Ray cluster has {has:g}; take fewer replicas or "
                    "smaller amounts in `workers`"
                )
        self._fits = True

    @cached_property
    def ray(self) -> Any:
        """Ray, connected to the cluster at the first use.

        Raises:
            WorkersError: the cluster cannot be used.
        """
        ray = import_ray(local=self._address is None)
        local = (
            {}
            if self._address
            else {"include_dashboard": False, "object_store_memory": 2**30}
        )
        try:
            host, _, port = (self._address or "").removeprefix("ray://").rpartition(":")
            if host and port.isdecimal():
                # Ray takes minutes, or ends the process, if no server listens.
                socket.create_connection(
                    (host.strip("[]"), int(port)), timeout=_CONNECTS
                ).close()
            address = self._address or "local"
            context = ray.init(
                address=address, log_to_driver=False, logging_level="ERROR", **local
            )
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
            raise WorkersError(
                f"the Ray cluster at {self._address or 'this machine'} cannot be used "
                f"({_message(error)}); start it or correct its address"
            ) from None
        if self._address is None:
            self._session = Path(context.address_info["session_dir"])
            (self._session / f"{FOLDERS}{os.getpid()}-").touch()
            _remove_left(self._session.parent.glob(f"session_*/{FOLDERS}*"))
        return ray

    async def make(
        self, calls: Sequence[Call], units: Units | None = None
    ) -> list[Result]:
        crew = self._crew(calls[0].component)
        if crew is None:
            return await super().make(calls, units)
        async with crew.slots:
            if units is not None:
                units.check()
            if not self._fits:
                self._require_room()
            return await crew.make(calls)

    async def release(self, component: Component) -> None:
        crew = self._crews.pop(component.fingerprint, None)
        if crew is None:
            await super().release(component)
        else:
            crew.close()

    def close(self) -> None:
        for crew in filter(None, self._crews.values()):
            crew.close()
        if "ray" in vars(self):
            self.ray.shutdown()
        if self._session is not None:
            shutil.rmtree(self._session, ignore_errors=True)
            with suppress(OSError):  # other sessions are there
                latest = self._session.parent / "session_latest"
                if not latest.exists():
                    latest.unlink()
                self._session.parent.rmdir()
            _remove_left(Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"))
        super().close()


class _Crew:
    """The actors of one component."""

    def __init__(
        self, workers: RayWorkers, component: Component, settings: WorkerSettings
    ) -> None:
        self._workers = workers
        self.name = component.entry_name or component.provider
        kind = type(component)
        module_folder = None
        file = getattr(sys.modules[kind.__module__.partition(".")[0]], "__file__", None)
        if file is not None and ":" in component.provider:
            module_folder = Path(file).absolute().parents[Path(file).stem == "__init__"]
        own_settings = component.model_dump(mode="json")
        replicas = 1
        if isinstance(
            component, CheckpointComponent
        ):  # Ray shows an actor its own GPUs alone
            replicas = len(component.devices) or 1
            own_settings["device"] = component.devices[0].partition(":")[0]
        self._recipe = (
            place_of(kind),
            module_folder,
            own_settings,
            component.spec,
            Path.cwd(),
        )
        """Arguments of :class:`_Actor`."""
        self.most = settings.replicas or replicas
        on_gpu = component.spec["identity"].get("device") == "cuda"
        gpus = float(on_gpu) if settings.num_gpus is None else settings.num_gpus
        self.slots = asyncio.Semaphore(self.most * (_AT_ONCE + 1))
        self.needs = {"CPU": settings.num_cpus, "GPU": gpus, **settings.resources}
        """Amounts of an actor, by Ray's names of resources."""
        self._options = {
            "num_cpus": settings.num_cpus,
            "num_gpus": gpus,
            "resources": settings.resources,
            "max_concurrency": _AT_ONCE,
        }
        self._actors: list[Any] = []
        self._idle: asyncio.Queue[Any] = asyncio.Queue()
        self._tasks: set[asyncio.Task[None]] = set()

    async def make(self, calls: Sequence[Call]) -> list[Result]:
        """Make a batch by an actor; if that is lost, by another one."""
        media = {}
        for call in calls:
            for turn in call.conversation.turns if isinstance(call, Ask) else ():
                for part in turn.parts:
                    if isinstance(part, Medium):
                        media[part.sha256 + part.path.suffix] = part.path.read_bytes()
        # The actor has a component of its own.
        work = [replace(call, component=None) for call in calls]  # type: ignore[arg-type]
        for losses in range(_MOST_LOSSES):
            actor, places = await self._free(alone=losses > 0)
            try:
                results: list[Result] = await actor.make.remote(work, media)
            except (
                self._workers.ray.exceptions.RayTaskError
            ) as error:  # what the component raised
                self._give_back(actor, places)
                raise error.cause from None
            except self._workers.ray.exceptions.RayError as error:
                message = _message(error)
                if actor in self._actors:  # else another batch of it has said so
                    say(f"{self.name}: an actor was lost ({message}); another starts")
                    self._workers.ray.kill(
                        actor
                    )  # one that cannot be reached may still be at work
                    self._actors.remove(actor)
            else:
                self._give_back(actor, places)
                return results
        self._start_if_needed()  # for batches that wait
        first = f"{calls[0].context.dataset}/{calls[0].context.sample}"
        raise WorkersError(
            f"{self.name}: {_MOST_LOSSES} actors were lost over the batch of {len(calls)} calls "
            f"that begins with {first} ({message}); see whether it fits into memory, or take a "
            "smaller batch_size"
        )

    async def _free(self, *, alone: bool) -> tuple[Any, int]:
        """Wait for an actor with room for a batch; return the batches that it has less room for.

        A batch that was lost gets a new actor alone, if there may be one more: the batch that takes
        actors down is then the first to be lost too often.
        """
        if alone and len(self._actors) < self.most:
            return self._start(), _AT_ONCE
        self._start_if_needed()
        while (actor := await self._idle.get()) not in self._actors:
            self._start_if_needed()
        return actor, 1

    def _give_back(self, actor: Any, places: int) -> None:
        for _ in range(places):
            self._idle.put_nowait(actor)

    def _start(self) -> Any:
        remote = self._workers.ray.remote(_Actor)
        actor = remote.options(**self._options).remote(*self._recipe)
        self._actors.append(actor)
        return actor

    def _start_if_needed(self) -> None:
        if self._idle.empty() and len(self._actors) < self.most:
            task = asyncio.create_task(self._wait_for(self._start()))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _wait_for(self, actor: Any) -> None:
        """Wait until the cluster has room for an actor, and let it have batches."""
        ready = asyncio.ensure_future(actor.ready.remote())
        if not (await asyncio.wait([ready], timeout=_PATIENCE))[0]:
            waits = f"an actor waits for room in the cluster ({self.needs})"
            say(f"{self.name}: {waits}; give fewer to others")
        await asyncio.wait([ready])
        ready.exception()  # a lost actor fails with its first batch
        self._give_back(actor, _AT_ONCE)

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
        self,
        place: str,
        module_folder: Path | None,
        settings: dict[str, Any],
        spec: dict[str, Any],
        folder: Path,
    ) -> None:
        """Take the recipe of a component.

        Args:
            place: the component's class, ``package.module:Class``.
            module_folder: the folder of a module that is not installed.
            spec: the component must have this one.
            folder: the start of relative paths in the settings, if the node has such a folder.
        """
        self._place = place
        self._module_folder = module_folder
        self._settings = settings
        self._spec = spec
        self._folder = folder
        self._workers = Workers()
        _remove_left(Path(tempfile.gettempdir()).glob(f"{FOLDERS}*"))

    @cached_property
    def _component(self) -> Component:
        name = f"{self._spec['provider']} on {socket.gethostname()}"
        remedy = "install there what is installed here"
        if self._folder.is_dir():
            os.chdir(self._folder)
        try:
            kind = import_place(self._place, self._module_folder)
            component: Component = kind.model_validate(self._settings)
        except (ConfigError, ValidationError) as error:
            message = shortened(str(error))
            raise ConfigError(f"{name} cannot be made ({message}); {remedy}") from None
        if component.spec != self._spec:
            differs = first_few([*map(str, changes(self._spec, component.spec))], 3)
            other = f"{name} is another component ({differs})"
            raise ConfigError(f"{other}; {remedy}, with the same weights")
        return component

    async def ready(self) -> None:
        """Answer when there is room for the actor."""

    async def make(self, work: Sequence[Any], media: dict[str, bytes]) -> list[Result]:
        """Make a batch: calls without their component, and the files behind them, by name."""
        prefix = f"{FOLDERS}{os.getpid()}-"
        with tempfile.TemporaryDirectory(prefix=prefix) as folder:
            for name, data in media.items():
                Path(folder, name).write_bytes(data)

            def here(medium: Medium) -> Medium:
                return replace(
                    medium, path=Path(folder, medium.sha256 + medium.path.suffix)
                )

            calls = [replace(call, component=self._component) for call in work]
            for number, call in enumerate(calls):
                if isinstance(call, Ask):
                    calls[number] = replace(
                        call, conversation=call.conversation.with_media(here)
                    )
            return await self._workers.make(calls)


def _remove_left(paths: Iterable[Path]) -> None:
    """Remove the folders that are named so, or hold a file named so, of processes that ended."""
    for path in paths:
        process = path.name.removeprefix(FOLDERS).partition("-")[0]
        with suppress(ValueError, PermissionError):  # it is alive, and of others
            try:
                os.kill(int(process), 0)
            except ProcessLookupError:
                folder = path if path.is_dir() else path.parent
                shutil.rmtree(folder, ignore_errors=True)


def _message(error: BaseException) -> str:
    return (
        shortened(str(error).strip().split("\n\tactor_id")[0]).strip()
        or type(error).__name__
    )
