"""SHA-256 of large files, remembered by path, size and times, so that weights are read once and not at every stage."""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from platformdirs import user_cache_path

from driftledger.core.canonical import sha256_file

_SCHEMA = """
CREATE TABLE IF NOT EXISTS hashes (
    path TEXT PRIMARY KEY, bytes INTEGER, modified_ns INTEGER, changed_ns INTEGER, inode INTEGER, sha256 TEXT
)
"""


def remembered_sha256(file: Path) -> str:
    """Hex SHA-256 of a file's bytes; read again if its size, its inode, or the time it was written has changed.

    What is remembered lives in the user's cache folder. Without one, the file is read each time.
    """
    path = file.resolve()
    before = path.stat()
    seen = (before.st_size, before.st_mtime_ns, before.st_ctime_ns, before.st_ino)
    with _memory() as memory:
        if memory is None:
            return sha256_file(path)
        query = "SELECT bytes, modified_ns, changed_ns, inode, sha256 FROM hashes WHERE path = ?"
        row = memory.execute(query, (str(path),)).fetchone()
        if row is not None and row[:4] == seen:
            return str(row[4])
        digest = sha256_file(path)
        memory.execute("REPLACE INTO hashes VALUES (?, ?, ?, ?, ?, ?)", (str(path), *seen, digest))
        return digest


@contextmanager
def _memory() -> Iterator[sqlite3.Connection | None]:
    folder = user_cache_path("driftledger")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        memory = sqlite3.connect(folder / "hashes.db", timeout=60, isolation_level=None)
        memory.execute(_SCHEMA)
    except (OSError, sqlite3.Error):
        memory = None
    try:
        yield memory
    finally:
        if memory is not None:
            memory.close()
