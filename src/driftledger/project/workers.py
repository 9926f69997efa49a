"""Where the batches of a project's local components are made, as ``params.yaml`` and the command line say."""

from collections.abc import Iterator
from contextlib import contextmanager

from driftledger.collect.workers.base import InThisProcess
from driftledger.collect.workers.on_ray import RayActors
from driftledger.collect.workers.processes import Processes
from driftledger.collect.workers.replicas import Replicas
from driftledger.collect.workers.settings import CollectSettings, WorkerSettings
from driftledger.components.base import Component, Model
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.project.settings import Settings


@contextmanager
def workers_of(settings: Settings, collect: CollectSettings | None = None) -> Iterator[Replicas]:
    """Workers that keep what they load until the context ends.

    Args:
        collect: instead of the section of that name.
    """
    chosen = collect or settings.collect
    everything = chosen.where == "ray"
    launcher = RayActors(chosen.address) if everything else Processes()

    def wanted(component: Component) -> WorkerSettings | None:
        if _looks_up(component):
            return None
        given = settings.workers(component)
        several = isinstance(component, CheckpointComponent) and len(component.devices) > 1
        return given or (WorkerSettings() if everything or several else None)

    workers = Replicas(launcher, wanted, InThisProcess())
    try:
        yield workers
    finally:
        workers.close()


def _looks_up(component: Component) -> bool:
    """Whether it reads its answers somewhere in this checkout, which replicas would only do more slowly."""
    return isinstance(component, Model) and type(component).check_subjects is not Model.check_subjects
