"""Where the calls of a project's local components are made, as ``params.yaml`` and the command line say."""

from driftledger.collect.batches import InThisProcess
from driftledger.collect.ray import RayWorkers
from driftledger.collect.run import Collector
from driftledger.collect.settings import CollectSettings, WorkerSettings
from driftledger.collect.store import CallStore
from driftledger.components.base import Component, Model
from driftledger.project.settings import Settings


def collector_of(
    settings: Settings, store: CallStore, collect: CollectSettings | None = None, *, shards: int = 1
) -> Collector:
    """A collector that keeps the components it has loaded until it ends.

    Args:
        collect: replaces the section of that name.
        shards: as of :class:`~driftledger.collect.run.Collector`.
    """
    chosen = collect or settings.collect

    def actors_of(component: Component) -> WorkerSettings | None:
        if isinstance(component, Model) and type(component).check_subjects is not Model.check_subjects:
            return None  # it reads its answers from files of this checkout
        return settings.workers(component) or WorkerSettings()

    here = InThisProcess()
    workers = RayWorkers(chosen.address, actors_of, here) if chosen.where == "ray" else here
    return Collector(store, workers, shards=shards)
