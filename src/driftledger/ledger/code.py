"""Which code was at work: the Git commit, what differed from it, and the installed packages.

Of the checkout whose code is at work, the git program is asked whether it is clean: it alone knows every ignore rule,
filter and index format. It is told to run no hook and no file system monitor; filters that the checkout's own
configuration names do run. Who reads what others made asks :func:`code_read`, which runs no program.
"""

import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.registry import lock_files
from driftledger.core.escaping import for_line
from driftledger.core.paths import Paths
from driftledger.ledger.lock import locks_here, parse_locks
from driftledger.ledger.objects.git import Git

PATCH_LIMIT = 1_000_000
"""Characters of a patch."""

_MOST_NAMED = 200
"""Of what a patch leaves out."""

_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames")
_PLAIN_DIFF = ("--no-renames", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
_SETTINGS = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "diff.autoRefreshIndex=false")
_QUIET = {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"}
"""A path is a path, whatever is in its name, and what only asks writes nothing."""


class CodeVersion(BaseModel):
    """The state of the working tree; ``commit`` is None outside Git or before the first commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str | None
    dirty: bool
    untracked: list[str]


def code_version(root: Path) -> CodeVersion:
    """Ask the git program for the state of the checkout around ``root``, which is the user's own."""
    lines = _git(root, *_STATUS, "--branch").split("\0")
    heads = [line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid ")]
    commit = next((head for head in heads if head != "(initial)"), None)
    untracked = sorted(line.removeprefix("? ") for line in lines if line.startswith("? "))
    return CodeVersion(commit=commit, dirty=any(map(_is_change, lines)), untracked=untracked)


def code_read(root: Path) -> CodeVersion:
    """The same of anybody's checkout, without running any program; one that cannot be told to be clean is dirty."""
    git = Git.around(root)
    if git is None:
        return CodeVersion(commit=None, dirty=False, untracked=[])
    changes = git.changes()
    untracked = sorted(path for path, is_new in (changes or {}).items() if is_new)
    return CodeVersion(commit=git.heads()[0], dirty=changes is None or bool(changes), untracked=untracked)


def is_dirty(root: Path) -> bool:
    """Whether something below ``root`` differs from the commit, or cannot be told; no program is run."""
    git = Git.around(root)
    return git is not None and git.changes(below=True) != {}


def dirty_patch(root: Path) -> str:
    """What differs from the commit, untracked text files among it, as ``git apply`` takes it: ``src`` first.

    What the pipelines write is left out: it follows from the rest. Binary files and what does not fit are left out
    whole; the last lines say so and name them. Bytes that are not UTF-8 are lone surrogates in it: encode it with
    ``surrogateescape``.
    """
    top = _git(root, "rev-parse", "--show-toplevel", errors="surrogateescape").removesuffix("\n")
    if not top:
        return ""
    project = _git(root, "rev-parse", "--show-prefix", errors="surrogateescape").removesuffix("\n")
    tracked = _names(Path(top), "diff", "--name-only", "--no-renames", "HEAD")
    untracked = _names(Path(top), "ls-files", "--others", "--exclude-standard")
    written = tuple(f"{project}{path}" for path in _written(root))
    mine = [name for name in (*tracked, *untracked) if not name.startswith(written)]
    parts, left_out, room = list[str](), list[str](), PATCH_LIMIT
    for name in sorted(mine, key=lambda name: (not name.startswith(f"{project}src/"), name)):
        part, why = _part(Path(top), name, name in tracked)
        if why or len(part) > room:
            left_out.append(f"{for_line(name)} ({why or 'too large'})")
        else:
            parts.append(part)
            room -= len(part)
    if pipelines := len(tracked) + len(untracked) - len(mine):
        left_out.insert(0, f"{pipelines} files that the pipelines write")
    more = [f"{len(left_out) - _MOST_NAMED} more files"] if len(left_out) > _MOST_NAMED else []
    return "".join([*parts, *(f"# left out: {each}\n" for each in left_out[:_MOST_NAMED] + more)])


def _names(top: Path, *arguments: str) -> list[str]:
    """The files that Git lists; a folder is a repository of its own."""
    names = _git(top, arguments[0], "-z", *arguments[1:], errors="surrogateescape").split("\0")
    return [name for name in names if name and not name.endswith("/")]


def _written(root: Path) -> list[str]:
    """What the names of files begin with that the pipelines or ``track`` write, relative to ``root``."""
    outs = [out.path for entry in parse_locks(locks_here(root)).entries.values() for out in entry.outs]
    return [*lock_files(), Paths(root).ledger.name, *(path if Path(path).suffix else f"{path}/" for path in outs)]


def _part(top: Path, name: str, tracked: bool) -> tuple[str, str]:
    """The patch of one file, or why it is left out."""
    file = top / name
    if file.is_file() and not file.is_symlink() and file.stat().st_size > PATCH_LIMIT:
        return "", "too large"
    sides = ("HEAD", "--", name) if tracked else ("--no-index", "--", os.devnull, name)
    part = _git(top, "diff", *_PLAIN_DIFF, *sides, errors="surrogateescape")
    return part, "binary" if part.startswith("Binary files ") or "\nBinary files " in part else ""


def remote_address(root: Path) -> str:
    """The remote repository that a clone came from, as its configuration has it, which may hold a password."""
    return git_setting(root, "remote.origin.url")


def git_setting(root: Path, name: str, kind: str | None = None) -> str:
    """What Git's configuration says in ``root``, in which a ``path`` may begin with ``~``; nothing where it is silent.

    As :func:`code_version`, it is for one's own checkout.
    """
    return _git(root, "config", *([f"--type={kind}"] if kind else []), "--get", name).strip()


def _is_change(line: str) -> bool:
    return bool(line) and not line.startswith("# ")


def _git(root: Path, *arguments: str, errors: str = "replace") -> str:
    """What the git program says in ``root``; nothing where it fails or is not installed."""
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    command = ["git", "-C", str(root), *settings, *arguments]
    try:
        done = subprocess.run(command, capture_output=True, check=False, env=os.environ | _QUIET)
    except FileNotFoundError:
        return ""
    return done.stdout.decode(errors=errors) if done.returncode in (0, 1) else ""  # 1: what was compared differs


def packages() -> str:
    """Name and version of every installed distribution, one per line."""
    names = {f"{each.metadata['Name']}=={each.version}" for each in distributions()}
    return "".join(f"{name}\n" for name in sorted(names, key=str.casefold))
