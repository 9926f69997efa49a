"""What a folder says of its files is other as soon as one of them may be."""

import os
from pathlib import Path

import pytest
from driftledger.core.file_states import files_in, own_code

import driftledger
from driftledger.core import file_states


def test_files_are_told_by_name_size_and_time(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for name in "ba":
        (tmp_path / name).write_text(name * 3)
        os.utime(tmp_path / name, ns=(1, 2))
    assert files_in(tmp_path) == [("a", 3, 2), ("b", 3, 2)]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for file in ("__init__.py", "metrics/drift.py", "presets/default.yaml", "__pycache__/drift.pyc"):
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("x")
    monkeypatch.setattr(file_states, "driftledger", type("Package", (), {"__file__": str(tmp_path / "__init__.py")}))
    return tmp_path


def state() -> str:
    own_code.cache_clear()
    return own_code()


def test_code_is_another_when_a_file_of_it_is(package: Path) -> None:
    states = [state(), state()]
    assert states[0] == states[1]
    (package / "__pycache__" / "more.pyc").write_text("x")
    assert state() == states[0]
    (package / "metrics" / "drift.py").write_text("xy")
    states.append(state())
    (package / "presets" / "new.yaml").write_text("x")
    states.append(state())
    (package / "metrics" / "drift.py").rename(package / "metrics" / "other.py")
    states.append(state())
    os.utime(package / "__init__.py", ns=(1, 2))
    states.append(state())
    own_code.cache_clear()
    assert len({*states}) == len(states) - 1


def test_our_own_code_is_told() -> None:
    assert len(own_code()) == 64
    assert Path(driftledger.__file__).name in {name for name, *_ in files_in(Path(driftledger.__file__).parent)}
