"""``dvc.lock``: which bytes each stage read and wrote. The truth that everything else is a view of.

There is one for each ``dvc.yaml``, and who reads them sees the stages of all as if they stood in one.
"""

from pathlib import Path
from typing import Any

import yaml
from pydantic import BaseModel, ConfigDict

from driftledger.benchmarks.registry import LOCK, lock_files
from driftledger.core.errors import LedgerError
from driftledger.core.yaml_text import load_yaml

RESOLVED = "data/resolved.json"
CODE = "code."
"""What keys of digests of code begin with, in :data:`RESOLVED`."""


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

    @property
    def code(self) -> dict[str, str]:
        """Digests of the code that the stage ran, by their keys in ``data/resolved.json``."""
        return {key: str(value) for key, value in self.params.get(RESOLVED, {}).items() if key.startswith(CODE)}

    def without_code(self) -> dict[str, Any]:
        """The entry's bytes and settings, JSON-ready, less the digests of code, and less the source files that stages
        of version 0.1 depended on: the first lines of a ledger are of such entries."""
        deps = [dep for dep in self.deps if not dep.path.startswith("src/")]
        params = {
            file: {key: value for key, value in some.items() if file != RESOLVED or not key.startswith(CODE)}
            for file, some in self.params.items()
        }
        return self.model_copy(update={"deps": deps, "params": params}).model_dump(mode="json")

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
    """Stage name → entry, of all pipelines.

    Raises:
        LedgerError: there is no ``dvc.lock``, or a file of that name is not one.
    """
    locks = locks_here(root)
    if not locks:
        raise LedgerError(f"{root / LOCK} is missing; run 'dvc repro' first")
    return {name: entry for file, data in locks.items() for name, entry in parse_lock(data, str(root / file)).items()}


def locks_here(root: Path) -> dict[str, bytes]:
    """The bytes of each lock that is there, by its path relative to ``root``."""
    return {file: (root / file).read_bytes() for file in lock_files() if (root / file).is_file()}


def parse_lock(data: bytes, where: str) -> dict[str, LockEntry]:
    """Stage name → entry in a file of these bytes, which errors call ``where``.

    Raises:
        LedgerError: it is not a ``dvc.lock``.
    """
    try:
        stages = load_yaml(data.decode())["stages"]
        return {name: LockEntry.model_validate(entry) for name, entry in stages.items()}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, ValueError) as error:
        raise LedgerError(
            f"{where} is not a dvc.lock ({type(error).__name__}); restore it with 'git checkout', or delete it and "
            "run 'dvc repro'"
        ) from None
