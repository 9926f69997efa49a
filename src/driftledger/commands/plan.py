"""``plan``: show the calls that a run needs, and their price."""

import math
import sys
from collections.abc import Mapping
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from filelock import Timeout
from rich.table import Table

from driftledger.benchmarks.base.benchmark import Collecting
from driftledger.benchmarks.base.records import results_of, stream_records
from driftledger.collect.call import NotStoredError
from driftledger.collect.plan import Plan, PlannedCalls
from driftledger.collect.submitted import under_way
from driftledger.commands.collect import Task, recorded_calls, refuse, tasks_of
from driftledger.commands.folders import new_files
from driftledger.commands.lock import hold, holder
from driftledger.commands.stages import data
from driftledger.commands.terminal import line, table
from driftledger.components.base import Generator
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import StoreError
from driftledger.core.files import free_space
from driftledger.core.grouping import grouped
from driftledger.core.text import for_line, say
from driftledger.core.types import Outcome
from driftledger.project.project import Project
from driftledger.project.resolve import resolved

_COLUMNS = {
    "stored": "stored",
    "to make": "to_make",
    "in batches": "in_batches",
    "likely cost": "likely_cost",
    "at most": "most_cost",
    "spent at most": "most_spent",
}
"""Head of a column of a plan → the value that it shows."""
_DOLLARS = ("likely_cost", "most_cost", "most_spent")
_BYTES_PER_PIXEL = 1.5
"""Guessed bytes per pixel of a PNG."""


@dataclass(frozen=True)
class Preview:
    """Calls to make by component, what is missing for them, and notes for the user."""

    calls: dict[str, PlannedCalls]
    missing: list[str]
    notes: list[str]
    replies: str = "replies"
    """The word for what models give: descriptions where nothing else is asked for."""


def selected_now(project: Project) -> Project:
    """Resolve names in memory and build data as they are selected now.

    While another command holds the lock, its data are used. Errors are those of both steps.
    """
    what = "driftledger collect"
    with suppress(Timeout), hold(project, what), redirect_stdout(sys.stderr):
        project = replace(project, resolved=resolved(project))
        data(project)
    return project


def plan(project: Project, *, holds: bool = False) -> Preview:
    """Count the calls that each selected component still has to make.

    In the user's own checkout, names are resolved in memory, and data are built as they are
    selected now. In a checkout of others, what ``resolve`` noted is counted, and no component is
    looked at. An entry that is neither on this machine nor noted has no stored calls.

    Args:
        holds: whether the caller holds the lock of the checkout.

    Raises:
        StoreError: this is a checkout of others, and its data are not built.
        ConfigError: a folder of data is old; see :func:`~driftledger.commands.folders.new_files`.
    """
    if project.own_code:
        new_files(project)
    missing = dict[str, str]()
    resolved_now = resolved(project, missing) if project.own_code else None
    project = replace(project, asks=False, resolved=resolved_now)
    notes = []
    if project.own_code:
        try:
            lock = nullcontext() if holds else hold(project, "driftledger plan")
            with lock, redirect_stdout(sys.stderr):
                data(project, missing)
        except Timeout:  # its data stay as it reads them
            other = holder(project.root)
            notes.append(
                f"{other} works in this folder: the plan counts the data that it has built"
            )
    preview = _preview(project, missing)
    preview.notes[:0] = notes
    return preview


def _preview(project: Project, missing: dict[str, str]) -> Preview:
    """Count calls, and look for what is missing to make them.

    Args:
        missing: entries that are known to be missing, and why.
    """
    of_controls = 0.0
    needed = {}
    with project.store(writes=False) as store:
        plan = Plan(store)
        tasks_by_model = grouped(tasks_of(project), lambda task: task.keys["model"])
        for tasks in tasks_by_model.values():
            plan.recorded.clear()
            for task in tasks if project.own_code else ():
                # a run would restore these
                with suppress(StoreError):
                    for key, _, _, result in recorded_calls(task, store):
                        if result.outcome is not Outcome.FAILED:
                            plan.recorded[key] = result
            for task in tasks:
                kind = task.spec.data.name
                if f"{kind}s.{task.keys[kind]}" in missing:
                    for section, name in task.asks:
                        needed[f"{section}.{name}"] = project.component(section, name)
                    continue
                before = plan.likely_cost
                collecting = _count(task, plan)
                if collecting.model().control:
                    of_controls += plan.likely_cost - before
        counted = _by_component(project, plan)
        notes = []
        for name, calls in counted.items():
            if calls.batches:
                notes.append(f"{name}: {under_way(calls.batches)}")
        for calls in plan.checks.values():
            counted[f"judge {project.settings.judge}, calibration"] = calls
    lacking = [f"{name}: {why}" for name, why in missing.items()]
    describes = all(spec.metrics.describes for spec in project.settings.benchmarks)
    preview = Preview(
        counted, lacking, notes, "descriptions" if describes else "replies"
    )
    if of_controls:
        likely = sum(calls.likely_cost or 0.0 for calls in counted.values())
        cost = f"cost {of_controls:,.2f} of the likely {likely:,.2f}"
        advice = "take them out of run.models to save that"
        preview.notes.append(f"controls, which never look, {cost}; {advice}")
    if project.own_code:
        for name, calls in counted.items():
            if calls.to_make or calls.in_batches:
                needed[name.partition(",")[0]] = calls.component
        for name in project.settings.named("encoders") if needed else ():
            needed[f"encoders.{name}"] = project.component("encoders", name)
        for name in needed.keys() - missing.keys():
            lacking_here, hints = needed[name].readiness()
            preview.missing.extend(f"{name}: {lack}" for lack in lacking_here)
            preview.notes.extend(f"{name}: {note}" for note in hints)
        _look_at_time_and_disk(preview, project.state)
    preview.missing.sort()
    preview.notes.sort()
    return preview


def _count(task: Task, plan: Plan) -> Collecting:
    """Count the calls behind a folder of records, and return what they are made from."""
    collecting = task.collecting()
    if task.is_made():
        for result in results_of(stream_records(task.folder)):
            _, component = collecting.components[result.role]
            plan.note_stored(result.key, component)
    else:
        # what follows calls that are still to be made is counted at most
        with suppress(NotStoredError):
            collecting.run(plan.run)
    return collecting


def _by_component(project: Project, plan: Plan) -> dict[str, PlannedCalls]:
    """Return the counts of selected models, generators and the judge, by their names."""
    settings = project.settings
    run = settings.run
    counted = {}
    for name in settings.named("models"):
        calls = plan.of(project.component("models", name))
        # some are only named, as the model to compare with
        is_asked = name != run.judge and (calls.stored or calls.to_make)
        if name in run.models or is_asked:
            counted[f"models.{name}"] = calls
    for name in run.generators:
        calls = plan.of(project.component("generators", name))
        counted[f"generators.{name}"] = calls
    judge = settings.judge
    if judge is not None and f"models.{judge}" not in counted:
        counted[f"judge {judge}"] = plan.of(project.component("models", judge))
    return counted


def _note_on_time(component: RemoteComponent, calls: PlannedCalls) -> str:
    """Say how long the calls of a service take, and what batches save.

    Few calls are not worth a note.
    """
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
    """Note how long services take, and whether a folder has room for the drawings.

    The sizes of stored images say how much others will take. Without any, the size is guessed, and
    nothing is refused for it. The drawings of embedded generators are small.
    """
    size = guessed = 0.0
    models = sum(name.startswith("models.") for name in preview.calls)
    for name, calls in preview.calls.items():
        component = calls.component
        if isinstance(component, RemoteComponent) and (
            note := _note_on_time(component, calls)
        ):
            shares = models > 1 and not component.batch
            if shares and isinstance(component, Generator):
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
    """Print notes for the user, and return the calls to make by component.

    Raises:
        ConfigError: something is missing that calls need.
    """
    preview = _preview(replace(project, asks=False), {})
    for note in preview.notes:
        say(for_line(note))
    refuse(preview.missing)
    return preview.calls


def plan_table(
    plan: Mapping[str, Mapping[str, Any]], replies: str = "replies"
) -> Table:
    """Lay out a line per component, and sums; empty columns are left out.

    Args:
        replies: the word for what models give. Where generators have a price, too, both have a
            sum of their own.
    """
    columns = {}
    for head, key in _COLUMNS.items():
        if any(calls[key] for calls in plan.values()):
            columns[head] = key
    paid = {calls["kind"] for calls in plan.values() if calls["most_cost"] is not None}
    sums = {"all": {"model", "generator"}} if paid else {}
    if len(paid) > 1:
        sums = {replies: {"model"}, "drawings": {"generator"}} | sums
    rows = dict(plan)
    for what, kinds in sums.items():
        members = [calls for calls in plan.values() if calls["kind"] in kinds]
        rows[what] = {
            key: sum((calls[key] or 0.0 for calls in members), 0.0) for key in _DOLLARS
        }
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
