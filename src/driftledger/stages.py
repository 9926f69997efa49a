"""One function per DVC stage: read, call the part that does the work, write whole files.

Each takes names, as ``dvc.yaml`` passes them, and a :class:`Project` that finds everything else.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from filelock import FileLock, Timeout

from driftledger.benchmarks.genception import chain as chains
from driftledger.benchmarks.genception import drift as drifts
from driftledger.calls import CallStore
from driftledger.components import Component, Encoder, Generator, Model
from driftledger.config import PARAMS, Settings, load_settings
from driftledger.datasets.build import build
from driftledger.errors import StoreError
from driftledger.layout import Combination, Layout, samples_file
from driftledger.ledger.evidence import Evidence, read_all_evidence, read_evidence
from driftledger.ledger.why import why as explain_call
from driftledger.records import (
    DatasetCard,
    ScoreFile,
    new_folder,
    read_json,
    read_samples,
    write_bytes,
    write_json,
    write_jsonl,
)
from driftledger.reports.chains_picture import draw_chains
from driftledger.reports.leaderboard import write_leaderboard

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

    def model(self, name: str) -> Model:
        """The model of that name, as ``resolve`` found it."""
        return self._as_resolved("models", name, self.settings.model(name))

    def generator(self, name: str) -> Generator:
        """The generator of that name, as ``resolve`` found it."""
        return self._as_resolved("generators", name, self.settings.generator(name))

    def encoder(self, name: str) -> Encoder:
        """The encoder of that name, as ``resolve`` found it."""
        return self._as_resolved("encoders", name, self.settings.encoder(name))

    def _as_resolved(self, section: str, name: str, component: C) -> C:
        """The component, unless a weight file or a branch has moved since DVC decided what to run."""
        noted = json.loads(self.layout.resolved.read_bytes()) if self.layout.resolved.is_file() else {}
        expected = noted.get(section, {}).get(name, component.fingerprint)
        if component.fingerprint != expected:
            raise StoreError(f"{section}.{name} has changed since it was resolved; run 'dvc repro' again")
        return component

    def store(self) -> CallStore:
        return CallStore(self.layout.state)

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


def resolve(project: Project) -> None:
    """Note what every selected name stands for now: a source's digest, a component's fingerprint.

    Other stages depend on their entry in it, so that DVC sees a changed image, a replaced weight file or a new version
    of a component, and nothing else.
    """
    settings = project.settings
    digests = {name: settings.dataset(name).source_digest() for name in settings.run.datasets}
    prints = {
        "models": {name: settings.model(name).fingerprint for name in settings.run.models},
        "generators": {name: settings.generator(name).fingerprint for name in settings.run.generators},
        "encoders": {name: settings.encoder(name).fingerprint for name in settings.run.encoders},
    }
    write_json(project.layout.resolved, {"datasets": digests} | prints)


def dataset(project: Project, name: str) -> None:
    """Read, check and store one dataset."""
    target = project.layout.dataset(name)
    with project.only_one(target):
        build(name, project.settings.dataset(name), target)


def chain(project: Project, dataset: str, model: str, generator: str) -> None:
    """Collect one model's and generator's chains over a dataset."""
    settings, layout = project.settings, project.layout
    source, target = layout.dataset(dataset), layout.chain(dataset, model, generator)
    protocol = chains.ChainProtocol(
        dataset=read_json(source / "dataset.json", DatasetCard),
        model=project.model(model),
        generator=project.generator(generator),
        iterations=settings.genception.iterations,
        describe_prompt=settings.genception.describe_prompt,
        generate_prompt=settings.genception.generate_prompt,
        run_seed=settings.run.seed,
    )
    with project.only_one(target), project.store() as store:
        collected = chains.collect(protocol, read_samples(source), store, f"{dataset} · {model} · {generator}")
        chains.check_failures(collected, settings.genception.min_coverage)
        with new_folder(target) as folder:
            chains.write_chains(folder, protocol, (model, generator), collected)


def drift(project: Project, dataset: str, combination: Combination) -> None:
    """Score one combination's chains over a dataset."""
    settings, layout = project.settings, project.layout
    target = layout.scores("genception", dataset, combination)
    with project.only_one(target):
        score_file, rows = drifts.score(
            layout.dataset(dataset),
            layout.chain(dataset, combination.model, combination.generator),
            combination,
            project.encoder(combination.encoder),
            settings.genception,
            settings.run.seed,
        )
        write_jsonl(samples_file(target), rows)
        write_json(target, score_file)


def report(project: Project) -> None:
    """Write the leaderboard of what is selected, and a picture of one sample's chains."""
    target = project.layout.leaderboard
    with project.only_one(target):
        scores = [_current(project, read_json(path, ScoreFile)) for path in selected_score_files(project)]
        write_leaderboard(target, scores, project.settings.genception.iterations)
        run = project.settings.run
        picture = draw_chains(project.layout, run.datasets[0], run.models, run.generators[0], run.encoders[0])
        write_bytes(project.layout.chains_picture, picture)


def _current(project: Project, score: ScoreFile) -> ScoreFile:
    if score.inputs.chain.iterations != project.settings.genception.iterations:
        raise StoreError(
            f"the score of {score.model} on {score.dataset} is of another T than params.yaml; run 'dvc repro'"
        )
    return score


def selected_score_files(project: Project) -> list[Path]:
    """The score file of every selected combination, by dataset, in the order of ``run:``."""
    datasets = project.settings.run.datasets
    return [project.layout.scores("genception", dataset, each) for dataset in datasets for each in project.combinations]


def track(project: Project) -> str:
    """Show what is selected in MLflow, and say in a line what that took."""
    from driftledger.tracking import project as tracking  # MLflow takes a second to import

    evidence = read_all_evidence(project.layout, project.settings.run.datasets, project.combinations)
    return tracking.show(project.layout, evidence, project.settings.tracking)


def audit(project: Project, run: str) -> Evidence:
    """The evidence behind a run: by the name of a selected combination, or by what MLflow knows it by."""
    for combination in project.combinations:
        if run in (str(combination), "/".join(combination)):
            return read_evidence(project.layout, project.settings.run.datasets, combination)
    from driftledger.tracking.lookup import find_evidence  # MLflow takes a second to import

    return find_evidence(project.layout, project.settings.tracking, run)


def why(project: Project, key_or_sample: str) -> str:
    """Which part of a call's key differs from the nearest stored call."""
    with project.store() as store:
        return explain_call(store, key_or_sample)
