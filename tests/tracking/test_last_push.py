"""A push that would find nothing to do is not made: nothing that somebody does to a store may be taken for that."""

import os
import shutil
import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.benchmarks.selection import Selected
from driftledger.ledger.code import code_read
from driftledger.ledger.lineage import Unread
from driftledger.tracking import last_push, projection, track
from driftledger.tracking.addresses import tracking_uri
from driftledger.tracking.content import CURRENT
from tests.support.audited import Audited
from tests.support.ledgers import COMBINATION, SELECTED

from .stores import Store
from .test_check import TRACKING, tracked

__all__ = ["tracked"]


def show(audited: Audited, *, repair: bool = False) -> list[str]:
    return list(track.track(unread(audited), TRACKING, repair=repair))


def unread(audited: Audited) -> Unread:
    return Unread(audited.root, SELECTED, [COMBINATION], code_read(audited.root))


@pytest.fixture
def pushes(tracked: Audited, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A root for each push that is made from now on; the checkout was tracked before, and that was remembered."""
    show(tracked)
    made: list[Path] = []
    push = projection.show

    def counted(root: Path, *rest: object, **options: object) -> str:
        made.append(root)
        return push(root, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(projection, "show", counted)
    return made


def without_the_run(store: Store) -> None:
    client = store.client()
    experiment = client.get_experiment_by_name("driftledger").experiment_id
    for run in client.search_runs([experiment]):
        client.delete_run(run.info.run_id)


def with_another_tag(store: Store) -> None:
    client = store.client()
    experiment = client.get_experiment_by_name("driftledger").experiment_id
    for run in client.search_runs([experiment]):
        client.set_tag(run.info.run_id, CURRENT, "false")


def emptied(store: Store) -> None:
    store.file.unlink()


def replaced(store: Store) -> None:
    """By bytes that say the same, as a backup that is put back."""
    copy = store.file.with_name("copy.db")
    shutil.copy2(store.file, copy)
    copy.replace(store.file)


def overwritten(store: Store) -> None:
    """In place, in the same length and with the old times, and without SQLite, which counts its changes."""
    held, data = store.file.stat(), store.file.read_bytes()
    with store.file.open("r+b") as file:
        file.write(data)
    os.utime(store.file, ns=(held.st_atime_ns, held.st_mtime_ns))


def written_into_beside(store: Store) -> None:
    """By somebody whose changes stand in a journal still."""
    opened = sqlite3.connect(store.file, isolation_level=None)
    opened.execute("PRAGMA journal_mode=WAL")
    opened.execute("UPDATE experiments SET last_update_time = 1")
    held.append(opened)


held: list[sqlite3.Connection] = []


def test_what_was_pushed_is_not_pushed_again(tracked: Audited, pushes: list[Path], mlflow_store: Store) -> None:
    before = mlflow_store.file.read_bytes()
    assert show(tracked) == [
        "MLflow experiment 'driftledger': 0 runs created, 0 completed, 1 unchanged; 0 new in ledger.jsonl"
    ]
    assert not pushes
    assert mlflow_store.file.read_bytes() == before


@pytest.mark.parametrize(
    "done", [without_the_run, with_another_tag, emptied, replaced, overwritten, written_into_beside]
)
def test_whatever_somebody_does_to_the_store_it_is_looked_at(
    done: Callable[[Store], None], tracked: Audited, pushes: list[Path], mlflow_store: Store
) -> None:
    done(mlflow_store)
    show(tracked)
    assert pushes
    client = mlflow_store.client()
    experiment = client.get_experiment_by_name("driftledger").experiment_id
    assert [run.data.tags[CURRENT] for run in client.search_runs([experiment])] == ["true"]
    while held:
        held.pop().close()


def test_other_evidence_ledgers_settings_and_code_are_pushed(
    tracked: Audited, pushes: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = unread(tracked).key
    key = last_push.content_key(tracked.root, evidence, TRACKING)
    others = [
        last_push.content_key(tracked.root, unread(tracked)._replace(combinations=[]).key, TRACKING),
        last_push.content_key(tracked.root, unread(tracked)._replace(selected=Selected()).key, TRACKING),
        last_push.content_key(tracked.root, evidence, TRACKING.model_copy(update={"experiment": "another"})),
    ]
    with monkeypatch.context() as changed:
        changed.setattr(last_push, "_code", lambda: "other code")
        others.append(last_push.content_key(tracked.root, evidence, TRACKING))
    with monkeypatch.context() as changed:
        changed.setattr(last_push.metadata, "version", lambda name: "another version")
        others.append(last_push.content_key(tracked.root, evidence, TRACKING))
    for file in (tracked.root / "dvc.lock", next((tracked.root / "reports" / "scores").rglob("score.json"))):
        was = file.read_bytes()
        file.write_bytes(was + b"\n")
        others.append(last_push.content_key(tracked.root, unread(tracked).key, TRACKING))
        file.write_bytes(was)
    (tracked.root / "src.py").write_text("untracked = True")
    others.append(last_push.content_key(tracked.root, unread(tracked).key, TRACKING))
    (tracked.root / "src.py").unlink()
    assert unread(tracked).key == evidence
    (tracked.root / "reports" / "correlation.md").write_text("other words")
    others.append(last_push.content_key(tracked.root, evidence, TRACKING))
    assert len({key, *others}) == 1 + len(others)
    (tracked.root / "ledger.jsonl").unlink()
    assert show(tracked)[0].endswith("1 new in ledger.jsonl")
    assert pushes


def test_a_repair_is_always_made(tracked: Audited, pushes: list[Path]) -> None:
    show(tracked, repair=True)
    assert pushes


@pytest.mark.parametrize("text", ["", "[]", "{", '{"schema": 1}', "[" * 100_000, '{"schema": 3, "key": null}'])
def test_a_note_that_cannot_be_read_is_no_note(text: str, tracked: Audited, pushes: list[Path]) -> None:
    (tracked.root / ".driftledger" / "last_push.json").write_text(text)
    show(tracked)
    assert pushes


def test_a_push_that_somebody_wrote_beside_is_not_remembered(
    tracked: Audited, mlflow_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    push = projection.show

    def beside(root: Path, *rest: object, **options: object) -> str:
        told = push(root, *rest, **options)  # type: ignore[arg-type]
        with sqlite3.connect(mlflow_store.file) as opened:
            opened.execute("UPDATE experiments SET last_update_time = last_update_time + 1")
        opened.close()
        return told

    monkeypatch.setattr(projection, "show", beside)
    show(tracked)
    assert last_push.last_push(tracked.root, TRACKING) is None


@pytest.mark.parametrize(
    "uri",
    [
        "http://127.0.0.1:1",
        "postgresql://host/db",
        "sqlite:///missing.db",
        "sqlite://",
        "sqlite:///mlflow.db?a=b",
        "sqlite:///a\0b.db",
    ],
)
def test_only_a_file_that_is_there_has_a_mark(uri: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mlflow.db").write_bytes(b"SQLite format 3\0")
    assert last_push.store_mark(uri) is None
    assert last_push.store_mark("sqlite:///mlflow.db") is not None


def test_the_end_of_a_run_asks_nobody_for_what_was_noted(tracked: Audited, pushes: list[Path]) -> None:
    pushed = last_push.last_push(tracked.root, TRACKING)
    assert pushed is not None
    assert tracking_uri(TRACKING).startswith("sqlite:////")
    assert pushed.experiment_id == "1"
    assert last_push.last_push(tracked.root, TRACKING.model_copy(update={"experiment": "another"})) is None


def test_a_file_that_is_written_beside_the_second_look_is_not_remembered(
    tracked: Audited, monkeypatch: pytest.MonkeyPatch
) -> None:
    push, made = projection.show, list[Path]()

    def beside(root: Path, *rest: object, **options: object) -> str:
        made.append(root)
        if len(made) == 2:
            (root / "reports" / "correlation.md").write_text("other words")
        return push(root, *rest, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(projection, "show", beside)
    show(tracked)
    assert len(made) == 2
    assert last_push.last_push(tracked.root, TRACKING) is None


def test_a_store_behind_a_link_has_its_journals_beside_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "store.db").write_bytes(b"SQLite format 3\0")
    (tmp_path / "mlflow.db").symlink_to(tmp_path / "elsewhere" / "store.db")
    assert last_push.store_mark("sqlite:///mlflow.db") is not None
    (tmp_path / "elsewhere" / "store.db-wal").touch()
    assert last_push.store_mark("sqlite:///mlflow.db") is None
