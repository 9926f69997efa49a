"""The rows of a call store, read as anybody can read them."""

import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from driftledger.collect.call import Result
from driftledger.collect.store import DATABASE, CallStore


def found(store: CallStore, digests: Iterable[str]) -> dict[str, Result]:
    """The stored results among those with these keys."""
    return {digest: result for digest in digests if (result := store.find(digest)) is not None}


def stored_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Key → columns of each stored call, in the order in which they were stored, with its texts for their ids."""
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.row_factory = sqlite3.Row
        texts = {row["id"]: zlib.decompress(row["text"]).decode() for row in db.execute("SELECT * FROM texts")}
        rows = [dict(row) for row in db.execute("SELECT * FROM calls ORDER BY rowid")]
    shared = ("component", "request")
    return {row["key"].hex(): row | {name: texts.get(row[name]) for name in shared} for row in rows}
