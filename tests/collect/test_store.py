"""Finished calls on disk: what is found again, who may write, and what merging brings together."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pytest
from PIL import Image

from driftledger.collect.call import Ask, Draw, Spent
from driftledger.collect.features import FeatureStore, encode_media, encode_texts
from driftledger.collect.store import DATABASE, CallStore, component_id, object_path
from driftledger.commands.collect import merge
from driftledger.core import databases
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ComponentError, StoreError
from driftledger.core.files import link_file
from driftledger.core.types import (
    Conversation,
    Medium,
    Outcome,
    PromptUsage,
    Result,
    Subject,
    Usage,
)
from driftledger.project.project import Project
from tests.conftest import draw
from tests.support.fakes import LetterEncoder
from tests.support.full_disk import no_file_longer_than
from tests.support.locked import held
from tests.support.params import default_params
from tests.support.stores import found, stored_rows


def key(number):
    return sha256_of(number)


OWNER = int.from_bytes(hashlib.sha256(b"f" * 64).digest()[:8], "big", signed=True)
"""How a store names the component with this fingerprint."""


class Made(NamedTuple):
    """A call of no component, as far as a store looks at it."""

    key: str
    context: Subject
    component: Any = SimpleNamespace(fingerprint="f" * 64)


def finished(number, text="a cat", *, png=None, **changes):
    usage = Usage(10, 2, seconds=0.5, cost=0.25)
    result = replace(Result(text=text, data=png, usage=usage), **changes)  # type: ignore[arg-type]
    return Made(key(number), Subject(f"s{number}", 1, "d")), result


def test_a_result_is_found_again_with_all_that_it_holds(tmp_path):
    png = draw(tmp_path / "image.png", 1).read_bytes()
    reading = PromptUsage(80, 77)
    item = finished(
        1,
        png=png,
        served_model="m-1",
        note="alone",
        reading=reading,
        error="\x00 \U0001f600",
    )
    with CallStore(tmp_path / "store") as store:
        [put] = store.put([item])
    with CallStore(tmp_path / "store", writes=False) as store:
        stored = store.find(item[0].key)
        assert stored == replace(put, usage=None)
        assert stored is not None
        assert stored.medium is not None
        assert stored.medium.path.read_bytes() == png
        assert store.find(key(2)) is None
    row = stored_rows(tmp_path / "store")[item[0].key]
    assert (row["component"], row["dataset"], row["sample"], row["t"]) == (
        OWNER,
        "d",
        "s1",
        1,
    )
    assert (row["seconds"], row["input_tokens"], row["output_tokens"], row["cost"]) == (
        0.5,
        10,
        2,
        0.25,
    )


def test_a_paid_image_is_on_the_disk_before_its_call(tmp_path, monkeypatch):
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    with CallStore(tmp_path / "store") as store:
        store.put([finished(1, png=draw(tmp_path / "image.png", 1).read_bytes())])
    assert len(synced) == 3  # it, its folder, and the folder of that


def put_while_busy(store, items):
    """Put items from threads of their own while the disk is busy with another commit."""
    with ThreadPoolExecutor(len(items)) as threads, store._alone:
        puts = [
            threads.submit(store.put, [item], {"f": Spent(1, 0.5)}) for item in items
        ]
        while store._writer._work_queue.qsize() < len(items) - 1:
            time.sleep(0.001)
    return puts


def test_what_comes_while_the_disk_is_busy_is_stored_together(tmp_path):
    with CallStore(tmp_path) as store:
        said: list[str] = []
        store._db.set_trace_callback(said.append)
        items = [finished(number, png=b"%d" % number) for number in range(40)]
        for number, put in enumerate(put_while_busy(store, items)):
            [result] = put.result()
            assert result.medium.path.read_bytes() == b"%d" % number
            assert store.find(key(number)).medium == result.medium
        assert said.count("COMMIT") in (1, 2)
        assert store.spent("f") == Spent(40, 20.0)


def test_a_call_that_cannot_be_stored_costs_no_other_of_its_group(tmp_path):
    with CallStore(tmp_path) as store:
        items = [finished(number) for number in range(6)]
        items[3] = finished(3, usage=Usage(2**70))
        puts = put_while_busy(store, items)
        with pytest.raises(OverflowError):
            puts[3].result()
        assert puts[5].result() == [items[5][1]]
        assert set(stored_rows(tmp_path)) == {key(number) for number in (0, 1, 2, 4, 5)}
        assert store.spent("f").attempts == 5


def test_the_key_of_a_call_is_what_it_was():
    """Stores, and fingerprints of calls in records, would be lost if it changed."""
    shown = Medium(Path("1.png"), "a" * 64)
    component: Any = SimpleNamespace(fingerprint="f" * 64)
    context = Subject("s1", 1, "d")
    ask = Ask(
        component,
        "describe",
        Conversation.ask("What is it?", shown, context, prefix="A"),
        context,
        repeat=2,
    )
    turns = [
        {"role": "user", "parts": [{"image": "a" * 64}, {"text": "What is it?"}]},
        {"role": "assistant", "parts": [{"text": "A"}]},
    ]
    assert ask.key == sha256_of(["f" * 64, "describe", turns, ["a" * 64], 2])
    limited = replace(ask, conversation=replace(ask.conversation, max_tokens=9))
    assert limited.key == sha256_of(
        ["f" * 64, "describe", {"turns": turns, "max_tokens": 9}, ["a" * 64], 2]
    )
    assert Draw(component, "a cat", 7, context).key == sha256_of(
        ["f" * 64, "generate", "a cat", [], 7]
    )


def test_a_failure_is_not_stored(tmp_path):
    item = finished(1, outcome=Outcome.FAILED)
    with CallStore(tmp_path) as store:
        assert store.put([item])[0].outcome is Outcome.FAILED
        assert store.find(item[0].key) is None


def test_threads_that_look_at_once_find_each_its_own(tmp_path):
    # without a lock, Python 3.13 gives one of them the row of another
    with CallStore(tmp_path) as store, ThreadPoolExecutor(8) as pool:
        store.put(finished(number, str(number)) for number in range(500))
        texts = pool.map(lambda number: store.find(key(number % 500)).text, range(6000))
        assert [*texts] == [str(number % 500) for number in range(6000)]


@pytest.mark.parametrize("damage", ["missing", "altered"])
def test_a_lost_image_makes_a_call_missing_until_it_is_made_again(tmp_path, damage):
    png = draw(tmp_path / "image.png", 1).read_bytes()
    with CallStore(tmp_path / "store") as store:
        [result] = store.put([finished(1, png=png)])
        assert result.medium is not None
        result.medium.path.write_bytes(
            b""
        ) if damage == "altered" else result.medium.path.unlink()
        assert store.find(key(1)) is None
        store.put([finished(1, "a dog", png=png)])
        stored = store.find(key(1))
    assert stored is not None
    assert (stored.text, stored.medium) == ("a dog", result.medium)


def test_known_results_are_restored_unless_they_are_stored(tmp_path):
    path = draw(tmp_path / "records" / "1.png", 1)
    image = Medium(path, sha256_file(path))
    recorded = Result(medium=image)
    known = [
        (key(1), "f" * 64, Subject("s1", 1, "d"), Result(text="recorded")),
        (key(2), "f" * 64, Subject("s2", 1, "d"), recorded),
        (
            key(3),
            None,
            Subject("s3", 1, "d"),
            Result(outcome=Outcome.FAILED, error="timeout"),
        ),
    ]
    with CallStore(tmp_path / "store") as store:
        store.put([finished(1, "asked")])
        assert store.restore(known) == 1
        path.unlink()
        stored = found(store, [key(number) for number in (1, 2, 3)])
    assert stored[key(1)].text == "asked"
    restored = stored[key(2)].medium
    assert restored is not None
    assert restored.path == object_path(tmp_path / "store", image.sha256)
    assert len(stored) == 2


def test_an_image_is_kept_once_however_often_it_is_written(tmp_path):
    records, png = (
        tmp_path / "records" / "1.png",
        draw(tmp_path / "image.png", 1).read_bytes(),
    )
    with CallStore(tmp_path / "store") as store:
        [result] = store.put([finished(1, png=png)])
        assert result.medium is not None
        for _ in range(2):
            link_file(result.medium.path, records)
        assert records.samefile(result.medium.path)
        assert records.stat().st_mode & 0o222 == 0
        records.unlink()
        records.write_bytes(png)  # as 'dvc unprotect' does
        draw(records.with_name("other.png"), 2)
        records.with_name("link.png").symlink_to(draw(tmp_path / "theirs.png", 1))
        link_file(records.with_name("link.png"), tmp_path / "copy.png")
        assert (tmp_path / "theirs.png").stat().st_nlink == 1
        store.link_images(records.parent)
        assert records.samefile(result.medium.path)
        assert records.with_name("link.png").is_symlink()
        assert records.with_name("other.png").stat().st_nlink == 1
        assert not list(tmp_path.rglob("*.partial"))


def test_a_full_disk_loses_nothing_that_was_stored(tmp_path):
    with CallStore(tmp_path) as store:
        store.put([finished(1)])
        size = (tmp_path / DATABASE).stat().st_size
        with (
            no_file_longer_than(size),
            pytest.raises(StoreError, match="make room there and run again"),
        ):
            store.put([finished(number, "x" * 1000) for number in range(2, 200)])
        with no_file_longer_than(1), pytest.raises(StoreError, match="make room"):
            store.put([finished(2, png=b"png")])
        store.put([finished(3)])
        assert list(stored_rows(tmp_path)) == [key(1), key(3)]


SECOND = """
import sys
from pathlib import Path
from driftledger.collect.store import CallStore
from driftledger.core.errors import ComponentError, StoreError
try:
    with CallStore(Path(sys.argv[1]), wait=sys.argv[2] == "wait"):
        print("mine")
except StoreError as error:
    print(error)
"""


def second(folder, how):
    command = [sys.executable, "-c", SECOND, str(folder), how]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def test_a_second_process_waits_and_says_for_whom(tmp_path):
    with CallStore(tmp_path):
        said, _ = second(tmp_path, "no").communicate()
        used = f"the call store {tmp_path} is in use by process {os.getpid()} ("
        assert said.startswith(used)
        assert "run again when it has ended, or without --no-wait" in said
        waiting = second(tmp_path, "wait")
        assert waiting.stderr is not None
        assert waiting.stderr.readline().startswith(used)
        assert waiting.poll() is None
        with CallStore(tmp_path, writes=False) as reader:  # reading needs no lock
            assert reader.count() == 0
        with CallStore(tmp_path):  # in one process, several stores share the lock
            pass
        assert waiting.poll() is None
    assert waiting.communicate()[0] == "mine\n"


def test_a_store_that_is_only_read_is_not_made(tmp_path):
    with CallStore(tmp_path / "store", writes=False) as store:
        assert store.find(key(1)) is None
        assert store.spent("f") == Spent()
    assert not (tmp_path / "store").exists()


def test_a_store_of_another_version_is_named(tmp_path):
    for version in (4, 9):
        with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
            db.execute(f"PRAGMA user_version = {version}")
        for writes in (True, False):
            with pytest.raises(
                StoreError, match=f"is of version {version}, and version 5 is read here"
            ):
                CallStore(tmp_path, writes=writes)


EARLIER = """CREATE TABLE texts (id INTEGER PRIMARY KEY, text BLOB NOT NULL);
ALTER TABLE calls ADD COLUMN request INTEGER;
ALTER TABLE calls ADD COLUMN images BLOB;
ALTER TABLE calls ADD COLUMN seed INTEGER;"""


def test_a_store_with_columns_of_before_is_used_as_it_is(tmp_path):
    with CallStore(tmp_path / "old") as store:
        store.put([finished(1)])
    with closing(sqlite3.connect(tmp_path / "old" / DATABASE)) as db:
        db.executescript(EARLIER)
        db.execute("UPDATE calls SET request = 7, seed = 1")
        db.commit()
    with CallStore(tmp_path / "old") as store, CallStore(tmp_path / "new") as new:
        assert component_id("f" * 64) in store.means()
        store.put([finished(2, "a dog")])
        assert new.merge(store) == (2, 0)
        stored = found(new, [key(number) for number in (1, 2)])
    assert [result.text for result in stored.values()] == ["a cat", "a dog"]


def test_a_changed_row_is_not_believed(tmp_path, capsys):
    with CallStore(tmp_path) as store:
        store.put([finished(1), finished(2)])
    with closing(sqlite3.connect(tmp_path / DATABASE)) as db:
        db.execute(
            "UPDATE calls SET result = replace(CAST(result AS TEXT), 'cat', 'dog') WHERE rowid = 1"
        )
        db.execute("UPDATE calls SET image = ? WHERE rowid = 2", (bytes(32),))
        db.commit()
    with CallStore(tmp_path) as store, CallStore(tmp_path / "other") as other:
        assert found(store, [key(1), key(2), key(1)]) == {}
        assert (
            capsys.readouterr().err.count(
                "is not as it was stored, and counts as missing"
            )
            == 2
        )
        assert other.merge(store) == (0, 0)
        store.put([finished(1)])
        assert set(found(store, [key(1), key(2)])) == {key(1)}


DAMAGES: dict[str, Callable[[bytearray], object]] = {
    "cut in half": lambda data: data.__delitem__(slice(len(data) // 2, None)),
    "a page of zeros in the middle": lambda data: data.__setitem__(
        slice(-81920, -77824), bytes(4096)
    ),
    "a page of noise near the end": lambda data: data.__setitem__(
        slice(-8192, -4096), b"\xa5" * 4096
    ),
    "no header": lambda data: data.__setitem__(slice(0, 100), b"x" * 100),
    "something else": lambda data: data.__setitem__(
        slice(None), b"not a database" * 100
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_store_is_set_aside_and_a_new_one_restored(tmp_path, name):
    with CallStore(tmp_path) as store:
        store.put([finished(number, f"answer {number} " * 30) for number in range(300)])
    data = bytearray((tmp_path / DATABASE).read_bytes())
    DAMAGES[name](data)
    (tmp_path / DATABASE).write_bytes(data)
    digests = [key(number) for number in range(300)]
    sentence = r"was damaged .*is kept as calls\.db\.damaged-1; run again"
    with pytest.raises(StoreError, match=sentence), CallStore(tmp_path) as store:
        found(store, digests)
    assert (tmp_path / f"{DATABASE}.damaged-1").read_bytes() == data
    recorded = Result(text="recorded")
    with CallStore(tmp_path) as store:
        assert store.count() == 0
        assert (
            store.restore([(digests[0], "f" * 64, Subject("s0", 1, "d"), recorded)])
            == 1
        )
        assert found(store, digests) == {digests[0]: recorded}


def test_a_store_that_is_found_damaged_keeps_what_arrives_later(tmp_path):
    with CallStore(tmp_path) as store:
        store.put([finished(number, f"answer {number} " * 30) for number in range(300)])
    with CallStore(tmp_path) as store:
        file = tmp_path / DATABASE
        file.write_bytes(
            file.read_bytes()[:4096] + b"\xa5" * (file.stat().st_size - 4096)
        )
        with pytest.raises(StoreError, match="was damaged"):
            found(store, [key(number) for number in range(300)])
        store.put([finished(1, "late")])
    with CallStore(tmp_path) as store:
        [result] = found(store, [key(number) for number in range(300)]).values()
        assert result.text == "late"


def test_a_reader_says_that_a_store_is_damaged_and_leaves_it(tmp_path):
    (tmp_path / DATABASE).write_bytes(b"not a database" * 100)
    with pytest.raises(
        StoreError, match=r"is damaged .*'driftledger run' sets it aside"
    ):
        CallStore(tmp_path, writes=False)
    assert [path.name for path in tmp_path.iterdir()] == [DATABASE]


def test_merging_unites_and_the_first_answer_stays(tmp_path):
    png = draw(tmp_path / "image.png", 1).read_bytes()
    for name, text, more in (("a", "first", 2), ("b", "second", 3)):
        with CallStore(tmp_path / name) as store:
            store.put(
                [finished(1, text), finished(more, png=png)],
                {"f" * 64: Spent(more, 0.25)},
            )
    with CallStore(tmp_path / "all") as store:
        for name, counts in (
            ("a", (2, 0)),
            ("b", (1, 1)),
            ("b", (0, 1)),
            ("a", (0, 0)),
        ):
            with CallStore(tmp_path / name, writes=False) as other:
                assert store.merge(other) == counts
        stored = found(store, [key(number) for number in (1, 2, 3)])
        assert [stored[key(number)].text for number in (1, 2, 3)] == [
            "first",
            "a cat",
            "a cat",
        ]
        assert all(stored[key(number)].medium for number in (2, 3))
        assert store.spent("f" * 64) == Spent(5, 0.5)


def test_merging_says_how_many_calls_have_another_answer(tmp_path):
    (tmp_path / "params.yaml").write_text(json.dumps(default_params()))
    project = Project(tmp_path, own_code=True)
    with project.store() as store, CallStore(tmp_path / "other") as other:
        store.put([finished(1), finished(2), finished(3)])
        other.put([finished(1, "a dog"), finished(2, served_model="m-2"), finished(3)])
    sentence = merge(project, [tmp_path / "other"])
    assert (
        sentence
        == "1 store merged: 0 calls are new; 2 calls have another answer here; the first stays"
    )


@pytest.mark.parametrize(
    ("lost", "sentence"),
    [
        ("images", "2 stored calls in {} have lost their images and are made again"),
        ("database", "the call store {} holds no calls, although images lie beside it"),
        ("rows", "the call store {} holds no calls, although images lie beside it"),
        ("nothing", ""),
    ],
)
@pytest.mark.parametrize("writes", [True, False])
def test_a_store_says_once_what_is_lost(lost, sentence, writes, tmp_path, capsys):
    pictures = [
        draw(tmp_path / f"{number}.png", number).read_bytes() for number in (1, 2)
    ]
    with CallStore(tmp_path / "store") as store:
        store.put(
            [finished(1, png=pictures[0]), finished(2, png=pictures[1]), finished(3)]
        )
    database = tmp_path / "store" / DATABASE
    if lost == "images":
        shutil.rmtree(tmp_path / "store" / "objects")
    elif lost == "database":
        database.write_bytes(b"")
    elif lost == "rows":
        with closing(sqlite3.connect(database)) as db:
            db.execute("DELETE FROM calls")
            db.commit()
    with CallStore(tmp_path / "store", writes=writes) as store:
        for _ in range(2):
            found(store, [key(number) for number in (1, 2, 3)])
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == bool(sentence)
    assert "".join(lines).startswith(sentence.format(tmp_path / "store"))


@pytest.mark.parametrize("writes", [True, False])
def test_a_locked_database_is_waited_for(writes, tmp_path, capsys):
    with CallStore(tmp_path) as store:
        store.put([finished(1)])
    with held(tmp_path / DATABASE, 2.5), CallStore(tmp_path, writes=writes) as store:
        assert store.find(key(1)) is not None
    assert (
        f"{tmp_path / DATABASE} is locked by another program" in capsys.readouterr().err
    )


def test_a_database_that_stays_locked_is_a_sentence(tmp_path, monkeypatch):
    with CallStore(tmp_path) as store:
        store.put([finished(1)])
        monkeypatch.setattr(databases, "WAIT", 0.2)
        store._db.execute("PRAGMA busy_timeout = 200")
        with held(tmp_path / DATABASE, 60):
            with pytest.raises(
                StoreError,
                match=r"calls\.db is locked by another program; end that one",
            ):
                store.put([finished(2)])
            with pytest.raises(
                StoreError,
                match=r"calls\.db is locked by another program; end that one",
            ):
                CallStore(tmp_path, writes=False)
        assert store.find(key(1)) is not None


def test_what_another_store_has_is_found_through_this_one(tmp_path):
    with CallStore(tmp_path / "main") as store:
        store.put([finished(1)], {"f" * 64: Spent(4, 1.0)})
    with (
        CallStore(tmp_path / "main", writes=False) as main,
        CallStore(tmp_path / "shard", fallback=main) as shard,
    ):
        shard.put([finished(2)], {"f" * 64: Spent(1, 0.5)})
        assert set(found(shard, [key(number) for number in (1, 2, 3)])) == {
            key(1),
            key(2),
        }
        assert (shard.spent("f" * 64), main.spent("f" * 64)) == (
            Spent(1, 0.5),
            Spent(4, 1.0),
        )


@pytest.mark.parametrize(
    ("images", "encoded"), [(["a" * 64, "b" * 64], 1), (["", "b" * 64], 2)]
)
def test_features_are_made_once_unless_an_image_is_unknown(tmp_path, images, encoded):
    store, made = FeatureStore(tmp_path), list[np.ndarray]()

    def make():
        made.append(np.full((2, 3), len(made), np.float32))
        return made[-1]

    for _ in range(2):
        features = store.get("f" * 64, "images", images, make)
    assert len(made) == encoded
    assert features.tolist() == made[-1].tolist()


class BrokenEncoder(LetterEncoder):
    """Gives NaN for all that is red or begins with a b."""

    provider: ClassVar[str] = "broken"

    def encode_images(self, images):
        return np.array(
            [
                [1, np.nan if image.getpixel((0, 0)) == (255, 0, 0) else 1]
                for image in images
            ],
            np.float32,
        )

    def encode_texts(self, texts):
        return np.array(
            [[1, np.nan if text.startswith("b") else 1] for text in texts], np.float32
        )


def test_features_that_are_not_finite_name_the_encoder_and_what_it_was_given(tmp_path):
    media = []
    for name in ("blue", "red"):
        Image.new("RGB", (2, 2), name).save(tmp_path / f"{name}.png")
        media.append(Medium(tmp_path / f"{name}.png", name))
    encoder, store = BrokenEncoder(), FeatureStore()
    for _ in range(2):  # as well where the store has them
        with pytest.raises(
            ComponentError,
            match=r"^encoder broken gives features of '.*red\.png' that are not finite",
        ):
            encode_media(encoder, media, store)
        with pytest.raises(
            ComponentError,
            match=r"^encoder broken gives features of 'blue' that are not finite",
        ):
            encode_texts(encoder, ["a", "blue"], store)
