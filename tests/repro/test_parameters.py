"""Files of parameters are parsed once per content, and nobody sees what another does with them."""

from pathlib import Path
from typing import Any

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
    assert counted.times == 4
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
