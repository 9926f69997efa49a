"""``dvc.lock``: which bytes each stage read and wrote.

Everything else is a view of it.
"""

from contextlib import suppress
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError

from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import LedgerError
from driftledger.core.files import (
    LARGEST_YAML,
    load_json,
    load_yaml,
    read_regular,
    reading,
)
from driftledger.core.strict import Md5, RelativePath
from driftledger.ledger.objects.files import Workspace
from driftledger.project.project import LOCK, NOTED_SETTINGS, RESOLVED


class LockedFile(BaseModel):
    """A file or folder in ``dvc.lock``; the MD5 of a folder ends in ``.dir``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: RelativePath
    md5: Md5
    size: int
    nfiles: int | None = None


class LockEntry(BaseModel):
    """One stage of ``dvc.lock``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cmd: str | list[str]
    deps: list[LockedFile] = []
    params: dict[RelativePath, Json] = {}
    outs: list[LockedFile] = []

    @property
    def noted(self) -> Json:
        """``collect.<model>``, for instance → its settings, or a digest if they are lost."""
        noted: Json = self.params.get(RESOLVED, {})
        return noted

    def out(self, path: str) -> LockedFile | None:
        """Return the output at a path, relative to the top folder, if there is one."""
        return next((out for out in self.outs if out.path == path), None)


Lock: TypeAlias = dict[str, LockEntry]
"""Stage name → entry."""


class _Lock(BaseModel):
    stages: Lock


def noted_digest(lock: Lock, stage: str) -> str:
    """Return the digest of the settings that a stage ran with; empty if unknown."""
    noted = lock[stage].noted.get(stage.replace("@", "."), "") if stage in lock else ""
    return noted if isinstance(noted, str) else sha256_of(noted)


def read_lock(root: Path) -> Lock:
    """Read ``dvc.lock``: stage name → entry.

    Raises:
        LedgerError: ``dvc.lock`` is missing, or cannot be read.
    """
    file = root / LOCK
    with reading(file, LedgerError, missing="run 'dvc repro' first", unread=": {}"):
        data = read_regular(file, LARGEST_YAML, within=root)
    behind = Workspace(root).read(NOTED_SETTINGS)
    return with_settings(parse_lock(data, str(file)), behind)


def with_settings(lock: Lock, behind: bytes | None) -> Lock:
    """Replace the digests that stages depend on by the settings behind them.

    Args:
        behind: the file of settings by digest that belongs to the lock.
    """
    settings = {}
    with suppress(ValueError):
        content = load_json(behind or b"{}")
        settings = content if isinstance(content, dict) else {}
    for entry in lock.values():
        for name, digest in entry.noted.items():
            known = settings.get(digest) if isinstance(digest, str) else None
            entry.noted[name] = known if sha256_of(known) == digest else str(digest)
    return lock


def locked_now(root: Path) -> Lock:
    """Read ``dvc.lock``; empty if it is missing or cannot be read."""
    try:
        return read_lock(root)
    except LedgerError:
        return {}


def parse_lock(data: bytes, where: str = LOCK) -> Lock:
    """Parse the bytes of a ``dvc.lock``.

    Args:
        where: the name of the file in errors.

    Raises:
        LedgerError: it is not a ``dvc.lock``.
    """
    try:
        return _Lock.model_validate(load_yaml(data.decode())).stages
    except ValidationError as invalid:
        first = invalid.errors(include_url=False)[0]
        why = f"{'.'.join(map(str, first['loc'])) or 'it'}: {first['msg']}"
    except ValueError as error:
        why = str(error)
    raise LedgerError(
        f"{where} is not a dvc.lock: {why}; restore it with 'git checkout HEAD {LOCK}', or delete "
        "it and run 'dvc repro'"
    )
