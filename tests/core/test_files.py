"""Files of the ledger are whole or not there, and what is not one of them is refused in a sentence."""

import json
import math
import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from shutil import which
from threading import get_ident
from typing import Any

import pytest

from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.records import CollectedCard
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score
from driftledger.core import files
from driftledger.core.errors import StoreError
from driftledger.core.files import (
    Record,
    by_bytes,
    copy_file,
    new_file,
    new_folder,
    read_json,
    read_jsonl,
    write_bytes,
    write_json,
    write_jsonl,
    write_text,
)
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard, read_samples
from tests.support.full_disk import no_file_longer_than
from tests.support.labelled import Item, write_labelled
from tests.support.ledgers import card_of, genception_score, varied

HOSTILE = 'a\u2028b\u2029c\x85d\x1ce\vf\r\ng\x00\x1b[31m \\ " 写真 🙂'


def chain_card(**changes: Any) -> CollectedCard:
    return card_of(varied(genception_score(), **changes), benchmark("genception").collects[0])


def record(**changes: Any) -> ChainRecord:
    plain: dict[str, Any] = {"sample": "s", "t": 1, "outcome": Outcome.OK, "parent_sha256": "p", "seed": 1}
    return ChainRecord(**plain | changes)


def sentence(error: pytest.ExceptionInfo[StoreError]) -> str:
    said = str(error.value)
    assert len(said.splitlines()) == 1
    return said


@pytest.mark.parametrize("value", [chain_card(), genception_score(), chain_card(describe_prompt=HOSTILE)])
def test_what_is_written_is_read_back(tmp_path: Path, value: Record) -> None:
    path = tmp_path / "new" / "folder" / "file.json"
    write_json(path, value)
    assert read_json(path, type(value)) == value
    assert list(path.parent.iterdir()) == [path]


def test_a_file_is_sorted_utf8_and_says_its_schema(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", chain_card(describe_prompt="größe"))
    text = (tmp_path / "a.json").read_bytes().decode()
    loaded = json.loads(text)
    assert loaded["schema"] == loaded["components"]["model"]["schema"] == 2
    assert list(loaded) == sorted(loaded)
    assert "größe" in text
    assert text.endswith("}\n")


def test_equal_values_are_equal_bytes(tmp_path: Path) -> None:
    write_json(tmp_path / "a", genception_score(groups={"category": {"a": {"x": 1.0}, "b": {}}}))
    write_json(tmp_path / "b", genception_score(groups={"category": {"b": {}, "a": {"x": 1.0}}}))
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_strange_line_breaks_inside_a_text_start_no_new_line(tmp_path: Path) -> None:
    rows = [record(description=HOSTILE, t=t) for t in (1, 2, 3)]
    write_jsonl(tmp_path / "a.jsonl", rows)
    assert (tmp_path / "a.jsonl").read_bytes().count(b"\n") == 3
    assert read_jsonl(tmp_path / "a.jsonl", ChainRecord) == rows


def test_no_rows_are_an_empty_file(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [])
    assert (tmp_path / "a.jsonl").read_bytes() == b""
    assert read_jsonl(tmp_path / "a.jsonl", ChainRecord) == []


def write_rows(path: Path, text: str) -> None:
    write_jsonl(path, [record(description=text)])


def write_shared(path: Path, text: str) -> None:
    write_bytes(path, text.encode(), shared=True, synced=True)


WAYS = pytest.mark.parametrize("write", [write_text, write_rows, write_shared])
Write = Callable[[Path, str], None]


@WAYS
def test_a_write_that_fails_leaves_the_old_bytes_and_names_the_file(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    write_text(path, "old\n")
    with no_file_longer_than(8), pytest.raises(OSError, match="File too large") as error:
        write(path, "new and longer\n")
    assert error.value.filename == str(path)
    assert path.read_text(encoding="utf-8") == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@WAYS
@pytest.mark.parametrize("is_there", [True, False])
def test_nothing_is_written_through_a_link(write: Write, is_there: bool, tmp_path: Path) -> None:
    path, elsewhere = tmp_path / "folder" / "a.json", tmp_path / "elsewhere"
    path.parent.mkdir()
    if is_there:
        elsewhere.write_text("somebody's")
    own = f".{os.getpid()}.{get_ident()}" if write is write_shared else ""
    for link in (path, path.with_name(f"a.json{own}.partial")):
        link.symlink_to(elsewhere)
    write(path, "text")
    assert not path.is_symlink()
    assert "text" in path.read_text()
    assert list(path.parent.iterdir()) == [path]
    assert elsewhere.exists() == is_there
    assert not is_there or elsewhere.read_text() == "somebody's"


def test_a_new_file_has_the_rights_that_any_new_file_has(tmp_path: Path) -> None:
    usual, path = tmp_path / "usual", tmp_path / "a.json"
    usual.touch()
    path.touch(0o600)
    write_text(path, "text")
    assert path.stat().st_mode == usual.stat().st_mode


def test_a_new_file_may_be_elsewhere_until_it_is_whole(tmp_path: Path) -> None:
    path, partial = tmp_path / "a", tmp_path / "partial"
    with new_file(path, partial) as file:
        file.write(b"text")
        assert not path.exists()
    assert path.read_bytes() == b"text"
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(ZeroDivisionError), new_file(path, partial):
        1 / 0  # noqa: B018
    assert list(tmp_path.iterdir()) == [path]
    partial.mkdir()
    with pytest.raises(OSError, match="partial"), new_file(path, partial):
        pass
    assert path.read_bytes() == b"text"


def test_a_half_written_file_of_a_killed_run_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "a.json.partial").write_text("half")
    write_text(tmp_path / "a.json", "whole\n")
    assert [path.name for path in tmp_path.iterdir()] == ["a.json"]


def test_a_copy_is_a_file_of_its_own(tmp_path: Path) -> None:
    source, target = tmp_path / "a", tmp_path / "b"
    source.write_bytes(b"old")
    target.write_bytes(b"older and longer")
    copy_file(source, target)
    assert target.read_bytes() == b"old"
    target.write_bytes(b"new")
    assert source.read_bytes() == b"old"
    with pytest.raises(FileNotFoundError):
        copy_file(tmp_path / "none", target)


@pytest.fixture(params=["xfs", "btrfs"])
def sharing_disk(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder on a file system that can share blocks, where this process may make and mount one."""
    make, image, folder = which(f"mkfs.{request.param}"), tmp_path / "disk", tmp_path / "mounted"
    folder.mkdir()
    with image.open("wb") as file:
        file.truncate(2**29)
    if make is None or subprocess.run([make, "-q", image], capture_output=True).returncode:
        pytest.skip(f"no {request.param} can be made here")
    if subprocess.run(["mount", "-o", "loop", image, folder], capture_output=True).returncode:
        pytest.skip("nothing can be mounted here")
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_copy_shares_its_blocks_where_the_disk_can(sharing_disk: Path) -> None:
    def used() -> int:
        subprocess.run(["sync", "-f", sharing_disk], check=True)
        disk = os.statvfs(sharing_disk)
        return (disk.f_blocks - disk.f_bfree) * disk.f_frsize

    source, data = sharing_disk / "a", os.urandom(2**25)
    source.write_bytes(data)
    before = used()
    for number in range(4):
        copy_file(source, sharing_disk / str(number))
    assert used() - before < len(data) // 4
    (sharing_disk / "0").write_bytes(b"new")
    assert source.read_bytes() == (sharing_disk / "1").read_bytes() == data


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_never_written(tmp_path: Path, number: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        genception_score(metrics={"gc_at_2": number})
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", {"x": number})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_do_not_turn_into_null(tmp_path: Path, number: float) -> None:
    card = DatasetCard(
        name="d", provider="p", settings={"x": number}, source={}, samples=1, categories={}, groups={}, digest="d"
    )
    with pytest.raises(ValueError, match="JSON compliant"):
        write_json(tmp_path / "a.json", card)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_says_how_to_get_it(tmp_path: Path) -> None:
    for read in (read_json, read_jsonl):
        with pytest.raises(StoreError, match="is missing; run 'dvc pull' to fetch it, or 'dvc repro'") as error:
            read(tmp_path / "records.jsonl", ChainRecord)
        assert "records.jsonl" in sentence(error)


def damaged(**changes: Any) -> str:
    return json.dumps(chain_card().to_dict() | changes)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "not json",
        "[]",
        "null",
        "{}",
        damaged(schema=3),
        damaged(schema=0),
        damaged(data_digest=["seven"]),
        damaged(more=1),
        damaged(data_digest=None),
        '{"a":\n',
    ],
)
def test_anything_else_than_the_file_that_was_written_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "components.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StoreError, match="is not a CollectedCard of schema 2") as error:
        read_json(path, CollectedCard)
    assert str(path) in sentence(error)


def test_a_file_of_version_0_1_names_the_version_that_reads_it(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(damaged(schema=1), encoding="utf-8")
    (tmp_path / "a.jsonl").write_text(json.dumps(record().to_dict() | {"schema": 1}) + "\n", encoding="utf-8")
    for read, name, kind in ((read_json, "a.json", CollectedCard), (read_jsonl, "a.jsonl", ChainRecord)):
        with pytest.raises(StoreError, match=r"was written by driftledger 0\.1, .*'git checkout v0\.1\.0'") as error:
            read(tmp_path / name, kind)
        sentence(error)


def test_bytes_that_are_no_text_are_refused_too(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b"\x89PNG\xff\xfe")
    with pytest.raises(StoreError, match="is not a CollectedCard of schema 2") as error:
        read_json(tmp_path / "a.json", CollectedCard)
    sentence(error)


def test_the_refusal_names_the_field(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(damaged(data_digest=["seven"]), encoding="utf-8")
    with pytest.raises(StoreError, match="data_digest"):
        read_json(tmp_path / "a.json", CollectedCard)


@pytest.mark.parametrize("number", ["NaN", "1e999"])
@pytest.mark.parametrize("place", ["metrics", "coverage", "settings"])
def test_numbers_that_are_not_finite_are_refused_when_read(tmp_path: Path, place: str, number: str) -> None:
    content = genception_score().to_dict()
    holder = {"metrics": content["metrics"], "coverage": content, "settings": content["inputs"]["settings"]}[place]
    holder["coverage" if place == "coverage" else "x"] = "HERE"
    (tmp_path / "a.json").write_text(json.dumps(content).replace('"HERE"', number), encoding="utf-8")
    with pytest.raises(StoreError) as error:
        read_json(tmp_path / "a.json", Score)
    sentence(error)


def test_a_bad_line_is_named_by_its_number(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [record(description=HOSTILE), record()])
    with (tmp_path / "a.jsonl").open("a", encoding="utf-8") as file:
        file.write("{}\n")
    with pytest.raises(StoreError, match="line 3 is not a ChainRecord") as error:
        read_jsonl(tmp_path / "a.jsonl", ChainRecord)
    sentence(error)


def test_a_last_line_without_its_newline_is_not_dropped_in_silence(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "a.jsonl", [record(t=1), record(t=2)])
    (tmp_path / "a.jsonl").write_bytes((tmp_path / "a.jsonl").read_bytes().removesuffix(b"\n"))
    try:
        rows = read_jsonl(tmp_path / "a.jsonl", ChainRecord)
    except StoreError:
        return
    assert [row.t for row in rows] == [1, 2]


def test_a_record_is_frozen_and_knows_its_fields() -> None:
    with pytest.raises(ValueError, match="frozen"):
        record().t = 2  # type: ignore[misc]
    with pytest.raises(ValueError, match="Extra inputs"):
        record(descripton="x")
    with pytest.raises(ValueError, match="outcome"):
        record(outcome="fine")


def test_a_new_folder_appears_whole(tmp_path: Path) -> None:
    with new_folder(tmp_path / "data" / "out") as folder:
        (folder / "a").write_text("1")
        assert not (tmp_path / "data" / "out").exists()
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["out"]
    assert (tmp_path / "data" / "out" / "a").read_text() == "1"


def test_a_new_folder_replaces_the_old_one_whole(tmp_path: Path) -> None:
    for name in ("old", "new"):
        with new_folder(tmp_path / "out") as folder:
            (folder / name).write_text(name)
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["new"]


def test_a_failing_block_leaves_nothing_new_and_the_old_folder(tmp_path: Path) -> None:
    with new_folder(tmp_path / "out") as folder:
        (folder / "old").write_text("old")
    with pytest.raises(ZeroDivisionError), new_folder(tmp_path / "out") as folder:
        (folder / "new").write_text(str(1 / 0))
    assert [path.relative_to(tmp_path).as_posix() for path in sorted(tmp_path.rglob("*"))] == ["out", "out/old"]


def test_the_rest_of_a_killed_run_is_not_taken_over(tmp_path: Path) -> None:
    (tmp_path / "out.partial").mkdir()
    (tmp_path / "out.partial" / "stale").write_text("stale")
    with new_folder(tmp_path / "out") as folder:
        assert not any(folder.iterdir())
    assert list((tmp_path / "out").iterdir()) == []


@pytest.mark.parametrize("name", ["out", "out.partial"])
@pytest.mark.parametrize("lies_there", ["file", "link", "broken link", "link to itself"])
def test_whatever_lies_where_a_new_folder_is_made_gives_way(name: str, lies_there: str, tmp_path: Path) -> None:
    top, elsewhere = tmp_path / "top", tmp_path / "elsewhere"
    top.mkdir()
    if lies_there == "file":
        (top / name).touch()
    else:
        (top / name).symlink_to(top / name if lies_there == "link to itself" else elsewhere)
    if lies_there == "link":
        elsewhere.mkdir()
        (elsewhere / "theirs").touch()
    with new_folder(top / "out") as folder:
        (folder / "ours").touch()
    assert [each.name for each in top.iterdir()] == ["out"]
    assert [each.name for each in (top / "out").iterdir()] == ["ours"]
    assert not (top / "out").is_symlink()
    assert lies_there != "link" or [each.name for each in elsewhere.iterdir()] == ["theirs"]


def test_samples_come_in_the_order_of_the_manifest(tmp_path: Path) -> None:
    folder = tmp_path / "shapes"
    write_labelled(folder, [Item("ring", HOSTILE, "test", (1, 2, 3)), Item("disc", HOSTILE, "test", (4, 5, 6))])
    samples = read_samples(folder)
    assert [(sample.id, sample.label) for sample in samples] == [("ring", HOSTILE), ("disc", HOSTILE)]
    assert samples[0].image.path == folder / "images" / "ring.png"
    assert samples[0].image.open().size == (4, 4)


def test_a_value_that_is_not_there_stays_not_there(tmp_path: Path) -> None:
    values = {"similarity": [0.5, None], "gc": [0.5, None]}
    row = Row(unit="s", group="c", cluster="s", outcome=Outcome.REFUSED, values=values)
    write_jsonl(tmp_path / "a.jsonl", [row])
    assert read_jsonl(tmp_path / "a.jsonl", Row) == [row]


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The files whose lines were parsed, in order."""
    names: list[str] = []
    parse = files._parsed

    def noted(data: bytes, kind: type[ChainRecord], where: str) -> list[ChainRecord]:
        names.append(Path(where).name)
        return parse(data, kind, where)

    monkeypatch.setattr(files, "_parsed", noted)
    return names


def test_files_are_equal_by_their_bytes(tmp_path: Path) -> None:
    one, same = tmp_path / "one", tmp_path / "same"
    for path in (one, same):
        path.write_bytes(b"x")
    before = by_bytes(one)
    assert before == by_bytes(same)
    assert hash(before) == hash(by_bytes(same))
    one.write_bytes(b"y")
    assert by_bytes(one) != before
