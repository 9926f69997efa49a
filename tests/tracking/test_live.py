"""The run "running · <date>": points while calls are made, and nothing left behind."""

import signal
import subprocess
import sys
import textwrap
import time
from contextlib import contextmanager

import pytest
from mlflow.entities import ViewType

from driftledger.collect.progress import COUNTS, Progress
from driftledger.core.files import write_json
from driftledger.core.paths import STATE
from driftledger.core.types import Outcome, Result, Usage
from driftledger.project.project import Project
from driftledger.tracking.live import LIVE, MARK, SEEN, shown_live
from driftledger.tracking.store import opened
from tests.support.small import make_small

PERIOD = 0.1
SERVICE = "a" * 64
PAINTER = "b" * 64
ANSWERED = Result("a disc", usage=Usage(10, 5, cost=0.25))
LOST = Result("", Outcome.FAILED, error="503")


@pytest.fixture
def live(tmp_path, store, monkeypatch) -> Project:
    """A project whose store is a real SQLite file, and whose entries are noted."""
    make_small(tmp_path)
    params = tmp_path / "params.yaml"
    text = params.read_text().replace("sqlite:///mlflow.db", store.uri)
    params.write_text(text)
    monkeypatch.setenv("MLFLOW_TRACKING_URI", store.uri)
    noted = {"models": {"gpt": SERVICE}, "generators": {"painter": PAINTER}}
    write_json(tmp_path / "data/resolved.json", noted)
    (tmp_path / STATE).mkdir(exist_ok=True)
    project = Project(tmp_path)
    assert project.settings.tracking.uri == store.uri
    return project


def make_calls(project, fingerprint, *results) -> None:
    with Progress("", 0, counts=project.root / STATE / COUNTS) as progress:
        progress.note(fingerprint, results)


def runs(project, view=ViewType.ACTIVE_ONLY):
    with opened(project.settings.tracking, create=True) as client:
        experiment = client.get_experiment_by_name(project.settings.tracking.experiment)
        if experiment is None:
            return []
        return client.search_runs(
            [experiment.experiment_id], f"tags.`{LIVE}` LIKE '%'", view
        )


def wait_for(condition):
    began = time.monotonic()
    while not (value := condition()):
        assert time.monotonic() - began < 60
        time.sleep(0.05)
    return value


def history(project, run_id, name):
    with opened(project.settings.tracking, create=False) as client:
        return [point.value for point in client.get_metric_history(run_id, name)]


def test_calls_are_points_of_a_run_that_goes_with_the_block(live):
    with shown_live(live, PERIOD):
        make_calls(live, SERVICE, ANSWERED, LOST)
        make_calls(live, PAINTER, Result(""))
        [run] = wait_for(lambda: runs(live))
        assert run.info.run_name.startswith("running · 20")
        make_calls(live, SERVICE, ANSWERED)
        calls = "calls/models.gpt"
        wait_for(lambda: 3 in history(live, run.info.run_id, calls))
        [run] = runs(live)
        points = history(live, run.info.run_id, calls)
        assert points == sorted(points)
        shown = {
            k: v for k, v in run.data.metrics.items() if not k.startswith("system/")
        }
        assert shown == {
            calls: 3,
            "failures/models.gpt": 1,
            "tokens/models.gpt": 30,
            "usd/models.gpt": 0.5,
            "calls/generators.painter": 1,
            "failures/generators.painter": 0,
        }
    assert runs(live) == []
    assert not (live.root / STATE / MARK).exists()
    [deleted] = runs(live, ViewType.ALL)
    assert deleted.info.status == "FINISHED"


def test_a_run_without_calls_is_not_shown(live):
    make_calls(live, SERVICE, ANSWERED)  # of an earlier run
    with shown_live(live, PERIOD):
        time.sleep(5 * PERIOD)
    assert runs(live, ViewType.ALL) == []


@contextmanager
def killed(project):
    """Show calls in a process that is killed after its first point."""
    script = f"""
        import time
        from pathlib import Path
        from driftledger.project.project import Project
        from driftledger.tracking.live import shown_live
        from tests.tracking.test_live import ANSWERED, SERVICE, make_calls
        project = Project(Path({str(project.root)!r}))
        with shown_live(project, {PERIOD}):
            make_calls(project, SERVICE, ANSWERED)
            time.sleep(600)
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.send_signal(signal.SIGKILL)


@pytest.mark.parametrize("has_calls", [True, False])
def test_the_next_run_removes_what_a_kill_has_left(has_calls, live):
    with killed(live):
        [left] = wait_for(lambda: runs(live))
        wait_for(lambda: history(live, left.info.run_id, "calls/models.gpt"))
    assert len(runs(live)) == 1
    with shown_live(live, PERIOD):
        if has_calls:
            make_calls(live, SERVICE, ANSWERED)
        wait_for(
            lambda: left.info.run_id not in {each.info.run_id for each in runs(live)}
        )
        if has_calls:
            wait_for(lambda: len(runs(live)) == 1)
    assert runs(live) == []


def test_of_other_clones_only_what_is_silent_is_removed(live):
    with shown_live(live, PERIOD):
        make_calls(live, SERVICE, ANSWERED)
        [own] = wait_for(lambda: runs(live))
    now = time.time()
    with opened(live.settings.tracking, create=False) as client:
        for name, seen in (("at work", now - 300), ("killed", now - 900)):
            tags = {LIVE: "another", SEEN: str(seen)}
            client.create_run(own.info.experiment_id, run_name=name, tags=tags)
    (live.root / STATE / MARK).touch()
    with shown_live(live, PERIOD):
        pass
    assert [each.info.run_name for each in runs(live)] == ["at work"]


def test_a_dead_server_is_said_once_and_holds_up_nothing(live, monkeypatch, capsys):
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "http://127.0.0.1:9")
    began = time.monotonic()
    with shown_live(live, PERIOD):
        for _ in range(10):
            make_calls(live, SERVICE, ANSWERED)
            time.sleep(PERIOD)
    assert time.monotonic() - began < 30
    assert capsys.readouterr().err == (
        "no progress is shown in MLflow, the calls go on: the MLflow store http://127.0.0.1:9 "
        "cannot be used: the connection was refused\n"
    )
