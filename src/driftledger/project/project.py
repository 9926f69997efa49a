"""A checkout: its settings, its folders, and its components as DVC has seen them."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

from filelock import FileLock, Timeout

from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.selection import Selected
from driftledger.collect.features import FeatureStore
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import MissingExtraError, MissingSourceError, StoreError
from driftledger.core.files import load_json
from driftledger.core.paths import Combination, Paths, main_checkout
from driftledger.core.types import Sample
from driftledger.data.records import read_samples
from driftledger.project.settings import PARAMS, Settings, load_settings

STORE = "DRIFTLEDGER_STORE"
"""Where the user names a folder for finished calls, whatever a project says."""


@dataclass(frozen=True)
class Project:
    """A checkout: its settings and its folders."""

    root: Path
    asks: bool = True
    """Whether components are called. Where calls are only counted, one that is not on this machine will do."""
    waits: bool = True
    """Whether to wait while another process uses the call store."""
    own_code: bool = False
    """Whether ``params.yaml`` may name classes of the checkout's own: importing them runs code that a stranger may have
    written, which nobody allows who only reads what is here."""

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self.root / PARAMS, own_code=self.own_code)

    @property
    def paths(self) -> Paths:
        return Paths(self.root)

    @property
    def combinations(self) -> list[Combination]:
        """Every selected combination, in the order of ``run:``."""
        run = self.settings.run
        return [Combination(m, g, e) for m in run.models for g in run.generators for e in run.encoders]

    @cached_property
    def selected(self) -> Selected:
        """Every score that ``params.yaml`` selects."""
        return Selected([(spec, keys) for spec in benchmarks() for keys in self.settings.keys_of(spec)])

    def model(self, name: str) -> Model:
        """Return the model of that name, as ``resolve`` noted it.

        Raises:
            StoreError: it has changed since.
            MissingSourceError, MissingExtraError: it is not on this machine, unless its calls are only counted.
        """
        return cast(Model, self._as_resolved("models", name))

    def judge(self) -> Model:
        """Return the judge; errors as in :meth:`model`."""
        return self.model(self.settings.judge)

    def generator(self, name: str) -> Generator:
        """Return the generator of that name; errors as in :meth:`model`."""
        return cast(Generator, self._as_resolved("generators", name))

    def encoder(self, name: str) -> Encoder:
        """Return the encoder of that name; errors as in :meth:`model`."""
        return cast(Encoder, self._as_resolved("encoders", name))

    def built_samples(self, dataset: str) -> list[Sample]:
        """Return the samples of a dataset.

        Raises:
            StoreError: its stage has not run.
        """
        folder = self.paths.dataset(dataset)
        if not folder.is_dir():
            raise StoreError(
                f"dataset {dataset} is not built yet; run 'dvc repro data', which asks no model, or 'dvc pull'"
            )
        return read_samples(folder)

    def made(self, kind: str, name: str) -> Component | None:
        """Return a ``model`` or a ``generator`` that was made here before; None if nothing has needed it."""
        return self._components.get((f"{kind}s", name))

    def _as_resolved(self, section: str, name: str) -> Component:
        """Return a component, each made once so that a checkpoint is loaded once: also where two entries say the same,
        as of a unified model that describes and draws."""
        if (section, name) not in self._components:
            component = cast(Component, self.settings.build(section, name))
            noted = self.noted().get(section, {}).get(name)
            try:
                if noted not in (None, component.fingerprint):  # a weight file or a branch has moved
                    raise StoreError(f"{section}.{name} has changed since it was resolved; run 'dvc repro' again")
            except (MissingSourceError, MissingExtraError) as error:
                if isinstance(noted, str) and not self.asks:  # counting calls does not need it
                    component.__dict__.update(fingerprint=noted, spec={})  # where cached properties are kept
                elif isinstance(error, MissingSourceError):
                    raise MissingSourceError(f"{section}.{name} is needed: {error}", error.place) from None
                else:
                    raise MissingExtraError(f"{section}.{name} is needed: {error}") from None
            same = (each for each in self._components.values() if each == component)
            self._components[section, name] = next(same, component)
        return self._components[section, name]

    @cached_property
    def _components(self) -> dict[tuple[str, str], Component]:
        return {}

    @cached_property
    def state(self) -> Path:
        """Where finished calls and features are kept, by every checkout of the repository: what the user names, or
        ``store`` in ``params.yaml``, from the main checkout on. Not for commands that read what others made."""
        named = os.environ.get(STORE) or self.settings.store
        return main_checkout(self.root) / Path(named).expanduser() if named else self.paths.shared

    def noted(self) -> dict[str, Any]:
        """Read ``data/resolved.json``; empty if it is missing or damaged."""
        try:
            noted = load_json(self.paths.resolved.read_bytes())
        except (FileNotFoundError, ValueError):
            return {}
        return noted if isinstance(noted, dict) else {}

    def store(self, *, writes: bool = True) -> CallStore:
        """The call store; errors as of :class:`CallStore`."""
        return CallStore(self.state, writes=writes, wait=self.waits)

    def features(self) -> FeatureStore:
        return FeatureStore(self.state / "features")

    @contextmanager
    def only_one(self, target: Path) -> Iterator[None]:
        """Hold the lock on an output: a killed ``dvc`` may have left a child that is still writing it."""
        name = str(target.relative_to(self.root)).replace("/", "+")
        locks = self.paths.state / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{name}.lock")
        try:
            held = lock.acquire(timeout=0)
        except Timeout:
            print(f"another process is writing {target.relative_to(self.root)}; waiting for it", flush=True)
            held = lock.acquire()
        with held:
            yield
