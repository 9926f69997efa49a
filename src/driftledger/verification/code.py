"""Whether the code that runs here is the code that a stage ran."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path, PurePath

from driftledger.ledger.lock import LockEntry

_PACKAGE = Path(__file__).parent.parent
_PREFIX = "src/driftledger/"


def other_code(entries: Sequence[LockEntry]) -> list[str]:
    """The source files and folders of these stages that are not what is installed here, by their paths."""
    found = {dep.path: dep.md5 for entry in entries for dep in entry.deps if dep.path.startswith(_PREFIX)}
    return sorted(path for path, md5 in found.items() if _md5(_PACKAGE / path.removeprefix(_PREFIX)) != md5)


def _md5(path: Path) -> str | None:
    """As DVC has it: a folder's is over the sorted list of its files, ``__pycache__`` left out."""
    if path.is_file():
        return _hash(path.read_bytes())
    if not path.is_dir():
        return None
    files = [file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    names = sorted((file.relative_to(path) for file in files), key=PurePath.as_posix)
    entries = [{"md5": _hash((path / name).read_bytes()), "relpath": name.as_posix()} for name in names]
    return _hash(json.dumps(entries, sort_keys=True).encode()) + ".dir"


def _hash(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
