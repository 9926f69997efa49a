"""A push killed at any write and run again leaves what an undisturbed one leaves."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from driftledger.tracking.store import Pushed

from .contents import earlier_runs, two_runs
from .steps import KILLED, watch_statements, watch_writes
from .stores import Store

STARTS: dict[str, list[Any]] = {"empty": [], "after-another-push": earlier_runs()}


def _push(store: Store, kill_at: int | None) -> int:
    steps = watch_writes(kill_at)
    store.push(two_runs())
    return steps.count


def _push_dump_push(store: Store) -> dict[str, Any]:
    assert sum(store.push(two_runs())) == 2
    shown = store.dump()
    assert store.push(two_runs()) == Pushed(created=0, resumed=0, unchanged=2)
    return shown


def _push_killed_early(store: Store, statement: int) -> None:
    watch_statements(statement)
    store.push(two_runs())


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
def test_killed_at_each_write(
    new_store: Callable[[str], Store], in_child: Callable[..., Any], tmp_path: Path, start: str
) -> None:
    store = new_store("store")
    if STARTS[start]:
        in_child(store.push, STARTS[start])
    before = shutil.copytree(store.folder, tmp_path / "before")

    def start_anew() -> None:
        shutil.rmtree(store.folder)
        shutil.copytree(before, store.folder)

    writes = in_child(_push, store, None)
    expected = in_child(store.dump)
    assert writes > 10
    first = 1 + list(STARTS).index(start)  # odd writes from the one start, even ones from the other
    for kill_at in range(first, writes + 1, 2):
        start_anew()
        assert in_child(_push, store, kill_at) == KILLED
        assert in_child(_push_dump_push, store) == expected, f"killed at write {kill_at} of {writes}"


@pytest.mark.slow
@pytest.mark.parametrize("statement", [1, 30, 150, 400])
def test_killed_while_the_store_is_made(
    tmp_path: Any, mlflow_store: Store, in_child: Callable[..., Any], statement: int
) -> None:
    in_child(mlflow_store.push, two_runs())
    store = Store(tmp_path / "fresh")
    store.folder.mkdir()
    assert in_child(_push_killed_early, store, statement) == KILLED
    assert in_child(store.push, two_runs()) == Pushed(2, 0, 0)
    assert in_child(store.dump) == in_child(mlflow_store.dump)
    assert {entry.name for entry in store.folder.iterdir()} == {"mlflow.db", "mlartifacts", "state"}
