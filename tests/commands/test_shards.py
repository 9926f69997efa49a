"""Several processes that share no database: what they make is what one process makes, and nothing is asked twice."""

import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from driftledger.collect.call_store import CallStore
from driftledger.collect.observations import Observed, read_observations
from driftledger.collect.shards import Shard
from driftledger.collect.spool import spools_in
from driftledger.commands.collect import collect
from driftledger.commands.shards import collect_shard, merge, named_part
from driftledger.core.errors import ConfigError, StoreError
from driftledger.core.types import Conversation, Reply
from driftledger.demo.models.blind import Blind
from driftledger.demo.models.rubric import Rubric
from driftledger.project.project import Project
from tests.commands.test_collect import asks_nobody, project, to_make, write_all

__all__ = ["project"]


def records(project: Project) -> dict[str, bytes]:
    folders = [project.root / "data", project.root / "reports" / "scores"]
    return {
        str(path): path.read_bytes()
        for folder in folders
        for path in folder.rglob("*")
        if path.is_file() and any(part in str(path) for part in ("blind", "regions_coarse"))
    }


def stored(store: CallStore) -> dict[str, list[Any]]:
    calls = dict(store._db.execute("SELECT key, made FROM calls").fetchall())
    return {key: [made, store.get([key])[key].to_row()] for key, made in calls.items()}


def run_round(project: Project, of: int, into: Path, **chosen: Any) -> list[str]:
    return [collect_shard(Project(project.root), Shard(number, of), into, **chosen) for number in range(of)]


def test_shards_make_what_one_process_makes(project: Project, tmp_path: Path) -> None:
    collect(project)
    write_all(Project(project.root), "regions_coarse")
    reference = records(project)
    with project.store() as store:
        calls = stored(store)
    shutil.rmtree(project.paths.state)
    into = tmp_path / "spool"
    for said in run_round(project, 3, into)[:2]:
        assert "some stages wait for what other shards make" in said
    assert not project.paths.state.exists()
    last = run_round(project, 2, into)  # another number, from the spools alone
    assert "all is there" in last[-1]
    assert "calls are new" in merge(project, [into])
    assert set(to_make(project).values()) == {0}
    with project.store() as store:
        assert stored(store) == calls
        assert store.observations() == {}
    write_all(Project(project.root), "regions_coarse")
    assert records(project) == reference


def test_what_is_stored_or_spooled_is_not_made_again(
    project: Project, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    into = tmp_path / "spool"
    collect(project, benchmarks=["trac"])
    run_round(project, 1, into)
    monkeypatch.setattr(Blind, "respond", asks_nobody)
    monkeypatch.setattr(Rubric, "respond", asks_nobody)
    before = spools_in(into)
    assert "there was nothing to make; all is there" in collect_shard(Project(project.root), Shard(1, 5), into)
    assert spools_in(into) == before


def test_a_call_that_gives_other_bytes_is_an_observation(
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
    assert merge(project, [tmp_path / "one"]) == "1 spool merged: 2 calls are new"
    said = merge(project, [tmp_path / "two", *spools_in(tmp_path / "one")])
    assert said == ("2 spools merged: 0 calls are new, 2 gave other bytes than before, which are kept as observations")
    seen = {project.model("blind").fingerprint: Observed(name="blind", asked_again=2, other=2)}
    assert read_observations(project.paths.observations) == seen
    before = project.paths.observations.read_bytes()
    merge(project, [tmp_path / "one", tmp_path / "two"])
    assert project.paths.observations.read_bytes() == before
    project.paths.observations.unlink()
    collect(Project(project.root), benchmarks=["trac"], models=["blind"])
    assert project.paths.observations.read_bytes() == before
    shutil.rmtree(project.paths.state)
    merge(project, [tmp_path / "one"])
    assert read_observations(project.paths.observations) == seen  # the store is disposable, what was seen stays


def test_what_is_no_spool_is_named(project: Project, tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="is no spool and holds none"):
        merge(project, [tmp_path / "nowhere"])
    with pytest.raises(ConfigError, match="go together"):
        named_part("0/2", None)
    with pytest.raises(ConfigError, match="go together"):
        named_part(None, tmp_path)
