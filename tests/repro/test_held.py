"""A lock that its caller holds already is not taken again, and every other is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from dvc.fs import LocalFileSystem
from dvc.rwlock import rwlock

from driftledger.repro.held import Lock, once

TAKEN = list[tuple[list[str], list[str]]]


@pytest.fixture
def taken() -> TAKEN:
    """What is taken, in order."""
    return []


@pytest.fixture
def lock(taken: TAKEN, tmp_path: Any) -> Any:
    @contextmanager
    def take(tmp_dir: str, fs: Any, cmd: str, read: Any, write: Any, hardlink: bool) -> Iterator[None]:
        taken.append((list(read), list(write)))
        with rwlock(tmp_dir, fs, cmd, list(read), list(write), hardlink):
            yield

    held: Lock = once(take)
    return lambda read, write: held(str(tmp_path), LocalFileSystem(), "x", read, write, False)


def test_what_is_held_covers_what_is_asked_for_inside(lock: Any, taken: TAKEN) -> None:
    with lock(["/a", "/b"], ["/c"]):
        with lock(["/a", "/c"], []), lock([], ["/c"]), lock([], []):
            pass
        assert taken == [(["/a", "/b"], ["/c"])]
        with lock([], ["/a"]):  # which is held for reading only
            pass
        with lock(["/d"], []):
            pass
    assert taken[1:] == [([], ["/a"]), (["/d"], [])]


def test_what_was_given_back_is_taken_again(lock: Any, taken: TAKEN) -> None:
    with pytest.raises(KeyError), lock([], ["/a"]):
        raise KeyError
    with lock([], ["/a"]), lock(["/a"], ["/b"]), lock([], ["/a", "/b"]):
        pass
    with lock([], ["/b"]):
        pass
    assert taken == [([], ["/a"]), ([], ["/a"]), (["/a"], ["/b"]), ([], ["/b"])]
