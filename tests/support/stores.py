"""The rows of a call store, read as anybody can read them."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from driftledger.collect.store import DATABASE


def stored_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Key → columns of each stored call, in the order in which they were stored."""
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.row_factory = sqlite3.Row
        return {row["key"]: dict(row) for row in db.execute("SELECT * FROM calls ORDER BY rowid")}
