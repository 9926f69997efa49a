"""Which code was at work: the Git commit, whether something differed from it, and the installed packages.

Git is read by libgit2, so that no program runs that a checkout names.
"""

from importlib.metadata import distributions
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from driftledger.core.files import load_json
from driftledger.ledger.lock import LOCK, RESOLVED, locked_now
from driftledger.ledger.objects.git import Git, is_unreadable

PUBLISHED = "ledger"
"""The folder of the published runs' files, below a project's top folder."""


class CodeVersion(BaseModel):
    """The code that made a run; ``commit`` is None outside Git and before the first commit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    commit: str | None
    dirty: bool
    """Whether a tracked file that the pipeline does not write differed from the commit, or Git could not be read."""


def code_version(root: Path) -> CodeVersion:
    """The state of the checkout around ``root``, anybody's."""
    git = Git.around(root)
    if git is None:
        return CodeVersion(commit=None, dirty=is_unreadable(root))
    changes = git.changes()
    outs = [out.path for entry in locked_now(root).values() for out in entry.outs]
    ignored = [f"{path.rpartition('/')[0]}/.gitignore" for path in outs]  # which DVC writes beside them
    files = {git.from_top(path) for path in (LOCK, RESOLVED, ".dvc/.gitignore", *outs, *ignored)}
    folders = tuple(git.from_top(path) + "/" for path in (PUBLISHED, "reports", *outs))
    dirty = changes is None or any(not (path in files or path.startswith(folders)) for path in changes)
    return CodeVersion(commit=git.heads()[0], dirty=dirty)


def published_code(root: Path) -> dict[str, CodeVersion]:
    """Fingerprint → the code in the file of each published run; of several files of one run, clean code.

    Damaged files are left out: verifying reports them.
    """
    noted = list[tuple[bool, str, CodeVersion]]()
    for path in sorted((root / PUBLISHED).glob("*.json")):
        try:
            content = load_json(path.read_bytes())
            code = CodeVersion.model_validate(content["code"])
            noted.append((code.dirty, str(content["fingerprint"]), code))
        except (OSError, ValueError, TypeError, LookupError):
            continue
    return {fingerprint: code for _, fingerprint, code in sorted(noted, key=lambda each: not each[0])}


def packages() -> str:
    """Name and version of every installed distribution, one per line."""
    names = {f"{each.metadata['Name']}=={each.version}" for each in distributions()}
    return "".join(f"{name}\n" for name in sorted(names, key=str.casefold))
