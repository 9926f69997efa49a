"""``dvc.lock``: which bytes each stage read and wrote. The truth that everything else is a view of."""

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from driftledger.errors import LedgerError

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The one in C, where PyYAML was built with it: a lock has thousands of lines."""


class LockedFile(BaseModel):
    """A file or folder as DVC saw it; a folder's MD5 ends in ``.dir``."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    path: str
    md5: str
    size: int
    nfiles: int | None = None


class LockEntry(BaseModel):
    """One stage of ``dvc.lock``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    cmd: str | list[str]
    deps: list[LockedFile] = []
    params: dict[str, dict[str, Any]] = {}
    outs: list[LockedFile] = []

    def without_code(self) -> dict[str, Any]:
        """The entry's bytes and settings, JSON-ready, less the source files it depends on."""
        kept = [dep for dep in self.deps if not dep.path.startswith("src/")]
        return self.model_copy(update={"deps": kept}).model_dump(mode="json")

    def out(self, path: str) -> LockedFile:
        """The output at ``path``, relative to the top folder.

        Raises:
            LedgerError: the stage wrote no such output when it ran last.
        """
        for out in self.outs:
            if out.path == path:
                return out
        raise LedgerError(f"dvc.lock knows no output {path} of '{self.cmd}'; run 'dvc repro'")


def read_lock(root: Path) -> dict[str, LockEntry]:
    """Stage name → entry.

    Raises:
        LedgerError: there is no ``dvc.lock``, or it is not one.
    """
    path = root / "dvc.lock"
    try:
        return parse_lock(path.read_bytes(), str(path))
    except FileNotFoundError:
        raise LedgerError(f"{path} is missing; run 'dvc repro' first") from None


def parse_lock(data: bytes, where: str) -> dict[str, LockEntry]:
    """What :func:`read_lock` finds in a file of these bytes, which errors call ``where``."""
    try:
        stages = yaml.load(data.decode(), Loader=LOADER)["stages"]
        return {name: LockEntry.model_validate(entry) for name, entry in stages.items()}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise LedgerError(
            f"{where} is not a dvc.lock ({type(error).__name__}); restore it with 'git checkout dvc.lock' "
            "or run 'dvc repro'"
        ) from None
