"""Make a part of the calls on one of several machines, and bring the parts together.

A shard is one of several processes that each make a part of the calls, into a store of its own.
"""

import math
import shlex
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from driftledger.collect.call import NotStoredError
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector, Shard, part_of
from driftledger.collect.store import CallStore, stores_in
from driftledger.commands.collect import Task, last_asked, tasks_of
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.text import for_line
from driftledger.project.project import Project


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
    block = _block_of(project, tasks)
    folder = part.store(into)
    left_out = 0
    with (
        project.store(writes=False) as main,
        CallStore(folder, wait=project.waits, fallback=main) as store,
        Collector(store, shards=part.of) as collector,
    ):
        before = store.database.count()
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
            for section, name in last_asked(task, tasks[number + 1 :]):
                collector.release(project.component(section, name))
        new = store.database.count() - before
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


def _block_of(project: Project, tasks: Sequence[Task]) -> int:
    """Return how many units in a row belong to one shard: a multiple of all batches.

    Raises:
        ConfigError: a service is asked in batches.
    """
    block = 1
    for task in tasks:
        for section, name in sorted(task.asks):
            component = project.component(section, name)
            block = math.lcm(block, component.batch_window)
            if isinstance(component, RemoteComponent) and component.batch:
                advice = "collect its calls without --shard, or take `batch` out"
                raise ConfigError(f"{component.title} is asked in batches; {advice}")
    return block


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
