"""Whether the code that runs here is the code that a stage ran."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.core.canonical import md5_file
from driftledger.ledger.lock import LockEntry
from driftledger.ledger.objects.manifests import manifest_md5

_PACKAGE = Path(__file__).parents[2]
_PREFIX = "src/driftledger/"


def other_code(entries: Sequence[LockEntry]) -> list[str]:
    """The source files and folders of these stages that are not what is installed here, by their paths."""
    found = {dep.path: dep.md5 for entry in entries for dep in entry.deps if dep.path.startswith(_PREFIX)}
    return sorted(path for path, md5 in found.items() if _md5(_PACKAGE / path.removeprefix(_PREFIX)) != md5)


def _md5(path: Path) -> str | None:
    """As DVC has it: a folder's is over its files, ``__pycache__`` left out."""
    if path.is_file():
        return md5_file(path)
    if not path.is_dir():
        return None
    files = [file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts]
    return manifest_md5({file.relative_to(path).as_posix(): md5_file(file) for file in files})
