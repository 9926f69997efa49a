"""``driftledger run``: calls first, then ``dvc repro`` with its text in a log, and nothing left
behind after a stop."""

import json
import os
import shlex
import signal
import stat
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from filelock import FileLock

from driftledger.collect.progress import COUNTS
from driftledger.commands import run as running
from driftledger.commands.run import outcome, run
from driftledger.core.errors import ConfigError
from driftledger.core.files import INPUTS, Made, read_json, write_json
from driftledger.core.paths import STATE
from driftledger.project.project import Project
from driftledger.reports import scores
from tests.conftest import stages_run
from tests.support.ledgers import question_score
from tests.support.small import contents, folders, matching

PATIENCE = 60.0
HOSTILE = "\x1b[2J\x9b1m\u202e[red]markup[/red]"
COLLECT = "collect@a"
RUNNING, SKIPPED = "Running stage '{}':", "Stage '{}' didn't change, skipping"
FAILED = (
    f"ERROR: failed to reproduce '{COLLECT}': failed to run: driftledger stage collect a, exited "
    "with 2"
)
BUSY = (
    "ERROR: failed to reproduce 'score@b': '/reports' is busy, it is being blocked by:"
)
TRACEBACK = ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>']
MODEL = "regions_medium"


@pytest.fixture
def project(checkout, monkeypatch):
    monkeypatch.chdir(checkout.root)
    return Project(checkout.root)


@pytest.fixture
def dvc(tmp_path, monkeypatch):
    """Put a command of that name in front, which runs these lines of shell; where it notes its
    arguments."""

    def make(*repro):
        seen, script = tmp_path / "seen", tmp_path / "bin" / "dvc"
        script.parent.mkdir(exist_ok=True)
        lines = [
            "#!/bin/sh",
            f'echo "$@" >> {shlex.quote(str(seen))}',
            *repro,
        ]
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.chmod(stat.S_IRWXU)
        path = os.pathsep.join(
            [str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
        )
        monkeypatch.setenv("PATH", path)
        return seen

    return make


def say(*texts):
    return "\n".join(f"printf '%s\\n' {shlex.quote(text)}" for text in texts)


def test_calls_are_made_before_dvc_starts_and_its_text_goes_to_the_log(
    project, dvc, capfd
):
    text = [
        RUNNING.format("resolve"),
        SKIPPED.format("data"),
        HOSTILE,
        RUNNING.format("track"),
    ]
    seen = dvc(say(*text))
    assert run(project) == 0
    assert [name for name in folders(project.root) if "records" in name] == [
        f"data/records/{MODEL}/genception/my_images/painter"
    ]
    out, err = capfd.readouterr()
    assert seen.read_text().splitlines() == ["repro"]
    log = project.root / STATE / "run.log"
    assert log.read_text(encoding="utf-8").splitlines() == text
    assert err.splitlines()[-1].startswith("nothing had to be done, in 0:")
    assert err.endswith("DVC's text is in .driftledger/run.log\n")
    assert "\x1b" not in out + err
    mark = (
        project.root / "data/records" / MODEL / "genception/my_images/painter" / INPUTS
    )
    write_json(mark, read_json(mark, Made).model_copy(update={"failed": 2}))
    assert run(project, ["report"]) == 0
    left = "2 records failed and are in no score; 'driftledger run' makes failed calls again"
    assert capfd.readouterr().err.splitlines()[-1] == left
    assert run(project) == 0
    assert read_json(mark, Made).failed == 0
    dvc(say(RUNNING.format("report"), RUNNING.format(COLLECT)))
    assert run(project, ["report", COLLECT]) == 0
    assert seen.read_text().splitlines()[-1] == f"repro report {COLLECT}"
    assert capfd.readouterr().err.splitlines()[-1].startswith("2 stages ran, in 0:")
    dvc(say(*text))
    assert run(project, ["report"], plain=True) == 0
    assert capfd.readouterr().out.splitlines()[:4] == text


def test_failed_records_are_counted_as_a_score_counts_them(project, dvc, monkeypatch):
    """The score of a judged benchmark calls also those gradings failed in which the judge gave
    nothing."""
    dvc()
    assert run(project, plain=True) == 0
    mark = (
        project.root / "data/records" / MODEL / "genception/my_images/painter" / INPUTS
    )
    made = read_json(mark, Made)
    for ended, scored, counted in [(2, 0, 2), (2, 6, 6), (0, 4, 4), (0, 0, 0)]:
        write_json(mark, made.model_copy(update={"failed": ended}))
        score = question_score("mm_vet").model_copy(
            update={"outcomes": {"failed": scored, "ok": 9}}
        )
        monkeypatch.setattr(scores, "selected_score", lambda *_, score=score: score)
        assert running._failed_records(project) == counted


def test_what_others_have_pushed_is_pulled_before_anything_is_asked(project, dvc):
    (project.root / ".dvc" / "config").write_text(
        "[core]\n    remote = storage\n", encoding="utf-8"
    )
    seen = dvc()
    assert run(project) == 0
    assert seen.read_text().splitlines() == [
        f"pull --quiet --allow-missing data collect@{MODEL}",
        "repro --pull",
    ]


@pytest.mark.parametrize(
    ("text", "dvcs_code", "code", "told"),
    [
        (
            [f"driftledger: {HOSTILE} is wrong", FAILED],
            255,
            2,
            f"driftledger: {COLLECT}: \\x1b[2J",
        ),
        (
            [*TRACEBACK, "KeyError: 'x'", FAILED],
            255,
            255,
            f"driftledger: {COLLECT}: 'x'",
        ),
        (
            ["driftledger: a note", *TRACEBACK, "KeyError: 'x'", FAILED],
            255,
            255,
            f"driftledger: {COLLECT}: 'x'",
        ),
        (
            [*TRACEBACK, "KeyError: 'x'", "driftledger: x is wrong", FAILED],
            255,
            2,
            f"driftledger: {COLLECT}: x is",
        ),
        (
            [FAILED],
            3,
            3,
            f"driftledger: {COLLECT}: failed to run: driftledger stage collect a",
        ),
        (
            [BUSY],
            255,
            255,
            "driftledger: score@b: '/reports' is busy, it is being blocked by:;",
        ),
        (
            ["driftledger: a note", BUSY],
            255,
            255,
            "driftledger: score@b: '/reports' is busy",
        ),
        ([], 3, 3, f"driftledger: {COLLECT}: DVC ended without saying why"),
    ],
)
def test_a_mistake_is_its_sentence_and_a_bug_keeps_dvcs_code(
    text, dvcs_code, code, told, project, dvc, capfd
):
    dvc(
        say("driftledger: an earlier stage complains", RUNNING.format(COLLECT), *text),
        f"exit {dvcs_code}",
    )
    assert run(project, ["report"]) == code
    line = capfd.readouterr().err.splitlines()[-1]
    assert line.startswith(told)
    assert line.endswith("; the whole text is in .driftledger/run.log")
    assert "\x1b" not in line


@pytest.mark.parametrize(
    ("seconds", "waits", "code"), [(2, True, 0), (600, True, 2), (2, False, 2)]
)
def test_a_process_that_is_in_the_way_is_named_and_waited_for(
    seconds, waits, code, project, dvc, capfd, monkeypatch
):
    monkeypatch.setattr(
        running, "_BUSY", min(PATIENCE, 10.0 * seconds) if code == 0 else 1.0
    )
    with subprocess.Popen(["sleep", str(seconds)]) as other:
        reaper = threading.Thread(target=other.wait)
        reaper.start()
        text = say(RUNNING.format(COLLECT), BUSY, f"  (PID {other.pid}): dvc repro")
        seen = dvc(
            f"if kill -0 {other.pid}; then {text}; exit 255; fi",
            say(RUNNING.format("score@b")),
        )
        assert run(replace(project, waits=waits), ["report"]) == code
        other.kill()
        reaper.join()
    told = capfd.readouterr().err.splitlines()
    named = f"score@b: '/reports' is busy, it is being blocked by: dvc repro (process {other.pid})"
    assert told.count(f"waiting: {named}") == waits
    if code:
        assert (
            told[-1]
            == f"driftledger: {named}; the whole text is in .driftledger/run.log"
        )
    else:
        assert len(seen.read_text().splitlines()) == 2
        assert told[-1].startswith("2 stages ran, in 0:")


@pytest.mark.parametrize("name", ["dvc.lock", "dvc.yaml", "params.yaml"])
def test_a_conflict_of_a_merge_is_said_before_anything_starts(name, project, dvc):
    seen = dvc()
    file = project.root / name
    if name == "dvc.lock":
        file.write_text("schema: '2.0'\nstages: {}\n", encoding="utf-8")
    first, *others = file.read_text(encoding="utf-8").splitlines()
    file.write_text(
        "\n".join([first, "<<<<<<< HEAD", *others, "=======", ">>>>>>> theirs", ""]),
        encoding="utf-8",
    )
    before = file.read_bytes()
    done = subprocess.run(
        [sys.executable, "-m", "driftledger", "run"],
        cwd=project.root,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert f"{name} is not " in done.stderr
    assert "line 2 begins a conflict of a merge; keep one of its sides" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert file.read_bytes() == before
    assert not seen.exists()


def test_a_mistake_of_the_calls_ends_the_run_before_dvc_starts(
    checkout, project, dvc, capfd
):
    (checkout.root / "theirs.json").write_text(
        '{"none of them": "Yes."}', encoding="utf-8"
    )
    theirs = {
        "provider": "predictions",
        "path": "theirs.json",
        "understood_by": ["painter", "layout", "rubric"],
    }
    checkout.params(lambda params: params["models"].update({MODEL: theirs}))
    seen = dvc()
    assert run(project) == 2
    assert "its first id is 'none of them'" in capfd.readouterr().err.splitlines()[-1]
    assert not seen.exists()
    ended = outcome(project, 2)
    reason = ended["failed"].pop(MODEL)
    assert "its first id is 'none of them'" in reason
    report = str(project.root / "reports" / "site")
    assert ended == {"exit_code": 2, "scores": [], "failed": {}, "report": report}


def test_where_mlflow_alone_fails_the_scores_are_shown(
    project, dvc, capfd, monkeypatch
):
    dvc(say(RUNNING.format("track"), "driftledger: MLflow is away"), "exit 255")
    shown: list[Any] = []
    monkeypatch.setattr(running, "show_scores", shown.append)
    assert run(project, ["track"]) == 2
    assert shown == [project]
    assert "track: MLflow is away" in capfd.readouterr().err


def test_only_one_run_at_a_time_and_only_in_a_project_of_dvc(
    project, dvc, tmp_path, capfd
):
    seen = dvc()
    lock = project.root / STATE / "run.lock"
    lock.parent.mkdir(parents=True)
    counts = lock.with_name(COUNTS)
    write_json(counts, {"calls/models.gpt": 1240, "usd/gpt": 1.204})
    with (
        FileLock(lock),
        pytest.raises(ConfigError, match="another 'driftledger run' is under way"),
    ):
        run(project)
    assert capfd.readouterr().err == "calls/models.gpt: 1,240\nusd/gpt: 1.2\n"
    assert not seen.exists()
    assert run(project, ["report"]) == 0
    assert not counts.exists()
    seen.unlink()
    (project.root / ".dvc").rename(tmp_path / "dvc")
    with pytest.raises(
        ConfigError, match="is not a DVC project; 'driftledger init' makes it one"
    ):
        run(project)
    assert not seen.exists()


def wait_for(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


def is_over(pid):
    return (
        not psutil.pid_exists(pid)
        or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
    )


@pytest.mark.parametrize(
    ("number", "code"),
    [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -9)],
)
def test_a_stop_ends_all_children_and_the_next_run_goes_on(
    number, code, project, dvc, tmp_path
):
    pids = tmp_path / "pids"
    dvc(
        say(RUNNING.format(COLLECT)),
        f"sleep 600 & echo $! $$ > {shlex.quote(str(pids))}",
        "wait",
    )
    command = [sys.executable, "-m", "driftledger", "run", "report"]
    log = tmp_path / "told"
    with (
        log.open("w") as out,
        subprocess.Popen(command, cwd=project.root, stdout=out, stderr=out) as process,
    ):
        wait_for(lambda: pids.is_file() and len(pids.read_text().split()) == 2)
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
    wait_for(lambda: all(is_over(int(pid)) for pid in pids.read_text().split()))
    if number != signal.SIGKILL:
        assert log.read_text().endswith(
            "stopped; 'driftledger run' goes on from here\n"
        )
    rwlock = (
        project.root / ".dvc" / "tmp" / "rwlock"
    )  # which DVC empties before it writes it
    rwlock.parent.mkdir(exist_ok=True)
    lock = project.root / "dvc.lock"
    rwlock.touch()
    lock.write_text("schema: '2.0'\nstages:\n  data:\n")
    dvc(say(RUNNING.format("resolve")))
    assert run(project, ["report"]) == 0
    assert not rwlock.exists()
    assert not lock.exists()
    # nobody's file is lost
    assert lock.with_name("dvc.lock.unreadable").read_text().startswith("schema")


@pytest.mark.slow
def test_a_run_with_nothing_to_do_shows_the_scores_and_force_makes_all_again(published):
    log = published.root / ".driftledger" / "run.log"
    done = published.run("driftledger", "run")
    assert stages_run(log.read_text(encoding="utf-8")) == ["resolve"]
    assert [
        line
        for line in done.stderr.splitlines()
        if line.startswith("nothing had to be done")
    ]
    assert any(line.startswith(f"{MODEL} ") for line in done.stdout.splitlines())
    assert (
        "next: driftledger audit regions_medium/painter/layout:gc_at_2" in done.stdout
    )

    before, when = contents(published.root), folders(published.root)
    done = published.run("driftledger", "run", "--force", "--json")
    ran = stages_run(log.read_text(encoding="utf-8"))
    assert ran == [
        "resolve",
        "data",
        f"collect@{MODEL}",
        f"score@{MODEL}",
        "report",
        "track",
    ]
    assert contents(published.root) == before
    ended = json.loads(done.stdout)
    assert (ended["exit_code"], ended["failed"]) == (0, {})
    [score] = [each for each in ended["scores"] if each["metric"] == "gc_at_2"]
    assert score["low"] < score["value"] < score["high"]
    assert "next: driftledger audit regions_medium" in done.stderr
    made = {name for name, at in folders(published.root).items() if when[name] != at}
    assert made == matching(when, ["data/records/*", "reports/scores/*"])
