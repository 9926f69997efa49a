"""What others make is counted while they make it, and nothing is held up or made by that."""

import sqlite3
from pathlib import Path

from driftledger.collect.call_result import Spent
from driftledger.collect.call_store import CallStore
from driftledger.collect.counted import CallsMade, Counted
from tests.collect.test_call_store import finished, key


def test_only_what_came_since_is_counted(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key("before"))])
        store.absorb("a", 0, 1, [], {"f1": Spent(2, 1.5)})
        made = CallsMade(tmp_path)
        assert made.count() == Counted(0, 0.0)
        store.put([finished(key("before")), finished(key("one")), finished(key("two"))])
        store.absorb("b", 0, 1, [], {"f1": Spent(3, 0.5), "f2": Spent(1, 0.25)})
        assert made.count() == Counted(2, 0.75)
    assert made.count() == Counted(2, 0.75)


def test_a_store_that_comes_later_counts_whole_and_none_is_made(tmp_path: Path) -> None:
    made = CallsMade(tmp_path / "store")
    assert made.count() == Counted()
    assert not (tmp_path / "store").exists()
    with CallStore(tmp_path / "store") as store:
        store.put([finished(key("one"))])
    assert made.count().calls == 1


def test_what_cannot_be_read_changes_nothing(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        made = CallsMade(tmp_path)
        store.put([finished(key("one"))])
        assert made.count().calls == 1
    (tmp_path / "calls.db").write_bytes(b"no database" * 100)
    for each in tmp_path.glob("calls.db-*"):
        each.unlink()
    assert made.count().calls == 1
    assert CallsMade(tmp_path).count() == Counted()


def test_a_store_that_is_written_is_read(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key("one"))])
        made = CallsMade(tmp_path)
        writer = sqlite3.connect(tmp_path / "calls.db", isolation_level=None)
        writer.execute("BEGIN IMMEDIATE")
        assert made.count() == Counted()
        writer.execute("ROLLBACK")
        writer.close()
