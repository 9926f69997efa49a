"""How many calls have been made since some moment, and what they have cost: the call store as others write it.

It is only read, and never made: whoever watches a run must neither wait for it nor hold it up.
"""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

_PATIENCE = 1.0
"""Seconds; a store that is held for longer is asked again the next time."""


class Counted(NamedTuple):
    """Calls, and what was spent on services in the currency of ``prices``."""

    calls: int = 0
    cost: float = 0.0


class CallsMade:
    """The calls that any process has stored since this was made, and what all attempts at services cost since."""

    def __init__(self, folder: Path) -> None:
        """Begin to count; the store in ``folder`` need not be there yet."""
        self._file = folder / "calls.db"
        self._before, self._spent_before = self._read(0) or ((0, 0), 0.0)
        self._last = Counted()

    def count(self) -> Counted:
        """What was made by now; what was known before, where the store cannot be read now."""
        found = self._read(self._before[0])
        if found is not None:
            (_, calls), spent = found
            self._last = Counted(calls, max(0.0, spent - self._spent_before))
        return self._last

    def _read(self, after: int) -> tuple[tuple[int, int], float] | None:
        """The last row and how many stand after ``after``, and all that was spent; None where it cannot be read."""
        if not self._file.is_file():
            return None
        try:
            address = f"{self._file.absolute().as_uri()}?mode=ro"
            with closing(sqlite3.connect(address, uri=True, timeout=_PATIENCE)) as store:
                [row] = store.execute("SELECT coalesce(max(rowid), 0), count(*) FROM calls WHERE rowid > ?", (after,))
                [(spent,)] = store.execute("SELECT coalesce(sum(cost), 0.0) FROM spent")
        except sqlite3.Error:
            return None
        return (int(row[0]), int(row[1])), float(spent)
