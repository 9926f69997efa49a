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
import time
import traceback
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from pydantic import ValidationError

from driftledger.collect.batches import ContractError, LocalCalls, Workers, finished, say
from driftledger.collect.call import Ask, Call, Cost, Finished, Result
from driftledger.collect.settings import WorkerSettings
from driftledger.components.base import Component
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core import errors
from driftledger.core.errors import ConfigError, DriftledgerError, MissingExtraError
from driftledger.core.registry import import_place, is_place, place_of
from driftledger.core.strict import explain
from driftledger.core.text import changes, shortened
from driftledger.core.types import ImageFile

_ENVIRONMENT = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""Makes Ray bind a cluster to this machine alone; read when it is imported."""
_MOST_LOSSES = 5
"""Actors that may be lost over one batch, or in a row while they start."""
_PATIENCE = 5.0
"""Seconds that a component waits for its first actor before idle actors of others make room."""
_SILENCE = 30.0
"""Seconds that an actor waits for room in the cluster before a line says so."""
_CONNECTS = 10.0
"""Seconds that a cluster has to answer."""

Given: TypeAlias = tuple[Result, bytes | None, Cost]


class WorkersError(DriftledgerError):
    """The cluster cannot be used, or a batch takes down every actor."""


def import_ray(*, local: bool = False) -> Any:
    """Import Ray with its telemetry off.

    Args:
        local: whether clusters that this process starts are for this machine alone.

    Raises:
        MissingExtraError: it is not installed.
    """
    for name, value in (_ENVIRONMENT | _LOOPBACK if local else _ENVIRONMENT).items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtraError("the library 'ray' is not installed; run: pip install 'driftledger[ray]'") from None


class RayWorkers:
    """:class:`~driftledger.collect.batches.Workers` that make batches by actors."""

    def __init__(
        self, address: str | None, settings_of: Callable[[Component], WorkerSettings | None], rest: Workers
    ) -> None:
        """
        Args:
            address: of a cluster; None starts one on this machine that ends with this object.
            settings_of: a component's actors; None for a component that ``rest`` asks.
        """
        self._address = address
        self._settings_of = settings_of
        self._rest = rest
        self._crews: dict[str, _Crew | None] = {}
        self._ray: Any = None
        self._starter = ThreadPoolExecutor(1)  # lives as long as the cluster: Ray's processes end with this thread

    def _crew(self, component: Component) -> "_Crew | None":
        fingerprint = component.fingerprint
        if fingerprint not in self._crews:
            settings = self._settings_of(component)
            if settings is not None and self._ray is None:
                self._ray = self._starter.submit(self._connect).result()
            crew = None if settings is None else _Crew(self._ray, component, settings, self._make_room)
            self._crews[fingerprint] = crew
        return self._crews[fingerprint]

    def _connect(self) -> Any:
        ray = import_ray(local=self._address is None)
        local = {} if self._address else {"include_dashboard": False, "object_store_memory": 2**30}
        try:
            host, _, port = (self._address or "").removeprefix("ray://").rpartition(":")
            if host and port.isdecimal():  # Ray takes minutes, or the whole process, if nobody listens there
                socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTS).close()
            ray.init(address=self._address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
            place = f"the Ray cluster at {self._address or 'this machine'}"
            raise WorkersError(f"{place} cannot be used ({_message(error)}); start it or correct its address") from None
        return ray

    def _make_room(self, asking: "_Crew") -> None:
        """Kill the idle actors of all components but one."""
        for crew in self._crews.values():
            if crew is not None and crew is not asking:
                crew.kill_idle()

    def has_room(self, component: Component) -> bool:
        crew = self._crew(component)
        return self._rest.has_room(component) if crew is None else crew.batches < 2 * crew.most

    def make(self, calls: Sequence[Call], has_room: Callable[[], None]) -> Awaitable[list[Finished]]:
        crew = self._crew(calls[0].component)
        if crew is None:
            return self._rest.make(calls, has_room)
        crew.batches += 1
        return self._make(crew, calls, has_room)

    async def _make(self, crew: "_Crew", calls: Sequence[Call], has_room: Callable[[], None]) -> list[Finished]:
        try:
            given = await crew.make(calls)
        finally:
            crew.batches -= 1
            has_room()
        return [Finished(call.key, call.context, *each) for call, each in zip(calls, given, strict=True)]

    def expect(self, calls: Sequence[Call]) -> None:
        if self._crew(calls[0].component) is None:
            self._rest.expect(calls)

    async def release(self, component: Component) -> None:
        crew = self._crews.pop(component.fingerprint, None)
        if crew is None:
            await self._rest.release(component)
        else:
            crew.close()

    def replicas(self, component: Component) -> int | None:
        crew = self._crew(component)
        return None if crew is None else crew.started

    def close(self) -> None:
        for crew in self._crews.values():
            if crew is not None:
                crew.close()
        if self._ray is not None:
            self._starter.submit(self._ray.shutdown).result()
        self._starter.shutdown()
        self._rest.close()


class _Crew:
    """The actors of one component."""

    def __init__(
        self, ray: Any, component: Component, settings: WorkerSettings, make_room: "Callable[[_Crew], None]"
    ) -> None:
        self._ray = ray
        self._settings = settings
        self._make_room = make_room
        self._recipe = Recipe.of(component)
        self._devices = component.devices if isinstance(component, CheckpointComponent) else ()
        self.most = settings.replicas or len(self._devices) or 1
        self._idle: asyncio.Queue[Any] = asyncio.Queue()
        self._starting = set[asyncio.Task[None]]()
        self._actors: list[Any] = []
        self.started = 0
        self.batches = 0
        """That wait or are at work."""

    async def make(self, calls: Sequence[Call]) -> list[Given]:
        """Make a batch by an actor; if that is lost, by another one."""
        conversations = [call.conversation for call in calls if isinstance(call, Ask)]
        parts = [part for each in conversations for turn in each.turns for part in turn.parts]
        images = {part.sha256: part.path.read_bytes() for part in parts if isinstance(part, ImageFile)}
        work = [replace(call, component=None) for call in calls]  # type: ignore[arg-type]  # the actor has its own
        for _ in range(_MOST_LOSSES):
            self._start_if_needed()
            actor = await self._idle.get()
            if isinstance(actor, Exception):
                self._idle.put_nowait(actor)  # everybody who waits for an actor gets it
                raise actor
            try:
                given: list[Given] | Exception = await asyncio.wrap_future(actor.make.remote(work, images).future())
            except self._ray.exceptions.RayError as error:
                message = _message(error)
                say(f"{self._recipe.name}: an actor was lost ({message}); another starts")
                self._drop(actor)
                continue
            self._idle.put_nowait(actor)
            if isinstance(given, Exception):
                raise given
            return given
        self._start_if_needed()  # for batches that wait
        first = f"{calls[0].context.dataset}/{calls[0].context.sample}"
        raise WorkersError(
            f"{self._recipe.name}: {_MOST_LOSSES} actors were lost over the batch of {len(calls)} calls that begins "
            f"with {first} ({message}); see whether it fits into memory, or take a smaller batch_size"
        )

    def _start_if_needed(self) -> None:
        if self._idle.empty() and self.started + len(self._starting) < self.most:
            task = asyncio.create_task(self._start())
            self._starting.add(task)
            task.add_done_callback(self._starting.discard)

    async def _start(self) -> None:
        try:
            for _ in range(_MOST_LOSSES):
                try:
                    return await self._launch()
                except self._ray.exceptions.RayError as error:
                    message = _message(error)
            raise WorkersError(f"{self._recipe.name}: {_MOST_LOSSES} actors in a row did not start ({message})")
        except Exception as error:
            self._idle.put_nowait(error)

    async def _launch(self) -> None:
        """Start an actor, and wait until the cluster has room for it."""
        gpus = self._settings.num_gpus
        if gpus is None:
            gpus = float(self._recipe.spec["identity"].get("device") == "cuda")
        amounts = {"num_gpus": gpus, "num_cpus": self._settings.num_cpus}
        options = {"max_restarts": 0, "max_task_retries": 0, "resources": self._settings.resources}
        recipe = self._recipe
        if self._devices:  # Ray shows an actor its own GPUs alone; the device is not part of the fingerprint
            settings = recipe.settings | {"device": self._devices[0].partition(":")[0]}
            recipe = recipe._replace(settings=settings)
        actor = self._ray.remote(_Actor).options(**amounts, **options).remote(recipe)
        self._actors.append(actor)
        ready, began, silent = asyncio.wrap_future(actor.ready.remote().future()), time.monotonic(), True
        while not (await asyncio.wait([ready], timeout=_PATIENCE))[0]:
            if not self.started:
                self._make_room(self)
            if silent and time.monotonic() - began > _SILENCE:
                silent, wants = False, (amounts | self._settings.resources).items()
                needs = ", ".join(f"{name}: {amount:g}" for name, amount in wants)
                say(f"{recipe.name}: an actor waits for room in the cluster ({needs})")
        ready.result()
        self.started += 1
        self._idle.put_nowait(actor)

    def _drop(self, actor: Any) -> None:
        self._ray.kill(actor)  # one that cannot be reached may still be at work
        self._actors.remove(actor)
        self.started -= 1

    def kill_idle(self) -> None:
        """Kill idle actors, so that others have their room; later batches start new ones."""
        while not self.batches and not self._idle.empty():
            actor = self._idle.get_nowait()
            if not isinstance(actor, Exception):
                self._drop(actor)

    def close(self) -> None:
        """Kill all actors, also those at work."""
        for task in self._starting:
            task.cancel()
        for actor in self._actors:
            with suppress(self._ray.exceptions.RayError):
                self._ray.kill(actor)
        self._actors.clear()


class Recipe(NamedTuple):
    """How an actor makes its component, and what must come of it."""

    place: str
    """The class: its module and its name, joined by a colon."""
    beside: str | None
    """The folder of a module that is not installed; None for an installed one."""
    settings: dict[str, Any]
    fingerprint: str
    spec: dict[str, Any]
    folder: str
    """Where relative paths in the settings start from, if the node has such a folder."""

    @classmethod
    def of(cls, component: Component) -> "Recipe":
        """Describe a component of this process."""
        kind, beside = type(component), None
        if is_place(component.provider):
            file = getattr(sys.modules[kind.__module__.partition(".")[0]], "__file__", None)
            if file is not None:
                folder = Path(file).absolute().parent
                beside = str(folder.parent if Path(file).stem == "__init__" else folder)
        settings = component.model_dump(mode="json")
        return cls(place_of(kind), beside, settings, component.fingerprint, component.spec, str(Path.cwd()))

    @property
    def name(self) -> str:
        """For people: the provider and the beginning of the fingerprint."""
        return f"{self.spec['provider']} ({self.fingerprint[:12]})"

    def make(self) -> Component:
        """Make the component.

        Raises:
            ConfigError: it cannot be made, or is another one here.
        """
        where, remedy = f"{self.name} on {socket.gethostname()}", "install there what is installed here"
        try:
            beside = None if self.beside is None else Path(self.beside)
            component: Component = import_place(self.place, beside).model_validate(self.settings)
        except ConfigError as error:
            raise ConfigError(f"{where} cannot be made ({error}); {remedy}") from None
        except ValidationError as error:
            raise ConfigError(f"{explain(error, where)}; {remedy}") from None
        if component.fingerprint != self.fingerprint:
            apart = list(changes(self.spec, component.spec))[:3]
            differs = "; ".join(f"{each.key} is {each.new!r:.80}, not {each.old!r:.80}" for each in apart) or "its spec"
            another = f"{where} is another component, {component.fingerprint[:12]} ({differs})"
            raise ConfigError(f"{another}; {remedy}, with the same weights")
        return component


class _Actor:
    """One replica of a component, in a process that Ray started."""

    def __init__(self, recipe: Recipe) -> None:
        self._recipe = recipe
        self._local = LocalCalls()

    @cached_property
    def _component(self) -> Component:
        if Path(self._recipe.folder).is_dir():
            os.chdir(self._recipe.folder)
        return self._recipe.make()

    def ready(self) -> None:
        """Answers when there is room for the actor."""

    def make(self, work: Sequence[Any], images: Mapping[str, bytes]) -> list[Given] | Exception:
        """Make a batch: calls without their component, and the bytes of their images by hash.

        An error that every call would meet is returned, so that Ray does not take it for the loss of the actor.
        """
        try:
            with tempfile.TemporaryDirectory(prefix="driftledger-actor-") as folder:
                files = {digest: ImageFile(Path(folder, f"{digest}.png"), digest) for digest in images}
                for digest, data in images.items():
                    files[digest].path.write_bytes(data)
                calls = [self._call(each, files) for each in work]
                answers = self._local.make(calls)
                return [finished(*pair)[2:] for pair in zip(calls, answers, strict=True)]
        except (MemoryError, ContractError) as error:
            return type(error)(str(error))
        except DriftledgerError as error:
            kind: type[Exception] = getattr(errors, type(error).__name__, DriftledgerError)  # which the driver knows
            return ConfigError(str(error)) if issubclass(kind, ConfigError) else kind(str(error))
        except Exception as error:
            return RuntimeError("".join(traceback.format_exception(error)))

    def _call(self, work: Any, files: Mapping[str, ImageFile]) -> Call:
        if not isinstance(work, Ask):
            return replace(work, component=self._component)  # type: ignore[no-any-return]
        turns = (
            replace(turn, parts=tuple(part if isinstance(part, str) else files[part.sha256] for part in turn.parts))
            for turn in work.conversation.turns
        )
        conversation = replace(work.conversation, turns=tuple(turns))
        return replace(work, component=self._component, conversation=conversation)  # type: ignore[arg-type]


def _message(error: BaseException) -> str:
    return shortened(str(error).strip().split("\n\tactor_id")[0]).strip() or type(error).__name__
