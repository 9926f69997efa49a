"""Make the calls that the selection needs, and write their results as the records of each model.

One process makes the calls of all benchmarks of a model, so that a checkpoint is loaded once. A
folder of records is left alone while its inputs are the same. Before it is made again, its calls
are put into the store: a clone that has the records and not the store pays only for what is new. A
shard is one of several processes that each make a part of the calls, into a store of its own, for
``driftledger merge``.
"""

import math
import shlex
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

from filelock import Timeout
from rich.table import Table

from driftledger.benchmarks.base import RECORDS_OF, ROLES, SECTIONS, Benchmark
from driftledger.benchmarks.collecting import Collecting, FailedCalls, write_collected
from driftledger.benchmarks.records import (
    CARD,
    CollectedCard,
    CollectedRecord,
    Records,
    results_of,
    stream_records,
)
from driftledger.benchmarks.usage import CallUsage, read_calls
from driftledger.collect.call import NotStoredError, walk
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.progress import COUNTS, Progress
from driftledger.collect.run import Collector, Shard, part_of
from driftledger.collect.store import CallStore, Recorded, stores_in
from driftledger.collect.submitted import under_way
from driftledger.commands.folders import new_files
from driftledger.commands.lock import hold, holder
from driftledger.commands.stages import Begins, data, raise_all, unsaid
from driftledger.commands.terminal import line, table
from driftledger.components.base import Generator
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import (
    ConfigError,
    CoverageError,
    DriftledgerError,
    StoreError,
    first_few,
    unknown_name,
)
from driftledger.core.files import (
    Made,
    files_digest,
    free_space,
    keep_only,
    made_from,
    make,
    read_json,
    write_json,
)
from driftledger.core.grouping import grouped
from driftledger.core.paths import STATE
from driftledger.core.text import for_line, say
from driftledger.core.types import Outcome, Result, Subject
from driftledger.project.project import Project
from driftledger.project.resolve import inputs_of, resolved

FAILED = "failed.json"
"""In the folder of the checkout's state: model → why its calls could not be made."""
_COLUMNS = {
    "stored": "stored",
    "to make": "to_make",
    "in batches": "in_batches",
    "likely cost": "likely_cost",
    "at most": "most_cost",
    "spent at most": "most_spent",
}
"""Heads of the columns of a plan, and what each shows."""
_BYTES_PER_PIXEL = 1.5
"""Of a PNG, for a guess."""


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
        """Section and name of each component that is asked."""
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
        """Return the manifest of its folder without a look into its files; None unless it was made
        from today's inputs."""
        manifest = made_from(self.folder)
        with suppress(StoreError):  # the data are not built
            if manifest is not None and manifest.inputs == self.inputs():
                return manifest
        return None

    def is_made(self) -> bool:
        """Return True if nothing is left to do: its records are made and no call failed."""
        manifest = self.made()
        return manifest is not None and not manifest.failed

    def is_whole(self) -> bool:
        """Return True if nothing is left to do, and its files are as they were made."""
        manifest = self.made()
        if manifest is None or manifest.failed:
            return False
        return self.is_unchanged or manifest.files == files_digest(self.folder)

    def collecting(self) -> Collecting:
        """Return the calls behind its records."""
        return self.project.collecting(self.spec, self.keys)


def ask(
    collecting: Collecting, collector: Collector, counts: Path | None = None
) -> list[CollectedRecord]:
    """Make every call that is not stored yet, show the progress, and add to a file of counts."""
    with Progress(collecting.title, collecting.calls, counts=counts) as progress:
        return collecting.run(
            lambda planned: collector.run((each.steps for each in planned), progress)
        )


def refuse_failures(
    failures: FailedCalls, benchmark_name: str, min_coverage: float
) -> None:
    """Refuse to go on when too much was ended by a failed call, so that there is a next run, which
    tries it again.

    A refusal is an answer and stays; whether enough is left to score is for the scoring half to
    say.

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
            for place in _last_asked(task, left):
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
        _say_what_was_spent(project, store)
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
    """Refuse to call the records of a model complete where a failed call ended some: else DVC would
    note them, and not try again.

    Raises:
        CoverageError: there are some.
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
    """Refuse to ask anything where what several models need is missing, or all models are not
    ready.

    The first sample or question of each task shows who is asked. What only later ones ask is
    looked at before its first call.

    Raises:
        ConfigError: it names all of that.
    """
    asked = {}

    for task in tasks:
        if not task.is_made():
            # of what cannot be begun, its own error tells
            with suppress(DriftledgerError):
                for each in task.collecting().planned[:1]:
                    walked = walk(each.steps, collector.store.answer)
                    if walked.pending is not None:
                        following = (*each.calls[walked.answered :], *each.after)
                        for component, _ in following:
                            asked[component.entry_name] = component
    missing = []
    waiting = set()
    for name, component in asked.items():
        for lack in collector.lacking(component):
            missing.append(f"{name}: {lack}")
            waiting.add(name)
    models = {f"models.{task.keys['model']}" for task in tasks}
    models.discard(f"models.{tasks[0].project.settings.judge}" if tasks else "")
    if not waiting < models:
        refuse(sorted(missing))


def _last_asked(task: Task, later: Sequence[Task]) -> set[tuple[str, str]]:
    """Return section and name of the components that a task asks and no later one."""
    return task.asks.difference(*(each.asks for each in later))


def _say_what_was_spent(project: Project, store: CallStore) -> None:
    """Print the attempts at each service that was asked, and the most that they may have cost, of
    all runs so far."""
    components = {each.fingerprint: each for each in project.components.values()}
    for fingerprint, component in components.items():
        if isinstance(component, RemoteComponent):
            spent = store.spent(fingerprint)
            cost = f", cost at most {spent.cost:.2f}" if component.prices else ""
            print(
                f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True
            )


def _make(task: Task, collector: Collector, lock: Lock, begins: Begins) -> None:
    """Make a folder of records, unless it is made; the calls of an earlier one are kept.

    Args:
        lock: held while a task begins and its calls are planned, so that no stage begins twice and
            no component is made twice.
    """
    folder = task.folder

    def write() -> int:
        with lock:
            begins(f"collect@{task.keys['model']}")
            collecting = task.collecting()
        counts = task.project.root / STATE / COUNTS
        collected = ask(collecting, collector, counts)
        failures = task.spec.failures(collected)
        min_coverage = collecting.section.min_coverage
        refuse_failures(failures, task.spec.name, min_coverage)
        calls = _usage_of(collecting, collected, collector.store)
        write_collected(folder, collecting, collected, calls)
        if failed := failures.failed:
            advice = "'driftledger run' tries these again"
            say(f"{collecting.title}: {failures} ({first_few(failed)}); {advice}")
        return len(failed)

    make(folder, task.inputs(), write, is_unchanged=task.is_unchanged)
    if not task.is_unchanged:
        collector.store.link_images(folder)


def _usage_of(
    collecting: Collecting, records: Records, store: CallStore
) -> list[CallUsage]:
    """List the calls of services and checkpoints behind records, each once, as they are stored."""
    calls = {}
    for result in results_of(records):
        named = collecting.components.get(result.role)
        if named and named[1].metered and result.outcome is not Outcome.FAILED:
            calls[result.key] = CallUsage(
                key=result.key,
                role=result.role,
                service=isinstance(named[1], RemoteComponent),
                usage=store.usage(result.key),
            )
    return [*calls.values()]


def restore(task: Task, store: CallStore) -> None:
    """Put the calls of a folder of records into the store, unless it has them."""
    with suppress(StoreError):  # they cannot be read, as of another version
        store.restore(_recorded(task, store))


def _recorded(task: Task, store: CallStore) -> list[Recorded]:
    """List the calls in a folder of records that the store may lack; none if the folder was changed
    since it was made, since it may be forged.

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


@dataclass(frozen=True)
class Preview:
    """Calls to make by component, what they lack, and what to know before the first."""

    calls: dict[str, PlannedCalls]
    missing: list[str]
    notes: list[str]


def selected_now(project: Project) -> Project:
    """Resolve names in memory and build data as they are selected now, unless another command that
    holds the lock has done so; errors as of both."""
    what = "driftledger collect"
    with suppress(Timeout), hold(project.root, what), redirect_stdout(sys.stderr):
        project = replace(project, resolved=resolved(project))
        data(project)
    return project


def plan(project: Project, *, holds: bool = False) -> Preview:
    """Count the calls that are still needed of each selected component, without making any.

    In one's own checkout, names are resolved into memory, and data that are not as they are
    selected now are built. Of a checkout of others, what ``resolve`` noted is counted, and nothing
    is asked. Of an entry that is not on this machine and was not noted, nothing counts as stored.

    Args:
        holds: whether the caller holds the lock of the checkout.

    Raises:
        StoreError: this is a checkout of others, and its data are not built.
        ConfigError: a folder of data is old; see :func:`~driftledger.commands.folders.new_files`.
    """
    if project.own_code:
        new_files(project)
    missing = dict[str, str]()
    noted = resolved(project, missing) if project.own_code else None
    project = replace(project, asks=False, resolved=noted)
    notes = []
    if project.own_code:
        try:
            lock = nullcontext() if holds else hold(project.root, "driftledger plan")
            with lock, redirect_stdout(sys.stderr):
                data(project, missing)
        except Timeout:  # its data stay as it reads them
            who = holder(project.root)
            notes.append(f"{who} works in this folder: data count as it has built them")
    preview = _preview(project, missing)
    return replace(preview, notes=[*notes, *preview.notes])


def _preview(project: Project, missing: dict[str, str]) -> Preview:
    """Count calls, and look at what those that are to be made need.

    Args:
        missing: entries that are known to be missing, and why.
    """
    settings, run = project.settings, project.settings.run
    of_controls = 0.0
    with project.store(writes=False) as store:
        plan = Plan(store)
        tasks = tasks_of(project)
        asked = {}
        model = ""
        for task in tasks:
            if project.own_code and task.keys["model"] != model:
                model = task.keys["model"]
                plan.recorded.clear()
                for each in tasks:
                    if each.keys["model"] == model:
                        plan.recorded |= _results(each, store)
            kind = task.spec.data.name
            if f"{kind}s.{task.keys[kind]}" in missing:
                for section, name in task.asks:
                    asked[f"{section}.{name}"] = project.component(section, name)
                continue
            collecting = task.collecting()
            if task.is_made():
                for record in stream_records(task.folder):
                    for result in record.results:
                        plan.note_stored(
                            result.key, collecting.components[result.role][1]
                        )
                continue
            before = plan.likely_cost
            # what follows calls that are still to be made is counted at most
            with suppress(NotStoredError):
                collecting.run(plan.run)
            if collecting.model().is_control:
                of_controls += plan.likely_cost - before
        counted = {}
        for name in settings.named("models"):
            calls = plan.of(project.component("models", name))
            # some are only named, as the model to compare with
            is_asked = name != run.judge and (calls.stored or calls.to_make)
            if name in run.models or is_asked:
                counted[f"models.{name}"] = calls
        for name in run.generators:
            counted[f"generators.{name}"] = plan.of(
                project.component("generators", name)
            )
        judge = settings.judge
        if judge is not None and f"models.{judge}" not in counted:
            counted[f"judge {judge}"] = plan.of(project.component("models", judge))
        notes = []
        for name, calls in counted.items():
            if batches := store.submitted(calls.component.fingerprint):
                notes.append(f"{name}: {under_way(batches)}")
        for calls in plan.checks.values():
            counted[f"judge {judge}, calibration"] = calls
    lacking = [f"{name}: {why}" for name, why in missing.items()]
    preview = Preview(counted, lacking, notes)
    if of_controls:
        likely = sum(calls.likely_cost or 0.0 for calls in counted.values())
        cost = f"cost {of_controls:,.2f} of the likely {likely:,.2f}"
        advice = "take them out of run.models to save that"
        preview.notes.append(f"controls, which never look, {cost}; {advice}")
    if project.own_code:
        for name, calls in counted.items():
            if calls.to_make or calls.in_batches:
                asked[name.partition(",")[0]] = calls.component
        for name in settings.named("encoders") if asked else ():
            asked[f"encoders.{name}"] = project.component("encoders", name)
        for name in asked.keys() - missing.keys():
            lacks, knows = asked[name].readiness()
            preview.missing.extend(f"{name}: {each}" for each in lacks)
            preview.notes.extend(f"{name}: {each}" for each in knows)
        _look_at_time_and_disk(preview, project.state)
    return Preview(counted, sorted(preview.missing), sorted(preview.notes))


def _results(task: Task, store: CallStore) -> dict[str, Result]:
    """Return the results that a run restores from records, by the digests of their calls' keys."""
    results = {}
    with suppress(StoreError):
        for key, _, _, result in _recorded(task, store):
            if result.outcome is not Outcome.FAILED:
                results[key] = result
    return results


def _note_on_time(component: RemoteComponent, calls: PlannedCalls) -> str:
    """Return how long the calls of a service take, and what batches save; empty for few calls."""
    if component.batch:
        if component.prices is None or not calls.most_cost:
            return ""
        alone = calls.most_cost / (1 - component.prices.batch_discount)
        days = f"batches take up to {calls.steps} x 24 hours"
        return f"without `batch` at most {alone:,.2f}; {days}"
    at_once = component.limits.concurrency
    if calls.to_make <= at_once:
        return ""
    turns = math.ceil(calls.to_make / at_once)
    seconds = round(turns * calls.mean.seconds)
    duration = f"in {turns:,} rounds"
    if seconds:
        duration = f"about {timedelta(seconds=seconds)} in all"
    return f"{calls.to_make:,} calls, {at_once} at once, {duration}"


def _look_at_time_and_disk(preview: Preview, folder: Path) -> None:
    """Note how long services take, and that a folder lacks room for what is drawn.

    The sizes of stored images say what others will take. Without any, there is a guess, for which
    nothing is refused. What embedded generators draw is small.
    """
    size = guessed = 0.0
    models = sum(name.startswith("models.") for name in preview.calls)
    for name, calls in preview.calls.items():
        component = calls.component
        if isinstance(component, RemoteComponent) and (
            note := _note_on_time(component, calls)
        ):
            if "at once" in note and isinstance(component, Generator) and models > 1:
                note += f"; {models} models share these slots"
            preview.notes.append(f"{name}: {note}")
        if isinstance(component, Generator) and component.understands is None:
            if calls.mean_size is None:
                guessed += calls.to_make * component.pixels * _BYTES_PER_PIXEL
            else:
                size += calls.to_make * calls.mean_size
    free = free_space(folder)
    needs = f"takes about {size / 1e6:,.0f} MB"
    notices = preview.missing
    if size <= free:
        most = f"{(size + guessed) / 1e6:,.0f} MB"
        needs = f"may take about {most} (a guess: none is stored yet)"
        notices = preview.notes
    if size + guessed > free:
        notices.append(
            f"store: what is drawn {needs} in {folder}, where {free / 1e6:,.0f} MB are free; make "
            "room, or name another folder as `store:`"
        )


def require_readiness(project: Project) -> dict[str, PlannedCalls]:
    """Print what to know before the first call, and return the calls to make by component.

    Raises:
        ConfigError: something is missing that calls need.
    """
    preview = _preview(replace(project, asks=False), {})
    for note in preview.notes:
        say(for_line(note))
    refuse(preview.missing)
    return preview.calls


def refuse(missing: Sequence[str]) -> None:
    """Refuse to begin with the calls.

    Raises:
        ConfigError: something is missing.
    """
    if missing:
        everything = "; ".join(missing)
        raise ConfigError(
            f"nothing was asked yet: {everything}; correct that and run again"
        )


def plan_table(plan: Mapping[str, Mapping[str, Any]]) -> Table:
    """Lay out a line per component and the sum of what costs money, without empty columns."""
    rows = dict(plan)
    columns = {}
    total = {}
    for head, key in _COLUMNS.items():
        values = [calls[key] for calls in plan.values()]
        if any(values):
            columns[head] = key
        if key in ("likely_cost", "most_cost", "most_spent"):
            total[key] = sum((value or 0.0 for value in values), 0.0)
    if any(calls["most_cost"] is not None for calls in plan.values()):
        rows["all"] = total
    planned = table("", *columns, numbers=[*columns])
    for name, calls in rows.items():
        cells = [line(_amount(calls.get(key))) for key in columns.values()]
        planned.add_row(line(name), *cells)
    return planned


def _amount(value: int | float | None) -> str:
    """Write dollars with cents, and a number of calls without; nothing as a dash."""
    if isinstance(value, float):
        return f"{value:,.2f}"
    return f"{value:,}" if value else "–"


def collect_shard(
    project: Project, shard: str, into: Path, models: Sequence[str] = ()
) -> str:
    """Make a shard's part of the calls that the project's store lacks, and say what to do next.

    They go into a store below ``into``; no other file is written, and encoders are not asked. A
    stage that needs calls which other shards make is left out.

    Args:
        shard: ``i/n``, counted from 0.
        models: as of :func:`collect`.

    Raises:
        ConfigError: it is not a shard, or a model is not selected.
        StoreError: the data are not built yet, a component has changed since it was resolved, or
            the store cannot be written.
    """
    part = Shard.parse(shard)
    tasks = tasks_of(project, models)
    block = 1
    for task in tasks:
        for section, name in sorted(task.asks):
            component = project.component(section, name)
            block = math.lcm(block, component.batch_window)
            if isinstance(component, RemoteComponent) and component.batch:
                advice = "collect its calls without --shard, or take `batch` out"
                raise ConfigError(f"{component.title} is asked in batches; {advice}")
    folder = part.store(into)
    left_out = 0
    with (
        project.store(writes=False) as main,
        CallStore(folder, wait=project.waits, fallback=main) as store,
        Collector(store, shards=part.of) as collector,
    ):
        before = store.count()
        for number, task in enumerate(tasks):
            if not task.is_made():
                try:
                    collecting = task.collecting()
                    title = f"{collecting.title} · {part}"
                    with Progress(title, total=collecting.calls // part.of) as progress:
                        own = partial(
                            part_of,
                            shard=part,
                            block=block,
                            collector=collector,
                            progress=progress,
                        )
                        collecting.run(own)
                except NotStoredError:
                    left_out += 1
            for section, name in _last_asked(task, tasks[number + 1 :]):
                collector.release(project.component(section, name))
        new = store.count() - before
    calls = (
        f"{new} calls were made, and are in {folder}"
        if new
        else "there was nothing to make"
    )
    rest = f"; {left_out} stages need what other shards make" if left_out else ""
    merging = f"'driftledger merge {shlex.quote(str(into))}'"
    return (
        f"shard {part}: {calls}{rest}; when all shards have ended, {merging} and 'driftledger "
        "run' go on"
    )


def merge(project: Project, paths: Sequence[Path]) -> str:
    """Bring the stores of shards, or all stores in a folder, into the call store, and say what was
    new.

    Raises:
        StoreError: a store is missing or cannot be read; those before it are merged.
    """
    folders = dict[Path, None]()
    for path in paths:
        if not (stores := stores_in(path)):
            raise StoreError(
                f"{for_line(str(path))} is not a call store and holds none; name the folder that "
                "was given to 'driftledger collect' as --into"
            )
        folders |= dict.fromkeys(stores)
    new = differing = 0
    with (
        project.store() as store,
        Progress("merge", total=len(folders), unit="store") as progress,
    ):
        for folder in folders:
            with CallStore(folder, writes=False) as other:
                counts = store.merge(other)
            new += counts[0]
            differing += counts[1]
            progress.update()
    names = "1 store" if len(folders) == 1 else f"{len(folders)} stores"
    others = (
        f"; {differing:,} calls have another answer here; the first stays"
        if differing
        else ""
    )
    return f"{names} merged: {new:,} calls are new{others}"
