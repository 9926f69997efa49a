"""Replicas as actors of a Ray cluster, wherever it has room for them.

No code is shipped: an actor imports what is installed on its node, and a component that is another one there is
refused. Ray restarts nothing by itself: who asks a batch again, and how often, is the business of
:mod:`~driftledger.collect.workers.replicas`.
"""

import os
import secrets
import shutil
import socket
import sys
import tempfile
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]  # of DVC's
from filelock import FileLock, Timeout

from driftledger.collect.workers.replicas import Replica, ReplicaLostError, WorkersError
from driftledger.collect.workers.settings import WorkerSettings
from driftledger.collect.workers.work import Bench, Made, Recipe, Work, images_of, with_images
from driftledger.core.errors import MissingExtraError
from driftledger.core.escaping import for_line
from driftledger.core.types import ImageFile

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
_LOOPBACK = {"RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
"""What makes Ray bind a cluster to this machine alone; it reads it as it is imported."""

_MOST_REFERENCES = 256 * 2**20
"""Bytes of images that are kept in the object store, beside those of batches at work."""

_MOST_IMAGES = 4096
"""Images that a replica keeps on its disk."""

_PREFIX = "driftledger-replica-"
"""Of the folders that hold them."""

_CONNECTS = 10.0
"""Seconds that a cluster has to answer."""

_GOODBYE = 5.0
"""Seconds that an idle replica is given to end by itself."""

_UNTOLD = 30.0
"""Seconds that a replica waits for room in the cluster before somebody is told."""


def import_ray(*, local: bool = False) -> Any:
    """Ray, which is told to be quiet as it is imported.

    Args:
        local: whether the clusters that this process starts are for this machine alone.

    Raises:
        MissingExtraError: it is not installed.
    """
    for name, value in (_QUIET | _LOOPBACK if local else _QUIET).items():
        os.environ.setdefault(name, value)
    try:
        return import_module("ray")
    except ModuleNotFoundError as error:
        if error.name != "ray":
            raise
        raise MissingExtraError("the library 'ray' is not installed; run: pip install 'driftledger[ray]'") from None


class RayActors:
    """Launches an actor per replica in the cluster at ``address``, or in one that lives as long as this launcher."""

    def __init__(self, address: str | None) -> None:
        self._address = address
        self._ray: Any = None
        self._connecting = threading.Lock()
        self._images: OrderedDict[str, tuple[Any, int]] = OrderedDict()  # references by SHA-256, the oldest first
        self._putting = threading.Lock()

    def start(self, recipe: Recipe, settings: WorkerSettings, given_up: Callable[[], bool]) -> Replica | None:
        ray = self._ray
        needs_gpu = recipe.spec["identity"].get("device") == "cuda"
        gpus = float(needs_gpu) if settings.num_gpus is None else settings.num_gpus
        amounts = {"num_gpus": gpus, "num_cpus": settings.num_cpus}
        remote = ray.remote(_Actor).options(**amounts, resources=settings.resources, max_restarts=0, max_task_retries=0)
        device = recipe.settings.get("device")
        actor = remote.remote(recipe.on(device and device.partition(":")[0]))  # Ray shows it its own GPUs alone
        wants = ", ".join(f"{name}: {amount:g}" for name, amount in (amounts | settings.resources).items())
        return _OnRay(ray, actor, self._put) if self._is_there(actor, recipe.name, wants, given_up) else None

    def _is_there(self, actor: Any, name: str, wants: str, given_up: Callable[[], bool]) -> bool:
        """Wait until an actor runs; False, and no actor, once nobody waits for it."""
        ray, ready, started, told = self._ray, actor.ready.remote(), time.monotonic(), False
        while not given_up():
            try:
                if ray.wait([ready], timeout=0.5)[0]:
                    ray.get(ready)
                    return True
            except ray.exceptions.RayError as error:
                raise ReplicaLostError(_said(error)) from error
            if not told and time.monotonic() - started > _UNTOLD:
                told = True
                print(
                    f"{name}: a replica waits for room in the cluster ({wants}; it has {_amounts(ray)})",
                    file=sys.stderr,
                    flush=True,
                )
        ray.kill(actor)
        return False

    def open(self) -> None:
        with self._connecting:
            if self._ray is None:
                self._ray = self._connect()

    def _connect(self) -> Any:
        ray = import_ray(local=self._address is None)
        local = {} if self._address else {"include_dashboard": False, "object_store_memory": 2**30}
        try:
            _check_reachable(self._address)
            ray.init(address=self._address or "local", log_to_driver=False, logging_level="ERROR", **local)
        except (ray.exceptions.RayError, OSError, RuntimeError, ValueError) as error:
            raise WorkersError(
                f"the Ray cluster at {self._address or 'this machine'} cannot be used ({_said(error)}); start it, or "
                "mend its address"
            ) from None
        ray._private.worker._worker_logs_enabled = False  # a lost actor's last words; who replaces it says so
        return ray

    def _put(self, image: ImageFile) -> Any:
        """A reference to an image's bytes in the object store, where they are put once."""
        with self._putting:
            if image.sha256 not in self._images:
                data = image.path.read_bytes()
                self._images[image.sha256] = self._ray.put(data), len(data)
            self._images.move_to_end(image.sha256)
            reference = self._images[image.sha256][0]
            while sum(size for _, size in self._images.values()) > _MOST_REFERENCES and len(self._images) > 1:
                self._images.popitem(last=False)
        return reference

    def close(self) -> None:
        with self._connecting, self._putting:
            self._images.clear()
            if self._ray is not None:
                helpers = [] if self._address else _helpers(self._ray)
                self._ray.shutdown()
                self._ray = None
                for process in helpers:
                    with suppress(psutil.NoSuchProcess):
                        process.kill()


def _helpers(ray: Any) -> list[psutil.Process]:
    """What the node on this machine has started, which Ray leaves running for a minute after the node has ended."""
    started = ray._private.worker._global_node.all_processes.get("raylet", ())
    with suppress(psutil.NoSuchProcess):
        return [below for each in started for below in psutil.Process(each.process.pid).children(recursive=True)]
    return []


def _check_reachable(address: str | None) -> None:
    """Ask for somebody at a host and port, since Ray takes minutes, or the whole process, where there is nobody.

    Raises:
        OSError: nobody listens there.
    """
    host, _, port = (address or "").removeprefix("ray://").rpartition(":")
    if host and port.isdecimal():
        socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECTS).close()


class _OnRay:
    def __init__(self, ray: Any, actor: Any, put: Callable[[ImageFile], Any]) -> None:
        self._ray = ray
        self._actor = actor
        self._put = put
        self._busy = False

    def make(self, work: Work) -> Made:
        self._busy = True
        try:
            references = {digest: self._put(image) for digest, image in images_of(work).items()}
            made: Made = self._ray.get(self._actor.make.remote(work, references))
        except self._ray.exceptions.RayError as error:
            self.stop()  # one that cannot be reached may be at it still
            raise ReplicaLostError(_said(error)) from error
        self._busy = False
        return made

    def stop(self) -> None:
        if not self._ray.is_initialized():
            return
        if not self._busy:
            with suppress(self._ray.exceptions.RayError):
                self._ray.get(self._actor.leave.remote(), timeout=_GOODBYE)
        self._ray.kill(self._actor)


class _Actor:
    """One replica, in a process that Ray started."""

    def __init__(self, recipe: Recipe) -> None:
        self._bench = Bench(recipe)
        self._images = _Images()

    def ready(self) -> None:
        """Answers once there is room for the actor."""

    def leave(self) -> None:
        """Leave nothing behind."""
        self._images.close()

    def make(self, work: Work, references: Mapping[str, Any]) -> Made:
        images = self._images.of(references)
        return self._bench.make(with_images(work, lambda image: images[image.sha256]))


class _Images:
    """Images that have come over the object store, each as a file."""

    def __init__(self) -> None:
        _sweep()
        self._folder = Path(tempfile.gettempdir(), f"{_PREFIX}{secrets.token_hex(8)}")
        self._lock = FileLock(self._folder.with_suffix(".lock"))
        self._lock.acquire()
        self._folder.mkdir(mode=0o700)
        self._files: OrderedDict[str, ImageFile] = OrderedDict()

    def close(self) -> None:
        shutil.rmtree(self._folder)
        Path(self._lock.lock_file).unlink()
        self._lock.release()

    def of(self, references: Mapping[str, Any]) -> dict[str, ImageFile]:
        """The files of a batch; bytes are fetched for those that are not here yet."""
        missing = [digest for digest in references if digest not in self._files]
        fetched = import_ray().get([references[digest] for digest in missing])
        for digest, data in zip(missing, fetched, strict=True):
            path = self._folder / f"{digest}.png"
            path.write_bytes(data)
            self._files[digest] = ImageFile(path, digest)
        for digest in references:
            self._files.move_to_end(digest)
        found = {digest: self._files[digest] for digest in references}
        while len(self._files) > max(_MOST_IMAGES, len(references)):
            self._files.popitem(last=False)[1].path.unlink()
        return found


def _sweep() -> None:
    """Remove what replicas that were killed have left on this machine: the kernel frees their locks."""
    for folder in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/"):
        with suppress(Timeout, OSError), FileLock(folder.with_suffix(".lock"), timeout=0) as lock:
            shutil.rmtree(folder)
            Path(lock.lock_file).unlink()


def _said(error: BaseException) -> str:
    return for_line(str(error).strip().split("\n\tactor_id")[0]).strip() or type(error).__name__


def _amounts(ray: Any) -> str:
    kinds = {"GPU": "num_gpus", "CPU": "num_cpus"}
    there = ray.cluster_resources()
    return ", ".join(f"{shown}: {there.get(name, 0):g}" for name, shown in kinds.items())
