"""A checkout: settings, folders, components."""

import os
from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from driftledger.benchmarks.base.benchmark import (
    Benchmark,
    Collecting,
    Scoring,
    Selected,
)
from driftledger.benchmarks.base.descriptions import check_prefix
from driftledger.benchmarks.base.stage import Stage
from driftledger.benchmarks.registry import benchmarks
from driftledger.collect.features import FeatureStore
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Model
from driftledger.core.canonical import Json
from driftledger.core.errors import ConfigError, MissingSourceError, StoreError
from driftledger.core.files import LARGEST_JSON, load_json, read_regular
from driftledger.core.paths import STATE, Keys, main_checkout
from driftledger.project.settings import PARAMS, Settings, load_settings
from driftledger.scoring.roles import ROLES, SECTIONS

LOCK = "dvc.lock"
RESOLVED = "data/resolved.json"
"""The current version of each selected name, and a digest of what each stage depends on."""
NOTED_SETTINGS = "data/settings.json"
"""The settings and versions behind each digest of ``data/resolved.json``. No stage depends on the
whole file, which DVC would copy into ``dvc.lock``."""
STORE = "DRIFTLEDGER_STORE"
"""The environment variable with the folder for finished calls; it overrides ``store:``."""


class Combination(NamedTuple):
    """The model, generator and encoder of a run; a name is empty if no score has one."""

    model: str
    generator: str
    encoder: str

    def __str__(self) -> str:
        return " · ".join(filter(None, self))

    @property
    def path(self) -> str:
        """The name of the run in commands: ``model/generator/encoder``."""
        return "/".join(filter(None, self))

    def shows(self, keys: Keys) -> bool:
        """Return True if a score with these keys belongs to the run."""
        return all(
            keys.get(role, name) == name for role, name in self._asdict().items()
        )


@dataclass(frozen=True)
class Project:
    """A checkout: its settings and its folders."""

    root: Path
    asks: bool = True
    """Whether components are called. If calls are only counted, a component may be missing on this
    machine."""
    waits: bool = True
    """Whether to wait while another process uses the call store."""
    own_code: bool = False
    """Whether classes of the checkout may be imported. That runs code which a stranger may have
    written, so commands that only read do not allow it."""
    given: Settings | None = None
    """Settings passed from Python, in place of ``params.yaml``."""
    resolved: Json | None = None
    """What ``resolve`` would write now; None to read what it wrote last."""
    unchanged: Collection[str] = ()
    """Outputs of stages that are known to be unchanged, so that they need not be read."""
    components: dict[tuple[str, str], Component] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    """Components that were needed so far, by section and name."""

    @cached_property
    def settings(self) -> Settings:
        return self.given or load_settings(self.root / PARAMS, own_code=self.own_code)

    @property
    def combinations(self) -> list[Combination]:
        """Every selected combination that scores use, in the order of ``run:``."""
        run = self.settings.run
        used = set[str]()
        for _, keys in self.selected:
            used.update(keys)
        generators = run.generators if "generator" in used else [""]
        encoders = run.encoders if "encoder" in used else [""]
        return [
            Combination(*names) for names in product(run.models, generators, encoders)
        ]

    @cached_property
    def selected(self) -> Selected:
        """Every score that ``params.yaml`` selects."""
        return [
            (spec, keys)
            for spec in benchmarks()
            for keys in self.settings.keys_of(spec)
        ]

    def component(self, section: str, name: str) -> Any:
        """Return the model, generator or encoder of that name, as ``resolve`` noted it.

        Each is made once, so that a checkpoint is loaded once: also where two entries say the same,
        as of a unified model that describes and draws.

        Raises:
            StoreError: it has changed since.
            ConfigError: it is not on this machine, unless its calls are only counted.
        """
        if (section, name) not in self.components:
            component: Component = self.settings.build(section, name)
            # where cached properties are kept
            component.__dict__["entry_name"] = f"{section}.{name}"
            noted = self.noted().get(section, {}).get(name)
            try:
                # a weight file or a branch has moved
                if noted not in (None, component.fingerprint):
                    raise StoreError(
                        f"{section}.{name} has changed since it was resolved; run 'dvc repro' again"
                    )
            except ConfigError as error:
                if (
                    isinstance(noted, str) and not self.asks
                ):  # counting calls does not need it
                    component.__dict__.update(fingerprint=noted, spec={})
                else:
                    raise type(error)(f"{section}.{name} is needed: {error}") from None
            same = (other for other in self.components.values() if other == component)
            self.components[section, name] = next(same, component)
        return self.components[section, name]

    def asked(self, spec: Benchmark, keys: Keys) -> dict[str, str]:
        """Return the components that a folder of records asks for replies, by role.

        A model that describes examples is not among them.
        """
        names = {role: keys[role] for role in ("model", "generator") if role in keys}
        if spec.collects.judged and self.settings.judge:
            names["judge"] = self.settings.judge
        return names

    def collecting(self, spec: Benchmark, keys: Keys) -> Collecting:
        """Return what a folder of records is made from, with every name looked up.

        Raises:
            StoreError: the data are not built, or a component has changed since it was resolved.
            ConfigError: a component is not on this machine, or cannot do what is asked of it.
            DataError: the benchmark cannot ask about this dataset.
        """
        section = self.settings.section(spec.name)
        names = self.asked(spec, keys)
        description = None
        way = keys.get("description") or getattr(section, "description", None)
        if way is not None:
            description = self.settings.description(way)
            if shots := description.demonstrations:
                examples = {"example_encoder": shots.encoder, "example_model": shots.by}
                names |= {role: name for role, name in examples.items() if name}
        components = {}
        for role, name in names.items():
            component = self.component(SECTIONS[ROLES[role]], name)
            if description is not None and isinstance(component, Model):
                check_prefix(description.prefix, name, component)
            components[role] = name, component
        kind = spec.data.name
        folder = self.root / spec.data.at(keys)
        if not folder.is_dir():
            raise StoreError(
                f"{kind.replace('_', ' ')} {keys[kind]} is not built yet; run 'dvc repro data', "
                "which asks no model, or 'dvc pull'"
            )
        collecting = Collecting(
            spec=spec,
            keys=keys,
            data=folder,
            components=components,
            section=section,
            seed=self.settings.run.seed,
            description=description,
        )
        return replace(collecting, protocol=spec.protocol(collecting))

    def noted_of(self, stage: Stage, keys: Keys) -> Json:
        """Return what ``resolve`` noted of a folder of a stage; empty if nothing."""
        kind = stage.lock(keys).partition("@")[0]
        digest = self.noted().get(kind, {}).get(keys["model"], "")
        noted: Json = self.noted_settings(digest).get(folder_in(stage, keys), {})
        return noted

    def to_score(self, spec: Benchmark, keys: Keys) -> Scoring:
        """Return what a score is computed from; errors as of :meth:`component`."""
        section = self.settings.section(spec.name)
        encoders = {}
        for role in ("encoder", "text_encoder"):
            name = keys.get(role) or getattr(section, role, None)
            if name is not None:
                encoders[role] = self.component("encoders", name)
        return Scoring(
            spec=spec,
            keys=keys,
            folders=self.folders(spec, keys),
            section=section,
            seed=self.settings.run.seed,
            encoders=encoders,
            beside=self.files_beside(spec),
            features=FeatureStore(self.state / "features"),
        )

    def files_beside(self, spec: Benchmark) -> dict[str, Path]:
        """Return the files that a benchmark's settings name for its scores, by setting.

        Raises:
            MissingSourceError: one is missing.
        """
        files = {}
        section = self.settings.section(spec.name)
        for setting in spec.scores.beside:
            named = getattr(section, setting)
            if named is not None:
                files[setting] = self.root / named
                if not files[setting].is_file():
                    what = f"{spec.name}.{setting} in params.yaml is {named}, which is missing"
                    error = (
                        ConfigError if files[setting].exists() else MissingSourceError
                    )
                    raise error(f"{what}; correct it or set null")
        return files

    def folders(self, spec: Benchmark, keys: Keys) -> dict[str, Path]:
        """Return the folders that stages before the score write, by stage."""
        folders = {}
        for stage in spec.stages[:-1]:
            if keys.keys() >= {*stage.keys}:
                folders[stage.name] = self.root / stage.at(keys)
        return folders

    @cached_property
    def state(self) -> Path:
        """The folder of finished calls and features, which all checkouts share.

        It is the one that the user names, or ``store`` in ``params.yaml``, relative to the main
        checkout.

        Raises:
            ConfigError: it is a checkout of others, and names a folder outside of it.
        """
        top = main_checkout(self.root)
        named = None if self.given else os.environ.get(STORE)
        path = Path(named or self.settings.store or STATE)
        folder = top / path.expanduser()
        if not (
            self.own_code or named or folder.resolve().is_relative_to(top.resolve())
        ):
            raise ConfigError(
                f"this checkout keeps its calls in {folder}, outside of it; --trust allows that"
            )
        return folder

    def noted(self) -> Json:
        """Read ``data/resolved.json``; empty if the checkout has no such file to read."""
        return self._read(RESOLVED) if self.resolved is None else self.resolved

    def noted_settings(self, digest: str | Json) -> Json:
        """Return the settings and versions noted under a digest; empty without them.

        In memory there is no digest: the settings stand in its place.
        """
        if isinstance(digest, str):
            settings = self._read(NOTED_SETTINGS).get(digest)
            return settings if isinstance(settings, dict) else {}
        return digest

    def _read(self, name: str) -> Json:
        try:
            content = load_json(
                read_regular(self.root / name, LARGEST_JSON, within=self.root)
            )
        except (OSError, ValueError):
            return {}
        return content if isinstance(content, dict) else {}

    def store(self, *, writes: bool = True) -> CallStore:
        """Open the call store; errors as of :class:`CallStore`."""
        return CallStore(self.state, writes=writes, wait=self.waits)


def folder_in(stage: Stage, keys: Keys) -> str:
    """Return a folder's path below its stage's output."""
    return stage.at(keys).removeprefix(f"{stage.out(keys)}/")


def calls_folder(store: str | Path | None = None) -> str:
    """Return the folder for finished calls outside of a project.

    It is the given one, that of the environment, or one in the user's cache folder.
    """
    cached = user_cache_path("driftledger") / "calls"
    folder = Path(store or os.environ.get(STORE) or cached)
    return str(folder.expanduser().absolute())
