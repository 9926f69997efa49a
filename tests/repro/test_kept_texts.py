"""Texts that are kept are read as they were written, and whatever else lies there is nothing."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from driftledger.repro import kept_texts as module
from driftledger.repro.kept_texts import read_texts, write_texts
from tests.support.full_disk import no_file_longer_than

TEXTS = {"a": "é\n", "b": "\ud800"}


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tmp" / "yaml.json"


def test_what_is_written_is_read(file: Path) -> None:
    assert read_texts(file) == {}
    for texts in (TEXTS, {"c": "d"}):
        write_texts(file, texts)
        assert read_texts(file) == texts
    assert list(file.parent.iterdir()) == [file]


def a_link(file: Path) -> None:
    target = file.parent.parent / "elsewhere"
    target.write_text(json.dumps(TEXTS))
    file.symlink_to(target)


def a_large_file(file: Path) -> None:
    file.write_text(json.dumps(TEXTS))
    os.truncate(file, 2**40)


def a_deep_one(file: Path) -> None:
    file.write_text("[" * 100_000)


def a_deep_one_of_texts(file: Path) -> None:
    file.write_text('{"a":' * 900 + '"x"' + "}" * 900)


@pytest.mark.parametrize(
    "lie",
    [
        os.mkfifo,
        Path.mkdir,
        a_link,
        a_large_file,
        a_deep_one,
        a_deep_one_of_texts,
        lambda file: file.symlink_to("/dev/zero"),
        lambda file: file.symlink_to(file),
        lambda file: file.write_bytes(b"\xff"),
        lambda file: file.write_text('{"a": 1}'),
        lambda file: file.write_text('["a"]'),
        lambda file: file.write_text(f'{{"a": {"1" * 5_000}}}'),
    ],
)
def test_whatever_else_lies_there_is_empty_and_gives_way(lie: Callable[[Path], object], file: Path) -> None:
    file.parent.mkdir()
    lie(file)
    assert read_texts(file) == {}
    write_texts(file, TEXTS)
    assert read_texts(file) == ({} if lie is Path.mkdir else TEXTS)


def test_as_many_bytes_are_read_as_are_sensible(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_texts(file, TEXTS)
    monkeypatch.setattr(module, "MOST", file.stat().st_size)
    assert read_texts(file) == TEXTS
    monkeypatch.setattr(module, "MOST", file.stat().st_size - 1)
    assert read_texts(file) == {}


@pytest.mark.parametrize("name", ["yaml.json", "yaml.json.partial"])
def test_nothing_is_written_through_a_link(name: str, file: Path, tmp_path: Path) -> None:
    file.parent.mkdir()
    (tmp_path / "elsewhere").write_text("somebody's")
    (file.parent / name).symlink_to(tmp_path / "elsewhere")
    write_texts(file, TEXTS)
    assert read_texts(file) == TEXTS
    assert (tmp_path / "elsewhere").read_text() == "somebody's"


def test_where_nothing_can_be_written_what_was_there_stays(file: Path) -> None:
    write_texts(file, TEXTS)
    with no_file_longer_than(4):
        write_texts(file, {"c": "d"})
    assert read_texts(file) == TEXTS
