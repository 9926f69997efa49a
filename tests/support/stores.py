"""The rows of a call store, read as anybody can read them."""

import sqlite3
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

from driftledger.benchmarks.base.collecting import Recorded
from driftledger.collect.database import DATABASE
from driftledger.collect.store import CallStore
from driftledger.core.types import Result


def found(store: CallStore, digests: Iterable[str]) -> dict[str, Result]:
    """Return the stored results with these keys."""
    return {
        digest: result
        for digest in digests
        if (result := store.find(digest)) is not None
    }


def assert_stored(folder: Path, calls: Mapping[str, Recorded]) -> None:
    """Assert that a folder's store holds the calls of a replay, and what each of them gave."""
    assert calls
    with CallStore(folder) as store:
        for digest, recorded in calls.items():
            assert recorded.call.key == digest
            assert (stored := store.find(digest)) is not None
            assert stored.text == recorded.gave.text


def comparable(result: Result) -> tuple[Result, str | None]:
    """Return what a store keeps of a result, with the hash of its image in the place of the
    image."""
    sha256 = None if result.medium is None else result.medium.sha256
    return replace(result, usage=None, medium=None), sha256


def stored_rows(folder: Path) -> dict[str, dict[str, Any]]:
    """Return key → columns of each stored call, in the order of storing."""
    with closing(sqlite3.connect(folder / DATABASE)) as db:
        db.row_factory = sqlite3.Row
        return {
            row["key"].hex(): dict(row)
            for row in db.execute("SELECT * FROM calls ORDER BY rowid")
        }
