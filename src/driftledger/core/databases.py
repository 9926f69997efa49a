"""Wait for a database that another program has locked, and say so."""

import sqlite3
from pathlib import Path

from driftledger.core.text import say

WAIT = 60
"""Seconds for which a locked database is waited for; writes of ours and of MLflow's take less."""


def connect(file: Path | str) -> sqlite3.Connection:
    """Open a database for any thread; an empty name opens one in memory."""
    db = sqlite3.connect(
        file, timeout=WAIT, isolation_level=None, check_same_thread=False
    )
    # A damaged row may hold any bytes; its checksum is of bytes.
    db.text_factory = lambda data: data.decode(errors="replace")
    return db


def is_locked(error: Exception) -> bool:
    """Return True if another program has kept the database locked for too long."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY


def wait_until_free(db: sqlite3.Connection, file: Path, *, writes: bool) -> None:
    """Wait while another program keeps a database locked, and print that.

    Raises:
        sqlite3.OperationalError: it is still locked after :data:`WAIT` seconds, or cannot be used.
    """
    probe = "BEGIN EXCLUSIVE; ROLLBACK" if writes else "PRAGMA user_version"
    db.execute("PRAGMA busy_timeout = 1000")
    try:
        db.executescript(probe)
    except sqlite3.OperationalError as error:
        if not is_locked(error):
            raise
        say(
            f"{file} is locked by another program that has it open; waiting for it, {WAIT} s at "
            "most"
        )
    db.execute(f"PRAGMA busy_timeout = {1000 * WAIT:.0f}")
    db.executescript(probe)
