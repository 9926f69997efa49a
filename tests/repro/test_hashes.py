"""Hashes are looked up once while nothing runs, and nobody sees what another does with them."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest

from driftledger.repro.hashes import Hashes


@dataclass
class Found:
    value: str


def output(path: str, protocol: str = "local", hash_name: str = "md5") -> Any:
    return SimpleNamespace(fs=SimpleNamespace(protocol=protocol), fs_path=path, hash_name=hash_name)


@pytest.fixture
def looked() -> list[str]:
    return []


@pytest.fixture
def hashes() -> Hashes:
    return Hashes()


@pytest.fixture
def look(hashes: Hashes, looked: list[str]) -> Any:
    def look(one: Any) -> tuple[Found, Found]:
        looked.append(one.fs_path)
        return Found(f"meta {len(looked)}"), Found(f"hash {len(looked)}")

    return hashes.remembering(look)


def test_a_place_is_looked_at_once_until_something_runs(hashes: Hashes, look: Any, looked: list[str]) -> None:
    for _ in range(3):
        assert look(output("/a")) == (Found("meta 1"), Found("hash 1"))
    assert look(output("/b"))[1] == Found("hash 2")
    assert look(output("/a", hash_name="md5-dos2unix"))[1] == Found("hash 3")
    run = hashes.forgetting(lambda: look(output("/a")))
    assert run()[1] == Found("hash 4")
    assert look(output("/a"))[1] == Found("hash 5")
    assert looked == ["/a", "/b", "/a", "/a", "/a"]


def test_what_ends_with_an_error_may_have_changed_something(hashes: Hashes, look: Any, looked: list[str]) -> None:
    def run(*_: Any, **__: Any) -> None:
        look(output("/a"))
        raise KeyError

    with pytest.raises(KeyError):
        hashes.forgetting(run)(1, two=2)
    look(output("/a"))
    assert looked == ["/a", "/a"]


def test_what_is_elsewhere_is_looked_at_each_time(look: Any, looked: list[str]) -> None:
    for _ in range(2):
        look(output("bucket/a", protocol="s3"))
    assert looked == ["bucket/a"] * 2


def test_two_readers_share_nothing(look: Any) -> None:
    look(output("/a"))[1].value = "changed"
    assert look(output("/a"))[1] == Found("hash 1")
