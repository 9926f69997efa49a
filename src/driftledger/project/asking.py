"""How a collect stage makes its calls: where, with a bar of progress, and when too many of them failed."""

import sys
from collections.abc import Sequence
from contextlib import nullcontext
from typing import TypeVar

from driftledger.benchmarks.collecting import Collecting, FailedCalls
from driftledger.benchmarks.records import CollectedRecord
from driftledger.collect.call import Planned
from driftledger.collect.ray import RayWorkers
from driftledger.collect.run import Collector
from driftledger.collect.store import CallStore
from driftledger.components.base import Model
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.terminal import Progress
from driftledger.project.settings import Settings

R = TypeVar("R")


def collector_of(settings: Settings, store: CallStore, *, shards: int = 1) -> Collector:
    """Return a collector that keeps the components it has loaded until it ends.

    Args:
        shards: as of :class:`~driftledger.collect.run.Collector`.
    """
    workers = RayWorkers(settings.collect.address, settings.workers) if settings.collect.where == "ray" else None
    return Collector(store, workers, shards=shards)


def ask(collecting: Collecting, store: CallStore, collector: Collector | None = None) -> list[CollectedRecord]:
    """Make every call that is not stored yet, show the progress, and say what it has cost.

    Args:
        collector: None: one of its own.
    """
    notes = set[str]()

    def run(planned: Sequence[Planned[R]]) -> list[R]:
        subjects_of: dict[str, tuple[Model, list[str]]] = {}
        for component, call in (each for some in planned for each in some.calls):
            if isinstance(component, Model) and not isinstance(call, str) and call.subject is not None:
                subjects_of.setdefault(component.fingerprint, (component, []))[1].append(call.subject.sample)
        for note in (model.check_subjects(subjects) for model, subjects in subjects_of.values()):
            if note is not None and note not in notes:
                notes.add(note)
                print(note, file=sys.stderr, flush=True)
        return own.run((each.steps() for each in planned), progress)

    with (
        nullcontext(collector) if collector else Collector(store) as own,
        Progress(collecting.title, total=collecting.calls) as progress,
    ):
        collected = collecting.run(run)
    for component in collecting.asked:
        if isinstance(component, RemoteComponent):
            spent = store.spent(component.fingerprint)
            cost = f", cost {spent.cost:.2f}" if component.prices else ""
            print(f"{component.title}: {spent.attempts} attempts so far{cost}", flush=True)
    return collected


def refuse_failures(failures: FailedCalls, benchmark_name: str, min_coverage: float) -> None:
    """Refuse to go on when too much was ended by a failed call, so that there is a next run, which tries it again.

    A refusal is an answer and stays; whether enough is left to score is for the scoring half to say.

    Raises:
        CoverageError: naming the first few and what went wrong.
    """
    failed, total, things = failures
    if failed and 1 - len(failed) / total < min_coverage:
        raise CoverageError(
            f"{len(failed)} of {total} {things} were ended by a failed call, and {benchmark_name}.min_coverage in "
            f"params.yaml asks for {min_coverage:.0%} ({first_few(failed)}); run 'dvc repro' to try these again: "
            "finished calls are stored"
        )
