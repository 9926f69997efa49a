"""How a collect stage makes its calls: where, with a bar of progress, and when too many of them failed."""

import sys
from collections.abc import Sequence
from functools import partial
from typing import TypeVar

from driftledger.benchmarks.runner import Collecting, FailedCalls
from driftledger.collect.batches import InThisProcess
from driftledger.collect.call import Planned
from driftledger.collect.ray import RayWorkers
from driftledger.collect.run import Collector, called
from driftledger.collect.settings import CollectSettings, WorkerSettings
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Model
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.terminal import Progress
from driftledger.project.settings import Settings

R = TypeVar("R")
T = TypeVar("T")


def collector_of(
    settings: Settings, store: CallStore, collect: CollectSettings | None = None, *, shards: int = 1
) -> Collector:
    """Return a collector that keeps the components it has loaded until it ends.

    Args:
        collect: replaces the section of that name.
        shards: as of :class:`~driftledger.collect.run.Collector`.
    """
    chosen = collect or settings.collect

    def actors_of(component: Component) -> WorkerSettings | None:
        if isinstance(component, Model) and type(component).check_subjects is not Model.check_subjects:
            return None  # it reads its answers from files of this checkout
        return settings.workers(component) or WorkerSettings()

    here = InThisProcess()
    workers = RayWorkers(chosen.address, actors_of, here) if chosen.where == "ray" else here
    return Collector(store, workers, shards=shards)


def ask(collecting: Collecting[T], store: CallStore, collector: Collector | None = None) -> T:
    """Make every call that is not stored yet, show the progress, and say what it has cost.

    Args:
        collector: None: one of its own.
    """
    if not collecting.calls:
        return collecting.run(_run_nothing)
    with Progress(collecting.title, total=collecting.calls) as progress:
        if collector is None:
            with Collector(store) as own:
                collected = collecting.run(partial(_run, own, progress, set()))
        else:
            collected = collecting.run(partial(_run, collector, progress, set()))
    for component in collecting.components:
        if isinstance(component, RemoteComponent):
            spent = store.spent(component.fingerprint)
            cost = f", cost {spent.cost:.2f}" if component.prices else ""
            print(f"{called(component)}: {spent.attempts} attempts so far{cost}", flush=True)
    return collected


def _run_nothing(planned: Sequence[Planned[R]]) -> list[R]:
    raise ValueError(f"a stage that only reads asks for {len(planned)} protocols")


def _run(collector: Collector, progress: Progress, told: set[str], planned: Sequence[Planned[R]]) -> list[R]:
    asked: dict[str, tuple[Model, list[str]]] = {}
    most_calls = 0
    for each in planned:
        most_calls = max(most_calls, len(each.calls))
        for component, call in each.calls:
            if isinstance(component, Model) and not isinstance(call, str) and call.subject is not None:
                asked.setdefault(component.fingerprint, (component, []))[1].append(call.subject.sample)
    for model, subjects in asked.values():
        said = model.check_subjects(subjects)
        if said is not None and said not in told:
            told.add(said)
            print(said, file=sys.stderr, flush=True)
    return collector.run((each.steps() for each in planned), progress, most_calls)


def refuse_failures(found: FailedCalls, benchmark_name: str, min_coverage: float) -> None:
    """Refuse to go on when too much was ended by a failed call, so that there is a next run, which tries it again.

    A refusal is an answer and stays; whether enough is left to score is for the scoring half to say.

    Raises:
        CoverageError: naming the first few and what went wrong.
    """
    failed, total, things = found
    if failed and 1 - len(failed) / total < min_coverage:
        raise CoverageError(
            f"{len(failed)} of {total} {things} were ended by a failed call, and {benchmark_name}.min_coverage in "
            f"params.yaml asks for {min_coverage:.0%} ({first_few(failed)}); run 'dvc repro' to try these again: "
            "finished calls are stored"
        )
