"""The run "running · <date>": points while calls are made, and nothing left behind."""

import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import pytest

from driftledger.collect.progress import COUNTS, Progress
from driftledger.core.paths import STATE
from driftledger.core.types import Outcome, Result, Usage
from driftledger.tracking import live as showing
from driftledger.tracking.live import LIVE, shown_live
from driftledger.tracking.store import lock_of

ANSWERED = Result("a disc", usage=Usage(10, 5, cost=0.25))
LOST = Result("", Outcome.FAILED, error="503")
CALLS = "calls/models.gpt"


@pytest.fixture
def live(project, monkeypatch):
    monkeypatch.setattr(showing, "PERIOD", 0.1)
    (project.root / STATE).mkdir(exist_ok=True)
    project.settings = SimpleNamespace(tracking=project.tracking)
    return project


def make_calls(live, *results) -> None:
    with Progress("", 0, counts=live.root / STATE / COUNTS) as progress:
        progress.count(SimpleNamespace(entry_name="models.gpt"), results)


def run_with(live, calls):
    """Return the run that shows the calls, the only one, once it shows so many."""
    for _ in range(600):
        with live.client() as (client, experiment):
            query = f"tags.`{LIVE}` LIKE '%'"
            runs = client.search_runs([experiment or "0"], query)
        if [run.data.metrics.get(CALLS) for run in runs] == [calls]:
            return runs[0]
        time.sleep(0.1)
    return pytest.fail(f"{len(runs)} runs, none with {calls} calls")


def test_calls_are_points_of_a_run_that_goes_with_the_block(live):
    make_calls(live, ANSWERED)  # of an earlier run
    with shown_live(live):
        make_calls(live, ANSWERED, LOST)
        first = run_with(live, 2)
        assert first.info.run_name.startswith("running · 20")
        with lock_of(live.root, live.tracking):  # as 'track' does
            make_calls(live, ANSWERED)
            time.sleep(0.5)
            run_with(live, 2)
        metrics = run_with(live, 3).data.metrics
        assert 0 < metrics.pop("system/system_memory_usage_percentage") < 100
        assert 0 <= metrics.pop("system/cpu_utilization_percentage") <= 100
        assert metrics == {
            CALLS: 3,
            "failures/models.gpt": 1,
            "tokens/models.gpt": 30,
            "usd/models.gpt": 0.5,
        }
        with live.client() as (client, _):
            points = client.get_metric_history(first.info.run_id, CALLS)
        assert points[-1].step > points[0].step
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
    test.make_calls(live, test.ANSWERED)
    time.sleep(600)
"""


@pytest.mark.parametrize("has_calls", [True, False])
def test_the_next_run_removes_what_a_kill_has_left(has_calls, live):
    with subprocess.Popen([sys.executable, "-c", SCRIPT, live.root]) as process:
        try:
            run_with(live, 1)
        finally:
            process.kill()
    with shown_live(live):
        if has_calls:
            make_calls(live, ANSWERED, ANSWERED)
            run_with(live, 2)
        time.sleep(0.5)
    assert live.shown() == []


@pytest.mark.parametrize("listens", [True, False])
def test_a_dead_or_silent_server_holds_up_nothing(listens, live, monkeypatch, capsys):
    monkeypatch.setattr(showing, "PATIENCE", 0.5)
    threads = threading.active_count()
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        if listens:
            server.listen()
        address = f"http://127.0.0.1:{server.getsockname()[1]}"
        monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
        began = time.monotonic()
        with shown_live(live):
            make_calls(live, ANSWERED)
            time.sleep(1)
        assert time.monotonic() - began < 5
    while threading.active_count() > threads:
        time.sleep(0.1)
    said = (
        f"no progress is shown in MLflow, the calls go on: the MLflow store {address}"
    )
    assert capsys.readouterr().err.count(said) == 1
