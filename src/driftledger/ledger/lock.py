"""``dvc.lock``: which bytes each stage read and wrote. The truth that everything else is a view of.

There is one for each ``dvc.yaml``, and who reads them sees the stages of all as if they stood in one.
"""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from driftledger.benchmarks.registry import LOCK, lock_files
from driftledger.core.errors import LedgerError
from driftledger.core.escaping import for_line
from driftledger.core.names import Md5, RelativePath
from driftledger.core.yaml_text import load_yaml

RESOLVED = "data/resolved.json"
CODE = "code."
"""What keys of digests of code begin with, in :data:`RESOLVED`."""
_CONFLICT = "<<<<<<< "


class LockedFile(BaseModel):
    """A file or folder as DVC saw it; a folder's MD5 ends in ``.dir``."""

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
    params: dict[RelativePath, dict[str, Any]] = {}
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


class Locks(NamedTuple):
    """Several as if they were one, as far as they can be read."""

    entries: dict[str, LockEntry]
    """Stage → entry, of those that can be read."""
    files: dict[str, str]
    """Stage → the lock that its entry stands in."""
    damage: list[tuple[str, str, str]]
    """What cannot be read: the lock, the place in it, and what is wrong there."""

    def where(self, stage: str) -> str:
        """Where a stage's entry stands."""
        return f"{self.files.get(stage, LOCK)}: {for_line(stage)}"


def parse_locks(contents: Mapping[str, bytes]) -> Locks:
    """Locks by their paths: damage to one entry leaves the others as they are."""
    locks = Locks({}, {}, [])
    for file, data in contents.items():
        try:
            stages = _stages(data)
        except _DamageError as error:
            locks.damage.append((file, f"{file}, line {error.line}" if error.line else file, str(error)))
            continue
        for name, entry in stages.items():
            locks.files[str(name)] = file
            try:
                locks.entries[str(name)] = LockEntry.model_validate(entry)
            except ValidationError as invalid:
                first = invalid.errors(include_url=False)[0]
                what = f"{for_line('.'.join(map(str, first['loc'])))}: {for_line(first['msg'])}"
                locks.damage.append((file, locks.where(str(name)), f"its entry cannot be read: {what}"))
    return locks


class _DamageError(Exception):
    def __init__(self, what: str, line: int | None = None) -> None:
        super().__init__(what)
        self.line = line


@lru_cache(32)  # commands come to the same locks by several ways, of which Git's last commit is one
def _stages(data: bytes) -> Mapping[object, object]:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise _DamageError("it is not UTF-8", data.count(b"\n", 0, error.start) + 1) from None
    for number, row in enumerate(text.split("\n"), 1):
        if row.startswith(_CONFLICT):
            raise _DamageError("it holds both sides of a merge", number)
    try:
        content = load_yaml(text)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        why = f" ({for_line(error.problem):.200})" if isinstance(error, yaml.MarkedYAMLError) and error.problem else ""
        raise _DamageError(f"it is not YAML{why}", mark.line + 1 if mark else None) from None
    except ValueError as error:  # a date that does not exist, for instance
        raise _DamageError(f"it holds a value that does not exist ({for_line(str(error)):.100})") from None
    stages = content.get("stages") if isinstance(content, dict) else None
    if not isinstance(stages, dict):
        raise _DamageError("it has no stages")
    return stages


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
    locks = parse_locks({where: data})
    if locks.damage:
        _, _, what = locks.damage[0]
        raise LedgerError(
            f"{where} is not a dvc.lock ({what}); restore it with 'git checkout', or delete it and run 'dvc repro'"
        )
    return locks.entries
