"""Finished calls on disk: what is found again, who may write, and what merging brings together."""

import hashlib
import os
import re
import shutil
import sqlite3
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from filelock import FileLock
from PIL import Image
from pydantic import PrivateAttr

from driftledger.collect import pictures
from driftledger.collect.call import Ask, Batch, Draw, Spent
from driftledger.collect.database import DATABASE, LOCK
from driftledger.collect.features import (
    FeatureStore,
    encode_media,
    encode_texts,
    read_texts,
)
from driftledger.collect.store import CallStore
from driftledger.collect.tables import component_id
from driftledger.commands.shards import merge
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
from tests.conftest import draw
from tests.support.cases import cases, each_case
from tests.support.fakes import LetterEncoder
from tests.support.full_disk import no_file_longer_than
from tests.support.locked import held
from tests.support.params import default_params
from tests.support.small import write_params
from tests.support.stores import found, stored_rows


def key(number):
    return sha256_of(number)


def keys(*numbers):
    return [key(number) for number in numbers]


COMPONENT = "f" * 64
OWNER = int.from_bytes(
    hashlib.sha256(COMPONENT.encode()).digest()[:8], "big", signed=True
)
"""How a store names the component with this fingerprint."""


class Made(NamedTuple):
    """A call of no component, as far as a store looks at it."""

    key: str
    context: Subject
    component: object = SimpleNamespace(fingerprint=COMPONENT)


def finished(number, text="a cat", *, png=None, **changes):
    usage = Usage(10, 2, seconds=0.5, cost=0.25, most_cost=0.5)
    result = replace(Result(text=text, data=png, usage=usage), **changes)
    return Made(key(number), Subject(f"s{number}", 1, "d")), result


def filled(folder, *items):
    """Store these, and close the store."""
    with CallStore(folder) as store:
        store.put(items)


def database_of(folder):
    return closing(sqlite3.connect(folder / DATABASE))


def spoil(folder, script):
    """Change the database of a closed store."""
    with database_of(folder) as db:
        db.executescript(script)


def png_of(folder, number=1):
    return draw(folder / f"{number}.png", number).read_bytes()


@pytest.fixture
def png(tmp_path):
    return png_of(tmp_path)


def recorded(number, result):
    """A result as records have it."""
    return key(number), COMPONENT, Subject(f"s{number}", 1, "d"), result


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "store"


@pytest.fixture
def store(folder):
    with CallStore(folder) as store:
        yield store


def test_a_result_is_found_again_with_all_that_it_holds(png, folder):
    more = {"served_model": "m-1", "note": "alone", "error": "\x00 \U0001f600"}
    item = finished(1, png=png, reading=PromptUsage(80, 77), **more)
    with CallStore(folder) as store:
        [put] = store.put([item])
    with CallStore(folder, writes=False) as store:
        stored = store.find(key(1))
        assert stored == replace(put, usage=None)
        assert stored.medium.path.read_bytes() == png
        assert store.find(key(2)) is None
        assert store.usage(key(1)) == put.usage
        assert component_id(COMPONENT) in store.means()
    columns = {"component": OWNER, "dataset": "d", "sample": "s1", "t": 1}
    columns |= {"seconds": 0.5, "input_tokens": 10, "output_tokens": 2}
    columns |= {"cost": 0.25, "most_cost": 0.5}
    assert columns.items() <= stored_rows(folder)[key(1)].items()


def test_a_paid_image_is_on_the_disk_before_its_call(png, store, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    store.put([finished(1, png=png)])
    assert len(synced) == 3  # it, its folder, and the folder of that


def put_while_busy(store, items):
    """Put items from threads of their own while the disk is busy."""
    is_free = Event()
    store.database._writer.submit(is_free.wait)
    with ThreadPoolExecutor(len(items)) as threads:
        puts = [
            threads.submit(store.put, [item], {"f": Spent(1, 0.5)}) for item in items
        ]
        while len(store.database._waiting) < len(items):
            time.sleep(0.001)
        is_free.set()
    return puts


def test_what_comes_while_the_disk_is_busy_is_stored_together(store):
    said = []
    store.database._db.set_trace_callback(said.append)
    items = [finished(number, png=b"%d" % number) for number in range(40)]
    for number, put in enumerate(put_while_busy(store, items)):
        [result] = put.result()
        assert result.medium.path.read_bytes() == b"%d" % number
        assert store.find(key(number)).medium == result.medium
    assert said.count("COMMIT") == 1
    assert store.spent("f") == Spent(40, 20.0)


def test_a_call_that_cannot_be_stored_costs_no_other_of_its_group(folder, store):
    items = [finished(number) for number in range(6)]
    items[3] = finished(3, usage=Usage(2**70))
    puts = put_while_busy(store, items)
    with pytest.raises(OverflowError):
        puts[3].result()
    assert puts[5].result() == [items[5][1]]
    assert set(stored_rows(folder)) == {*keys(0, 1, 2, 4, 5)}
    assert store.spent("f").attempts == 5


def test_the_key_of_a_call_is_what_it_was():
    """Stores, and fingerprints of calls in records, would be lost if it changed."""
    shown = Medium(Path("1.png"), "a" * 64)
    component = SimpleNamespace(fingerprint=COMPONENT)
    context = Subject("s1", 1, "d")
    asked = Conversation.ask("What is it?", shown, context, prefix="A")
    ask = Ask(component, "describe", asked, context, repeat=2)
    turns = [
        {"role": "user", "parts": [{"image": "a" * 64}, {"text": "What is it?"}]},
        {"role": "assistant", "parts": [{"text": "A"}]},
    ]
    assert ask.key == sha256_of([COMPONENT, "describe", turns, ["a" * 64], 2])
    limited = replace(ask, conversation=replace(asked, max_tokens=9))
    assert limited.key == sha256_of(
        [COMPONENT, "describe", {"turns": turns, "max_tokens": 9}, ["a" * 64], 2]
    )
    assert Draw(component, "a cat", 7, context).key == sha256_of(
        [COMPONENT, "generate", "a cat", [], 7]
    )


def test_threads_that_look_at_once_find_each_its_own(tmp_path):
    # without a lock, Python 3.13 gives one of them the row of another
    with CallStore(tmp_path) as store, ThreadPoolExecutor(8) as pool:
        store.put(finished(number, str(number)) for number in range(500))
        stored = pool.map(store.find, keys(*range(500)) * 12)
        texts = [result.text for result in stored]
    assert texts == [str(number) for number in range(500)] * 12


@pytest.mark.parametrize("damage", ["missing", "truncated", "replaced"])
def test_a_lost_image_makes_a_call_missing_until_it_is_made_again(png, store, damage):
    [result] = store.put([finished(1, png=png)])
    path = result.medium.path
    path.unlink()
    if damage != "missing":
        path.write_bytes(png[:-1] + b"\0" * (damage == "replaced"))
        os.utime(path, (1, 1))
    assert store.find(key(1)) is None
    store.put([finished(1, "a dog", png=png)])
    stored = store.find(key(1))
    assert (stored.text, stored.medium) == ("a dog", result.medium)


@pytest.fixture
def hashed(monkeypatch):
    """The names of the files that a store hashes."""
    names = []

    def noting(path):
        names.append(path.name)
        return sha256_file(path)

    monkeypatch.setattr(pictures, "sha256_file", noting)
    return names


def test_an_image_is_hashed_once_unless_its_size_or_time_differs(
    png, tmp_path, folder, hashed
):
    filled(folder, *(finished(number, png=png) for number in (1, 2)))
    copy = shutil.copytree(folder, tmp_path / "copy")
    [image] = copy.glob("objects/*/*.png")
    os.utime(image, (1, 1))
    for place, times in ((folder, 0), (copy, 1)):
        before = (place / DATABASE).read_bytes()
        for writes, count in ((False, times), (True, times), (True, 0), (False, 0)):
            hashed.clear()
            with CallStore(place, writes=writes) as store:
                assert store.find(key(1)) is not None
            assert hashed == [image.name] * count
            assert writes or count < times or (place / DATABASE).read_bytes() == before


def test_the_mean_size_of_the_images_of_a_component(tmp_path, store):
    assert store.pictures.mean_size(COMPONENT) is None
    pngs = [png_of(tmp_path, number) for number in (1, 2)]
    pngs.append(pngs[1] + b"more")
    store.put([finished(number, png=png) for number, png in enumerate(pngs)])
    store.put([finished(9)])
    assert store.pictures.mean_size(COMPONENT) == sum(map(len, pngs)) / 3
    assert store.pictures.mean_size("0" * 64) is None


def test_known_results_are_restored_unless_they_are_stored(tmp_path, folder, store):
    path = draw(tmp_path / "records" / "1.png", 1)
    image = Medium(path, sha256_file(path))
    known = [
        recorded(1, Result(text="recorded")),
        recorded(2, Result(medium=image)),
        recorded(3, Result(outcome=Outcome.FAILED, error="timeout")),
    ]
    store.put([finished(1, "asked")])
    assert store.restore(known) == 1
    path.unlink()
    stored = found(store, keys(1, 2, 3))
    assert stored[key(1)].text == "asked"
    assert stored[key(2)].medium.path == store.pictures.path(image.sha256)
    assert len(stored) == 2


def test_an_image_is_kept_once_however_often_it_is_written(png, tmp_path, store):
    records = tmp_path / "records/1.png"
    [result] = store.put([finished(1, png=png)])
    stored = result.medium.path
    for _ in range(2):
        link_file(stored, records)
    assert records.samefile(stored)
    assert records.stat().st_mode & 0o222 == 0
    records.unlink()
    records.write_bytes(png)  # as 'dvc unprotect' does
    other = draw(records.with_name("other.png"), 2)
    theirs, link = draw(tmp_path / "theirs.png", 1), records.with_name("link.png")
    link.symlink_to(theirs)
    link_file(link, tmp_path / "copy.png")
    assert theirs.stat().st_nlink == 1
    store.pictures.link(records.parent)
    assert records.samefile(stored)
    assert link.is_symlink()
    assert other.stat().st_nlink == 1
    assert not list(tmp_path.rglob("*.partial"))


def test_a_full_disk_loses_nothing_that_was_stored(folder, store):
    store.put([finished(1)])
    size = (folder / DATABASE).stat().st_size
    answers = [finished(number, "x" * 1000) for number in range(2, 200)]
    for most, items in ((size, answers), (1, [finished(2, png=b"png")])):
        advice = pytest.raises(StoreError, match="make room there and run again")
        with no_file_longer_than(most), advice:
            store.put(items)
    store.put([finished(3)])
    assert list(stored_rows(folder)) == [key(1), key(3)]


def test_what_fits_is_stored_the_smallest_first(folder, store):
    store.put([finished(1)])
    items = [finished(number, "x" * 3000 * (10 - number)) for number in range(2, 10)]
    with no_file_longer_than((folder / DATABASE).stat().st_size + 5 * 4096):
        puts = put_while_busy(store, items)
        assert [put.exception() is None for put in puts] == [False] * 5 + [True] * 3


def test_files_that_a_killed_process_was_writing_are_removed(folder):
    filled(folder, finished(1))
    names = ("a.png.1.7.partial", f"b.png.{os.getpid()}.7.partial", "c.png")
    objects = folder / "objects/aa"
    objects.mkdir(parents=True)
    for name in names:
        (objects / name).touch()
    for writes, left in ((False, names), (True, names[1:])):
        with CallStore(folder, writes=writes):
            assert {file.name for file in objects.iterdir()} == {*left}


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
        assert waiting.stderr.readline().startswith(used)
        assert waiting.poll() is None
        with CallStore(tmp_path, writes=False) as reader:  # reading needs no lock
            assert reader.database.count() == 0
        with CallStore(tmp_path):  # in one process, several stores share the lock
            pass
        assert waiting.poll() is None
    assert waiting.communicate()[0] == "mine\n"


def test_a_store_that_is_only_read_is_not_made(folder):
    with CallStore(folder, writes=False) as store:
        assert store.find(key(1)) is None
        assert store.spent("f") == Spent()
    assert not folder.exists()


def test_a_changed_row_is_not_believed(tmp_path, capsys):
    filled(tmp_path, finished(1), finished(2))
    spoil(
        tmp_path,
        "UPDATE calls SET result = replace(CAST(result AS TEXT), 'cat', 'dog') WHERE rowid = 1;"
        "UPDATE calls SET image = zeroblob(32) WHERE rowid = 2",
    )
    with CallStore(tmp_path) as store, CallStore(tmp_path / "other") as other:
        assert found(store, keys(1, 2, 1)) == {}
        said = capsys.readouterr().err
        assert said.count("is not as it was stored, and counts as missing") == 2
        assert other.merge(store) == (0, 0)
        store.put([finished(1)])
        assert set(found(store, keys(1, 2))) == {key(1)}


def spoilt(data, case):
    """Keep a part of a database, fill a range of its bytes, change some, or write a text."""
    data = bytearray(data)
    if "content" in case:
        return case["content"].encode()
    if "keep" in case:
        del data[int(case["keep"] * len(data)) :]
    if "fill" in case:
        *ends, byte = case["fill"]
        ends = [int(at * len(data)) if isinstance(at, float) else at for at in ends]
        data[slice(*ends)] = bytes([byte]) * len(data[slice(*ends)])
    for place in range(40, len(data), case.get("flip", len(data) + 40)):
        data[place] ^= 4 * ("flip" in case)
    return bytes(data)


MANY = keys(*range(300))


@pytest.fixture
def many(tmp_path):
    """A folder with a store of 300 calls, and a batch under way."""
    answers = [finished(number, f"answer {number} " * 30) for number in range(300)]
    with CallStore(tmp_path) as store:
        store.put(answers, {COMPONENT: Spent(300, 75.0)})
        store.submit(COMPONENT, UNDER_WAY)
    return tmp_path


UNDER_WAY = Batch("file", 1e9, "batch", {key(0): 0.5, key(300): 0.5})
"""A batch of which one call has arrived."""


@each_case(cases(__file__, "damages"))
def test_whole_rows_of_a_damaged_store_go_into_a_new_one(many, case, capsys):
    """``calls`` are the fewest and the most of 300 calls that are read back."""
    data = spoilt((many / DATABASE).read_bytes(), case)
    (many / DATABASE).write_bytes(data)
    with CallStore(many, writes=False) as store:
        whole = found(store, MANY)
        assert store.database.count() == len(whole)
    fewest, most = case["calls"]
    assert fewest <= len(whole) <= most
    assert (many / DATABASE).read_bytes() == data
    left = f"{len(whole)} of its calls can be read"
    damaged = f"^the call store {many} is damaged .*: {left}"
    said = capsys.readouterr().err
    assert not data or re.search(f"{damaged}; 'driftledger run' keeps them", said)
    with CallStore(many) as store:
        said = capsys.readouterr().err
        assert found(store, MANY) == whole
        restored = store.restore([recorded(0, Result(text="recorded"))])
        assert restored == (MANY[0] not in whole)
        if len(whole) > 250:
            assert store.spent(COMPONENT).attempts == 301
            [batch] = store.submitted(COMPONENT)
            assert key(300) in batch.keys
    aside = f"its {len(data):,} bytes are set aside as calls.db.damaged-1$"
    assert not data or re.search(f"{damaged}, and {aside}", said)
    assert not data or (many / f"{DATABASE}.damaged-1").read_bytes() == data
    with CallStore(many) as store:
        assert len(found(store, MANY)) == max(1, len(whole))
    assert capsys.readouterr().err == ""


def test_a_journal_of_another_store_costs_no_call(many, tmp_path):
    filled(tmp_path / "other", *(finished(number) for number in range(900, 990)))
    with database_of(tmp_path / "other") as db:
        db.execute("PRAGMA cache_size = 1")  # so that it is written before its end
        db.execute("UPDATE calls SET t = 2")
        shutil.copy(tmp_path / "other" / f"{DATABASE}-journal", many)
    with CallStore(many, writes=False):
        pass
    with CallStore(many) as store:
        assert len(found(store, MANY)) == 300
    assert not [*many.glob("calls.db.before")]


def test_a_reader_copies_nothing_of_a_writer_at_work(many):
    lock = FileLock(many / LOCK)
    with lock, database_of(many) as db:
        db.execute("UPDATE calls SET t = 2")
        assert (many / f"{DATABASE}-journal").stat().st_size
        with CallStore(many, writes=False) as store:
            assert len(found(store, MANY)) == 300
    assert not [*many.glob("calls.db.before")]


def test_a_store_that_is_found_damaged_keeps_what_arrives_later(many):
    with CallStore(many) as store:
        data = (many / DATABASE).read_bytes()
        noise = b"\xa5" * (len(data) - 4096)
        (many / DATABASE).write_bytes(data[:4096] + noise)
        with pytest.raises(StoreError, match="was damaged"):
            found(store, MANY)
        store.put([finished(1, "late")])
    with CallStore(many) as store:
        [result] = found(store, MANY).values()
        assert result.text == "late"


def test_what_a_write_finds_damaged_is_set_aside_and_written_then(many, capsys):
    with CallStore(many) as store:
        data = (many / DATABASE).read_bytes()
        leaves = len(data) - 20 * 4096
        (many / DATABASE).write_bytes(data[:leaves] + bytes(20 * 4096))
        store.put([finished(number, "late") for number in range(290, 310)])
        assert len(found(store, keys(*range(290, 310)))) == 20
    assert "set aside as calls.db.damaged-1" in capsys.readouterr().err


@each_case(cases(__file__, "spoilt"))
def test_what_is_wrong_with_a_store_is_said_once(case, tmp_path, folder, capsys):
    """The store has three calls; two of them have images."""
    drawn = [finished(number, png=png_of(tmp_path, number)) for number in (1, 2)]
    filled(folder, *drawn, finished(3))
    if "lost" in case:
        shutil.rmtree(folder / case["lost"])
    if "content" in case:
        (folder / DATABASE).write_text(case["content"])
    if "script" in case:
        spoil(folder, case["script"])
    files = {*folder.iterdir()}
    raised = []
    try:
        with CallStore(folder, writes=case["writes"]) as store:
            for _ in range(2):
                found(store, keys(1, 2, 3))
    except StoreError as error:
        raised.append(str(error))
    assert bool(raised) == case.get("raises", False)
    lines = capsys.readouterr().err.splitlines() + raised
    assert len(lines) == ("says" in case)
    assert re.search(case.get("says", "").format(folder), "".join(lines))
    assert case["writes"] or {*folder.iterdir()} == files


def test_merging_unites_and_the_first_answer_stays(png, tmp_path):
    for name, text, more in (("a", "first", 2), ("b", "second", 3)):
        items = [finished(1, text), finished(more, png=png)]
        with CallStore(tmp_path / name) as store:
            store.put(items, {COMPONENT: Spent(more, 0.25)})
    merged = []
    with CallStore(tmp_path / "all") as store:
        for name in "abba":
            with CallStore(tmp_path / name, writes=False) as other:
                merged.append(store.merge(other))
        first, *others = found(store, keys(1, 2, 3)).values()
        assert store.spent(COMPONENT) == Spent(5, 0.5)
    assert merged == [(2, 0), (1, 1), (0, 1), (0, 0)]
    assert (first.text, {result.text for result in others}) == ("first", {"a cat"})
    assert [result.medium.path.read_bytes() for result in others] == [png, png]


def test_merging_says_how_many_calls_have_another_answer(tmp_path):
    project = write_params(tmp_path, default_params())
    with project.store() as store, CallStore(tmp_path / "other") as other:
        store.put([finished(1), finished(2), finished(3)])
        other.put([finished(1, "a dog"), finished(2, served_model="m-2"), finished(3)])
    assert merge(project, [tmp_path / "other"]) == (
        "1 store merged: 0 calls are new; 2 calls have another answer here; the first stays"
    )


@pytest.mark.parametrize("writes", [True, False])
def test_a_locked_database_is_waited_for(writes, tmp_path, capsys):
    filled(tmp_path, finished(1))
    with held(tmp_path / DATABASE, 2.5), CallStore(tmp_path, writes=writes) as store:
        assert store.find(key(1)) is not None
    sentence = f"{tmp_path / DATABASE} is locked by another program"
    assert sentence in capsys.readouterr().err


def test_a_database_that_stays_locked_is_a_sentence(folder, store, monkeypatch):
    store.put([finished(1)])
    monkeypatch.setattr(databases, "WAIT", 0.2)
    store.database._db.execute("PRAGMA busy_timeout = 200")
    locked = r"calls\.db is locked by another program; end that one"
    with held(folder / DATABASE, 60):
        with pytest.raises(StoreError, match=locked):
            store.put([finished(2)])
        with pytest.raises(StoreError, match=locked):
            CallStore(folder, writes=False)
    assert store.find(key(1)) is not None


def test_what_another_store_has_is_found_through_this_one(tmp_path):
    with CallStore(tmp_path / "main") as store:
        store.put([finished(1)], {COMPONENT: Spent(4, 1.0)})
    with (
        CallStore(tmp_path / "main", writes=False) as main,
        CallStore(tmp_path / "shard", fallback=main) as shard,
    ):
        shard.put([finished(2)], {COMPONENT: Spent(1, 0.5)})
        assert set(found(shard, keys(1, 2, 3))) == {*keys(1, 2)}
        assert shard.spent(COMPONENT) == Spent(1, 0.5)
        assert main.spent(COMPONENT) == Spent(4, 1.0)


@pytest.mark.parametrize(
    ("images", "encoded"), [(["a" * 64, "b" * 64], 1), (["", "b" * 64], 2)]
)
def test_features_are_made_once_unless_an_image_is_unknown(tmp_path, images, encoded):
    store, made = FeatureStore(tmp_path), []

    def make():
        made.append(np.full((2, 3), len(made), np.float32))
        return made[-1]

    for _ in range(2):
        features = store.get(COMPONENT, "images", images, make)
    assert len(made) == encoded
    assert features.tolist() == made[-1].tolist()


class GivenEncoder(LetterEncoder):
    """Gives what a test says, or raises it."""

    provider = "given"
    _given: Any = PrivateAttr()

    def encode_images(self, images):
        return self.encode_texts(images)

    def encode_texts(self, texts):
        if isinstance(self._given, Exception):
            raise self._given
        return self._given


def given(value):
    encoder = GivenEncoder()
    encoder._given = value
    return encoder


def medium_of(folder, colour):
    medium = Medium(folder / f"{colour}.png", colour)
    Image.new("RGB", (2, 2), colour).save(medium.path)
    return medium


def test_features_that_are_not_finite_name_the_encoder_and_what_it_was_given(tmp_path):
    media = [medium_of(tmp_path, colour) for colour in ("blue", "red")]
    encoder = given(np.array([[1, 1], [1, np.nan]], np.float32))
    store = FeatureStore()
    sentence = "^encoder given gives features of '{}' that are not finite"
    for _ in range(2):  # as well where the store has them
        with pytest.raises(ComponentError, match=sentence.format(r".*red\.png")):
            encode_media(encoder, media, store)
        with pytest.raises(ComponentError, match=sentence.format("blue")):
            encode_texts(encoder, ["a", "blue"], store)


@pytest.mark.parametrize(
    "value", [np.array([[0.1, 2.0]]), [[0.1, 2.0]], np.array([[0.1, 2.0]], object)]
)
def test_features_of_any_numbers_are_float32(tmp_path, value):
    wanted = np.array([[0.1, 2.0]], np.float32)
    for _ in range(2):  # as well where the store has them
        features = encode_texts(given(value), ["a"], FeatureStore(tmp_path))
        assert features.dtype == np.float32
        assert features.tolist() == wanted.tolist()


def test_features_that_an_earlier_version_stored_as_float64_are_float32(tmp_path):
    store = FeatureStore(tmp_path)
    encoder = given(None)
    store.get(encoder.fingerprint, "texts", ["a"], lambda: np.array([[0.1]]))
    assert encode_texts(encoder, ["a"], store).dtype == np.float32


@each_case(cases(__file__, "features"))
def test_features_of_no_use_are_one_sentence_that_names_the_encoder(tmp_path, case):
    value = KeyError(case["raises"]) if "raises" in case else case["value"]
    sentence = f"^encoder given {case['says']}"
    with pytest.raises(ComponentError, match=sentence):
        encode_texts(given(value), ["a"])
    with pytest.raises(ComponentError, match=sentence):
        encode_media(given(value), [medium_of(tmp_path, "red")])


def test_only_a_text_may_have_features_of_zero(tmp_path):
    zeros = given(np.zeros((1, 2), np.float32))
    assert not encode_texts(zeros, ["a"]).any()
    sentence = r"^encoder given gives features of '.*red\.png' that are all zero$"
    with pytest.raises(ComponentError, match=sentence):
        encode_media(zeros, [medium_of(tmp_path, "red")])


def test_how_much_is_read_is_said_of_each_text():
    class Silent(LetterEncoder):
        provider = "silent"

        def read_texts(self, texts):
            return super().read_texts(texts)[1:]

    sentence = "^encoder silent says of 1 texts how much it reads, and was given 2$"
    with pytest.raises(ComponentError, match=sentence):
        read_texts(Silent(), ["a", "b"])
