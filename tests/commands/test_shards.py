"""Several processes with a store each: what they make is what one process makes, and nothing is asked twice."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from driftledger.collect.store import CallStore
from driftledger.commands.collect import collect, collect_shard, merge
from driftledger.core.errors import ConfigError, StoreError
from driftledger.project.project import Project
from driftledger_demo.models.controls import WordCounter
from driftledger_demo.models.rubric import Rubric
from tests.commands.test_collect import project, to_make
from tests.support.small import contents
from tests.support.stores import found, stored_rows

__all__ = ["project"]


MODELS = ["regions_medium", "blind"]


def asks_nobody(*_: Any) -> None:
    raise AssertionError("asked once more")


def stored(store: CallStore) -> dict[str, Any]:
    return {key: result.to_row() for key, result in found(store, stored_rows(store.folder)).items()}


def run_round(project: Project, of: int, into: Path, **chosen: Any) -> list[str]:
    return [collect_shard(Project(project.root), f"{number}/{of}", into, **chosen) for number in range(of)]


def test_shards_make_what_one_process_makes(project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    collect(project, MODELS)
    reference = contents(project.root)
    with project.store() as store:
        calls = stored(store)
    shutil.rmtree(project.state)
    shutil.rmtree(project.root / "data/records")
    into = tmp_path / "shards"
    for said in run_round(project, 3, into)[:2]:
        assert "stages need what other shards make; when all shards have ended, 'driftledger merge" in said
    assert not (project.state / "calls.db").exists()
    first = merge(project, [into])
    last = run_round(project, 2, into)  # another number
    assert "need what other shards make" not in last[-1]
    assert merge(project, [into]).startswith("5 stores merged: ")
    assert first.startswith("3 stores merged: ")
    assert set(to_make(project).values()) == {0}
    with project.store() as store:
        assert stored(store) == calls
    for component in (WordCounter, Rubric):
        monkeypatch.setattr(component, "respond", asks_nobody)
    said = collect_shard(Project(project.root), "1/5", into)
    assert "there was nothing to make; when" in said
    collect(Project(project.root), MODELS)
    assert contents(project.root) == reference


def test_what_is_not_a_store_is_named(project: Project, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a call store and holds none"):
        merge(project, [tmp_path / "nowhere"])
    with pytest.raises(ConfigError, match="--shard '2/2' is not a shard"):
        collect_shard(project, "2/2", tmp_path)
