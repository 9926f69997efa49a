"""``collect --shard``: one of several processes that each collect a part into a store of their own; and ``merge``."""

import shlex
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar

from driftledger.benchmarks.registry import benchmark_names, runner
from driftledger.benchmarks.runner import Collecting
from driftledger.collect.call import NotStoredError, Planned
from driftledger.collect.observations import write_observations
from driftledger.collect.run import Collector
from driftledger.collect.shards import Shard, block_of, part_of, stores_in
from driftledger.collect.store import DATABASE, CallStore, Merged
from driftledger.commands.collect import check_known, tasks_of
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.escaping import for_line
from driftledger.core.made import is_made
from driftledger.core.progress import Progress
from driftledger.project.inputs import stage_inputs
from driftledger.project.project import Project
from driftledger.project.workers import collector_of

R = TypeVar("R")


def named_part(shard: str | None, into: Path | None) -> tuple[Shard, Path]:
    """The shard and the folder that the command line names.

    Raises:
        ConfigError: it names only one of them.
    """
    if shard is None or into is None:
        raise ConfigError("--shard i/n and --into FOLDER go together: a shard keeps its calls in a store there")
    return Shard.parse(shard), into


def collect_shard(
    project: Project, shard: Shard, into: Path, benchmarks: Collection[str] = (), models: Collection[str] = ()
) -> str:
    """Make this shard's part of the calls that are not stored yet, and say what to do next.

    They go into a store below ``into``; no other file is written, and encoders are not asked. Calls are looked up in
    the project's store and in those of the other shards. A stage that needs calls which other shards make is left out.

    Args:
        benchmarks, models: as of :func:`~driftledger.commands.collect.collect`.

    Raises:
        ConfigError: there is no such benchmark, or the model is not selected.
        StoreError: a dataset or a question set is not built yet, a component has changed since it was resolved, or the
            store cannot be written.
    """
    check_known("selected model", models, project.settings.run.models)
    check_known("benchmark", benchmarks, benchmark_names())
    tasks = [task for name in models or project.settings.run.models for task in tasks_of(project, name, benchmarks)]
    block = block_of(
        component
        for task in tasks
        for component in runner(task.spec.name)
        .collecting(stage_inputs(project, task.spec, task.keys), task.stage.name, {})
        .components
    )
    folder, waiting = shard.store(into), False
    with ExitStack() as stack:
        elsewhere = [project.state, *(each for each in stores_in(into) if each != folder)]
        others = [
            stack.enter_context(CallStore(each, writes=False)) for each in elsewhere if (each / DATABASE).is_file()
        ]
        store = stack.enter_context(CallStore(folder, wait=project.waits, others=others))
        before = store.count()
        collector = stack.enter_context(collector_of(project.settings, store, shards=shard.of))
        done: dict[tuple[str, ...], dict[str, Any]] = {}
        for number, task in enumerate(tasks):
            earlier = done.setdefault((task.spec.name, *task.keys.values()), {})
            if not is_made(project.root / task.stage.at(task.keys), task.inputs_now(project), look_into_files=False):
                try:
                    folders = {stage.name: project.root / stage.at(task.keys) for stage in task.before[1:]}
                    if any(name not in earlier and not each.is_dir() for name, each in folders.items()):
                        raise NotStoredError
                    given = stage_inputs(project, task.spec, task.keys)
                    collecting = runner(task.spec.name).collecting(given, task.stage.name, earlier or None)
                    if collecting.calls:
                        earlier[task.stage.name] = _ask_part(shard, block, store, collector, collecting)
                except NotStoredError:
                    waiting = True
            left = {each for later in tasks[number + 1 :] for each in later.asks(project)}
            for role, name in task.asks(project) - left:
                collector.release(getattr(project, role)(name))
        new = store.count() - before
    made = f"{new} calls were made, and are in {folder}" if new else "there was nothing to make"
    merging = f"'driftledger merge {shlex.quote(str(into))}'"
    if waiting:
        return (
            f"shard {shard}: {made}; some stages need what other shards make: when all have ended, start them again "
            f"with the same --into, where each looks into all stores, or go on where the call store is, after {merging}"
        )
    return f"shard {shard}: {made}; all is there: {merging} brings it into the call store, and 'dvc repro' goes on"


def _ask_part(shard: Shard, block: int, store: CallStore, collector: Collector, collecting: Collecting[R]) -> R:
    def make(planned: Sequence[Planned[R]], positions: Sequence[int]) -> list[R]:
        own = set(positions)
        progress.skip(sum(len(each.calls) for position, each in enumerate(planned) if position not in own))
        most_calls = max((len(each.calls) for each in planned), default=0)
        steps = (planned[position].steps() for position in positions)
        return collector.run(steps, progress, most_calls, positions=positions)

    with Progress(f"{collecting.title} · {shard}", total=collecting.calls) as progress:
        return collecting.run(lambda planned: part_of(planned, shard, block, store, make))


def merge(project: Project, paths: Sequence[Path]) -> str:
    """Bring the stores of shards, or all stores in a folder, into the call store, and say what was new.

    Raises:
        StoreError: there is no store, or one cannot be read; those before it are merged.
    """
    folders = list(dict.fromkeys(folder for path in paths for folder in _stores(path)))
    total = Merged()
    with project.store() as store, Progress("merge", total=len(folders), unit="store") as progress:
        for folder in folders:
            with CallStore(folder, writes=False) as other:
                total = total.plus(store.merge(other))
            progress.update()
        with project.only_one(project.paths.observations):
            write_observations(project.paths.observations, store.observations())
    parts = [
        f"{total.new} calls are new",
        *([f"{total.same} were made twice, with the same answer"] if total.same else []),
        *([f"{total.other} were made twice with different answers: the first stays"] if total.other else []),
        *([f"{total.damaged} are left out, because their image is damaged"] if total.damaged else []),
    ]
    return f"{'1 store' if len(folders) == 1 else f'{len(folders)} stores'} merged: {', '.join(parts)}"


def _stores(path: Path) -> list[Path]:
    folders = stores_in(path)
    if not folders:
        raise StoreError(
            f"{for_line(str(path))} is not a call store and holds none; name the folder that was given to "
            "'driftledger collect' as --into"
        )
    return folders
