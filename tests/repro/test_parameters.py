"""Files of parameters are parsed once per content, and nobody sees what another does with them."""

from pathlib import Path
from typing import Any

import pytest
from dvc.dependency.param import read_param_file
from dvc.fs import LocalFileSystem

from driftledger.repro.parameters import remembering

FS = LocalFileSystem()


class Counted:
    def __init__(self) -> None:
        self.times = 0

    def __call__(self, *arguments: Any, **more: Any) -> Any:
        self.times += 1
        return read_param_file(*arguments, **more)


def test_a_file_is_parsed_again_when_it_has_changed_and_only_then(tmp_path: Path) -> None:
    counted, file = Counted(), tmp_path / "params.yaml"
    read = remembering(counted, lambda fs: True)
    file.write_text("a: {b: 1, c: [1, 2]}\n")
    for _ in range(3):
        assert read(FS, str(file), ["a.b"], flatten=True) == {"a.b": 1}
    assert counted.times == 1
    assert read(FS, str(file), ["a.b", "a.c", "d"], flatten=True) == {"a.b": 1, "a.c": [1, 2]}
    assert read(FS, str(file), ["a.b"], flatten=False) == {"a": {"b": 1}}
    assert read(FS, str(file)) == {"a": {"b": 1, "c": [1, 2]}}
    assert counted.times == 2  # what is not asked for flat is DVC's to put together
    file.write_text("a: {b: 2}\n")
    assert read(FS, str(file), ["a.b"], flatten=True) == {"a.b": 2}


def test_two_readers_share_nothing_and_one_sees_its_own_twice_as_before(tmp_path: Path) -> None:
    file = tmp_path / "params.json"
    file.write_text('{"a": {"b": [1]}}')
    read = remembering(read_param_file, lambda fs: True)
    first, second = (read(FS, str(file), ["a", "a.b"], flatten=True) for _ in range(2))
    assert first["a"]["b"] is first["a.b"]
    assert first["a.b"] is not second["a.b"]
    first["a.b"].append(2)
    assert read(FS, str(file), ["a.b"], flatten=True) == {"a.b": [1]}


def test_what_is_missing_or_elsewhere_is_read_as_it_was(tmp_path: Path) -> None:
    seen: list[tuple[Any, ...]] = []

    def note(*arguments: Any, **more: Any) -> Any:
        seen.append((*arguments, more))
        return {}

    file = tmp_path / "params.yaml"
    remembering(note, lambda fs: True)(FS, str(file), ["a"], flatten=True)
    file.write_text("a: 1\n")
    read = remembering(note, lambda fs: fs is FS)
    for _ in range(2):
        read("another", str(file), ["a"], flatten=True)
        read(FS, str(file), ["a"], flatten=True, encoding="utf-8")
    assert len(seen) == 5


NAMED = "a: {b-c: {d: 0, e: null}, 'f g': []}\nh: [{i: 1}]\n7: {j: 2}\n'8': 3\n'': 4\n"
"""With keys that DVC's patterns read otherwise than as names."""


NAMES = [
    "a",
    "a.b-c",
    "a.b-c.d",
    "a.b-c.e",
    "a.f g",
    "a.x",
    "a.b-c.d.x",
    "h",
    "h.0",
    "h.0.i",
    "h.i",
    "7",
    "7.j",
    "8",
    "x",
]


@pytest.mark.parametrize("text", [NAMED, "a: {b-c: {d: 0, e: null}, 'f g': []}\nh: [{i: 1}]\n'8': 3\n", "[1]\n", "a\n"])
@pytest.mark.parametrize("asked", [*NAMES, "a.*", "a.b?c", "**", "a.b[-]c", "a..d", ".a", "a.", "h.*.i"])
def test_a_parameter_is_what_dvc_finds_under_its_name(text: str, asked: str, tmp_path: Path) -> None:
    file = tmp_path / "params.yaml"
    file.write_text(text)
    read = remembering(read_param_file, lambda fs: True)

    def found(by: Any) -> Any:
        try:
            return by(FS, str(file), ["a", asked], flatten=True)
        except Exception as error:
            return type(error)

    assert found(read) == found(read_param_file)
