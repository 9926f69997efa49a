"""Make the calls that the selection needs, and write records.

One process makes the calls of all benchmarks of a model, so that a checkpoint is loaded once. A
folder of records is left alone while its inputs are the same. Before it is made again, its calls
are put into the store: a clone that has the records and not the store pays only for what is new.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from threading import Lock

from driftledger.benchmarks.base.benchmark import Benchmark, Collecting
from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import (
    CARD,
    CollectedCard,
    CollectedRecord,
    FailedCalls,
    Records,
    results_of,
    stream_records,
)
from driftledger.benchmarks.base.stage import RECORDS_OF
from driftledger.benchmarks.base.usage import CallUsage, read_calls
from driftledger.collect.call import walk
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore, Recorded
from driftledger.commands.stages import Begins, raise_all, unsaid
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import (
    ConfigError,
    CoverageError,
    DriftledgerError,
    StoreError,
    first_few,
    unknown_name,
)
from driftledger.core.files import keep_only, read_json, write_json
from driftledger.core.grouping import grouped
from driftledger.core.made import Made, files_digest, made_from, make
from driftledger.core.paths import STATE
from driftledger.core.text import say
from driftledger.core.types import Outcome, Subject
from driftledger.project.project import Project
from driftledger.project.resolve import inputs_of
from driftledger.scoring.roles import ROLES, SECTIONS

FAILED = "failed.json"
"""In the folder of the checkout's state: model → why its calls could not be made."""


@dataclass(frozen=True)
class Task:
    """A folder of records that the selection needs."""

    project: Project
    spec: Benchmark
    keys: Mapping[str, str]

    @property
    def folder(self) -> Path:
        return self.project.root / self.spec.collects.at(self.keys)

    @property
    def asks(self) -> set[tuple[str, str]]:
        """Section and name of each component that its calls ask."""
        roles = self.project.asked(self.spec, self.keys)
        return {(SECTIONS[ROLES[role]], name) for role, name in roles.items()}

    @property
    def is_unchanged(self) -> bool:
        """True if its files are known to be as they were made."""
        return RECORDS_OF.format(**self.keys) in self.project.unchanged

    def inputs(self) -> str:
        """Return the digest of all that shapes the folder.

        Raises:
            StoreError: the data are not built, or ``resolve`` has not run since this was selected.
        """
        collects = self.spec.collects
        return inputs_of(self.project, collects, self.keys, (self.spec.data,))

    def made(self) -> Made | None:
        """Return the manifest of its folder if it was made from today's inputs, else None.

        The files of the folder are not read.
        """
        manifest = made_from(self.folder)
        with suppress(StoreError):  # the data are not built
            if manifest is not None and manifest.inputs == self.inputs():
                return manifest
        return None

    def is_made(self) -> bool:
        """Return True if its records are made and no call failed; files are not read."""
        manifest = self.made()
        return manifest is not None and not manifest.failed

    def is_whole(self) -> bool:
        """Return True if its records are made, no call failed, and no file was changed."""
        manifest = self.made()
        if manifest is None or manifest.failed:
            return False
        return self.is_unchanged or manifest.files == files_digest(self.folder)

    def collecting(self) -> Collecting:
        """Return the calls behind its records."""
        return self.project.collecting(self.spec, self.keys)


def ask(collecting: Collecting, collector: Collector) -> list[CollectedRecord]:
    """Make every call that is not stored, and show the progress."""
    with Progress(collecting.title, collecting.calls) as progress:
        return collecting.run(
            lambda planned: collector.run((unit.steps for unit in planned), progress)
        )


def refuse_failures(
    failures: FailedCalls, benchmark_name: str, min_coverage: float
) -> None:
    """Raise if failed calls have ended too many records.

    The next run tries these calls again.

    A refusal by the model is an answer. The score decides whether enough answers are left.

    Raises:
        CoverageError: naming the first few and what went wrong.
    """
    failed = failures.failed
    if failed and 1 - len(failed) / failures.total < min_coverage:
        raise CoverageError(
            f"{failures}, and {benchmark_name}.min_coverage in params.yaml asks for "
            f"{min_coverage:.0%} ({first_few(failed)}); run again to try these: finished calls are "
            "stored"
        )


def tasks_of(project: Project, models: Sequence[str] = ()) -> list[Task]:
    """List the folders of these models' records, or of all that are selected.

    Those of a model are in the order in which components are loaded the fewest times.

    Raises:
        ConfigError: a model is not selected.
    """
    settings = project.settings
    tasks = []
    order = {name: place for place, name in enumerate(settings.run.generators)}
    for model in models or settings.run.models:
        if model not in settings.run.models:
            raise ConfigError(
                unknown_name("selected model", model, settings.run.models)
            )
        own = []
        for spec in settings.benchmarks:
            own += [
                Task(project, spec, keys)
                for keys in settings.keys_of(spec, spec.collects, model)
            ]

        def turn(task: Task) -> tuple[int, bool]:
            generator = task.keys.get("generator", "")
            return order.get(generator, len(order)), task.spec.collects.judged

        tasks += sorted(own, key=turn)
    return tasks


def collect(
    project: Project, models: Sequence[str] = (), begins: Begins = unsaid
) -> None:
    """Bring the records of these models up to date, or of all that are selected.

    What fails stops nothing else; the error names the models of all that failed, and has the class
    of the first.

    Args:
        begins: called before anything is made.

    Raises:
        ConfigError: a model is not selected, or a component lacks something.
        StoreError: the data are not built yet, or a component has changed since it was resolved.
        ServiceError: a service is down, or refuses every call.
        CoverageError: too many calls failed.
    """
    tasks = tasks_of(project, models)
    lock = Lock()
    failed = dict[str, Exception]()
    models = models or project.settings.run.models
    left = [*tasks]

    def work(task: Task) -> None:
        try:
            _make(task, collector, lock, begins)
        except Exception as error:  # a bug, too, takes these records alone
            failed.setdefault(task.keys["model"], error)
        with lock:
            left.remove(task)
            for place in last_asked(task, left):
                component = project.components.get(place)
                # else nothing was asked of it, and it may not be on this machine
                if component is not None:
                    collector.release(component)

    tasks_by_model = grouped(tasks, lambda task: task.keys["model"])

    def in_turn(names: Sequence[str]) -> None:
        # all that is asked of it at once, so that it is loaded once and always has work
        for model in names:
            own = tasks_by_model.get(model, ())
            collector.side_by_side([partial(work, task) for task in own])

    with project.store() as store, Collector(store) as collector:
        for task in tasks:  # their calls may be those of another
            restore(task, store)
        _refuse_at_once(tasks, collector)
        local = []
        lanes = []
        for model in models:
            if isinstance(project.settings.build("models", model), RemoteComponent):
                lanes.append(partial(in_turn, [model]))
            else:
                local.append(model)
        collector.side_by_side([*lanes, partial(in_turn, local)])
        _print_spending(project, store)
        for model in models:
            if model not in failed:
                top = project.root / RECORDS_OF.format(model=model)
                top.mkdir(parents=True, exist_ok=True)
                keep_only(top, [task.folder for task in tasks_by_model.get(model, ())])
    failed = {model: failed[model] for model in models if model in failed}
    if failed:
        reasons = {model: str(error) for model, error in failed.items()}
        write_json(project.root / STATE / FAILED, reasons)
    raise_all(failed)


def refuse_failed_calls(project: Project, model: str) -> None:
    """Raise if a failed call has ended a record of a model.

    Otherwise DVC would note the records as they are, and never try the call again.

    Raises:
        CoverageError: with their number.
    """
    failed = 0
    for task in tasks_of(project, [model]):
        made = task.made()
        failed += made.failed if made else 0
    if failed:
        raise CoverageError(
            f"{failed} records of {model} were ended by a failed call; run again to try these: "
            "finished calls are stored, and 'driftledger run' scores what is there"
        )


def _refuse_at_once(tasks: Sequence[Task], collector: Collector) -> None:
    """Raise before the first call if what several models need is missing.

    Raise also if no model is ready.

    The first sample or question of each task shows who is asked. What only later ones ask is
    looked at before its first call.

    Raises:
        ConfigError: it names all of that.
    """
    components = {}

    for task in tasks:
        if not task.is_made():
            # a task that cannot begin raises its own error later
            with suppress(DriftledgerError):
                for unit in task.collecting().planned[:1]:
                    walked = walk(unit.steps, collector.store.answer)
                    if walked.pending is not None:
                        following = (*unit.calls[walked.answered :], *unit.after)
                        for component, _ in following:
                            components[component.entry_name] = component
    missing = []
    waiting = set()
    for name, component in components.items():
        for lack in collector.lacking(component):
            missing.append(f"{name}: {lack}")
            waiting.add(name)
    models = {f"models.{task.keys['model']}" for task in tasks}
    models.discard(f"models.{tasks[0].project.settings.judge}" if tasks else "")
    if not waiting < models:
        refuse(sorted(missing))


def last_asked(task: Task, later: Sequence[Task]) -> set[tuple[str, str]]:
    """Return section and name of the components that a task asks and no later one."""
    return task.asks.difference(*(other.asks for other in later))


def _print_spending(project: Project, store: CallStore) -> None:
    """Print the attempts at each service over all runs, and their largest cost."""
    selected = project.components.values()
    components = {component.fingerprint: component for component in selected}
    for fingerprint, component in components.items():
        if isinstance(component, RemoteComponent):
            spent = store.spent(fingerprint)
            cost = f", cost at most {spent.cost:.2f}" if component.prices else ""
            print(
                f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True
            )


def _make(task: Task, collector: Collector, lock: Lock, begins: Begins) -> None:
    """Make a folder of records, unless it is made already.

    Args:
        lock: held while a task begins and its calls are planned, so that no stage begins twice and
            no component is made twice.
    """
    folder = task.folder
    hashed = dict[str, str]()

    def write() -> int:
        with lock:
            begins(f"collect@{task.keys['model']}")
            collecting = task.collecting()
        collected = ask(collecting, collector)
        failures = task.spec.failures(collected)
        min_coverage = collecting.section.min_coverage
        refuse_failures(failures, task.spec.name, min_coverage)
        calls = _usage_of(collecting, collected, collector.store)
        write_collected(folder, collecting, collected, calls)
        for result in results_of(collected):
            if result.file is not None and result.sha256 is not None:
                hashed[result.file] = result.sha256
        if failed := failures.failed:
            advice = "'driftledger run' tries these again"
            say(f"{collecting.title}: {failures} ({first_few(failed)}); {advice}")
        return len(failed)

    make(
        folder,
        task.inputs(),
        write,
        is_unchanged=task.is_unchanged,
        known=hashed,
    )
    if not task.is_unchanged:
        collector.store.pictures.link(folder)


def _usage_of(
    collecting: Collecting, records: Records, store: CallStore
) -> list[CallUsage]:
    """List the usage of the metered calls behind records, each call once."""
    calls = {}
    for result in results_of(records):
        component = collecting.components.get(result.role)
        if component and component[1].metered and result.outcome is not Outcome.FAILED:
            calls[result.key] = CallUsage(
                key=result.key,
                role=result.role,
                service=isinstance(component[1], RemoteComponent),
                usage=store.usage(result.key),
            )
    return [*calls.values()]


def restore(task: Task, store: CallStore) -> None:
    """Put calls into the store that a folder of records holds and the store lacks.

    Raises:
        StoreError: the disk is full; going on would pay for these calls again.
    """
    calls = list[Recorded]()
    with suppress(StoreError):  # records of another version cannot be read
        calls = recorded_calls(task, store)
    store.restore(calls)


def recorded_calls(task: Task, store: CallStore) -> list[Recorded]:
    """List the calls in a folder of records that the store may lack.

    A folder that was changed since it was made may be forged: no call of it is listed.

    Raises:
        StoreError: the records cannot be read.
    """
    folder = task.folder
    calls = list[Recorded]()
    if not (folder / CARD).is_file():
        return calls
    first = next(results_of(stream_records(folder)), None)
    if first and task.is_made() and store.find(first.key):
        return calls
    manifest = made_from(folder)  # None after 'run --force'
    if manifest is not None and manifest.files != files_digest(folder):
        return calls
    data = task.keys[task.spec.data.keys[0]]
    card = read_json(folder / CARD, CollectedCard)
    usage = {call.key: call.usage for call in read_calls(folder)}
    for record in stream_records(folder):
        subject = Subject(record.unit, record.step, data)
        for result in record.results:
            component = card.components.get(result.role)
            version = component.fingerprint if component else None
            result = replace(result, usage=usage.get(result.key))
            calls.append((result.key, version, subject, result))
    return calls


def refuse(missing: Sequence[str]) -> None:
    """Raise before the first call if something is missing.

    Raises:
        ConfigError: with all that is missing.
    """
    if missing:
        everything = "; ".join(missing)
        raise ConfigError(
            f"nothing was asked yet: {everything}; correct that and run again"
        )
