"""What a killed DVC leaves unreadable is removed, unless a living one holds it."""

from pathlib import Path

import pytest
from filelock import FileLock

from driftledger.project.rwlock import clear


def left(root: Path, content: str) -> Path:
    file = root / ".dvc" / "tmp" / "rwlock"
    file.parent.mkdir(parents=True)
    file.write_text(content, encoding="utf-8")
    return file


@pytest.mark.parametrize("content", ["", '{"write": {"/a/da'])
def test_what_nobody_can_read_is_removed(content: str, tmp_path: Path) -> None:
    file = left(tmp_path, content)
    assert clear(tmp_path) == [".dvc/tmp/rwlock is removed: a 'dvc' that was killed left it unreadable"]
    assert not file.exists()
    assert clear(tmp_path) == []


def test_what_dvc_can_read_stays(tmp_path: Path) -> None:
    file = left(tmp_path, '{"write": {}}')
    assert clear(tmp_path) == []
    assert file.exists()


def test_nothing_is_removed_while_dvc_is_writing(tmp_path: Path) -> None:
    file = left(tmp_path, "")
    with FileLock(file.with_name("rwlock.lock")):
        assert clear(tmp_path) == []
    assert file.exists()


def test_dvc_goes_on(tmp_path: Path) -> None:
    """With DVC's own code: it refuses what was left, and goes on once that is removed."""
    from dvc.fs import localfs
    from dvc.rwlock import RWLockFileCorruptedError, rwlock

    file = left(tmp_path, "")
    taken = (str(file.parent), localfs, "dvc repro", [], ["/a/data"], False)
    with pytest.raises(RWLockFileCorruptedError), rwlock(*taken):
        pass
    clear(tmp_path)
    with rwlock(*taken):
        assert clear(tmp_path) == []
