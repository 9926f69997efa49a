"""Make a part of the calls on one of several machines, and merge.

A shard is a process that makes a part of the calls, into a store of its own.
"""

import math
import re
import shlex
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from driftledger.collect.call import NotStoredError, Planned, walk
from driftledger.collect.progress import Progress
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore, stores_in
from driftledger.commands.collect import Task, last_asked, tasks_of
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.text import for_line
from driftledger.project.project import Project

R = TypeVar("R")


class Shard(NamedTuple):
    """Part ``number``, from 0, of ``of`` parts of the calls.

    Units are dealt out by their positions alone, in blocks that no batch of a local component
    crosses: every call is in the same batch as in a run of one process. Equal positions of the same
    data belong to one shard, so that a question that several stages ask about a sample is asked
    once.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read ``i/n``.

        Raises:
            ConfigError: it is not a shard.
        """
        match = re.fullmatch(r"([0-9]{1,6})/([0-9]{1,6})", text)
        shard = cls(int(match[1]), int(match[2])) if match else cls(0, 0)
        if not shard.number < shard.of:
            form = "write i/n, counted from 0, so that the last is n-1 of n"
            raise ConfigError(f"--shard {text!r} is not a shard: {form}")
        return shard

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"

    def store(self, folder: Path) -> Path:
        """Return the folder of its store inside ``folder``, which all shards share."""
        return folder / f"shard-{self.number}-of-{self.of}"


def part_of(
    planned: Iterable[Planned[R]],
    shard: Shard,
    block: int,
    collector: Collector,
    progress: Progress,
) -> list[R]:
    """Drive the units of one shard, and look up those of the other shards.

    Args:
        block: units in a row that always belong to one shard: a multiple of all batch sizes.

    Raises:
        NotStoredError: units of other shards are in no store that the collector looks into.
    """
    units = [*planned]
    positions = range(len(units))
    own = [
        position
        for position in positions
        if position // block % shard.of == shard.number
    ]
    results = collector.run((units[position].steps for position in own), progress, own)
    returned: dict[int, Any] = dict(zip(own, results, strict=True))
    for position, unit in enumerate(units):
        if position not in returned:
            walked = walk(unit.steps, collector.store.answer)
            if walked.pending is not None:
                raise NotStoredError
            returned[position] = walked.returned
    return [returned[position] for position in positions]


def collect_shard(
    project: Project, shard: str, into: Path, models: Sequence[str] = ()
) -> str:
    """Make a shard's part of the missing calls, and say what to do next.

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
            block = math.lcm(block, component.batch_size)
            if isinstance(component, RemoteComponent) and component.batch:
                advice = "collect its calls without --shard, or take `batch` out"
                raise ConfigError(f"{component.title} is asked in batches; {advice}")
    return block


def merge(project: Project, paths: Sequence[Path]) -> str:
    """Merge the stores of shards into the call store, and say how many calls are new.

    A folder stands for all stores in it.

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
