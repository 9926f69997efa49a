"""``driftledger upgrade``: the files that the package writes are renewed after the package has changed.

What a user changed in one is merged with what the package changed, from the version in the user's Git history that both
began with. Where that cannot be, nothing at all is written.
"""

import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.benchmarks.base import DATASET, QUESTION_SET
from driftledger.benchmarks.registry import benchmark_names, lock_file
from driftledger.commands.resolve import resolved
from driftledger.core.all_or_nothing import all_or_nothing
from driftledger.core.errors import ConfigError, DriftledgerError, first_few
from driftledger.core.names import leads_out
from driftledger.core.yaml_text import load_yaml
from driftledger.ledger.lock import RESOLVED, LockEntry, locked_now
from driftledger.ledger.objects.git import Git
from driftledger.project.project import Project
from driftledger.project.scaffold import (
    PIPELINE,
    PIPELINES,
    Generated,
    Written,
    body_digest,
    generated,
    read_written,
    rules,
    with_header,
    with_rules,
)
from driftledger.project.settings import PARAMS, read_yaml

_MOST_NAMED = 3
"""Stages of one reason."""
_WHOLE_PROJECT = ("report", "correlation")
"""Stages of the shared pipeline that are of all scores."""
_AGAIN = "delete it to have it written anew, or undo your change; nothing was written"


class _Renewed(NamedTuple):
    path: str
    old: str
    """Empty where there was no file."""
    new: str

    def diff(self) -> Iterator[str]:
        sides = f"a/{self.path}", f"b/{self.path}"
        return unified_diff(self.old.splitlines(), self.new.splitlines(), *sides, lineterm="")


def upgrade(project: Project) -> list[str]:
    """Renew the files, and say what changed in them and which stages that makes run again.

    Raises:
        ConfigError: this is no project, or a file was edited where the package changed it.
    """
    root = project.root
    found = list(_renewed(root))
    with all_or_nothing() as write:
        for each in found:
            write(root / each.path, each.new)
    told = [line for each in found if each.old for line in each.diff()]
    told += [f"{each.path}: {'renewed' if each.old else 'new'}" for each in found]
    told += [
        f"{path}: of a benchmark that is gone; delete its folder, or install what brought it" for path in _gone(root)
    ]
    told += [] if found else ["every file is as driftledger writes it, or an edit of that"]
    return told + _stale(project, found)


def differing(project: Project) -> list[str]:
    """The files that are not as the package writes them, edited ones among them."""
    root = project.root
    found = []
    for each in generated(_names(root)):
        written = read_written(_text(root / each.path))
        is_json = each.text == each.body
        if written.body != each.body or not (is_json or written.untouched):
            found.append(each.path)
    found += [path for path, wanted in rules().items() if with_rules(_text(root / path), wanted) != _text(root / path)]
    return found + _gone(root)


def _renewed(root: Path) -> Iterator[_Renewed]:
    """Every file that is to be written; errors as in :func:`upgrade`."""
    history = Git.around(root)
    for each in generated(_names(root)):
        file = root / each.path
        if leads_out(file, root):
            raise ConfigError(f"{each.path} leads out of the project; put a file there instead of a link")
        new = _new_text(each, _text(file), history)
        if new is not None:
            yield _Renewed(each.path, _text(file), new)
    for path, wanted in rules().items():
        own = _text(root / path)
        if leads_out(root / path, root):
            raise ConfigError(f"{path} leads out of the project; put a file there instead of a link")
        if (text := with_rules(own, wanted)) != own:
            yield _Renewed(path, own, text)


def _new_text(each: Generated, own: str, history: Git | None) -> str | None:
    """What is to stand in a file; None where it stays as it is."""
    written = read_written(own)
    if own == each.text or (written.body == each.body and written.untouched):
        return None
    if not own or written.body == each.body or written.untouched:
        return each.text
    if written.noted == body_digest(each.body):
        return None  # an edit of what the package would write
    base = None if written.noted is None or history is None else _base(history, each.path, written)
    if base is None:
        raise ConfigError(f"{each.path} was edited, and Git has no version of it that driftledger wrote; {_AGAIN}")
    merged = _merged(written.body, base, each.body)
    if merged is None or (_stages(each.body) and not _stages(merged)):
        raise ConfigError(f"{each.path} was edited in lines that driftledger changes too; {_AGAIN}")
    return each.text if merged == each.body else with_header(merged, each.body)


def _base(history: Git, path: str, edited: Written) -> str | None:
    """What the edits began with: of the versions that the package wrote, that which the header names, or the newest."""
    versions = [read_written(data.decode(errors="surrogateescape")) for data in history.contents(path)]
    untouched = [each for each in versions if each.untouched]
    named = [each for each in untouched if each.noted == edited.noted]
    return next((each.body for each in (*named, *untouched)), None)


def _merged(own: str, base: str, new: str) -> str | None:
    """Both changes of a text in one; None where they are in the same place, or there is no git program."""
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        names = ("own", "base", "new")
        for name, text in zip(names, (own, base, new), strict=True):
            Path(folder, name).write_bytes(text.encode(errors="surrogateescape"))
        try:
            done = subprocess.run(
                ["git", "merge-file", "--stdout", "--quiet", *names], cwd=folder, capture_output=True, check=False
            )
        except FileNotFoundError:
            return None
    return None if done.returncode else done.stdout.decode(errors="surrogateescape")


def _names(root: Path) -> list[str]:
    """The benchmarks whose pipelines a project has, or is to have."""
    if not (root / PIPELINE).is_file():
        raise ConfigError("this folder is no project; run this in the top folder of one, or 'driftledger init' first")
    params = read_yaml(root / PARAMS)
    run = params.get("run") if isinstance(params, Mapping) else None
    selected = run if isinstance(run, Mapping) else {}
    return [name for name in benchmark_names() if selected.get(name) or (root / PIPELINES / name / PIPELINE).is_file()]


def _gone(root: Path) -> list[str]:
    """Pipelines that the package wrote for benchmarks that are no longer there."""
    files = sorted((root / PIPELINES).glob(f"*/{PIPELINE}"))
    gone = [file for file in files if file.parent.name not in benchmark_names() and read_written(_text(file)).noted]
    return [file.relative_to(root).as_posix() for file in gone]


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="surrogateescape") if file.is_file() else ""


def _stale(project: Project, found: list[_Renewed]) -> list[str]:
    """Which stages that have run will run again, and why: a sentence for each reason."""
    entries = locked_now(project.root)
    if not entries:
        return []
    try:
        contents = {RESOLVED: resolved(project), PARAMS: read_yaml(project.root / PARAMS)}
        selected = _selected(project)
    except DriftledgerError as error:
        return [f"which stages run again cannot be told: {error}"]
    otherwise = {each.path: _changed_stages(each) for each in found}
    why: dict[tuple[str, str], dict[str, list[str]]] = defaultdict(dict)
    for name, pipeline in selected.items():
        if name in entries:
            stage = name.partition("@")[0]
            reasons = [f"the stage in {pipeline}"] if stage in otherwise.get(pipeline, ()) else []
            if reasons := [*reasons, *_changed_keys(entries[name], contents)]:
                why[pipeline, stage][name] = reasons
    told = [_sentence(stages) for stages in why.values()]
    return [*told, "what depends on these runs again where their outputs change"] if told else ["no stage runs again"]


def _sentence(stages: Mapping[str, list[str]]) -> str:
    """Why stages that differ in their names alone run again."""
    reasons = dict.fromkeys(reason for some in stages.values() for reason in some)
    count = "1 stage runs again" if len(stages) == 1 else f"{len(stages)} stages run again"
    return f"{count}, since {first_few([*reasons], _MOST_NAMED)} changed: {first_few([*stages], _MOST_NAMED)}"


def _selected(project: Project) -> dict[str, str]:
    """Every stage that can be current → the file that defines it."""
    run = project.settings.run
    found = {DATASET.named({"dataset": name}): PIPELINE for name in run.datasets}
    found |= {QUESTION_SET.named({"question_set": name}): PIPELINE for name in run.question_sets}
    for spec, keys in project.selected.scores:
        pipeline = lock_file(spec.name).replace(".lock", ".yaml")
        found |= {stage.named(keys): pipeline for stage in (*spec.collects, spec.scores)}
    return found | dict.fromkeys(_WHOLE_PROJECT, PIPELINE)


def _changed_keys(entry: LockEntry, contents: Mapping[str, Any]) -> Iterator[str]:
    for file, some in entry.params.items():
        for key, value in some.items():
            now = contents.get(file)
            for part in key.split("."):
                now = now.get(part) if isinstance(now, Mapping) else None
            if now != value:
                yield key


def _changed_stages(each: _Renewed) -> set[str]:
    """The stages that a file defines otherwise than before."""
    old, new = _stages(each.old), _stages(each.new)
    return {name for name in new if name in old and old[name] != new[name]}


def _stages(text: str) -> Mapping[str, Any]:
    try:
        content = load_yaml(text)
    except (yaml.YAMLError, ValueError):
        return {}
    stages = content.get("stages") if isinstance(content, Mapping) else None
    return stages if isinstance(stages, Mapping) else {}
