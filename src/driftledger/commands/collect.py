"""Make the calls that the selection needs, and write what comes of them as the records of each model.

One process makes the calls of all benchmarks of a model, so that a checkpoint is loaded once. A folder of records is
left alone while what shaped it is the same, and pays its calls back into the store before it is made again: a clone
that has the records and not the store pays only for what is new.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from pydantic import ValidationError

from driftledger.benchmarks.base import RECORDS_OF, Benchmark, Stage
from driftledger.benchmarks.records import CARD, CollectedCard
from driftledger.benchmarks.registry import benchmark_names, runner
from driftledger.benchmarks.runner import write_collected
from driftledger.collect.call import NotStoredError
from driftledger.collect.observations import write_observations
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.run import Collector
from driftledger.collect.settings import CollectSettings
from driftledger.collect.store import CallStore
from driftledger.commands.resolve import inputs_of, keys_of
from driftledger.components.base import Component
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.errors import ConfigError, StoreError, unknown_name
from driftledger.core.files import read_json
from driftledger.core.made import INPUTS, files_digest, is_made, keep_only, made_from, make
from driftledger.core.strict import explain
from driftledger.project.asking import ask, refuse_failures
from driftledger.project.inputs import stage_inputs
from driftledger.project.project import Project
from driftledger.project.workers import collector_of


@dataclass(frozen=True)
class Task:
    """A folder of records that the selection needs."""

    spec: Benchmark
    stage: Stage
    keys: Mapping[str, str]

    @property
    def name(self) -> str:
        """Its place below the model's records, under which ``data/resolved.json`` has what shapes it."""
        return self.stage.at(self.keys).removeprefix(f"{self.stage.out(self.keys)}/")

    @property
    def before(self) -> Sequence[Stage]:
        """The stages that it goes on from."""
        collects = self.spec.collects
        return (self.spec.data, *collects[: collects.index(self.stage)])

    def inputs(self, project: Project) -> str:
        """Return the digest of all that shapes the folder.

        Raises:
            StoreError: the data are not built, or ``resolve`` has not run since this was selected.
        """
        return inputs_of(project, "collect", self.name, self.keys, self.before)

    def inputs_now(self, project: Project) -> str:
        """The same; nothing where an earlier folder is missing."""
        try:
            return self.inputs(project)
        except StoreError:
            return ""

    def asks(self, project: Project) -> set[tuple[str, str]]:
        """Role and name of each component that is asked."""
        names = {(key, self.keys[key]) for key in ("model", "generator") if key in self.keys}
        return names | ({("model", project.settings.judge)} if self.stage.judged else set())


def tasks_of(project: Project, model: str, chosen: Collection[str] = ()) -> list[Task]:
    """List the folders of a model's records, in the order in which components are needed the fewest times.

    Args:
        chosen: benchmarks by name; none stands for all.
    """
    settings = project.settings
    first, later = list[Task](), list[Task]()
    for spec in settings.benchmarks:
        if not chosen or spec.name in chosen:
            for stage in spec.collects:
                tasks = [Task(spec, stage, keys) for keys in keys_of(settings, spec, stage, model)]
                (first if stage is spec.collects[0] else later).extend(tasks)
    order = {name: place for place, name in enumerate(settings.run.generators)}
    first.sort(key=lambda task: order.get(task.keys.get("generator", ""), len(order)))
    return first + later


def collect(
    project: Project,
    models: Sequence[str],
    benchmarks: Collection[str] = (),
    on: str | None = None,
    address: str | None = None,
) -> None:
    """Bring the records of these models up to date.

    Args:
        benchmarks: by name; none stands for all.
        on: where batches are made, ``here`` or ``ray``, and at which address; None: as ``params.yaml`` says.

    Raises:
        ConfigError: there is no such benchmark, or a model is not selected.
        StoreError: the data are not built yet, or a component has changed since it was resolved.
        CoverageError: too many calls failed.
    """
    check_known("selected model", models, project.settings.run.models)
    check_known("benchmark", benchmarks, benchmark_names())
    tasks = {model: tasks_of(project, model, benchmarks) for model in models}
    with (
        project.store() as store,
        collector_of(project.settings, store, _place(project, on, address)) as collector,
        ExitStack() as locks,
    ):
        for model in models:
            top = project.root / RECORDS_OF.format(model=model)
            top.mkdir(parents=True, exist_ok=True)
            locks.enter_context(project.only_one(top))
        work = _Work(project, store, collector, tasks)
        remote = [model for model in models if work.is_remote(model)]
        local = [model for model in models if model not in remote]
        collector.side_by_side([partial(work.do, [model]) for model in remote] + [partial(work.do, local)])
        if not benchmarks:
            for model in models:
                keep_only(project.root / RECORDS_OF.format(model=model), _folders(project, tasks[model]))
        seen = store.observations()
        if any(each.other for each in seen.values()):
            with project.only_one(project.paths.observations):
                write_observations(project.paths.observations, seen)


class _Work:
    """Makes the records of several models, in several threads at once.

    Models behind services are asked side by side, local ones one after another.
    """

    def __init__(
        self, project: Project, store: CallStore, collector: Collector, tasks: Mapping[str, Sequence[Task]]
    ) -> None:
        self._project, self._store, self._collector = project, store, collector
        self._left = {model: list(some) for model, some in tasks.items()}
        self._lock = Lock()
        """Held while a folder's calls are planned and while components are released: none is made twice."""

    def do(self, models: Sequence[str]) -> None:
        """Make the records of models, one after another."""
        for model in models:
            for task in list(self._left[model]):
                self._make(task)
                self._finish(model, task)

    def _make(self, task: Task) -> None:
        project, failed = self._project, list[str]()
        folder = project.root / task.stage.at(task.keys)

        def write() -> None:
            with self._lock:
                pay_back(project, task, self._store)
                given = stage_inputs(project, task.spec, task.keys)
                collecting = runner(task.spec.name).collecting(given, task.stage.name)
            collected = ask(collecting, self._store, self._collector)
            failures = collecting.failures(collected)
            refuse_failures(failures, task.spec.name, project.settings.section(task.spec.name).min_coverage)
            failed.extend(failures.failed)
            write_collected(folder, collecting, collected)

        make(folder, task.inputs(project), write)
        if failed:  # a folder without its mark is made again by the next run, which tries the failed calls again
            (folder / INPUTS).unlink()

    def _finish(self, model: str, done: Task) -> None:
        """Let go of components that neither this model nor those asked at the same time need any more."""
        with self._lock:
            self._left[model].remove(done)
            others = (
                task for name, some in self._left.items() for task in some if name == model or self.is_remote(name)
            )
            needed = {each for task in others for each in task.asks(self._project)}
            for role, name in done.asks(self._project) - needed:
                component = self._project.made(role, name)
                if component is not None:  # else nothing was asked of it, and it may not be on this machine
                    component.release()
                    self._collector.release(component)

    def is_remote(self, model: str) -> bool:
        return isinstance(self._project.settings.model(model), RemoteComponent)  # which may not be on this machine


def _folders(project: Project, tasks: Sequence[Task]) -> list[Path]:
    return [project.root / task.stage.at(task.keys) for task in tasks]


def pay_back(project: Project, task: Task, store: CallStore) -> None:
    """Put the calls that an earlier folder of records tells of into the store, unless they are there.

    A folder that was changed since it was made pays nothing back: what it tells may be forged.
    """
    folder = project.root / task.stage.at(task.keys)
    made = made_from(folder)  # which a folder with failed calls does not say
    if not (folder / CARD).is_file() or (made is not None and made.files != files_digest(folder)):
        return
    paths = {stage.name: stage.at(task.keys) for stage in (*task.before, task.stage)}
    card = read_json(folder / CARD, CollectedCard)
    components = {each.fingerprint: each for each in _components(project, task, card)}
    for caller in runner(task.spec.name).callers(paths, lambda stage: project.root / paths[stage]):
        component = components.get(caller.card.fingerprint)
        if component is not None and caller.folder == paths[task.stage.name] and caller.needs is None:
            calls = caller.calls(component)
            recorded = ((each.call(), each.result) for each in calls if each.result is not None)
            store.restore((call.key, call.context, result) for call, result in recorded)


def _components(project: Project, task: Task, card: CollectedCard) -> Iterator[Component]:
    """Yield the components that would be asked now."""
    for role, name in task.asks(project):
        yield getattr(project, role)(name)
    for role, named in card.components.items():
        if role not in ("model", "generator", "judge") and named.name in project.settings.named("models"):
            yield project.model(named.name)


def plan(project: Project) -> dict[str, PlannedCalls]:
    """Count the calls that are still needed of each selected component, without making any.

    Of a component that is not on this machine, what ``resolve`` noted is counted.
    """
    project = replace(project, asks=False) if project.asks else project
    settings, run = project.settings, project.settings.run
    with project.store(writes=False) as store:
        plan = Plan(store)
        for model in run.models:
            done: dict[tuple[str, ...], dict[str, Any]] = {}
            for task in tasks_of(project, model):
                _count(project, task, plan, done.setdefault((task.spec.name, *task.keys.values()), {}))
        models = (name for name in settings.named("models") if name != run.judge or name in run.models)
        of_models = {name: plan.of(project.model(name)) for name in models}
        counted = {
            f"models.{name}": calls
            for name, calls in of_models.items()
            if name in run.models or calls.stored or calls.to_make  # others are only named, as whom to compare with
        }
        counted |= {f"generators.{name}": plan.of(project.generator(name)) for name in run.generators}
        return counted | ({f"judge {settings.judge}": plan.of(project.judge())} if settings.needs_judge else {})


def _count(project: Project, task: Task, plan: Plan, done: dict[str, Any]) -> None:
    """Count the calls of a folder; what comes after calls that are still to be made is counted at most.

    Args:
        done: stage → what came of it, of the same keys; a stage that is missing is not complete.
    """
    folder, name = project.root / task.stage.at(task.keys), task.stage.name
    is_current = (project.root / task.spec.data.at(task.keys)).is_dir() and is_made(folder, task.inputs_now(project))
    complete = all(stage.name in done for stage in task.before[1:])
    earlier = None if is_current else done if complete else {}
    collecting = runner(task.spec.name).collecting(stage_inputs(project, task.spec, task.keys), name, earlier)
    if is_current:
        if (recorded := plan.recorded(collecting.run)) is not None:
            done[name] = recorded
        return
    try:
        if not complete:
            raise NotStoredError(collecting.uncounted())
        done[name] = collecting.run(plan.run)
    except NotStoredError as error:
        for each in error.rest:
            plan.add(*each)


def _place(project: Project, on: str | None, address: str | None) -> CollectSettings:
    given = project.settings.collect
    address = address if address is not None or on == "here" else given.address
    try:
        return CollectSettings.model_validate({"where": on or given.where, "address": address})
    except ValidationError as error:
        raise ConfigError(explain(error, "the command line")) from None


def check_known(what: str, names: Collection[str], known: Collection[str]) -> None:
    """
    Raises:
        ConfigError: one of the names is unknown.
    """
    for name in names:
        if name not in known:
            raise ConfigError(unknown_name(what, name, known))
