import json
import multiprocessing
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.components.service import Limits
from driftledger.core.errors import StoreError
from driftledger.core.images import png_bytes
from driftledger.core.types import Outcome, PromptUsage

PNG = png_bytes(Image.new("RGB", (4, 3), "red"))


SPEC = {"settings": {"detail": "fine"}}


def key(text: str = "hello", **parts: Any) -> CallKey:
    plain = {"fingerprint": "f1", "role": "describe", "images": (), "seed": None, "component": SPEC}
    return CallKey(input=text, **plain | parts)


def finished(call: CallKey, text: str = "answer", outcome: Outcome = Outcome.OK, png: bytes | None = None) -> Finished:
    return Finished(call, Context("photos", "coffee", 1), Result(outcome, text=text), png, Cost(0.5))


def test_a_result_comes_back_with_its_image(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        [stored] = store.put([finished(key(), png=PNG)])
    with CallStore(tmp_path) as store:
        found = store.get([key().digest, key("other").digest])
    assert found == {key().digest: stored}
    assert stored.image is not None
    assert stored.image.path.read_bytes() == PNG
    assert store.folder / "objects" in stored.image.path.parents


@pytest.mark.parametrize(
    "other",
    [
        key("bye"),
        key(fingerprint="f2"),
        key(role="answer"),
        key(images=("a",)),
        key(images=("a", "b")),
        key(seed=0),
        key(seed=1),
    ],
)
def test_every_part_of_a_key_counts(other: CallKey) -> None:
    assert other.digest != key().digest


def test_the_spec_behind_a_fingerprint_is_only_for_people() -> None:
    assert key(component={}).digest == key().digest


def test_failures_are_passed_on_and_not_kept(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        [passed] = store.put([finished(key(), outcome=Outcome.FAILED)])
        assert passed.outcome is Outcome.FAILED
        assert store.get([key().digest]) == {}


@pytest.mark.parametrize("outcome", [Outcome.REFUSED, Outcome.FILTERED, Outcome.TRUNCATED])
def test_other_outcomes_are_kept(tmp_path: Path, outcome: Outcome) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key(), outcome=outcome)])
        assert store.get([key().digest])[key().digest].outcome is outcome


@pytest.mark.parametrize("damage", ["gone", "altered"])
def test_an_image_that_is_gone_or_altered_makes_the_call_new(tmp_path: Path, damage: str) -> None:
    with CallStore(tmp_path) as store:
        [stored] = store.put([finished(key(), png=PNG)])
        assert stored.image is not None
        stored.image.path.unlink() if damage == "gone" else stored.image.path.write_bytes(PNG[:-1])
        assert store.get([key().digest]) == {}
        store.put([finished(key(), png=PNG)])
        assert store.get([key().digest]) == {key().digest: stored}


def test_a_call_made_twice_is_counted_and_keeps_its_first_result(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key(), "first")])
        store.put([finished(key(), "second")])
        [row] = store.rows()
        assert row.made == 2
        assert store.get([key().digest])[key().digest].text == "first"


def test_a_batch_is_stored_whole_or_not_at_all(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with CallStore(tmp_path) as store:
        monkeypatch.setattr(CallStore, "_insert", failing_at(2, CallStore._insert))
        with pytest.raises(StoreError, match="cannot be stored"):
            store.put([finished(key()), finished(key("second"))])
        assert store.get([key().digest]) == {}


def failing_at(count: int, insert):  # type: ignore[no-untyped-def]
    seen = []

    def wrapper(self, item):  # type: ignore[no-untyped-def]
        seen.append(item)
        if len(seen) == count:
            raise sqlite3.OperationalError("database or disk is full")
        insert(self, item)

    return wrapper


def test_what_is_told_of_a_component_is_no_part_of_its_calls() -> None:
    assert key("a") == key("a", component={"settings": {"detail": "coarse"}})
    assert key("a") != key("a", fingerprint="f2")


def test_more_keys_than_sqlite_takes_at_once(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key(str(number))) for number in range(1203)])
        assert len(store.get([key(str(number)).digest for number in range(2000)])) == 1203


def put_many(folder: Path, start: int) -> None:
    with CallStore(folder) as store:
        for number in range(start, start + 40):
            store.put([finished(key(str(number)), png=PNG)])


def test_two_processes_at_once_lose_nothing(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=put_many, args=(tmp_path, start)) for start in (0, 20)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
        assert worker.exitcode == 0
    with CallStore(tmp_path) as store:
        assert sorted(row.made for row in store.rows()) == [1] * 40 + [2] * 20


def test_a_folder_that_holds_something_else_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "calls.db").write_bytes(b"not a database" * 100)
    with pytest.raises(StoreError, match="delete it: it only saves work"):
        CallStore(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(StoreError, match="cannot be opened"):
        CallStore(tmp_path / "file")


def test_a_store_of_another_version_is_one_sentence(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())])
    with closing(sqlite3.connect(tmp_path / "calls.db")) as db:
        db.execute("PRAGMA user_version = 7")
    with pytest.raises(StoreError, match="version 7, and this one reads 3"):
        CallStore(tmp_path)


def test_a_database_damaged_in_the_middle_is_one_sentence(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key(str(number))) for number in range(300)])
    path = tmp_path / "calls.db"
    data = bytearray(path.read_bytes())
    data[8192:] = b"\xff" * (len(data) - 8192)
    path.write_bytes(data)
    with pytest.raises(StoreError, match="delete it: it only saves work"), CallStore(tmp_path) as store:
        store.get([key(str(number)).digest for number in range(300)])


def alter(folder: Path, statement: str, *values: object) -> None:
    """What a stranger does to a store that he commits."""
    with closing(sqlite3.connect(folder / "calls.db")) as db:
        assert db.execute(statement, values).rowcount == 1
        db.commit()


@pytest.mark.parametrize("image", ["../../../victim", "{}/victim", "../objects/{}", "A" * 64, "a" * 63, "", 5, ["a"]])
def test_an_image_that_is_no_hash_leads_to_no_file_and_makes_the_call_new(tmp_path: Path, image: object) -> None:
    folder, victim = tmp_path / "a" / "checkout" / "store", tmp_path / "victim.png"
    victim.write_bytes(PNG)
    with CallStore(folder) as store:
        [stored] = store.put([finished(key(), png=PNG)])
    image = image.format(tmp_path) if isinstance(image, str) else image
    alter(folder, "UPDATE calls SET result = json_set(result, '$.image', json(?))", json.dumps(image))
    with CallStore(folder) as store:
        assert store.get([key().digest]) == {}
        assert victim.read_bytes() == PNG
        store.put([finished(key(), png=PNG)])
        assert store.get([key().digest]) == {key().digest: stored}
    assert victim.read_bytes() == PNG


@pytest.mark.parametrize(
    "result",
    [
        "not JSON",
        "",
        "[]",
        "null",
        "5",
        b"{}",
        "{}",
        "[" * 100_000,
        '{"outcome": "ok"}',
        '{"image": null}',
        '{"image": null, "outcome": "well"}',
        '{"image": null, "outcome": "ok", "text": 5}',
        '{"image": null, "outcome": "ok", "reading": "all"}',
        '{"image": null, "outcome": "ok", "more": 1}',
    ],
)
def test_a_row_that_is_no_result_is_one_sentence(tmp_path: Path, result: str | bytes) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())])
    alter(tmp_path, "UPDATE calls SET result = ?", result)
    with CallStore(tmp_path) as store, pytest.raises(StoreError, match=r"cannot be read \(.*delete it: it only saves"):
        store.get([key().digest])


@pytest.mark.parametrize(
    ("statement", "use"),
    [
        ("UPDATE calls SET parts = '[]'", lambda store: store.rows()),
        ("UPDATE calls SET result = '{'", lambda store: store.put([finished(key())])),
        ("UPDATE calls SET seconds = 'long'", lambda store: store.costs([key().digest])),
        ("UPDATE calls SET cost = 'much'", lambda store: store.costs([key().digest])),
        ("UPDATE calls SET result = CAST(x'ff' AS TEXT)", lambda store: store.get([key().digest])),
        ("INSERT INTO spent VALUES ('f1', 'many', 0.5)", lambda store: store.spent("f1")),
        ("INSERT INTO spent VALUES ('f1', 'many', 0.5)", lambda store: store.admit("f1", "far model", 1.0, Limits())),
        ("INSERT INTO merged VALUES ('s', 'all')", lambda store: store.merged("s")),
        ("INSERT INTO merged VALUES ('s', 'all')", lambda store: store.absorb("s", 0, 9, [], {})),
        ("INSERT INTO asked_again VALUES ('k', 'f1', x'00ff', 1)", lambda store: store.observations()),
        ("INSERT INTO asked_again VALUES ('k', 'f1', printf('%301d', 1), 1)", lambda store: store.observations()),
    ],
)
def test_rows_of_another_shape_are_one_sentence(
    tmp_path: Path, statement: str, use: Callable[[CallStore], object]
) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())])
    alter(tmp_path, statement)
    with CallStore(tmp_path) as store, pytest.raises(StoreError, match=r"cannot be read \(.*delete it: it only saves"):
        use(store)


OLD_SCHEMA = """
CREATE TABLE calls (
    key TEXT PRIMARY KEY, parts TEXT NOT NULL, role TEXT NOT NULL, dataset TEXT NOT NULL, sample TEXT NOT NULL,
    t INTEGER NOT NULL, result TEXT NOT NULL, seconds REAL NOT NULL, made INTEGER NOT NULL DEFAULT 1
);
PRAGMA user_version = 1;
"""


def test_paid_calls_of_an_older_store_are_kept(tmp_path: Path) -> None:
    row = '{"error":null,"image":null,"outcome":"ok","revised_prompt":null,"served_model":"m-1","text":"old"}'
    with closing(sqlite3.connect(tmp_path / "calls.db")) as db:
        db.executescript(OLD_SCHEMA)
        values = (key().digest, "{}", "describe", "photos", "coffee", 1, row, 2.5)
        db.execute("INSERT INTO calls VALUES (?, ?, ?, ?, ?, ?, ?, ?, 1)", values)
        db.commit()
    for _ in range(2):
        with CallStore(tmp_path) as store:
            assert store.get([key().digest])[key().digest] == Result(Outcome.OK, text="old", served_model="m-1")
            assert store.costs([key().digest]) == {key().digest: Cost(2.5)}


def test_everything_a_call_said_comes_back(tmp_path: Path) -> None:
    said = Result(
        Outcome.OK,
        text="t",
        served_model="m",
        revised_prompt="r",
        system_fingerprint="fp",
        reading=PromptUsage(143, 75),
        note="made in a batch of 2 instead of 4: out of memory",
    )
    with CallStore(tmp_path) as store:
        store.put([finished(key())._replace(result=said)])
        assert store.get([key().digest]) == {key().digest: said}


def test_what_a_call_took_is_kept(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())._replace(cost=Cost(0.5, 100, 20, 0.25, attempts=3))])
        assert store.costs([key().digest]) == {key().digest: Cost(0.5, 100, 20, 0.25)}


def test_who_only_reads_writes_nothing(tmp_path: Path) -> None:
    with CallStore(tmp_path) as store:
        store.put([finished(key())])
    before = (tmp_path / "calls.db").stat()
    with CallStore(tmp_path) as store:
        assert store.get([key().digest])
    after = (tmp_path / "calls.db").stat()
    assert (after.st_ino, after.st_size, after.st_mtime_ns) == (before.st_ino, before.st_size, before.st_mtime_ns)
