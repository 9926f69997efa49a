import json
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.collect import merge
from driftledger.collect.call_result import Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.merge import Merged, merge_spool
from driftledger.collect.observations import Observed
from driftledger.collect.shards import Shard
from driftledger.collect.spool import Spool, spools_in
from driftledger.collect.spool_lines import LINES
from driftledger.core.errors import StoreError
from driftledger.core.types import Outcome
from tests.support.spools import drawn, finished, key

A, B, C = key("a"), key("b"), key("c")


def spooled(into: Path, *made: Finished) -> Path:
    """A spool in which each of these was made."""
    with Spool(into, Shard(0, 9)) as spool:
        spool.put(made)
    return spool.folder


def dump(store: CallStore) -> list[str]:
    return [line for line in store._db.iterdump() if not line.startswith("CREATE")]


def test_calls_and_images_are_in_the_store_then(tmp_path: Path) -> None:
    folder = spooled(tmp_path, finished(A), drawn(B))
    with CallStore(tmp_path / "store") as store:
        assert merge_spool(store, folder) == Merged(new=2)
        shutil.rmtree(folder)
        found = store.get([A.digest, B.digest])
        assert found[A.digest].text == "an answer"
        assert (image := found[B.digest].image) is not None
        assert image.path.is_relative_to(store.folder / "objects")
        assert store.costs([A.digest])[A.digest].input_tokens == 3
        assert store.rows(digest_prefix=A.digest)[0].parts == A.parts()


def test_merged_or_made_here_the_rows_are_the_same(tmp_path: Path) -> None:
    folder = spooled(tmp_path, finished(A), drawn(B))
    with CallStore(tmp_path / "merged") as merged, CallStore(tmp_path / "made") as made:
        merge_spool(merged, folder)
        made.put([finished(A)])
        made.put([drawn(B)])
        here, there = ([line for line in dump(store) if '"merged"' not in line] for store in (merged, made))
        assert here == there


def test_merging_again_changes_nothing(tmp_path: Path) -> None:
    folder = spooled(tmp_path, finished(A), drawn(B))
    with CallStore(tmp_path / "store") as store:
        merge_spool(store, folder)
        before = dump(store)
        moved = folder.rename(tmp_path / "elsewhere")
        assert merge_spool(store, moved) == Merged()
        assert dump(store) == before


def test_a_spool_that_grew_is_merged_from_where_it_was(tmp_path: Path) -> None:
    with Spool(tmp_path / "spool", Shard(0, 1)) as spool, CallStore(tmp_path / "store") as store:
        spool.put([finished(A)])
        assert merge_spool(store, spool.folder) == Merged(new=1)
        spool.put([finished(B)])
        assert merge_spool(store, spool.folder) == Merged(new=1)


def test_the_same_bytes_twice_are_there_once(tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        for number in range(3):
            merge_spool(store, spooled(tmp_path / str(number), finished(A), drawn(B)))
        assert [row.made for row in store.rows()] == [3, 3]
        assert store.observations() == {A.fingerprint: Observed(name="seer", asked_again=2, other=0)}


def test_other_bytes_are_kept_beside_the_first_and_counted_once(tmp_path: Path) -> None:
    folders = [
        spooled(tmp_path / "1", finished(A, "first"), drawn(B, "red"), finished(C)),
        spooled(tmp_path / "2", finished(A, "second"), drawn(B, "blue"), finished(C)),
        spooled(tmp_path / "3", finished(A, "third")),
    ]
    with CallStore(tmp_path / "store") as store:
        found = [merge_spool(store, folder) for folder in folders]
        assert found == [Merged(new=3), Merged(same=1, other=2), Merged(other=1)]
        assert [merge_spool(store, folder) for folder in folders] == [Merged()] * 3
        assert store.get([A.digest])[A.digest].text == "first"
        assert store.observations() == {A.fingerprint: Observed(name="seer", asked_again=3, other=2)}
        kept = store._db.execute("SELECT key, result, image, source FROM observations ORDER BY rowid").fetchall()
        assert [key for key, *_ in kept] == [A.digest, B.digest, A.digest]
        assert [json.loads(result)["text"] for _, result, image, _ in kept if image is None] == ["second", "third"]
        assert (store.folder / "objects" / kept[1][2][:2] / f"{kept[1][2]}.png").is_file()
        assert len({source for *_, source in kept}) == 2


def test_what_a_service_says_of_itself_are_no_other_bytes(tmp_path: Path) -> None:
    one, two = (
        finished(A)._replace(result=Result(Outcome.OK, text="t", system_fingerprint=fingerprint))
        for fingerprint in ("x", "y")
    )
    with CallStore(tmp_path / "store") as store:
        store.put([one])
        store.put([two])
        assert store.observations() == {A.fingerprint: Observed(name="seer", asked_again=1, other=0)}


def test_a_lost_image_is_replaced_by_what_was_drawn_again(tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        [first] = store.put([drawn(A, "red")])
        assert first.image is not None
        first.image.path.unlink()
        store.put([drawn(A, "blue")])
        found = store.get([A.digest])[A.digest]
        assert found.image is not None
        assert found.image.sha256 != first.image.sha256
        assert store.observations()[A.fingerprint].other == 1


def test_what_stands_before_a_damaged_line_is_merged(tmp_path: Path) -> None:
    folder = spooled(tmp_path, finished(A), finished(B), finished(C))
    lines = folder / LINES
    whole = lines.read_bytes()
    lines.write_bytes(whole.replace(B.digest.encode(), b"0" * 64))
    with CallStore(tmp_path / "store") as store:
        with pytest.raises(StoreError, match=r"calls\.jsonl, byte \d+ is no finished call"):
            merge_spool(store, folder)
        assert store.get([A.digest, C.digest]).keys() == {A.digest}
        lines.write_bytes(whole)
        assert merge_spool(store, folder) == Merged(new=2)


@pytest.mark.parametrize(
    "damage",
    [
        lambda image: image.write_bytes(b"\x89PNG\r\n\x1a\n"),
        lambda image: image.unlink(),
        lambda image: (image.rename(image.with_name("real")), image.symlink_to(image.with_name("real"))),
    ],
)
def test_a_damaged_image_is_refused(tmp_path: Path, damage: Callable[[Path], object]) -> None:
    folder = spooled(tmp_path, drawn(A))
    [image] = folder.rglob("*.png")
    damage(image)
    with CallStore(tmp_path / "store") as store:
        with pytest.raises(StoreError, match=r"the image .* is (missing|damaged)"):
            merge_spool(store, folder)
        assert store.get([A.digest]) == {}


def test_what_was_cut_off_is_refused(tmp_path: Path) -> None:
    folder = spooled(tmp_path, finished(A))
    with CallStore(tmp_path / "store") as store:
        merge_spool(store, folder)
        (folder / LINES).write_bytes((folder / LINES).read_bytes()[:-5])
        with pytest.raises(StoreError, match="was cut off"):
            merge_spool(store, folder)


def test_what_is_no_spool_is_refused(tmp_path: Path) -> None:
    with CallStore(tmp_path / "store") as store:
        with pytest.raises(StoreError, match=r"is no spool: it has no file calls\.jsonl"):
            merge_spool(store, tmp_path)
        (tmp_path / LINES).write_text("{}\n", encoding="utf-8")
        with pytest.raises(StoreError, match="line 1 is not a SpoolHead"):
            merge_spool(store, tmp_path)


def test_several_transactions_are_one_merge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(merge, "_MOST_LINES", 3)
    folder = spooled(tmp_path, *(finished(key(str(number))) for number in range(10)))
    with CallStore(tmp_path / "store") as store:
        assert merge_spool(store, folder) == Merged(new=10)


KILLED = """
import sys
from pathlib import Path
from driftledger.collect import merge
from driftledger.collect.call_result import Finished, Result
from driftledger.collect.call_store import CallStore
merge._MOST_LINES = 7
with CallStore(Path(sys.argv[1])) as store:
    print("begun", flush=True)
    for folder in sys.argv[2:]:
        merge.merge_spool(store, Path(folder))
"""


def test_killed_at_any_moment_nothing_is_lost_or_counted_twice(tmp_path: Path) -> None:
    made = [finished(key(str(number))) for number in range(300)]
    folders = [spooled(tmp_path / "spool", *made[:200]), spooled(tmp_path / "spool", *made[100:], drawn(key("x")))]
    kills = 0
    command = [sys.executable, "-c", KILLED, str(tmp_path / "store"), *map(str, folders)]
    for pause in (0.0, 0.02, 0.04, 0.08, 0.16):
        merging = subprocess.Popen(command, stdout=subprocess.PIPE)
        assert merging.stdout is not None
        merging.stdout.readline()
        time.sleep(pause)
        merging.kill()
        kills += merging.wait() == -signal.SIGKILL
        merging.stdout.close()
    assert kills > 0
    both = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]  # at once, and neither is killed
    assert [merging.wait() for merging in both] == [0, 0]
    with CallStore(tmp_path / "store") as killed, CallStore(tmp_path / "reference") as reference:
        for folder in spools_in(tmp_path / "spool"):
            merge_spool(reference, folder)
        assert sorted(dump(killed)) == sorted(dump(reference))
