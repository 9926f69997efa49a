"""What was once worked out of something that never changes, a Git object for instance, kept for the next question.

Disposable: it lies in the reader's cache, and where it is missing, damaged or cannot be written, the answers are the
same and take longer.
"""

import json
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from driftledger.core.canonical import canonical_json

_FORMAT = 3
"""Raised whenever what is kept under a key changes its meaning."""

_TABLE = "CREATE TABLE IF NOT EXISTS answers (kind TEXT, key TEXT, value TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID"


class Remembered:
    """Answers by kind and key; a context that writes what is new when it ends."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._database = self._opened()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        with suppress(sqlite3.Error):  # a full disk, another process: nothing is lost by it
            self._database.commit()
        self._database.close()

    def get(self, kind: str, key: str) -> Any:
        """What was kept, or None."""
        try:
            row = self._database.execute("SELECT value FROM answers WHERE kind = ? AND key = ?", (kind, key)).fetchone()
            return None if row is None else json.loads(row[0])
        except (sqlite3.Error, ValueError):
            return None

    def keep(self, kind: str, key: str, value: Any) -> None:
        """Keep a value; one that JSON or the database cannot hold is worked out again next time."""
        with suppress(sqlite3.Error, ValueError):
            self._database.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?)", (kind, key, canonical_json(value))
            )

    def recall(self, kind: str, key: str, work: Callable[[], Any]) -> Any:
        """What was kept, or else what ``work`` gives, which is kept from now on; it is JSON-ready, and not None."""
        found = self.get(kind, key)
        if found is None:
            found = work()
            self.keep(kind, key, found)
        return found

    def _opened(self) -> sqlite3.Connection:
        for attempt in range(2):
            try:
                self._file.parent.mkdir(parents=True, exist_ok=True)
                return _prepared(sqlite3.connect(self._file, timeout=5))
            except sqlite3.OperationalError:  # locked, or on a disk that may not be written
                break
            except (sqlite3.DatabaseError, OSError):
                with suppress(OSError):
                    self._file.unlink(missing_ok=attempt == 0)
        return _prepared(sqlite3.connect(":memory:"))


def _prepared(database: sqlite3.Connection) -> sqlite3.Connection:
    [held] = database.execute("PRAGMA user_version").fetchone()
    if held != _FORMAT:
        database.execute("DROP TABLE IF EXISTS answers")
        database.execute(f"PRAGMA user_version = {_FORMAT}")
    database.execute(_TABLE)
    return database
