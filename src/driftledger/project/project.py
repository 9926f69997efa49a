"""A checkout: its settings, its folders, and its components as DVC has seen them."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar, cast

from filelock import FileLock, Timeout

from driftledger.benchmarks.registry import benchmarks
from driftledger.benchmarks.selection import Selected
from driftledger.collect.features import FeatureStore
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import MissingExtraError, MissingSourceError, StoreError
from driftledger.core.files import load_json, read_json
from driftledger.core.paths import Combination, Paths, main_checkout
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard, read_samples
from driftledger.project.settings import PARAMS, Settings, load_settings

C = TypeVar("C", bound=Component)

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
        """The model of that name, as ``resolve`` found it.

        Raises:
            StoreError: it has changed since.
        """
        return self._as_resolved("models", name, self.settings.model)

    def judge(self) -> Model:
        """The judge, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("judge", self.settings.judge, self.settings.model)

    def generator(self, name: str) -> Generator:
        """The generator of that name, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("generators", name, self.settings.generator)

    def encoder(self, name: str) -> Encoder:
        """The encoder of that name, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("encoders", name, self.settings.encoder)

    def built_samples(self, dataset: str) -> list[Sample]:
        """The samples of a dataset.

        Raises:
            StoreError: its stage has not run.
        """
        folder = self.paths.dataset(dataset)
        if not folder.is_dir():
            raise StoreError(
                f"dataset {dataset} is not built yet; run 'dvc repro data', which asks no model, or 'dvc pull'"
            )
        return read_samples(folder)

    def dataset_card(self, dataset: str) -> DatasetCard:
        """What a dataset that is built says about itself."""
        return read_json(self.paths.dataset(dataset) / "dataset.json", DatasetCard)

    def made(self, kind: str, name: str) -> Component | None:
        """Return a ``model`` (or judge) or a ``generator`` that was made here before; None if nothing has needed it."""
        sections = ("models", "judge") if kind == "model" else (f"{kind}s",)
        return next((self._components[key] for s in sections if (key := (s, name)) in self._components), None)

    def _as_resolved(self, section: str, name: str, make: Callable[[str], C]) -> C:
        """The component, unless a weight file or a branch has moved since DVC decided what to run; each is made once,
        so that a checkpoint is loaded once."""
        if (section, name) not in self._components:
            component = make(name)
            try:
                self.check_resolved(section, name, component.fingerprint)
            except (MissingSourceError, MissingExtraError) as error:
                self._know_as_noted(section, name, component, error)
            self._components[section, name] = self._one_of(component)
        return cast(C, self._components[section, name])

    def _one_of(self, component: Component) -> Component:
        """The one that is here already, where another entry says the same: a unified model describes and draws with
        weights that are loaded once."""
        return next((each for each in self._components.values() if each == component), component)

    def _know_as_noted(
        self, section: str, name: str, component: Component, error: MissingSourceError | MissingExtraError
    ) -> None:
        """Let calls of a component that is not here be counted; errors where they would be made."""
        noted = self.noted().get(section, {})
        kept = noted.get(name) if isinstance(noted, dict) else noted
        if isinstance(kept, str) and not self.asks:
            component.__dict__.update(fingerprint=kept, spec={})  # where cached properties are kept
        elif isinstance(error, MissingSourceError):
            raise MissingSourceError(f"{section}.{name} is needed: {error}", error.place)
        else:
            raise MissingExtraError(f"{section}.{name} is needed: {error}")

    @cached_property
    def _components(self) -> dict[tuple[str, str], Component]:
        return {}

    def check_resolved(self, section: str, name: str, fingerprint: str) -> None:
        """Refuse what is not what ``resolve`` noted under this name.

        Raises:
            StoreError: it has changed since.
        """
        found = self.noted().get(section, {})
        expected = found.get(name, fingerprint) if isinstance(found, dict) else found
        if fingerprint != expected:
            raise StoreError(f"{section}.{name} has changed since it was resolved; run 'dvc repro' again")

    @cached_property
    def state(self) -> Path:
        """Where finished calls and features are kept, by every checkout of the repository: what the user names, or
        ``store`` in ``params.yaml``, from the main checkout on. Not for commands that read what others made."""
        named = os.environ.get(STORE) or self.settings.store
        return main_checkout(self.root) / Path(named).expanduser() if named else self.paths.shared

    def noted(self) -> dict[str, Any]:
        """What ``data/resolved.json`` holds; nothing where it is missing or damaged."""
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
