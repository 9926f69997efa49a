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
    return lambda: Locks(tmp_path / "partial")


def test_nothing_is_written_before_it_is_asked_for(make: Callable[[], Locks], lock: Path, tmp_path: Path) -> None:
    locks, other = make(), tmp_path / "other.lock"
    assert locks.note(lock, stages(a="1"))
    assert locks.note(other, stages(b="1"))
    assert locks.note(lock, stages(a="2"))
    assert locks.note(lock, stages(a="2")) is False
    assert list(tmp_path.iterdir()) == []
    assert locks.has_noted
    locks.write()
    assert not locks.has_noted
    assert lock.read_text() == HEAD + "  a:\n    cmd: '2'\n"
    assert other.read_text() == HEAD + "  b:\n    cmd: '1'\n"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["dvc.lock", "other.lock"]


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
    locks = Locks(tmp_path / "missing" / "partial")
    locks.note(lock, stages(a="x"))
    locks.write()
    assert lock.read_text() == HEAD + "  a:\n    cmd: x\n"


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
