"""Files are written whole or not at all, and read strictly: each hostile file is one sentence."""

import json
import math
import os
import re
from pathlib import Path
from threading import get_ident
from unittest.mock import Mock

import pytest
from dvc.utils.serialize import YAMLFileCorruptedError, parse_yaml

from driftledger.core.errors import StoreError
from driftledger.core.files import (
    keep_only,
    load_yaml,
    new_folder,
    read_json,
    read_jsonl,
    stream_jsonl,
    write_bytes,
    write_json,
    write_jsonl,
    write_text,
)
from driftledger.core.made import INPUTS, make
from driftledger.scoring.score import Row
from tests.support.cases import cases, each_case
from tests.support.full_disk import no_file_longer_than

PLAIN = {
    "schema": 2,
    "unit": "a",
    "group": "all",
    "cluster": "a",
    "outcome": "ok",
    "values": {"gc": [0.1, None, 1]},
    "extra": {"label": "größe"},
}


def line(**changes):
    return json.dumps(PLAIN | changes).encode() + b"\n"


def data_of(case):
    """Return the bytes of a case: its text, or the plain line with a long number or list."""
    if "insert" in case:
        number = case["insert"] * case["times"]
        return line().replace(b'"label"', f'"x": {number}, "label"'.encode())
    return bytes.fromhex(case["hex"]) if "hex" in case else case["text"].encode()


@each_case(cases(__file__, "rows"))
def test_rows_are_read_or_a_sentence_says_why_not(case, tmp_path):
    (tmp_path / "rows").write_bytes(data_of(case))
    if "units" in case:
        rows = read_jsonl(tmp_path / "rows", Row)
        assert [row.unit for row in rows] == case["units"]
        return
    with pytest.raises(StoreError) as error:
        read_jsonl(tmp_path / "rows", Row, "rows")
    assert case["says"] in str(error.value)
    assert len(str(error.value).splitlines()) == 1


def test_records_come_back_and_equal_values_are_equal_bytes(tmp_path):
    rows = [Row.model_validate(PLAIN | {"unit": f"{n}\u2028\r\x85"}) for n in range(3)]
    file, other = tmp_path / "new/a.jsonl", tmp_path / "a.json"
    write_jsonl(file, rows)
    assert file.read_bytes().count(b"\n") == 3
    assert read_jsonl(file, Row) == rows
    write_json(other, rows[0])
    assert read_json(other, Row) == rows[0]
    text = other.read_text(encoding="utf-8")
    assert list(json.loads(text)) == sorted(PLAIN)
    assert "größe" in text
    write_json(other, dict(reversed(rows[0].to_dict().items())))
    assert other.read_text(encoding="utf-8") == text


def test_rows_are_read_one_at_a_time(tmp_path):
    write_jsonl(tmp_path / "rows", [Row.model_validate(PLAIN)] * 2)
    with (tmp_path / "rows").open("ab") as file:
        file.write(b"{\n")
    rows = stream_jsonl(tmp_path / "rows", Row, "rows")
    assert [next(rows).unit, next(rows).unit] == ["a", "a"]
    with pytest.raises(StoreError, match="rows, line 3 is not a Row"):
        next(rows)


@pytest.mark.parametrize("number", [math.nan, math.inf])
def test_numbers_that_are_not_finite_are_never_written(tmp_path, number):
    for value in ({"x": number}, Row.model_validate(PLAIN | {"extra": {"x": number}})):
        with pytest.raises(ValueError, match="JSON compliant"):
            write_json(tmp_path / "a.json", value)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_file_says_how_to_get_it(tmp_path):
    advice = r"records\.jsonl is missing; run 'dvc pull' to fetch it, or 'dvc repro'"
    for read in (read_json, read_jsonl):
        with pytest.raises(StoreError, match=advice):
            read(tmp_path / "records.jsonl", Row)
    with pytest.raises(StoreError, match=r"cannot be read \(not a regular file\)"):
        read_json(Path("/dev/zero"), Row)


def write_rows(path, text):
    write_jsonl(path, [Row.model_validate(PLAIN | {"unit": text})])


def write_shared(path, text):
    write_bytes(path, text.encode(), durable=True)


WAYS = pytest.mark.parametrize("write", [write_text, write_rows, write_shared])


@WAYS
def test_a_write_that_fails_leaves_the_old_bytes_and_names_the_file(write, tmp_path):
    path = tmp_path / "a.json"
    write_text(path, "old\n")
    with (
        no_file_longer_than(8),
        pytest.raises(OSError, match="File too large") as error,
    ):
        write(path, "new and longer\n")
    assert error.value.filename == str(path)
    assert path.read_text() == "old\n"
    assert list(tmp_path.iterdir()) == [path]


@WAYS
def test_nothing_is_written_through_a_link(write, tmp_path):
    path, elsewhere = tmp_path / "folder" / "a.json", tmp_path / "elsewhere"
    path.parent.mkdir()
    elsewhere.write_text("somebody's")
    own = f".{os.getpid()}.{get_ident()}" if write is write_shared else ""
    for link in (path, path.with_name(f"a.json{own}.partial")):
        link.symlink_to(elsewhere)
    write(path, "text")
    assert not path.is_symlink()
    assert "text" in path.read_text()
    assert list(path.parent.iterdir()) == [path]
    assert elsewhere.read_text() == "somebody's"


def test_a_folder_appears_whole_or_not_at_all(tmp_path):
    target, stale = tmp_path / "data" / "out", tmp_path / "data" / "out.partial"
    stale.mkdir(parents=True)
    (stale / "stale").touch()
    for name in ("old", "new"):
        with new_folder(target) as folder:
            (folder / name).touch()
    with pytest.raises(ZeroDivisionError), new_folder(target) as folder:
        (folder / "newer").write_text(str(1 / 0))
    names = sorted(path.name for path in (tmp_path / "data").rglob("*"))
    assert names == ["new", "out"]


def test_a_folder_is_made_again_only_when_inputs_or_files_changed(tmp_path):
    folder = tmp_path / "a/b"
    folder.mkdir(parents=True)

    def write_x():
        (folder / "x").write_text("x")

    write = Mock(side_effect=write_x)
    for inputs in ("one", "one", "two"):
        make(folder, inputs, write)
    assert write.call_count == 2
    (folder / "x").write_text("changed")
    make(folder, "two", write)
    assert write.call_count == 3
    (folder / INPUTS).unlink()
    make(folder, "two", write)
    assert write.call_count == 4
    (tmp_path / "a" / "other").mkdir()
    (tmp_path / "link").symlink_to(folder)
    keep_only(tmp_path, [folder])
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "b", INPUTS, "x"]


@each_case(cases(__file__, "yaml"))
def test_yaml_is_read_as_dvc_reads_it(case):
    text = case["text"]
    if "says" not in case:
        assert load_yaml(text) == parse_yaml(text, "x")
        return
    with pytest.raises(ValueError, match=re.escape(case["says"])):
        load_yaml(text)
    with pytest.raises(YAMLFileCorruptedError):
        parse_yaml(text, "x")
