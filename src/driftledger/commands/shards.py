"""Shards: collecting in several processes that share no database, and the merge that brings together what they made."""

import shlex
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Collecting, Planned
from driftledger.collect.merge import Merged, merge_spool
from driftledger.collect.observations import write_observations
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.shards import Part, Shard, block_of
from driftledger.collect.spool import Spool, spools_in
from driftledger.collect.steps import NotStoredError
from driftledger.collect.workers.base import Workers
from driftledger.commands.collect import Work, check_known, is_recorded, selected_work
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.escaping import for_line
from driftledger.core.progress import Progress
from driftledger.project.project import Project
from driftledger.project.workers import workers_of

R = TypeVar("R")


def named_part(shard: str | None, into: Path | None) -> tuple[Shard, Path]:
    """What the command line says.

    Raises:
        ConfigError: it says only half of it.
    """
    if shard is None or into is None:
        raise ConfigError("--shard i/n and --into FOLDER go together: a shard keeps what it makes in a spool there")
    return Shard.parse(shard), into


def collect_shard(
    project: Project, shard: Shard, into: Path, benchmarks: Collection[str] = (), models: Collection[str] = ()
) -> str:
    """Ask what is this shard's part of everything that is not stored yet, and say what is to be done next.

    What comes of it goes into a new spool below ``into``; no other file of the checkout is written, and encoders are
    shown nothing. A stage that goes on from what other shards make is left for later.

    Args:
        benchmarks, models: as of :func:`~driftledger.commands.collect.collect`.

    Raises:
        ConfigError: there is no such benchmark, or the model is not selected.
        StoreError: a dataset or a question set is not built yet, a component has changed since it was resolved, or the
            spool cannot be written.
    """
    check_known("selected model", models, project.settings.run.models)
    work = [each for each in selected_work(project, benchmarks) if not models or each.keys["model"] in models]
    block = block_of(component for each in work for component in _components(project, each))
    with Spool(into, shard, project.state) as spool, workers_of(project.settings) as workers:
        asking = _Asking(project, spool, shard, block, workers)
        asking.first_stages(work)
        asking.later_stages(work, apart=not models)
        return _what_next(spool, shard, into, is_complete=not asking.waiting)


def _components(project: Project, work: Work) -> Iterator[Any]:
    for stage in work.spec.collects:
        yield from runner(work.spec.name).collecting(project, stage.name, work.keys, {}).components


@dataclass
class _Asking:
    """One shard's part of the collect stages."""

    project: Project
    spool: Spool
    shard: Shard
    block: int
    workers: Workers
    waiting: set[str] = field(default_factory=set)
    """Places of the stages that need what other shards make."""

    def first_stages(self, work: Sequence[Work]) -> None:
        """Of each line of flow, model by model and within each generator by generator."""
        for name in self.project.settings.run.models:
            own = [each for each in work if each.keys["model"] == name]
            for generator in dict.fromkeys(each.keys.get("generator") for each in own):
                for each in own:
                    if each.keys.get("generator") == generator:
                        self._ask(each, each.spec.collects[0])
                if generator is not None:
                    self.project.generator(generator).release()
            if own:
                self.project.model(name).release()

    def later_stages(self, work: Sequence[Work], *, apart: bool) -> None:
        """Those that go on from what is complete, and those ``apart`` from the flow, each once. The latter may ask what
        first stages ask, at other positions: they are left until all of these are complete."""
        flow = set(self.waiting)
        asked = set[str]()
        for each in work:
            before = each.spec.collects[0].at(each.keys)
            for stage in each.spec.collects[1:]:
                place = stage.at(each.keys)
                if not stage.apart:
                    self._ask(each, stage, waits=before in self.waiting)
                    before = place
                elif apart and place not in asked:
                    self._ask(each, stage, waits=bool(flow))
                    asked.add(place)

    def _ask(self, work: Work, stage: Stage, *, waits: bool = False) -> None:
        try:
            if waits:
                raise NotStoredError
            if is_recorded(self.project, work, stage, self.spool):
                return
            collecting = runner(work.spec.name).collecting(self.project, stage.name, work.keys, work.done or None)
            if collecting.calls:
                work.done[stage.name] = self._part_of(collecting)
        except NotStoredError:
            self.waiting.add(stage.at(work.keys))

    def _part_of(self, collecting: Collecting[R]) -> R:
        with Progress(f"{collecting.title} · {self.shard}", total=collecting.calls) as progress:
            return collecting.run(
                Part(self.shard, self.block, self.spool, partial(_made, self.spool, self.workers, progress))
            )


def _made(
    spool: Spool, workers: Workers, progress: Progress, planned: Sequence[Planned[R]], positions: Sequence[int]
) -> list[R]:
    own = set(positions)
    progress.skip(sum(len(each.calls) for position, each in enumerate(planned) if position not in own))
    most_calls = max((len(each.calls) for each in planned), default=0)
    steps = [planned[position].steps() for position in positions]
    return run_protocols(steps, spool, progress, most_calls, positions=positions, workers=workers) if steps else []


def _what_next(spool: Spool, shard: Shard, into: Path, *, is_complete: bool) -> str:
    made = f"{spool.made} calls were made, and are in {spool.folder}" if spool.made else "there was nothing to make"
    merging = f"'driftledger merge {shlex.quote(str(into))}'"
    if is_complete:
        return f"shard {shard}: {made}; all is there: {merging} brings it into the call store, and 'dvc repro' goes on"
    return (
        f"shard {shard}: {made}; some stages wait for what other shards make: when all have ended, start them again "
        f"with the same --into, where each looks into all spools, or go on where the call store is, after {merging}"
    )


def merge(project: Project, paths: Sequence[Path]) -> str:
    """Bring spools, or all spools in a folder, into the call store, and say what came of it.

    Raises:
        StoreError: there is no spool, or a line or an image of one is damaged; what stands before it is merged.
    """
    folders = list(dict.fromkeys(folder for path in paths for folder in _spools(path)))
    total = Merged()
    with project.store() as store, Progress("merge", total=len(folders), unit="spool") as progress:
        try:
            for folder in folders:
                total = total.plus(merge_spool(store, folder))
                progress.update()
        finally:
            with project.only_one(project.paths.observations):
                write_observations(project.paths.observations, store.observations())
    again = f", {total.same} were there with the same bytes" if total.same else ""
    other = f", {total.other} gave other bytes than before, which are kept as observations" if total.other else ""
    spools = "1 spool" if len(folders) == 1 else f"{len(folders)} spools"
    return f"{spools} merged: {total.new} calls are new{again}{other}"


def _spools(path: Path) -> list[Path]:
    found = spools_in(path)
    if not found:
        raise StoreError(
            f"{for_line(str(path))} is no spool and holds none; name what was given to 'driftledger collect' as --into"
        )
    return found
