"""``run --again``: ask a service once more what it was asked, and say what changed since.

The day becomes part of the service's identity, so that no stored call is taken and none is lost.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date

from driftledger.commands.collect import refuse, tasks_of
from driftledger.commands.terminal import show
from driftledger.components.service import RemoteComponent
from driftledger.core.errors import ConfigError, LedgerError, unknown_name
from driftledger.core.files import load_json, load_yaml, write_json, write_text
from driftledger.core.paths import STATE
from driftledger.core.text import say
from driftledger.ledger.lineage import Run
from driftledger.ledger.lock import LOCK
from driftledger.ledger.objects.git import CommitTree
from driftledger.ledger.sources import Sources
from driftledger.project.presets import with_as_of
from driftledger.project.project import Project
from driftledger.project.resolve import resolved
from driftledger.project.settings import PARAMS, Settings, parse_settings

SUPERSEDED = "again.json"
"""In the folder of the checkout's state: the name of each run whose service is asked again → its
fingerprint before."""
_SECTIONS = ("models", "generators", "encoders")


def ask_again(project: Project, names: Sequence[str]) -> Project:
    """Let services be asked again, as of today, and return the project in which they are.

    Nothing is asked yet, and ``params.yaml`` is written last.

    Raises:
        ConfigError: a name is not a selected service, it is not ready, its entry cannot be edited,
            or Git does not have the runs that it is behind.
    """
    asked, text = dated(project, names)
    runs = _superseded(project, asked)
    for section, name in _entries(asked.settings, names):
        missing, _ = asked.settings.build(section, name).readiness()
        refuse([f"{section}.{name}: {each}" for each in missing])
    before = {run.combination.path: run.fingerprint for run in runs}
    write_json(project.root / STATE / SUPERSEDED, before)
    write_text(project.root / PARAMS, text)
    for section, name in _entries(asked.settings, names):
        day = asked.settings.build(section, name).as_of
        say(f"{section}.{name} is asked again, as of {day}, as {PARAMS} has it now")
    return replace(project)


def dated(project: Project, names: Sequence[str]) -> tuple[Project, str]:
    """Return the project in which services are asked again, and its ``params.yaml``, which is not
    written; errors as of :func:`ask_again`."""
    text = (project.root / PARAMS).read_bytes().decode()
    today = date.today().isoformat()
    for section, name in _entries(project.settings, names):
        text = with_as_of(project.root, text, section, name, today)
    settings = parse_settings(load_yaml(text), PARAMS, project.root.absolute())
    # what is given has no place for calls of its own
    settings = settings.model_copy(update={"store": str(project.state.absolute())})
    return replace(project, given=settings), text


def _entries(settings: Settings, names: Sequence[str]) -> list[tuple[str, str]]:
    """Return section and name of the selected services that ``NAME`` or ``SECTION.NAME`` name."""
    selected = []
    for section in _SECTIONS:
        selected += [(section, name) for name in settings.named(section)]
    entries = []
    for text in dict.fromkeys(names):
        matches = [each for each in selected if text in (each[1], ".".join(each))]
        if not matches:
            services = [
                ".".join(each) for each in selected if _is_service(settings, *each)
            ]
            raise ConfigError(unknown_name("selected service", text[:100], services))
        if len(matches) > 1:
            both = " or ".join(map(".".join, matches))
            raise ConfigError(f"{text!r} names several entries; say {both}")
        section, name = matches[0]
        if not _is_service(settings, section, name):
            raise ConfigError(
                f"{section}.{name} is not a service: it would answer the same again, and what it "
                "answered is stored"
            )
        entries.append((section, name))
    return list(dict.fromkeys(entries))


def _is_service(settings: Settings, section: str, name: str) -> bool:
    return isinstance(settings.build(section, name), RemoteComponent)


def _superseded(project: Project, asked: Project) -> list[Run]:
    """Return the runs that others replace where services are asked again.

    Raises:
        ConfigError: a run is not finished, or no commit has it: it could not be found any more.
    """
    now = replace(project, resolved=resolved(project, {}))
    then = replace(asked, resolved=resolved(asked, {}))
    affected = []
    for task, dated_task in zip(tasks_of(now), tasks_of(then), strict=True):
        if task.inputs() != dated_task.inputs():
            affected.append(task)
    unfinished = [task for task in affected if task.made() is None]
    if unfinished:
        raise ConfigError(
            f"{unfinished[0].keys['model']} has not been evaluated as {PARAMS} has it now; finish "
            "that by 'driftledger run', commit it, and ask again"
        )
    sources = Sources(now)
    combinations = []
    for combination in now.combinations:
        if any(combination.shows(task.keys) for task in affected):
            combinations.append(combination)
    runs = sources.runs(combinations)
    for run in runs:
        if not _is_in_git(sources, run):
            raise ConfigError(
                f"no commit has {run.name} as it is here, with {PARAMS}, {LOCK} and ledger/, and "
                "then it could not be found any more; run 'driftledger run' and 'git add -A && "
                "git commit', and ask again"
            )
    return runs


def _is_in_git(sources: Sources, run: Run) -> bool:
    """Return True if the last commit has a published run, and what it was made from."""
    if sources.git is None:
        return False
    head = CommitTree(sources.git, sources.git.heads()[0])
    for path in (PARAMS, LOCK):
        if head.read(path) != (sources.root / path).read_bytes():
            return False
    with suppress(LedgerError):
        return sources.at("HEAD", run.combination.path).fingerprint == run.fingerprint
    return False


def show_what_changed(project: Project) -> None:
    """Compare each run whose service was asked again with the one before, once it is complete."""
    from driftledger.commands.compare import compare

    file = project.root / STATE / SUPERSEDED
    if not file.is_file():
        return
    before = load_json(file.read_bytes())
    for run in Sources(project).current:
        name = run.combination.path
        former = before.pop(name, run.fingerprint)
        if former == run.fingerprint:
            continue
        say(f"what changed since: driftledger compare {former[:12]} {name}")
        try:
            show(compare(project, former, name).as_text())
        except LedgerError as error:
            say(f"driftledger: {error}")
    write_json(file, before)
