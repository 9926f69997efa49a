import sqlite3
from pathlib import Path

import pytest

from driftledger.collect.call_store import CallStore
from driftledger.collect.database import connect, select_by_key, transaction
from driftledger.core.errors import StoreError
from tests.collect.test_call_store import finished, key


def test_a_transaction_that_sqlite_has_rolled_back_by_itself_keeps_its_error(tmp_path: Path) -> None:
    db = connect(tmp_path)
    db.execute("CREATE TABLE numbers (key INTEGER PRIMARY KEY)")
    with pytest.raises(sqlite3.IntegrityError, match="UNIQUE"), transaction(db):
        db.execute("INSERT OR ROLLBACK INTO numbers VALUES (1), (1)")
    assert not list(select_by_key(db, "SELECT key FROM numbers", ["1"]))
    db.close()


def test_a_store_without_room_says_so_and_keeps_what_it_has(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())])
        [(pages,)] = store._db.execute("PRAGMA page_count")
        store._db.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(StoreError, match=r"cannot be stored in .* \(database or disk is full\); make room"):
            store.put([finished(key("more"), "long" * 100_000)])
        assert key().digest in store.get([key().digest])
