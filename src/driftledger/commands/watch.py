"""``watch``: services are asked their probe, and set beside what they answered the first time."""

import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from rich.console import Group

from driftledger.collect.observations import Watched, write_watched
from driftledger.commands.collect import check_known
from driftledger.components.base import Component
from driftledger.components.remote.component import RemoteComponent
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.terminal import BAD, GOOD, QUIET, line, lines, table
from driftledger.ledger.watch.probe import PROMPTS, QUESTIONS, TIMES
from driftledger.ledger.watch.watch import ask, keep, kept_watches, verdict
from driftledger.project.project import Project

_NONE = "no selected model, judge or generator is a service; one that is not changes under another fingerprint alone"


class WatchedService(NamedTuple):
    """A service, and what watching it has shown."""

    name: str
    """``models.gpt``."""
    fingerprint: str
    watched: Watched | None
    """None of one that was never watched."""


def services(project: Project, names: Sequence[str] = ()) -> Mapping[str, RemoteComponent]:
    """The services that the selection rests on, or those of them that are named, by section and name.

    Raises:
        ConfigError: a name is not among them, or there is none.
    """
    settings = project.settings
    chosen: dict[str, Component] = {}
    if settings.run.models or settings.needs_judge:
        named = [*settings.run.models, *([settings.judge] if settings.needs_judge else [])]
        chosen |= {f"models.{name}": settings.model(name) for name in named}
    chosen |= {f"generators.{name}": settings.generator(name) for name in settings.run.generators}
    found = {name: each for name, each in chosen.items() if isinstance(each, RemoteComponent)}
    if not found:
        raise ConfigError(_NONE)
    short = {name.partition(".")[2] for name in found}
    check_known("service", names, short)
    return {name: each for name, each in found.items() if not names or name.partition(".")[2] in names}


def calls_of(component: Component) -> int:
    """How many calls a time makes."""
    return TIMES * len(PROMPTS if component.kind == "generator" else QUESTIONS)


def watch(project: Project, names: Sequence[str] = (), paid: int | None = None) -> list[WatchedService]:
    """Ask the services their probe, note what came of it, and say so.

    Args:
        names: of those that the selection rests on; none stands for all.
        paid: how many calls may be made; None asks nobody, and tells what is known.

    Raises:
        ConfigError: there is no such service, or more calls are needed than are allowed.
        ServiceError: a service does not answer.
    """
    chosen = services(project, names)
    if paid is not None:
        needed = sum(map(calls_of, chosen.values()))
        if needed > paid:
            raise ConfigError(f"the probe makes {needed} calls that may cost money; allow them with --paid {needed}")
        for name, component in chosen.items():
            print(f"{name} is asked {calls_of(component)} times", file=sys.stderr, flush=True)
            file = project.paths.watch(component.fingerprint)
            watches = [*kept_watches(file), ask(name.partition(".")[2], component)]
            keep(file, watches)
            with project.only_one(project.paths.observations):
                write_watched(project.paths.observations, component.fingerprint, component.provider, verdict(watches))
    return [_known(project, name, component) for name, component in chosen.items()]


def _known(project: Project, name: str, component: Component) -> WatchedService:
    watches = kept_watches(project.paths.watch(component.fingerprint))
    return WatchedService(name, component.fingerprint, verdict(watches) if watches else None)


def as_table(found: Sequence[WatchedService], asked: bool) -> Group:
    """A row per service, and what to do next."""
    made = table("service", "version", "seen")
    for each in found:
        style = QUIET if each.watched is None else BAD if each.watched.changed else GOOD
        seen = "was never watched" if each.watched is None else str(each.watched)
        made.add_row(line(each.name), line(each.fingerprint[:8]), line(for_line(seen), style))
    end = (
        "noted in data/watch and data/observations.json; commit both, and 'driftledger report' tells it beside scores"
        if asked
        else "nobody was asked; --paid N allows N calls"
    )
    return Group(made, lines(["", end]))


def to_dict(found: Sequence[WatchedService]) -> list[dict[str, Any]]:
    return [
        {
            "service": each.name,
            "fingerprint": each.fingerprint,
            "watched": None if each.watched is None else each.watched.model_dump(mode="json"),
        }
        for each in found
    ]
