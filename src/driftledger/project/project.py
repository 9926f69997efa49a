"""A checkout: its settings, its folders, and its components as DVC has seen them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from driftledger.collect.call_store import CallStore
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.errors import StoreError
from driftledger.core.files import read_json
from driftledger.core.paths import Combination, Layout, dataset_stage
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard, read_samples
from driftledger.ledger.lineage import Selected
from driftledger.project.settings import PARAMS, Settings, load_settings

C = TypeVar("C", bound=Component)


@dataclass(frozen=True)
class Project:
    """A checkout: its settings and its folders."""

    root: Path

    @cached_property
    def settings(self) -> Settings:
        return load_settings(self.root / PARAMS)

    @property
    def layout(self) -> Layout:
        return Layout(self.root)

    @property
    def combinations(self) -> list[Combination]:
        """Every selected combination, in the order of ``run:``."""
        run = self.settings.run
        return [Combination(m, g, e) for m in run.models for g in run.generators for e in run.encoders]

    @property
    def selected(self) -> Selected:
        """What every combination is evaluated on."""
        run = self.settings.run
        return Selected(
            genception=run.genception,
            trac=run.trac,
            descriptions=run.descriptions,
            text_encoders=run.text_encoders,
            fidelity=run.fidelity,
            question_sets=run.question_sets,
        )

    def model(self, name: str) -> Model:
        """The model of that name, as ``resolve`` found it.

        Raises:
            StoreError: it has changed since.
        """
        return self._as_resolved("models", name, self.settings.model(name))

    def judge(self) -> Model:
        """The judge, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("judge", "", self.settings.model(self.settings.run.judge))

    def generator(self, name: str) -> Generator:
        """The generator of that name, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("generators", name, self.settings.generator(name))

    def encoder(self, name: str) -> Encoder:
        """The encoder of that name, as ``resolve`` found it; errors as in :meth:`model`."""
        return self._as_resolved("encoders", name, self.settings.encoder(name))

    def built_samples(self, dataset: str) -> list[Sample]:
        """The samples of a dataset.

        Raises:
            StoreError: its stage has not run.
        """
        folder = self.layout.dataset(dataset)
        if not folder.is_dir():
            raise StoreError(
                f"dataset {dataset} is not built yet; run 'dvc repro {dataset_stage(dataset)}', which asks no model"
            )
        return read_samples(folder)

    def dataset_card(self, dataset: str) -> DatasetCard:
        """What a dataset that is built says about itself."""
        return read_json(self.layout.dataset(dataset) / "dataset.json", DatasetCard)

    def _as_resolved(self, section: str, name: str, component: C) -> C:
        """The component, unless a weight file or a branch has moved since DVC decided what to run."""
        self.check_resolved(section, name, component.fingerprint)
        return component

    def check_resolved(self, section: str, name: str, fingerprint: str) -> None:
        """Refuse what is not what ``resolve`` noted under this name.

        Raises:
            StoreError: it has changed since.
        """
        noted = json.loads(self.layout.resolved.read_bytes()) if self.layout.resolved.is_file() else {}
        found = noted.get(section, {})
        expected = found.get(name, fingerprint) if isinstance(found, dict) else found
        if fingerprint != expected:
            raise StoreError(f"{section}.{name} has changed since it was resolved; run 'dvc repro' again")

    def store(self) -> CallStore:
        return CallStore(self.layout.state)

    def features(self) -> FeatureStore:
        return FeatureStore(self.layout.state / "features")

    @contextmanager
    def only_one(self, target: Path) -> Iterator[None]:
        """Hold the lock on an output: a killed ``dvc`` may have left a child that is still writing it."""
        name = str(target.relative_to(self.root)).replace("/", "+")
        locks = self.layout.state / "locks"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            print(f"another process is writing {target.relative_to(self.root)}; waiting for it", flush=True)
            lock.acquire()
        try:
            yield
        finally:
            lock.release()
