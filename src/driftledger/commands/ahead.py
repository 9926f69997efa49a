"""What stages ask that are still to come, asked beside the one that runs; results go into the call store alone.

Only embedded components are asked: they need no weights, cost nothing, and say the same in any company, so that all
that one of them is asked about an image can be asked in a row, and the image is looked at once. Several processes share
the images.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

from driftledger.benchmarks.base import Stage
from driftledger.benchmarks.registry import runner
from driftledger.benchmarks.runner import Planned
from driftledger.collect.call import NotStoredError
from driftledger.collect.run import run_protocols
from driftledger.commands.collect import Work, selected_work
from driftledger.components.base import Component
from driftledger.core.progress import Progress
from driftledger.core.registry import is_embedded
from driftledger.core.types import Conversation
from driftledger.ledger.objects.contents import Contents
from driftledger.project.project import Project

_PATIENCE = 0.05
"""Seconds until the data that are waited for are looked for again."""


class Share(NamedTuple):
    """The images of one process among several."""

    number: int
    of: int

    def has(self, image: str | None) -> bool:
        """Whether an image of this SHA-256 is one of them; what is about none is for the first process."""
        return int(image or "0", 16) % self.of == self.number


ALL = Share(0, 1)


def collect_ahead(
    project: Project,
    stages: Sequence[str],
    at: Callable[[], int],
    over: Callable[[str], object],
    *,
    pulls: bool,
    share: Share = ALL,
) -> None:
    """Ask what the first collect stages ask that are still to come, as soon as their data are there.

    What one model is asked about all datasets, or about all question sets, is asked together: first that of the stage
    that is being made now, of which nothing is waited for, then what is about the data that were made last.

    Args:
        stages: the names of all that are to be made, in order.
        at: the index among them of the stage that is being made now.
        over: is called for each of them when nothing is asked for it any more.
        pulls: whether a stage that has been made elsewhere is pulled.
        share: of the images, those that are asked about.

    Raises:
        DriftledgerError: as the stages that ask the same; they say why.
    """
    places = {name: place for place, name in enumerate(stages)}

    def made_by(work: Work) -> int:
        return places.get(work.spec.data.named(work.keys), -1)

    def place(work: Work) -> int:
        return places[_named(work)]

    groups: dict[tuple[str, str], list[Work]] = {}
    for work in _waiting(project, places, pulls=pulls):
        groups.setdefault((work.keys["model"], work.spec.data.name), []).append(work)
    for name in {*stages}.difference(_named(work) for group in groups.values() for work in group):
        over(name)
    waiting = sorted(groups.values(), key=lambda group: -max(map(made_by, group)))
    while any(waiting):
        now = at()
        for some in waiting:
            for work in [each for each in some if place(each) <= now <= made_by(each)]:  # its data come too late
                some.remove(work)
                over(_named(work))
        group = next((some for some in waiting if now in map(place, some)), [])
        due = [work for work in group if made_by(work) < now]
        if not due:
            due = group = next((some for some in waiting if some and max(map(made_by, some)) < now), [])
        if not due:
            time.sleep(_PATIENCE)
            continue
        _ask(project, [work for work in due if place(work) >= now], share)
        for work in [*due]:
            group.remove(work)
            over(_named(work))


def _waiting(project: Project, places: Collection[str], *, pulls: bool) -> Iterable[Work]:
    """The lines of flow whose first stage is to be made, and will have to ask embedded components alone."""
    settings, contents = project.settings, Contents(project.root)
    makes = {"model": settings.model, "generator": settings.generator}
    for work in selected_work(project):
        stage = _first(work)
        asked = [makes[role](name) for role, name in work.keys.items() if role in makes]
        if _named(work) not in places or not _are_here(project, asked):
            continue
        if work.current.is_of_now(stage, work.keys):
            out = work.current.entry(stage, work.keys).out(stage.at(work.keys))
            if pulls or (project.root / out.path).is_dir() or contents.cached(out.md5):
                continue
        yield work


def _first(work: Work) -> Stage:
    return work.spec.collects[0]


def _named(work: Work) -> str:
    return _first(work).named(work.keys)


def _are_here(project: Project, components: Iterable[Component]) -> bool:
    """Whether they are embedded, and nothing says that they are asked elsewhere."""
    return project.settings.collect.where == "here" and all(
        is_embedded(type(each)) and project.settings.workers(each) is None for each in components
    )


def _ask(project: Project, together: Iterable[Work], share: Share) -> None:
    planned = [each for work in together for each in _asked_first(project, work) if share.has(_image_of(each))]
    found: dict[str | None, int] = {}
    if not planned:
        return
    planned.sort(key=lambda each: found.setdefault(_image_of(each), len(found)))
    most_calls = max(len(each.calls) for each in planned)
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
