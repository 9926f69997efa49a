"""What stages ask that are still to come, asked beside the one that runs; results go into the call store alone.

Only embedded components are asked: they need no weights, cost nothing, and say the same in any company, so that all
that one of them is asked about an image can be asked in a row, and the image is looked at once. A call is claimed
before it is made (:mod:`driftledger.collect.claims`): whichever process comes second waits for the first.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Planned
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import NotStoredError
from driftledger.commands.collect import Work, selected_work
from driftledger.components.base import Component
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation
from driftledger.ledger.objects.contents import Contents
from driftledger.project.project import Project

_EMBEDDED = "driftledger.demo."
_PATIENCE = 0.2
"""Seconds until the data that are waited for are looked for again."""


def collect_ahead(project: Project, stages: Sequence[str], at: Callable[[], int], *, pulls: bool) -> None:
    """Ask, one model after the other, what the first collect stages ask whose data are there, until none is left.

    Args:
        stages: the names of all that are to be made, in order.
        at: the index among them of the stage that is being made now.
        pulls: whether a stage that has been made elsewhere is pulled.

    Raises:
        DriftledgerError: as the stages that ask the same; they say why.
    """
    places = {name: place for place, name in enumerate(stages)}
    waiting = list(_waiting(project, places, pulls=pulls))
    while True:
        now = at()
        waiting = [work for work in waiting if places[_name(work, _first(work))] > now]
        if not waiting:
            return
        ready = [work for work in waiting if places.get(_name(work, work.spec.data), -1) < now]
        if not ready:
            time.sleep(_PATIENCE)
            continue
        model = ready[0].keys["model"]
        together = [work for work in ready if work.keys["model"] == model]
        _ask(project, together)
        waiting = [work for work in waiting if work not in together]


def _waiting(project: Project, places: Collection[str], *, pulls: bool) -> Iterable[Work]:
    """The lines of flow whose first stage is to be made, and will have to ask embedded components alone."""
    settings, contents = project.settings, Contents(project.root)
    makes = {"model": settings.model, "generator": settings.generator}
    for work in selected_work(project):
        stage = _first(work)
        asked = [makes[role](name) for role, name in work.keys.items() if role in makes]
        if _name(work, stage) not in places or not _are_here(project, asked):
            continue
        if work.current.is_of_now(stage, work.keys):
            out = work.current.entry(stage, work.keys).out(stage.at(work.keys))
            if pulls or (project.root / out.path).is_dir() or contents.cached(out.md5):
                continue
        yield work


def _first(work: Work) -> Stage:
    return work.spec.collects[0]


def _name(work: Work, stage: Stage) -> str:
    return stage.named(work.keys)


def _are_here(project: Project, components: Iterable[Component]) -> bool:
    """Whether they are embedded, and nothing says that they are asked elsewhere."""
    return project.settings.collect.where == "here" and all(
        type(each).__module__.startswith(_EMBEDDED) and project.settings.workers(each) is None for each in components
    )


def _ask(project: Project, together: Iterable[Work]) -> None:
    planned = [each for work in together for each in _asked_first(project, work)]
    found: dict[str | None, int] = {}
    planned.sort(key=lambda each: found.setdefault(_image_of(each), len(found)))
    most_calls = max((len(each.calls) for each in planned), default=0)
    with project.store() as store, Progress("ahead", total=0) as progress:
        run_protocols([each.steps() for each in planned], store, progress, most_calls)


def _asked_first(project: Project, work: Work) -> Sequence[Planned[Any]]:
    """What the first stage asks that follows from no other answer of it; nothing where somebody else is asked too."""
    asked: list[Planned[Any]] = []

    def note(planned: Sequence[Planned[Any]]) -> list[Any]:
        asked.extend(planned)
        raise NotStoredError

    with suppress(NotStoredError):
        runner(work.spec.name).collecting(project, _first(work).name, work.keys).run(note)
    components: Mapping[int, Component] = {id(component): component for each in asked for component, _ in each.calls}
    return asked if _are_here(project, components.values()) else ()


def _image_of(planned: Planned[Any]) -> str | None:
    """The SHA-256 of the image that a protocol begins with."""
    _, conversation = planned.calls[0]
    image = conversation.last_image if isinstance(conversation, Conversation) else None
    return None if image is None else image.sha256
