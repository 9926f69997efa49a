"""Which code was at work: the Git commit, what differed from it, and the installed packages.

Whether a checkout is clean is asked of the git program, which alone knows every ignore rule, filter and index format.
It is told to run no hook and no file system monitor; filters that the checkout's own configuration names do run. Ask it
about the checkout whose code is at work, never about a stranger's: for that there is ``objects/git.py``.
"""

import os
import subprocess
from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, ConfigDict

PATCH_LIMIT = 1_000_000
_STATUS = ("status", "--porcelain=v2", "-z", "--no-renames")
_PLAIN_DIFF = ("--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")
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
    """Read the Git state of the checkout around ``root``."""
    lines = _git(root, *_STATUS, "--branch").split("\0")
    heads = [line.removeprefix("# branch.oid ") for line in lines if line.startswith("# branch.oid ")]
    commit = next((head for head in heads if head != "(initial)"), None)
    untracked = sorted(line.removeprefix("? ") for line in lines if line.startswith("? "))
    return CodeVersion(commit=commit, dirty=any(map(_is_change, lines)), untracked=untracked)


def is_dirty(root: Path) -> bool:
    """Whether something below ``root`` differs from the commit."""
    return any(map(_is_change, _git(root, *_STATUS, "--", ".").split("\0")))


def dirty_patch(root: Path) -> str:
    """What differs from the commit, as ``git apply`` takes it; cut, and saying so, beyond a million characters.

    Bytes that are not UTF-8 are lone surrogates in it: encode it with ``surrogateescape``.
    """
    patch = _git(root, "diff", *_PLAIN_DIFF, "HEAD", errors="surrogateescape")
    if len(patch) <= PATCH_LIMIT:
        return patch
    return patch[:PATCH_LIMIT] + f"\n# cut here: {len(patch) - PATCH_LIMIT} more characters\n"


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
    return done.stdout.decode(errors=errors) if done.returncode == 0 else ""


def packages() -> str:
    """Name and version of every installed distribution, one per line."""
    names = {f"{each.metadata['Name']}=={each.version}" for each in distributions()}
    return "".join(f"{name}\n" for name in sorted(names, key=str.casefold))
