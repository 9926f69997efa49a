"""Every call of the selection: counted without asking, or made in one process, which loads each checkpoint once.

The results go into the call store and the feature store alone; DVC's stages then find all of it there, and write their
files without loading anything. What is asked, and in which company within a batch, is the same as when a stage asks.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from pydantic import ValidationError

from driftledger.benchmarks.base import Benchmark, Stage
from driftledger.benchmarks.registry import benchmark_names, runner
from driftledger.benchmarks.runner import Collecting
from driftledger.collect.call_store import CallStore
from driftledger.collect.claims import Store
from driftledger.collect.observations import write_observations
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.steps import NotStoredError
from driftledger.collect.workers.replicas import Replicas
from driftledger.collect.workers.settings import CollectSettings
from driftledger.commands import stages
from driftledger.commands.current import Current
from driftledger.commands.known_calls import FILE, KnownCalls, keep, recall, what_calls_follow_from
from driftledger.components.base import Component
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import parsed_once
from driftledger.core.progress import Progress
from driftledger.core.strict import explain
from driftledger.ledger.objects.remembered import Remembered
from driftledger.project.project import Project
from driftledger.project.rwlock import clear
from driftledger.project.workers import workers_of


@dataclass
class Work:
    """The collect stages of one line of flow: of the same benchmark and keys, from the data on."""

    spec: Benchmark
    keys: Mapping[str, str]
    """Of its first collect stage, and of every later one."""
    current: Current
    done: dict[str, Any] = field(default_factory=dict)
    """Stage → what came of it."""
    shown: list[tuple[Collecting[Any], Any]] = field(default_factory=list)
    """What image encoders will look at."""


def selected_work(project: Project, chosen: Collection[str] = ()) -> Iterator[Work]:
    """The collect stages that the selection needs, each line of flow once; of the chosen benchmarks, or of all.

    Raises:
        ConfigError: there is no such benchmark.
    """
    check_known("benchmark", chosen, benchmark_names())
    seen, current = set(), Current(project)
    for spec, keys in project.selected.scores:
        if chosen and spec.name not in chosen:
            continue
        own = {key: keys[key] for stage in spec.collects for key in stage.keys}
        if (spec.name, *own.items()) not in seen:
            seen.add((spec.name, *own.items()))
            yield Work(spec, own, current)


def plan(project: Project) -> dict[str, PlannedCalls]:
    """What the selected runs would still ask of each selected component, without asking.

    Of one that is not on this machine, what ``resolve`` kept is counted.
    """
    project = replace(project, asks=False) if project.asks else project
    settings, run = project.settings, project.settings.run
    with project.store() as store, Remembered(project.paths.state / FILE) as remembered, parsed_once():
        plan = Plan(store)
        for work in selected_work(project):
            _count_known(project, work, plan, remembered)
        models = (name for name in settings.named("models") if name != run.judge or name in run.models)
        found = {f"models.{name}": plan.of(project.model(name)) for name in models}
        found |= {f"generators.{name}": plan.of(project.generator(name)) for name in run.generators}
        return found | ({f"judge {settings.judge}": plan.of(project.judge())} if settings.needs_judge else {})


def _count_known(project: Project, work: Work, plan: Plan, remembered: Remembered) -> None:
    """Count a line of flow; one whose stages are current, and whose calls were all stored, as it was counted then."""
    stages, folder = work.spec.collects, project.state
    folders = [project.root / stage.at(work.keys) for stage in (work.spec.data, *stages)]
    if not folders[0].is_dir() or not all(work.current.has(stage, work.keys) for stage in stages):
        _count(project, work, plan)
        return
    name = " ".join([work.spec.name, *work.keys.values()])
    follows_from = what_calls_follow_from((work.current.entry(stage, work.keys) for stage in stages), folders)
    known = recall(remembered, name)
    if known is not None and known.follows_from == follows_from and (still := known.still_stored(folder)):
        plan.recall(still.calls)
        if still is not known:
            keep(remembered, name, still)
        return
    plan.found.clear()
    if _count(project, work, plan):
        keep(remembered, name, KnownCalls.of(folder, follows_from, plan.found))


def _count(project: Project, work: Work, plan: Plan) -> bool:
    """Count a line of flow; what comes after calls that are still to be made is counted at most.

    Returns:
        Whether its stages are current, and all of their calls stored.
    """
    complete = are_stored = True
    for stage in work.spec.collects:
        is_current = work.current.has(stage, work.keys)
        earlier = None if is_current else work.done or None if complete else {}
        collecting = runner(work.spec.name).collecting(project, stage.name, work.keys, earlier)
        if not collecting.calls and stage is work.spec.collects[-1]:
            continue  # it asks nobody, and nobody is asked for what comes of it
        if is_current:
            try:
                work.done[stage.name] = plan.whole(collecting.run)
            except NotStoredError:  # its records are here, and its calls are not: somebody else has made them
                are_stored = False
            continue
        are_stored = False
        try:
            if not (complete or stage.apart):
                raise NotStoredError(collecting.uncounted())
            work.done[stage.name] = collecting.run(plan.run)
        except NotStoredError as error:
            complete = False
            for each in error.rest:
                plan.add(*each)
    return are_stored


def collect(
    project: Project,
    benchmarks: Collection[str] = (),
    models: Collection[str] = (),
    on: str | None = None,
    address: str | None = None,
) -> None:
    """Ask everything that is not stored yet: of one model after the other, then of the judge and the encoders.

    Components are let go of when their part is done, so that no two models are in memory at once.

    Args:
        benchmarks: by name; none stands for all.
        models: of those that ``run.models`` selects; none stands for all. What several models are asked apart from the
            flow waits for all.
        on: where batches are made, ``here`` or ``ray``, and at which address; None: as ``params.yaml`` says.

    Raises:
        ConfigError: there is no such benchmark, or the model is not selected.
        StoreError: a dataset or a question set is not built yet, or a component has changed since it was resolved.
    """
    run = project.settings.run
    check_known("selected model", models, run.models)
    for cleared in clear(project.root):
        print(cleared, file=sys.stderr, flush=True)
    work = [each for each in selected_work(project, benchmarks) if not models or each.keys["model"] in models]
    with project.store() as store, workers_of(project.settings, _place(project, on, address)) as workers:
        ask = partial(_ask, project, store, workers)
        for name in run.models:
            _ask_model(project, [each for each in work if each.keys["model"] == name], ask, workers)
        apart = set[str]()  # which several lines of flow share
        for each in work:
            for stage in each.spec.collects[1:]:
                place = stage.at(each.keys)
                if not stage.apart or not (models or place in apart):
                    ask(each, stage)
                if stage.apart:
                    apart.add(place)
        seen = store.observations()
        if any(each.other for each in seen.values()):
            with project.only_one(project.paths.observations):
                write_observations(project.paths.observations, seen)
    _show(project, [shown for each in work for shown in each.shown])


def _place(project: Project, on: str | None, address: str | None) -> CollectSettings:
    given = project.settings.collect
    address = address if address is not None or on == "here" else given.address
    try:
        return CollectSettings.model_validate({"where": on or given.where, "address": address})
    except ValidationError as error:
        raise ConfigError(explain(error, "the command line")) from None


def _ask_model(project: Project, work: Sequence[Work], ask: Callable[[Work, Stage], None], workers: Replicas) -> None:
    """The first stage of each line of flow, generator by generator, then those that draw nothing."""
    generators = dict.fromkeys(each.keys["generator"] for each in work if "generator" in each.keys)
    for generator in (*generators, None):
        for each in work:
            if each.keys.get("generator") == generator:
                ask(each, each.spec.collects[0])
        if generator is not None:
            _let_go(project.generator(generator), workers)
    for name in dict.fromkeys(each.keys["model"] for each in work):
        _let_go(project.model(name), workers)


def _let_go(component: Component, workers: Replicas) -> None:
    component.release()
    workers.release(component)


def _ask(project: Project, store: CallStore, workers: Replicas, work: Work, stage: Stage) -> None:
    if is_recorded(project, work, stage, store):
        return
    collecting = runner(work.spec.name).collecting(project, stage.name, work.keys, work.done or None)
    if collecting.calls:
        work.done[stage.name] = stages.ask(collecting, store, workers)
        work.shown.append((collecting, work.done[stage.name]))


def is_recorded(project: Project, work: Work, stage: Stage, store: Store) -> bool:
    """Whether the records of a stage are here, and its calls are not: somebody else has made them."""
    if not work.current.has(stage, work.keys):
        return False
    collecting = runner(work.spec.name).collecting(project, stage.name, work.keys)
    try:
        collecting.run(Plan(store).run)
    except NotStoredError:
        return True
    return False


def _show(project: Project, shown: Sequence[tuple[Collecting[Any], Any]]) -> None:
    looked_at = [(collecting, collected) for collecting, collected in shown if collecting.draws]
    for name in project.settings.run.encoders if looked_at else ():
        encoder = project.encoder(name)
        with Progress(name, total=len(looked_at)) as progress:
            for collecting, collected in looked_at:
                collecting.show(collected, encoder, project.features())
                progress.update()
        encoder.release()


def check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    """
    Raises:
        ConfigError: one of the names is unknown.
    """
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name(what, name, known))
