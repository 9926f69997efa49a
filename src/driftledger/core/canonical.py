"""One way to write JSON and to hash it, so that equal things have equal bytes everywhere; and seeds made of it."""

import hashlib
import json
from pathlib import Path
from typing import Any


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and finite numbers only.

    Raises:
        ValueError: ``value`` holds a NaN or an infinity.
        TypeError: ``value`` holds something JSON cannot express.
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def pretty_json(value: Any) -> str:
    """Canonical JSON for files that people read: indented, ending in a newline."""
    return json.dumps(value, sort_keys=True, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def sha256_of(value: Any) -> str:
    """Hex SHA-256 of the canonical JSON of ``value``."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def sha256_bytes(data: bytes) -> str:
    """Hex SHA-256 of ``data``."""
    return hashlib.sha256(data).hexdigest()


def md5_bytes(data: bytes) -> str:
    """Hex MD5, DVC's name for a file's bytes; no protection against forgery."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def sha256_file(path: Path) -> str:
    """Hex SHA-256 of a file's bytes."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def derive_seed(run_seed: int, dataset: str, sample: str, t: int, repeat: int = 0) -> int:
    """Return the seed of one call, in 0 … 2³²−1; batching, concurrency and resuming cannot change it."""
    return int(sha256_of([run_seed, dataset, sample, t, repeat])[:8], 16)
