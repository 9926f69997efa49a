"""One way to write JSON and to hash it; seeds.

Equal values have equal bytes everywhere.
"""

import errno
import hashlib
import json
import stat
from io import BufferedReader
from pathlib import Path
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A JSON object, as it is read or ready to be written."""


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and finite numbers only.

    Raises:
        ValueError: ``value`` holds a NaN or an infinity.
        TypeError: ``value`` holds something JSON cannot express.
    """
    return json.dumps(
        value,
        sort_keys=True,
        separators=(",", ":"),
        ensure_ascii=False,
        allow_nan=False,
    )


def pretty_json(value: Any) -> str:
    """Canonical JSON for files that people read: indented, ending in a newline."""
    return (
        json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False)
        + "\n"
    )


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def md5_bytes(data: bytes) -> str:
    """Hex MD5, DVC's name for a file's bytes; no protection against forgery."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def open_regular(path: Path) -> BufferedReader:
    """Open an untrusted file; refuse folders, pipes and devices.

    Raises:
        OSError: it is missing, cannot be read, or is a folder, a pipe or a device.
    """
    if not stat.S_ISREG(
        path.stat().st_mode
    ):  # before it is opened, which would wait for a pipe
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path.open("rb")


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes; errors as of :func:`open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def md5_file(path: Path) -> str:
    """Hex MD5 of a file's bytes, as :func:`md5_bytes`; errors as of :func:`open_regular`."""
    with open_regular(path) as file:
        return hashlib.file_digest(
            file, lambda: hashlib.md5(usedforsecurity=False)
        ).hexdigest()


def derive_seed(run_seed: int, sha256: str, twin: int, t: int, repeat: int = 0) -> int:
    """Return the seed of a drawing, in 0 … 2³²−1.

    Neither the sample's name nor its dataset's is in it, so a sample that is renamed is not drawn
    again. Batching, concurrency and resuming cannot change it either.

    Args:
        sha256: hex digest of the sample's bytes.
        twin: 0 for the first sample with these bytes, 1 for the second, and so on.
        t: iteration, from 1.
    """
    return int(sha256_of([run_seed, sha256, twin, t, repeat])[:8], 16)
