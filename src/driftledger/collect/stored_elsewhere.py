"""The repository's call store as a shard sees it: read where that is safe, and never written."""

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from driftledger.collect.call_result import Result, Spent
from driftledger.collect.network import network_type_of
from driftledger.collect.objects import whole_image


class StoredElsewhere:
    """Finished calls in a folder; none where there is no database that can be opened safely."""

    def __init__(self, folder: Path | None, say: Callable[[str], None]) -> None:
        """``say`` is told why the store is not looked into, where there is one."""
        self._folder = folder or Path()
        self._db: sqlite3.Connection | None = None
        if folder is None or not (folder / "calls.db").is_file():
            return
        kind = network_type_of(folder)
        if kind is not None:
            say(f"the call store {folder} is on a network file system ({kind}): the shard does not look into it")
            return
        try:
            place = quote(str((folder / "calls.db").absolute()))
            db = sqlite3.connect(f"file:{place}?mode=ro", uri=True, timeout=60, check_same_thread=False)
            db.execute("SELECT key, result FROM calls LIMIT 1").fetchall()
        except sqlite3.Error as error:
            say(f"the call store {folder} cannot be read ({error}): the shard does not look into it")
            return
        self._db = db

    def get(self, digest: str) -> Result | None:
        """A stored result whose image, if it has one, is whole."""
        for (text,) in self._rows("SELECT result FROM calls WHERE key = ?", digest):
            row = json.loads(text)
            if row["image"] is None:
                return Result.from_row(row, None)
            if image := whole_image(self._folder, row["image"]):
                return Result.from_row(row, image)
        return None

    def spent(self) -> dict[str, Spent]:
        """Component → what was spent on it."""
        rows = self._rows("SELECT component, attempts, cost FROM spent")
        return {component: Spent(attempts, cost) for component, attempts, cost in rows}

    def merged(self) -> dict[str, int]:
        """Spool → how many bytes of it are in the store already."""
        return dict(self._rows("SELECT spool, bytes FROM merged"))

    def _rows(self, query: str, *arguments: str) -> list[Any]:
        try:
            return self._db.execute(query, arguments).fetchall() if self._db is not None else []
        except sqlite3.Error:  # damaged, or from before there was such a table
            return []

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
