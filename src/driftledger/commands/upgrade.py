"""``driftledger upgrade``: the files that the package writes are renewed after the package has changed.

What a user changed in one is merged with what the package changed, from the version in the user's Git history that both
began with. Where that cannot be, nothing at all is written.
"""

import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from difflib import unified_diff
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from driftledger.core.errors import ConfigError
from driftledger.core.files import write_bytes
from driftledger.core.names import leads_out
from driftledger.core.yaml_text import load_yaml
from driftledger.project.project import Project
from driftledger.project.scaffold import (
    Generated,
    Written,
    body_digest,
    generated,
    read_written,
    rules,
    with_header,
    with_rules,
)
from driftledger.project.settings import PARAMS

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
    """Renew the files, and say what changed in them.

    Raises:
        ConfigError: this is no project, or a file was edited where the package changed it.
    """
    root = project.root
    if not ((root / PARAMS).is_file() and (root / ".dvc").is_dir()):
        raise ConfigError("this folder is not a project; run this in its top folder, or 'driftledger init' first")
    found = list(_renewed(root))
    for each in found:
        write_bytes(root / each.path, each.new.encode(errors="surrogateescape"))
    told = [line for each in found if each.old for line in each.diff()]
    told += [f"{each.path}: {'renewed' if each.old else 'new'}" for each in found]
    told += [] if found else ["every file is as driftledger writes it, or an edit of that"]
    return told


def differing(project: Project) -> list[str]:
    """The files that are not as the package writes them, edited ones among them."""
    root = project.root
    found = []
    for each in generated():
        written = read_written(_text(root / each.path))
        is_json = each.text == each.body
        if written.body != each.body or not (is_json or written.untouched):
            found.append(each.path)
    found += [path for path, wanted in rules().items() if with_rules(_text(root / path), wanted) != _text(root / path)]
    return found


def _renewed(root: Path) -> Iterator[_Renewed]:
    """Every file that is to be written; errors as in :func:`upgrade`."""
    for each in generated():
        file = root / each.path
        if leads_out(file, root):
            raise ConfigError(f"{each.path} leads out of the project; put a file there instead of a link")
        new = _new_text(root, each, _text(file))
        if new is not None:
            yield _Renewed(each.path, _text(file), new)
    for path, wanted in rules().items():
        own = _text(root / path)
        if leads_out(root / path, root):
            raise ConfigError(f"{path} leads out of the project; put a file there instead of a link")
        if (text := with_rules(own, wanted)) != own:
            yield _Renewed(path, own, text)


def _new_text(root: Path, each: Generated, own: str) -> str | None:
    """What is to stand in a file; None where it stays as it is."""
    written = read_written(own)
    if own == each.text or (written.body == each.body and written.untouched):
        return None
    if not own or written.body == each.body or written.untouched:
        return each.text
    if written.noted == body_digest(each.body):
        return None  # an edit of what the package would write
    base = None if written.noted is None else _base(root, each.path, written)
    if base is None:
        raise ConfigError(f"{each.path} was edited, and Git has no version of it that driftledger wrote; {_AGAIN}")
    merged = _merged(written.body, base, each.body)
    if merged is None or (_stages(each.body) and not _stages(merged)):
        raise ConfigError(f"{each.path} was edited in lines that driftledger changes too; {_AGAIN}")
    return each.text if merged == each.body else with_header(merged, each.body)


def _base(root: Path, path: str, edited: Written) -> str | None:
    """What the edits began with: of the versions that the package wrote, that which the header names, or the newest."""
    commits = _git(root, "log", "--format=%H", "--", path).split()
    versions = [read_written(_git(root, "show", f"{commit}:./{path}")) for commit in commits]
    untouched = [each for each in versions if each.untouched]
    named = [each for each in untouched if each.noted == edited.noted]
    return next((each.body for each in (*named, *untouched)), None)


def _git(root: Path, *arguments: str) -> str:
    """What the git program prints; nothing where it fails or is not installed."""
    try:
        done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, check=False)
    except FileNotFoundError:
        return ""
    return "" if done.returncode else done.stdout.decode(errors="surrogateescape")


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


def _text(file: Path) -> str:
    return file.read_bytes().decode(errors="surrogateescape") if file.is_file() else ""


def _stages(text: str) -> Mapping[str, Any]:
    try:
        content = load_yaml(text)
    except (yaml.YAMLError, ValueError):
        return {}
    stages = content.get("stages") if isinstance(content, Mapping) else None
    return stages if isinstance(stages, Mapping) else {}
