"""The database of a call store, for all who write to it."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

LOCK_SECONDS = 60
_MOST_KEYS = 500  # SQLite's limit on variables in one statement is 999 in old builds


def connect(folder: Path) -> sqlite3.Connection:
    """Open the database of the store in ``folder``; whoever runs calls uses it in one thread, which need not be this
    one."""
    return sqlite3.connect(folder / "calls.db", timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[None]:
    """All of it or nothing; nobody else writes meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:  # on a full disk, SQLite has rolled back by itself
            db.execute("ROLLBACK")
        raise


def select_by_key(db: sqlite3.Connection, select: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """The rows of ``SELECT … FROM …`` that have one of the keys."""
    for start in range(0, len(keys), _MOST_KEYS):
        some = keys[start : start + _MOST_KEYS]
        marks = ",".join("?" * len(some))
        yield from db.execute(f"{select} WHERE key IN ({marks})", some)
