"""A spool: the finished calls of one shard, in a folder of its own that any file system can hold.

``calls.jsonl`` is only ever appended to, by one process; images lie beside it under their hashes. There is no database,
no lock and no file that two processes write, so that a network file system does. ``driftledger merge`` brings spools
into the call store; until then shards that start later find in them what need not be asked again.
"""

import json
import os
import secrets
import sqlite3
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

from driftledger.collect.call_result import Result
from driftledger.collect.call_store import Finished, Spent
from driftledger.collect.network import network_type_of
from driftledger.collect.shards import Shard
from driftledger.collect.spool_lines import (
    LINES,
    SpooledAttempts,
    SpooledCall,
    SpoolHead,
    SpoolLine,
    key_in,
    line_of,
    object_path,
    parse_line,
    read_head,
    whole_lines,
)
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.errors import StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import write_bytes
from driftledger.core.types import ImageFile, Outcome

_OFFSET_BITS = 48
"""An index entry is one number: which file, and at which byte of it."""


class _Place(NamedTuple):
    folder: Path
    offset: int


class Index:
    """Where each finished call stands in some spools: by key, as one number each, so that a million take 200 MB."""

    def __init__(self) -> None:
        self._folders: list[Path] = []
        self._places: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self._places)

    def add_folder(self, folder: Path) -> int:
        """Its number, for :meth:`add`."""
        self._folders.append(folder)
        return len(self._folders) - 1

    def add(self, key: bytes, number: int, offset: int) -> None:
        self._places[key] = number << _OFFSET_BITS | offset

    def find(self, digest: str) -> _Place | None:
        place = self._places.get(bytes.fromhex(digest))
        if place is None:
            return None
        return _Place(self._folders[place >> _OFFSET_BITS], place & (1 << _OFFSET_BITS) - 1)


@dataclass
class _Earlier:
    """What one component has cost before this shard started, as far as is known here."""

    by_others: Spent = Spent()
    """In runs of other shapes: of all that may still be spent, each shard has its share."""
    by_this: Spent = Spent()
    """In earlier runs of this very shard: it has had that much of its share."""


class StoredElsewhere:
    """The repository's call store, read and never written; empty where there is none that can be opened safely."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._db: sqlite3.Connection | None = None
        path = folder / "calls.db"
        if not path.is_file():
            return
        kind = network_type_of(folder)
        if kind is not None:
            _say(f"the call store {folder} is on a network file system ({kind}), and is not looked into")
            return
        try:
            db = sqlite3.connect(f"file:{quote(str(path.absolute()))}?mode=ro", uri=True, check_same_thread=False)
            db.execute("SELECT key, result FROM calls LIMIT 1").fetchall()
        except sqlite3.Error as error:
            _say(f"the call store {folder} cannot be read ({error}), and is not looked into")
            return
        self._db = db

    def get(self, digest: str) -> Result | None:
        """A stored result whose image, if it has one, is whole."""
        rows = self._rows("SELECT result FROM calls WHERE key = ?", digest)
        return _with_image(json.loads(rows[0][0]), self._folder) if rows else None

    def spent(self) -> dict[str, Spent]:
        return {component: Spent(*rest) for component, *rest in self._rows("SELECT component, attempts, cost FROM spent")}

    def merged(self) -> dict[str, int]:
        """Spool → how many bytes of it are in the store already."""
        return dict(self._rows("SELECT spool, bytes FROM merged"))

    def _rows(self, query: str, *arguments: str) -> list[tuple[object, ...]]:
        try:
            return self._db.execute(query, arguments).fetchall() if self._db else []
        except sqlite3.Error:  # damaged, or of a version without that table
            return []

    def close(self) -> None:
        if self._db is not None:
            self._db.close()
