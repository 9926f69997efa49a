"""Several processes with a store each: what they make is what one process makes, and nothing is asked twice."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from driftledger.collect.observations import Observed, read_observations
from driftledger.collect.shards import Shard
from driftledger.collect.store import CallStore
from driftledger.commands.collect import collect
from driftledger.commands.shards import collect_shard, merge, named_part
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.types import Conversation, Reply
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.rubric import Rubric
from driftledger.project.project import Project
from tests.commands.test_collect import asks_nobody, project, to_make, write_all
from tests.support.stores import stored_rows

__all__ = ["project"]


def records(project: Project) -> dict[str, bytes]:
    folders = [project.root / "data", project.root / "reports" / "scores"]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in files if "regions_coarse" in str(path)}


def stored(store: CallStore) -> dict[str, Any]:
    return {key: result.to_row() for key, result in store.get(stored_rows(store.folder)).items()}


def run_round(project: Project, of: int, into: Path, **chosen: Any) -> list[str]:
    return [collect_shard(Project(project.root), Shard(number, of), into, **chosen) for number in range(of)]


def test_shards_make_what_one_process_makes(project: Project, tmp_path: Path) -> None:
    collect(project)
    write_all(Project(project.root), "regions_coarse")
    reference = records(project)
    with project.store() as store:
        calls = stored(store)
    shutil.rmtree(project.state)
    into = tmp_path / "shards"
    for said in run_round(project, 3, into)[:2]:
        assert "some stages need what other shards make" in said
    assert not project.state.exists()
    last = run_round(project, 2, into)  # another number, from the others' stores alone
    assert "all is there" in last[-1]
    assert merge(project, [into]) == f"5 stores merged: {len(calls)} calls are new"
    assert set(to_make(project).values()) == {0}
    with project.store() as store:
        assert stored(store) == calls
        assert store.observations() == {}
    write_all(Project(project.root), "regions_coarse")
    assert records(project) == reference


def test_what_is_stored_somewhere_is_not_made_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect(project, benchmarks=["trac"])
    run_round(project, 1, tmp_path / "shards")
    monkeypatch.setattr(Blind, "respond", asks_nobody)
    monkeypatch.setattr(Rubric, "respond", asks_nobody)
    said = collect_shard(Project(project.root), Shard(1, 5), tmp_path / "shards")
    assert "there was nothing to make; all is there" in said


def test_a_call_that_gives_another_answer_is_told(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = Counter[str]()

    def moody(model: Blind, conversations: list[Conversation]) -> list[Reply]:
        asked["calls"] += len(conversations)
        return [Reply(f"mood {asked['calls']} {place}") for place, _ in enumerate(conversations)]

    monkeypatch.setattr(Blind, "respond", moody)
    for folder in ("one", "two"):
        collect_shard(Project(project.root), Shard(0, 1), tmp_path / folder, ["trac"], ["blind"])
    assert asked["calls"] == 2 * 2  # of four samples, two look like the other two
    assert merge(project, [tmp_path / "one"]) == "1 store merged: 2 calls are new"
    said = merge(project, [tmp_path / "two", tmp_path / "one"])
    assert said == "2 stores merged: 0 calls are new, 2 were made twice with different answers: the first stays"
    seen = {project.model("blind").fingerprint: Observed(name="blind", asked_again=2, other=2)}
    assert read_observations(project.paths.observations) == seen
    assert merge(project, [tmp_path / "two"]) == "1 store merged: 0 calls are new"
    assert read_observations(project.paths.observations) == seen


def test_what_is_not_a_store_is_named(project: Project, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is not a call store and holds none"):
        merge(project, [tmp_path / "nowhere"])
    with pytest.raises(ConfigError, match="go together"):
        named_part("0/2", None)
    with pytest.raises(ConfigError, match="--shard '2/2' is not a shard"):
        named_part("2/2", tmp_path)
