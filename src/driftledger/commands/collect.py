"""Every call of the selection: counted, or made in one process, which loads each checkpoint once.

The results go into the call store and the feature store alone; DVC's stages then find all of it there, and write their
files without loading anything. What is asked, and in which company within a batch, is the same as when a stage asks.
"""

import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from threading import Lock
from typing import Any

from pydantic import ValidationError

from driftledger.benchmarks.base import Benchmark, Stage
from driftledger.benchmarks.registry import benchmark_names, runner
from driftledger.benchmarks.runner import Collecting
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.run import Collector
from driftledger.collect.settings import CollectSettings
from driftledger.collect.store import CallStore
from driftledger.commands import stages
from driftledger.commands.current import Current
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import parsed_once
from driftledger.core.progress import Progress
from driftledger.core.strict import explain
from driftledger.project.project import Project
from driftledger.project.rwlock import clear
from driftledger.project.workers import collector_of


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
    with project.store(writes=False) as store, parsed_once():
        plan = Plan(store)
        for work in selected_work(project):
            _count(project, work, plan)
        models = (name for name in settings.named("models") if name != run.judge or name in run.models)
        found = {f"models.{name}": plan.of(project.model(name)) for name in models}
        found |= {f"generators.{name}": plan.of(project.generator(name)) for name in run.generators}
        return found | ({f"judge {settings.judge}": plan.of(project.judge())} if settings.needs_judge else {})


def _count(project: Project, work: Work, plan: Plan) -> None:
    """Count a line of flow; what comes after calls that are still to be made is counted at most."""
    complete = True
    for stage in work.spec.collects:
        is_current = work.current.has(stage, work.keys)
        earlier = None if is_current else work.done or None if complete else {}
        collecting = runner(work.spec.name).collecting(project, stage.name, work.keys, earlier)
        if not collecting.calls and stage is work.spec.collects[-1]:
            continue  # it asks nobody, and nobody is asked for what comes of it
        if is_current:
            with suppress(NotStoredError):  # its records are here, and its calls were made elsewhere
                work.done[stage.name] = plan.whole(collecting.run)
            continue
        try:
            if not (complete or stage.apart):
                raise NotStoredError(collecting.uncounted())
            work.done[stage.name] = collecting.run(plan.run)
        except NotStoredError as error:
            complete = False
            for each in error.rest:
                plan.add(*each)


def collect(
    project: Project,
    benchmarks: Collection[str] = (),
    models: Collection[str] = (),
    on: str | None = None,
    address: str | None = None,
) -> None:
    """Make every call that is not stored yet: models behind services side by side, local ones one after another.

    A service that grades is asked as soon as a model has answered, a local one when all have. A local component is let
    go of when its part is done, so that no two local models need to be in memory at once.

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
    by_model = {name: [each for each in work if each.keys["model"] == name] for name in run.models}
    by_model = {name: lines for name, lines in by_model.items() if lines}
    remote = [name for name in by_model if isinstance(project.model(name), RemoteComponent)]
    place = _place(project, on, address)
    with project.store() as store, collector_of(project.settings, store, place) as collector:
        asking = Asking(project, store, collector, partial(stages.ask, store=store, collector=collector))
        grades_at_once = project.settings.needs_judge and isinstance(project.judge(), RemoteComponent)

        def ask_remote(name: str) -> None:
            asking.first_stages(by_model[name])
            if grades_at_once:
                asking.later_stages(by_model[name])

        def ask_local() -> None:
            for name, lines in by_model.items():
                if name not in remote:
                    asking.first_stages(lines, releases=not remote)
                    collector.release(project.model(name))

        jobs: list[Callable[[], None]] = [ask_local, *(partial(ask_remote, name) for name in remote)]
        collector.side_by_side(jobs)
        asking.later_stages(work)
        if not models:
            asking.stages_apart(work)
    _show(project, [shown for each in work for shown in each.shown])


def _place(project: Project, on: str | None, address: str | None) -> CollectSettings:
    given = project.settings.collect
    address = address if address is not None or on == "here" else given.address
    try:
        return CollectSettings.model_validate({"where": on or given.where, "address": address})
    except ValidationError as error:
        raise ConfigError(explain(error, "the command line")) from None


@dataclass
class Asking:
    """Makes the calls of stages, in several threads at once."""

    project: Project
    store: CallStore
    collector: Collector
    ask: Callable[[Collecting[Any]], Any]
    """Makes the calls of one stage."""
    waiting: set[str] = field(default_factory=set)
    """Outputs of stages that need calls which other shards make."""
    _planning: Lock = field(default_factory=Lock)
    """Held while a stage is put together, so that no component is made twice."""

    def first_stages(self, work: Sequence[Work], *, releases: bool = False) -> None:
        """The first stage of each line of flow, generator by generator, then those that draw nothing.

        Args:
            releases: whether nobody else uses the generators meanwhile.
        """
        generators = dict.fromkeys(each.keys["generator"] for each in work if "generator" in each.keys)
        for generator in (*generators, None):
            for each in work:
                if each.keys.get("generator") == generator:
                    self._ask(each, each.spec.collects[0])
            if generator is not None and releases:
                self.collector.release(self.project.generator(generator))

    def later_stages(self, work: Sequence[Work]) -> None:
        """Stages that go on from what the stage before them gave."""
        for each in work:
            before = each.spec.collects[0]
            for stage in each.spec.collects[1:]:
                if not stage.apart and stage.name not in each.done:
                    self._ask(each, stage, waits=before.at(each.keys) in self.waiting)
                    before = stage

    def stages_apart(self, work: Sequence[Work]) -> None:
        """Stages that several lines of flow share, each once. They may make calls of first stages, at other positions,
        so they wait until all of those are complete."""
        stages = {stage.at(each.keys): (each, stage) for each in work for stage in each.spec.collects if stage.apart}
        waits = bool(self.waiting)
        for each, stage in stages.values():
            self._ask(each, stage, waits=waits)

    def _ask(self, work: Work, stage: Stage, *, waits: bool = False) -> None:
        try:
            if waits:
                raise NotStoredError
            with self._planning:
                if is_recorded(self.project, work, stage, self.store):
                    return
                collecting = runner(work.spec.name).collecting(self.project, stage.name, work.keys, work.done or None)
            if collecting.calls:
                work.done[stage.name] = self.ask(collecting)
                work.shown.append((collecting, work.done[stage.name]))
        except NotStoredError:
            self.waiting.add(stage.at(work.keys))


def is_recorded(project: Project, work: Work, stage: Stage, store: CallStore) -> bool:
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
