"""The run "running · <date>": points while calls are made, and nothing left behind."""

import socket
import subprocess
import sys
import time
from types import SimpleNamespace

import pytest

from driftledger.collect.progress import COUNTS
from driftledger.core.files import write_json
from driftledger.core.paths import STATE
from driftledger.tracking import live as showing
from driftledger.tracking.live import shown_live
from driftledger.tracking.store import lock_of

CALLS = "calls/models.gpt"


@pytest.fixture
def live(project, monkeypatch):
    monkeypatch.setattr(showing, "PERIOD", 0.1)
    project.settings = SimpleNamespace(tracking=project.tracking)
    return project


def set_calls(live, calls) -> None:
    write_json(live.root / STATE / COUNTS, {CALLS: calls})


def metrics_with(live, calls):
    """Return the points of the only run once it has shown so many calls."""
    for _ in range(300):
        runs = live.dump().get("runs", [])
        assert len(runs) < 2
        for run in runs:
            if calls in [value for key, _, value in run["metrics"] if key == CALLS]:
                return run["metrics"]
        time.sleep(0.1)
    return pytest.fail(f"{calls} calls are not shown")


def test_calls_are_points_of_a_run_that_goes_with_the_block(live):
    set_calls(live, 7)  # of an earlier run
    with shown_live(live):
        set_calls(live, 2)
        metrics_with(live, 2)
        with lock_of(live.root, live.tracking):  # as 'track' does
            before = metrics_with(live, 2)
            set_calls(live, 3)
            time.sleep(0.5)
            assert metrics_with(live, 2) == before
        metrics = metrics_with(live, 3)
        assert {key for key, _, _ in metrics} == {
            CALLS,
            "system/cpu_utilization_percentage",
            "system/system_memory_usage_percentage",
        }
        assert metrics[-1][1] > 0  # a step per point
        assert live.shown()[0][0].startswith("running · 20")
        assert "2 runs created" in live.track()
    assert len(live.shown()) == 2


SCRIPT = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from tests.tracking import test_live as test
from tests.tracking.project import settings
test.showing.PERIOD = 0.1
root = Path(sys.argv[1])
tracking = settings(root / "store")
live = SimpleNamespace(root=root, settings=SimpleNamespace(tracking=tracking))
with test.shown_live(live):
    test.set_calls(live, 1)
    time.sleep(600)
"""


@pytest.mark.parametrize("calls", [0, 5])
def test_the_next_run_removes_what_a_kill_has_left(calls, live):
    with subprocess.Popen([sys.executable, "-c", SCRIPT, live.root]) as process:
        metrics_with(live, 1)
        process.kill()
    with shown_live(live):
        if calls:
            set_calls(live, calls)
            metrics_with(live, calls)
    assert live.shown() == []


def test_a_silent_or_dead_server_holds_up_nothing(live, monkeypatch, capsys):
    monkeypatch.setattr(showing, "PATIENCE", 0.5)
    began = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        with shown_live(live):
            set_calls(live, 1)
            time.sleep(1)
    with shown_live(live):  # now it is dead
        set_calls(live, 1)
        time.sleep(1)
    assert time.monotonic() - began < 5
    said = (
        f"no progress is shown in MLflow, the calls go on: the MLflow store {address}"
    )
    assert capsys.readouterr().err.count(said) == 2  # once by each
