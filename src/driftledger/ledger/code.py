"""Which code was at work: the Git commit, what differed from it, and the installed packages."""

from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from driftledger.ledger.git import git_text

PATCH_LIMIT = 1_000_000
_PLAIN_DIFF = ("--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/")


class CodeVersion(BaseModel):
    """The state of the working tree; ``commit`` is None outside Git or before the first commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str | None
    dirty: bool
    untracked: list[str]


def code_version(root: Path) -> CodeVersion:
    """Read the Git state of ``root``."""
    commit = git_text(root, "rev-parse", "--verify", "HEAD")
    status = git_text(root, "status", "--porcelain", "-z") or ""
    entries = [entry for entry in status.split("\0") if entry]
    untracked = sorted(entry[3:] for entry in entries if entry.startswith("?? "))
    return CodeVersion(commit=commit.strip() if commit else None, dirty=bool(entries), untracked=untracked)


def dirty_patch(root: Path) -> str:
    """What differs from the commit, as ``git apply`` takes it; cut, and saying so, beyond a million characters.

    Bytes that are not UTF-8 are lone surrogates in it: encode it with ``surrogateescape``.
    """
    patch = git_text(root, "diff", *_PLAIN_DIFF, "HEAD", errors="surrogateescape") or ""
    if len(patch) <= PATCH_LIMIT:
        return patch
    return patch[:PATCH_LIMIT] + f"\n# cut here: {len(patch) - PATCH_LIMIT} more characters\n"


def packages() -> str:
    """Name and version of every installed distribution, one per line."""
    names = {f"{each.metadata['Name']}=={each.version}" for each in distributions()}
    return "".join(f"{name}\n" for name in sorted(names, key=str.casefold))
