"""What was last pushed to an MLflow store in a file, and what the file was like then.

As long as nobody has written to that file and there is nothing else to show, a push would find nothing to do. This says
so without MLflow, whose import takes longer than the rest of ``track``, and without reading its tables: SQLite counts
its transactions in the head of a file, so that a store from which something was deleted, that was restored or repaired,
or to which another clone has pushed, has another mark, and is looked at. A server is always asked: nothing that is as
cheap tells that it holds what it held.
"""

import os
import re
from contextlib import suppress
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

from driftledger import __version__
from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.escaping import for_line
from driftledger.core.files import write_json
from driftledger.core.limits import load_json
from driftledger.core.paths import Paths
from driftledger.ledger import lineage
from driftledger.project.settings import Tracking
from driftledger.reports.correlation import FILES
from driftledger.tracking.addresses import artifact_store, tracking_uri

_FILE = "last_push.json"
_SCHEMA = 3
_IN_A_FILE = re.compile(r"sqlite:///([^?%]+)")
_MAGIC = b"SQLite format 3\0"
_HEAD = 100
"""Bytes of a SQLite file before its first page, the count of changes among them."""


class LastPush(NamedTuple):
    """A push that found nothing to do, as the next one will."""

    experiment: str
    """The name of the experiment of the combinations."""
    experiment_id: str
    told: tuple[str, ...]
    """A line for each experiment."""


def content_key(root: Path, evidence: str, tracking: Tracking) -> str:
    """The hash of all that a push goes by: settings, files, what is installed, the code that pushes.

    Args:
        evidence: its key.
    """
    paths = Paths(root)
    files = [paths.ledger, *(paths.reports / name for name in FILES)]
    return sha256_of(
        {
            "evidence": evidence,
            "tracking": tracking.model_dump(mode="json"),
            "uri": tracking_uri(tracking),
            "artifacts": artifact_store(tracking),
            "files": [sha256_bytes(each.read_bytes()) if each.is_file() else None for each in files],
            "versions": [__version__, metadata.version("mlflow")],
            "code": _code(),
        }
    )


@cache
def _code() -> str:
    """Of this room, and of the one that reads evidence."""
    rooms = (Path(__file__).parent, Path(lineage.__file__).parent)
    files = [file for room in rooms for file in sorted(room.glob("*.py"))]
    return sha256_of({f"{file.parent.name}/{file.name}": sha256_bytes(file.read_bytes()) for file in files})


def store_mark(uri: str) -> str | None:
    """What the file of a store is like; any write to it makes another mark. None where there is no such file, where
    something of it stands in a journal beside it, and of a server."""
    match = _IN_A_FILE.fullmatch(uri)
    if match is None:
        return None
    try:
        file = Path(os.path.realpath(match[1]))  # beside which its journals are
        with file.open("rb") as opened:
            head, stat = opened.read(_HEAD), os.fstat(opened.fileno())
    except (OSError, ValueError):  # a NUL in its name
        return None
    if not head.startswith(_MAGIC) or any(
        file.with_name(f"{file.name}-{kind}").exists() for kind in ("journal", "wal")
    ):
        return None
    return sha256_of([str(file), stat.st_dev, stat.st_ino, stat.st_size, stat.st_ctime_ns, head.hex()])


def note(root: Path, key: str, mark: str, pushed: LastPush) -> None:
    """Keep what was pushed to the store that has this mark; where that cannot be, the next push looks at the store."""
    with suppress(OSError):
        write_json(_file(root), {"schema": _SCHEMA, "key": key, "mark": mark} | pushed._asdict())


def last_push(root: Path, tracking: Tracking, key: str | None = None) -> LastPush | None:
    """What was last pushed from this checkout, where the store is as it was then; else None.

    Args:
        key: what is to be shown now; None: whatever it was, in the experiment that the settings name.
    """
    held = _held(root)
    if held.get("schema") != _SCHEMA or key not in (None, held.get("key")):
        return None
    if (mark := store_mark(tracking_uri(tracking))) is None or held.get("mark") != mark:
        return None
    experiment_id, told = held.get("experiment_id"), held.get("told")
    if (
        held.get("experiment") != tracking.experiment
        or not isinstance(experiment_id, str)
        or not isinstance(told, list)
    ):
        return None
    return LastPush(tracking.experiment, experiment_id, tuple(for_line(str(each)) for each in told))


def _held(root: Path) -> dict[str, Any]:
    """Nothing where it cannot be read: whatever stands there was written by an earlier version, or by somebody."""
    try:
        held = load_json(_file(root).read_bytes())
    except (OSError, ValueError):
        return {}
    return held if isinstance(held, dict) else {}


def _file(root: Path) -> Path:
    return Paths(root).state / _FILE
