"""``run --again``: ask services once more, and compare.

The day becomes part of a service's identity, so that no stored call is taken and none is lost.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import date
from typing import Any

from driftledger.commands.terminal import show
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError, LedgerError
from driftledger.core.files import write_text
from driftledger.core.text import say
from driftledger.ledger.sources import Sources
from driftledger.project.presets import laid_over
from driftledger.project.project import Project
from driftledger.project.settings import PARAMS


def ask_again(project: Project, names: Collection[str]) -> dict[str, str]:
    """Write today as ``as_of`` of services to ``params.yaml``; return their old runs.

    The result maps the name of a run to its fingerprint.

    Raises:
        ConfigError: the last commit lacks a run or ``params.yaml``, or as of :func:`dated`; nothing
            is written.
    """
    _, text = dated(project, names)
    sources = Sources(project)
    former = {}
    committed = {}
    for run in sources.current:
        if any(card.name in names for card in run.components.values()):
            name = run.combination.path
            former[name] = run.fingerprint
            with suppress(LedgerError):
                committed[name] = sources.at("HEAD", name).fingerprint
    git = sources.git
    is_edited = git is not None and git.prefix + PARAMS in (git.changes() or ())
    if is_edited or not former or former != committed:
        raise ConfigError(
            f"the last commit lacks {PARAMS} or a run of {' and '.join(names)} as they are here: "
            "replaced now, it could not be found; finish 'driftledger run', commit, and ask again"
        )
    write_text(project.root / PARAMS, text)
    say(f"{' and '.join(names)}: asked again, as of the day that {PARAMS} has now")
    return former


def dated(project: Project, names: Collection[str]) -> tuple[Project, str]:
    """Return the project in which services are asked again today.

    Its ``params.yaml`` is the second value.

    Nothing is written.

    Raises:
        ConfigError: a name is not a selected service, or its entry cannot be edited.
    """
    settings = project.settings
    today = date.today().isoformat()
    entries: dict[str, Any] = {"models": {}, "generators": {}}
    for name in names:
        section = "models" if name in settings.named("models") else "generators"
        is_selected = name in settings.named(section)
        if not (
            is_selected and isinstance(settings.build(section, name), RemoteComponent)
        ):
            raise ConfigError(
                f"{name!r:.100} is not a service that {PARAMS} selects, as a model, a generator or "
                "the judge; anything else would answer the same again"
            )
        fields = settings.entry(section, name).written
        day, _, number = fields.get("as_of", "").partition(".")
        fields["as_of"] = f"{today}.{int(number or 1) + 1}" if day == today else today
        entries[section][name] = fields
    text, settings = laid_over(project.root, {}, "--again", entries)
    # calls stay where they are
    dated_settings = settings.model_copy(update={"store": str(project.state)})
    return replace(project, given=dated_settings), text


def show_what_changed(project: Project, former: Mapping[str, str]) -> None:
    """Compare the runs of services that were asked again with those before."""
    from driftledger.commands.compare import compare

    for name, fingerprint in former.items():
        # a judge that changed is what was asked for
        show(compare(project, fingerprint, name, anyway=True).as_text())
