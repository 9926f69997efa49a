"""Clones that are tracked to one MLflow at once leave what one alone leaves, also where one of them is killed."""

import shutil
import signal
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from driftledger.core.errors import LedgerError
from driftledger.tracking import store, turn, versions
from driftledger.tracking.content import FINGERPRINT, LoggedTrace, RunContent
from driftledger.tracking.store import Pushed

from .contents import EXPERIMENT, run, two_runs
from .steps import KILLED, watch_writes
from .stores import Child, Store
from .test_held import _again, held, pushed, told  # noqa: F401  # fixtures

LIVES = 600.0
"""Seconds: no test is so slow."""


class Clone:
    """Another checkout that is tracked to a store, and no lock file in common with others."""

    def __init__(
        self, shared: Store, name: str, lease: float = LIVES, stops_after: float = LIVES, renews: bool = True
    ) -> None:
        self._shared = shared
        self._seconds = lease, stops_after
        self._renews = renews
        self._lock = shared.folder.parent / name / "track.lock"

    def push(self, runs: list[RunContent], experiment: str = EXPERIMENT, kill_at: int | None = None) -> Pushed:
        turn.LEASE, turn._STOPS_AFTER = self._seconds
        turn._RENEWED_EVERY = turn._LOOKED_EVERY = 0.05
        if not self._renews:  # beside its writes
            turn.Turn._go_on_renewing = lambda _: None  # type: ignore[method-assign]
        watch_writes(kill_at)
        return store.push(runs, tracking_uri=self._shared.uri, experiment=experiment, lock=self._lock)

    def child(self, *arguments: Any) -> Child:
        return Child(self.push, *arguments)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory, migrated: Path, in_child: Callable[..., Any]) -> dict[str, Any]:
    """What one clone leaves."""
    undisturbed = Store(tmp_path_factory.mktemp("undisturbed"))
    shutil.copy(migrated / "mlflow.db", undisturbed.file)
    in_child(undisturbed.push, two_runs())
    shown: dict[str, Any] = in_child(undisturbed.dump)
    return shown


def slow_runs(seconds: float, sign: Path) -> list[RunContent]:
    """The first takes so long to write; meanwhile there is the file ``sign``, and none of a run is being written."""

    def wait() -> None:
        sign.touch()
        time.sleep(seconds)

    return runs_that(wait)


def runs_that(do: Callable[[], object]) -> list[RunContent]:
    """Something is done while the first is written, between two transactions."""
    first, second = two_runs()

    def traces() -> Iterable[LoggedTrace]:
        do()
        return first.traces()

    return [replace(first, traces=traces), second]


def fall_asleep() -> None:
    """Until somebody wakes this process."""
    signal.raise_signal(signal.SIGSTOP)


def wait_for(sign: Path) -> None:
    deadline = time.monotonic() + 60
    while not sign.exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def tags_left(shared: Store) -> list[str]:
    tags = shared.client().get_experiment(shared.experiment_id()).tags
    return [key for key in tags if key.startswith(turn.PREFIX)]


def test_three_clones_at_once(mlflow_store: Store, alone: dict[str, Any], in_child: Callable[..., Any]) -> None:
    children = [Clone(mlflow_store, name).child(two_runs()) for name in "abc"]
    outcomes = [child.result() for child in children]
    assert sorted(each.created for each in outcomes) == [0, 0, 2]
    assert sorted(each.unchanged for each in outcomes) == [0, 2, 2]
    assert in_child(mlflow_store.dump) == alone
    assert in_child(tags_left, mlflow_store) == []


def test_a_writer_that_takes_longer_than_the_lease_is_waited_for(
    mlflow_store: Store, alone: dict[str, Any], in_child: Callable[..., Any], tmp_path: Path
) -> None:
    slow = Clone(mlflow_store, "a").child(slow_runs(8, tmp_path / "writing"))
    wait_for(tmp_path / "writing")
    assert Clone(mlflow_store, "b", lease=5).child(two_runs()).result() == Pushed(0, 0, 2)
    assert slow.result() == Pushed(2, 0, 0)
    assert in_child(mlflow_store.dump) == alone


def test_what_a_killed_clone_has_begun_another_completes(
    mlflow_store: Store,
    alone: dict[str, Any],
    in_child: Callable[..., Any],
    tmp_path: Path,
    capfd: pytest.CaptureFixture[str],
) -> None:
    killed = Clone(mlflow_store, "a").child(slow_runs(600, tmp_path / "writing"))
    wait_for(tmp_path / "writing")
    killed.kill()
    assert Clone(mlflow_store, "b", lease=1).child(two_runs()).result() == Pushed(created=1, resumed=1, unchanged=0)
    assert in_child(mlflow_store.dump) == alone
    assert in_child(tags_left, mlflow_store) == []
    assert capfd.readouterr().out == (
        f"another clone is writing to the MLflow experiment {EXPERIMENT!r}; waiting for it (at most 1 s if it was "
        "killed)\n"
    )


def test_a_clone_does_not_wait_for_what_it_was_itself(mlflow_store: Store, in_child: Callable[..., Any]) -> None:
    clone = Clone(mlflow_store, "a")  # with a lease that no test outlives
    assert in_child(clone.push, two_runs(), EXPERIMENT, 12) == KILLED
    assert sum(in_child(clone.push, two_runs())) == 2
    assert in_child(tags_left, mlflow_store) == []


def test_a_clone_that_slept_writes_nothing_more(
    mlflow_store: Store, alone: dict[str, Any], in_child: Callable[..., Any]
) -> None:
    asleep = Clone(mlflow_store, "a", stops_after=8, renews=False).child(runs_that(fall_asleep))
    asleep.wait_until_asleep()
    assert Clone(mlflow_store, "b", lease=9).child(two_runs()).result() == Pushed(created=1, resumed=1, unchanged=0)
    asleep.signal(signal.SIGCONT)
    with pytest.raises(LedgerError, match="this process did not answer for a while"):
        asleep.result()
    assert in_child(mlflow_store.dump) == alone
    assert in_child(tags_left, mlflow_store) == []


def test_a_clone_that_slept_before_it_had_a_number_takes_no_turn(
    mlflow_store: Store, alone: dict[str, Any], in_child: Callable[..., Any]
) -> None:
    slow = Clone(mlflow_store, "a", stops_after=8, renews=False)
    asleep = Child(_push_asleep_before_its_number, slow)
    asleep.wait_until_asleep()
    assert Clone(mlflow_store, "b", lease=9).child(two_runs()).result() == Pushed(2, 0, 0)
    asleep.signal(signal.SIGCONT)
    with pytest.raises(LedgerError, match="this process did not answer for a while"):
        asleep.result()
    assert in_child(mlflow_store.dump) == alone
    assert in_child(tags_left, mlflow_store) == []


def _push_asleep_before_its_number(clone: Clone) -> Pushed:
    look = turn.Turn._others

    def look_and_sleep(self: turn.Turn) -> dict[str, str]:
        others = look(self)
        turn.Turn._others = look  # type: ignore[method-assign]
        fall_asleep()
        return others

    turn.Turn._others = look_and_sleep  # type: ignore[method-assign]
    return clone.push(two_runs())


def test_two_experiments_at_once_register_a_component_once(
    mlflow_store: Store, monkeypatch: pytest.MonkeyPatch, in_child: Callable[..., Any]
) -> None:
    """The other's writer registers the version after this one has looked for it."""
    assert in_child(_registered_in_between, mlflow_store, monkeypatch) == Pushed(1, 0, 0)
    assert in_child(_versions, mlflow_store) == [("generator.painter", 1, "aa11")]


def _registered_in_between(shared: Store, monkeypatch: pytest.MonkeyPatch) -> Pushed:
    first, make = [True], versions.Versions._registered_model

    def late(self: versions.Versions, component: Any) -> None:
        if first.pop() if first else False:
            Clone(shared, "b").push([run("f1")], "another experiment")
        make(self, component)

    monkeypatch.setattr(versions.Versions, "_registered_model", late)
    return Clone(shared, "a").push([run("f1")])


def _versions(shared: Store) -> list[tuple[str, int, str]]:
    found = shared.client().search_model_versions()
    return [(each.name, int(each.version), each.tags[FINGERPRINT]) for each in found]


def test_doubles_of_earlier_versions_are_merged_by_any_push(held: Store) -> None:  # noqa: F811
    was = held.dump()
    _again(held)
    assert len(told(held)) == 10
    assert held.push([]).merged == 10
    assert [len(held.dump()[kind]) for kind in ("logged_models", "registered_versions")] == [
        len(was[kind]) for kind in ("logged_models", "registered_versions")
    ]


@pytest.mark.parametrize("value", ["0 1", "nonsense"])
def test_a_tag_that_nobody_renews_is_removed(mlflow_store: Store, in_child: Callable[..., Any], value: str) -> None:
    assert in_child(_behind_a_stale_tag, mlflow_store, value) == Pushed(2, 0, 0)
    assert in_child(tags_left, mlflow_store) == []


def _behind_a_stale_tag(shared: Store, value: str) -> Pushed:
    client = shared.client()
    made = client.create_experiment(EXPERIMENT, (shared.folder / "mlartifacts").as_uri())
    client.set_experiment_tag(made, f"{turn.PREFIX}stale", value)
    return Clone(shared, "a", lease=1).push(two_runs())


def test_nothing_is_noted_where_nothing_is_written(mlflow_store: Store) -> None:
    mlflow_store.push(two_runs())
    assert [entry.name for entry in mlflow_store.lock.parent.iterdir()] == ["track.lock"]
    mlflow_store.push(two_runs())
    assert [entry.name for entry in mlflow_store.lock.parent.iterdir()] == ["track.lock"]
