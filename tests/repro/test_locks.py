"""Locks that are written together: late, whole, and never over what somebody else has written."""

import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from driftledger.repro import locks as module
from driftledger.repro.lock_text import HEAD
from driftledger.repro.locks import Locks


def stages(**cmds: str) -> dict[str, Any]:
    return {name: {"cmd": cmd} for name, cmd in cmds.items()}


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    return tmp_path / "dvc.lock"


@pytest.fixture
def make(tmp_path: Path) -> Callable[[], Locks]:
    (tmp_path / "temporary").mkdir()
    return lambda: Locks(tmp_path / "temporary", tmp_path / "temporary")


def test_nothing_is_written_before_it_is_asked_for(make: Callable[[], Locks], lock: Path, tmp_path: Path) -> None:
    locks, other = make(), tmp_path / "other.lock"
    assert locks.note(lock, stages(a="1"))
    assert locks.note(other, stages(b="1"))
    assert locks.note(lock, stages(a="2"))
    assert locks.note(lock, stages(a="2")) is False
    assert [each.name for each in tmp_path.iterdir()] == ["temporary"]
    assert locks.has_noted
    locks.write()
    assert not locks.has_noted
    assert lock.read_text() == HEAD + "  a:\n    cmd: '2'\n"
    assert other.read_text() == HEAD + "  b:\n    cmd: '1'\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dvc.lock", "other.lock", "temporary"]


def test_what_others_write_meanwhile_stays(make: Callable[[], Locks], lock: Path) -> None:
    locks = make()
    lock.write_text(HEAD + "  a:\n    cmd: x\n")
    locks.note(lock, stages(b="y"))
    lock.write_text(HEAD + "  a:\n    cmd: z\n  c:\n    cmd: z\n")
    locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: z\n  c:\n    cmd: z\n  b:\n    cmd: y\n"
    lock.write_text(HEAD + "  d:\n    cmd: d\n")
    locks.note(lock, stages(e="e"))
    locks.write()
    assert lock.read_text() == HEAD + "  d:\n    cmd: d\n  e:\n    cmd: e\n"


def test_a_lock_that_becomes_dvcs_own_meanwhile_keeps_what_was_noted(make: Callable[[], Locks], lock: Path) -> None:
    locks = make()
    locks.note(lock, stages(b="y"))
    lock.write_text("# ours\n" + HEAD + "  a:\n    cmd: z\n")
    locks.write()
    assert yaml.safe_load(lock.read_text()) == {"schema": "2.0", "stages": stages(a="z", b="y")}
    assert lock.read_text().startswith("# ours\n")


def test_a_lock_that_dvc_must_write_holds_all_that_was_noted_before(make: Callable[[], Locks], lock: Path) -> None:
    locks, shared = make(), [1]
    locks.note(lock, stages(a="x"))
    assert locks.note(lock, {"b": {"cmd": "y", "one": shared, "two": shared}}) is None
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n"
    assert locks.note(lock, stages(c="z")) is None
    assert not locks.has_noted


def test_a_lock_keeps_its_rights_and_its_place(make: Callable[[], Locks], lock: Path, tmp_path: Path) -> None:
    place = tmp_path / "elsewhere"
    place.write_text(HEAD + "  a:\n    cmd: x\n")
    place.chmod(0o640)
    lock.symlink_to(place)
    locks = make()
    locks.note(lock, stages(a="y"))
    locks.write()
    assert lock.is_symlink()
    assert place.read_text() == HEAD + "  a:\n    cmd: y\n"
    assert stat.S_IMODE(place.stat().st_mode) == 0o640


def test_where_no_other_file_can_take_its_place_it_is_written_over(lock: Path, tmp_path: Path) -> None:
    locks = Locks(tmp_path / "missing", tmp_path / "missing")
    locks.note(lock, stages(a="x"))
    locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n"


@pytest.mark.parametrize("name", ["dvc.lock.partial", "dvc.lock.settled", "dvc.lock.settled.partial"])
def test_nothing_is_written_through_a_link_beside_dvcs_temporary_files(
    name: str, make: Callable[[], Locks], lock: Path, tmp_path: Path
) -> None:
    (tmp_path / "elsewhere").write_text("somebody's")
    (tmp_path / "temporary" / name).symlink_to(tmp_path / "elsewhere")
    locks = make()
    locks.note(lock, stages(a="x"))
    locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n"
    assert (tmp_path / "elsewhere").read_text() == "somebody's"
    assert [each.name for each in (tmp_path / "temporary").iterdir()] == ["dvc.lock.settled"]


def test_a_lock_that_cannot_be_written_keeps_no_other_unwritten(
    make: Callable[[], Locks], lock: Path, tmp_path: Path
) -> None:
    locks, others = make(), [tmp_path / name for name in ("bad.lock", "worse.lock")]
    for each in (*others, lock):
        locks.note(each, stages(a="x"))
    for each in others:
        each.mkdir()
    with pytest.raises(IsADirectoryError, match=r"bad\.lock"):
        locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n"
    assert locks.has_noted
    assert not locks.is_due
    for each in others:
        each.rmdir()
    locks.write()
    assert [each.read_text() for each in others] == [lock.read_text()] * 2


def test_time_passes_between_two_writings(
    make: Callable[[], Locks], lock: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 100.0
    monkeypatch.setattr(module.time, "monotonic", lambda: now)
    locks = make()
    locks.note(lock, stages(a="x"))
    assert not locks.is_due
    now += module.EVERY + 0.1
    assert locks.is_due
    locks.write()
    assert not locks.is_due


@pytest.fixture
def parsings(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts of locks that are parsed."""
    seen: list[str] = []
    parse = module.parsed
    monkeypatch.setattr(module, "parsed", lambda text, path: seen.append(text) or parse(text, path))
    return seen


def test_a_lock_that_is_as_dvc_writes_it_is_not_parsed_again_until_it_is_another(
    make: Callable[[], Locks], lock: Path, tmp_path: Path, parsings: list[str]
) -> None:
    locks = make()
    locks.note(lock, stages(a="1", b="2"))
    locks.write()
    before = lock.stat()
    again = Locks(tmp_path / "temporary", tmp_path / "temporary")
    assert again.note(lock, stages(b="2")) is False
    again.write()
    assert lock.stat() == before
    assert again.note(lock, stages(c="3"))
    again.write()
    assert parsings == [""]
    lock.write_text(HEAD + "  a:\n    cmd:   x\n")
    other = Locks(tmp_path / "temporary", tmp_path / "temporary")
    other.note(lock, stages(d="4"))
    other.write()
    assert parsings == ["", HEAD + "  a:\n    cmd:   x\n"]
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n  d:\n    cmd: '4'\n"


def test_a_lock_that_dvc_would_write_otherwise_again_is_parsed_each_time(
    make: Callable[[], Locks], lock: Path, tmp_path: Path, parsings: list[str]
) -> None:
    locks = make()
    locks.note(lock, {"a": {"cmd": "x", "moves": 7.493860291067043e-66}})
    locks.write()
    Locks(tmp_path / "temporary", tmp_path / "temporary").note(lock, stages(b="2"))
    assert parsings == ["", HEAD + "  a:\n    cmd: x\n    moves: 7.493860291067043e-66\n"]


@pytest.mark.parametrize("text", ["", "{", "[]", '{"x": 1}'])
def test_what_was_kept_of_locks_and_cannot_be_read_is_passed_over(
    text: str, make: Callable[[], Locks], lock: Path, tmp_path: Path
) -> None:
    locks = make()
    (tmp_path / "temporary" / "dvc.lock.settled").write_text(text)
    for cmd in "12":
        locks = Locks(tmp_path / "temporary", tmp_path / "temporary")
        assert locks.note(lock, stages(a=cmd))
        locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: '2'\n"
