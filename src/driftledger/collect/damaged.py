"""Read what a damaged SQLite file still holds, leaf by leaf.

SQLite goes from the first page to the rows, and gives up where one on the way is damaged. Yet a
row lies in a leaf, with its tail in pages that follow. So each leaf in turn becomes the only page
of every table, in a copy with the first page of a new database. No text of a model is taken for a
leaf: a page that holds the tail of a row begins with the number of a page, and so with a byte 0.
"""

import shutil
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from driftledger.core.databases import connect

_PAGE = 4096
"""Bytes of a page: SQLite's default."""
_LEAF = b"\x0d"
"""First byte of a leaf of a table."""
_COUNT_POSITION = 28
"""Position of the number of pages in the first page; if it is 0, SQLite uses the file's size."""
_CHANGEABLE = "PRAGMA writable_schema = ON"
_AS_LEAF = "UPDATE sqlite_master SET rootpage = ? WHERE type = 'table'"


def rows_left(
    file: Path, tables: str, queries: Mapping[str, str]
) -> Iterator[tuple[str, tuple[Any, ...]]]:
    """Yield the rows that queries find in each leaf, with the names of the queries.

    A row may be changed, removed or of another table: the queries and the caller check that.

    Args:
        tables: the script that creates the tables.
        queries: name → query.
    """
    with TemporaryDirectory() as folder:
        copy = Path(folder, "copy")
        shutil.copyfile(file, copy)
        with closing(connect("")) as new, copy.open("r+b") as pages:
            new.executescript(tables)
            pages.write(new.serialize()[:_PAGE])
            numbered = enumerate(iter(partial(pages.read, _PAGE), b""), 2)
            leaves = [number for number, page in numbered if page.startswith(_LEAF)]
            pages.seek(_COUNT_POSITION)
            pages.write(bytes(4))
        with closing(connect(copy)) as db:
            db.executescript(f"{_CHANGEABLE}; PRAGMA journal_mode = OFF")
            for leaf in leaves:
                db.execute(_AS_LEAF, (leaf,))
                db.executescript(f"PRAGMA writable_schema = RESET; {_CHANGEABLE}")
                for name, query in queries.items():
                    with suppress(sqlite3.Error):
                        for row in db.execute(query):
                            yield name, row
