"""What DVC keeps of a folder: the list of its files, whose MD5 is the folder's."""

import json
from pathlib import PurePosixPath

from driftledger.core.canonical import md5_bytes

FOLDER = ".dir"
"""What the MD5 of a folder ends in."""


def parse_manifest(data: bytes) -> dict[str, str] | None:
    """Relative path → MD5; None where ``data`` is no manifest, or names files outside of the folder."""
    try:
        found = {row["relpath"]: row["md5"] for row in json.loads(data)}
    except (ValueError, TypeError, KeyError):
        return None
    return found if all(_is_inside(name) for name in found) else None


def manifest_md5(files: dict[str, str]) -> str:
    """The MD5 that DVC knows a folder of these files by.

    >>> manifest_md5({"b.txt": "0" * 32, "a.txt": "1" * 32})
    '03bff49e298d673a6d85d12d3fb2add0.dir'
    """
    rows = [{"md5": md5, "relpath": name} for name, md5 in sorted(files.items())]
    return md5_bytes(json.dumps(rows, sort_keys=True).encode()) + FOLDER


def _is_inside(name: object) -> bool:
    return isinstance(name, str) and bool(name) and not {"..", "/"} & set(PurePosixPath(name).parts)
