"""``driftledger run``: all stages in one process, what DVC says afterwards, and nothing left behind
after a stop."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
from unittest.mock import DEFAULT, Mock

import pytest
import yaml

from driftledger.commands import books, collect, stages
from driftledger.commands import run as running
from driftledger.commands.run import outcome, run
from driftledger.core.errors import ConfigError, ServiceError
from driftledger.core.files import read_json, write_json
from driftledger.core.made import INPUTS, Made
from driftledger.core.paths import STATE
from driftledger.core.types import Outcome, Result
from driftledger.project.project import Project
from driftledger.reports import scores
from driftledger_demo.models.controls import Blind
from driftledger_demo.models.regions.model import Regions
from tests.conftest import REPOSITORY
from tests.support.cases import cases, each_case
from tests.support.ledgers import question_score
from tests.support.small import contents, edited, folders

PATIENCE = 60.0
MODEL = "regions_medium"
RECORDS = f"data/records/{MODEL}/genception/my_images/painter"
UNDERSTOOD = {"understood_by": ["painter", "layout", "rubric"]}
MADE = ["data", f"collect@{MODEL}", f"score@{MODEL}", "report"]


@pytest.fixture
def project(checkout, monkeypatch):
    """A project without the stage that fills MLflow; it is the current folder."""
    monkeypatch.chdir(checkout.root)
    pipeline = checkout.root / "dvc.yaml"
    text = pipeline.read_text()
    without = re.sub(r"  track:.*?\n\n", "", text, flags=re.DOTALL)
    assert len(without) < len(text)
    pipeline.write_text(without)
    return Project(checkout.root, own_code=True)


def fresh(project, **more):
    """Evaluate as a new process does, which reads the settings again."""
    return run(Project(project.root, own_code=True), **more)


def made_last(project):
    """The stages that the last run says it made."""
    log = (project.root / STATE / "run.log").read_text()
    return re.findall(r"^making (.+)$", log, re.MULTILINE)


def status(checkout):
    """The stages that DVC names, but the one that always runs."""
    named = re.findall(r"^(\S+):$", checkout.run("dvc", "status").stdout, re.MULTILINE)
    return {name for name in named if name != "resolve"}


def goes_on(project, checkout):
    """Finish what an earlier run has left; the stages that it makes."""
    assert fresh(project) == 0
    assert status(checkout) == set()
    return made_last(project)


def in_lock(project):
    lock = yaml.safe_load((project.root / "dvc.lock").read_text())
    return {*lock["stages"]}


@pytest.fixture
def two(project):
    """A project of two models, of which one does not look."""

    few = {"provider": "scenes", "protocol": "mme", "count": 13}
    over = {"run.mme": ["few"], "run.question_sets": ["few"]}
    models = {"run.models": [MODEL, "blind"]}
    return edited(project.root, over | models | {"question_sets": {"few": few}})


def test_a_run_makes_all_says_so_and_the_next_one_makes_nothing(
    project, checkout, capfd
):
    assert run(project) == 0
    out, err = capfd.readouterr()
    said = [line for line in err.splitlines() if line.startswith("making ")]
    assert said == [f"making {stage}" for stage in MADE]
    assert err.splitlines()[-1].startswith("4 stages were made, in 0:")
    assert made_last(project) == MADE
    assert "next: driftledger audit" in out
    assert status(checkout) == set()
    before = folders(project.root)
    files = contents(project.root)
    lock = (project.root / "dvc.lock").read_bytes()
    assert fresh(project) == 0
    assert made_last(project) == []
    last = capfd.readouterr().err.splitlines()[-1]
    assert re.fullmatch(r"nothing had to be done, in 0:\d\d:\d\d", last)
    assert folders(project.root) == before
    assert checkout.repro() == ["resolve"]
    page = project.root / "reports/leaderboard.md"
    text = page.read_bytes()
    at = page.stat().st_mtime_ns
    page.write_bytes(text.replace(b"regions", b"Regions"))
    os.utime(page, ns=(at, at))  # as nobody can see
    assert fresh(project, force=True, plain=True) == 0
    assert page.read_bytes() == text
    out, err = capfd.readouterr()
    assert "reading my_images" not in out  # the data are as they were
    assert made_last(project) == [f"collect@{MODEL}", f"score@{MODEL}", "report"]
    assert out.startswith(f"making collect@{MODEL}\n")
    assert contents(project.root) == files
    assert (project.root / "dvc.lock").read_bytes() == lock
    when = folders(project.root)
    scores = f"reports/scores/{MODEL}/genception/my_images/painter/layout"
    made = {name for name, at in before.items() if when[name] != at}
    assert made == {RECORDS, scores}


def test_dvc_repro_writes_the_same_bytes(project, checkout, tmp_path):
    other = checkout.copy(tmp_path / "other")
    assert run(project) == 0
    other.repro()
    assert other.outputs() == checkout.outputs()


def test_a_file_that_was_changed_is_made_again(project, checkout):
    assert run(project) == 0
    files = checkout.outputs()
    records = project.root / RECORDS / "records.jsonl"
    text = records.read_text()
    records.unlink()  # its bytes are in DVC's cache, too
    records.write_text(text + "\n")
    (project.root / "reports/leaderboard.md").write_text("# Mine\n")
    assert goes_on(project, checkout) == [f"collect@{MODEL}", "report"]
    assert checkout.outputs() == files


def test_a_lock_that_was_lost_is_written_and_nothing_else_is_made(project, checkout):
    assert run(project) == 0
    lock = project.root / "dvc.lock"
    before = lock.read_bytes()
    lock.unlink()
    assert fresh(project) == 0
    assert made_last(project) == []
    assert lock.read_bytes() == before


def test_what_others_have_pushed_is_pulled_before_anything_is_asked(
    project, checkout, tmp_path, monkeypatch
):
    checkout.run("dvc", "remote", "add", "--default", "ours", str(tmp_path / "ours"))
    assert run(project) == 0
    checkout.run("dvc", "push")
    files = contents(project.root)
    for name in ("data/records", "data/datasets", STATE, ".dvc/cache"):
        shutil.rmtree(project.root / name)
    respond = Regions.respond
    monkeypatch.setattr(Regions, "respond", None)
    assert fresh(project) == 0
    assert made_last(project) == []
    assert contents(project.root) == files
    # an older folder, as after 'git pull' without 'dvc pull'
    lock = (project.root / "dvc.lock").read_bytes()
    change = project.root / "params.yaml"
    text = change.read_text()
    monkeypatch.setattr(Regions, "respond", respond)
    edited(project.root, {"genception.iterations": 1})
    assert fresh(project) == 0
    change.write_text(text)
    (project.root / "dvc.lock").write_bytes(lock)
    shutil.rmtree(project.root / STATE)
    monkeypatch.setattr(Regions, "respond", None)
    assert fresh(project) == 0
    assert not [stage for stage in made_last(project) if "collect" in stage]
    assert contents(project.root) == files


def test_a_mistake_of_all_calls_ends_the_run_before_the_scores(
    checkout, project, capfd
):
    (checkout.root / "theirs.json").write_text('{"none of them": "Yes."}')
    theirs = {"provider": "predictions", "path": "theirs.json", **UNDERSTOOD}
    edited(project.root, {f"models.{MODEL}": theirs})
    assert run(project) == 2
    assert "its first id is 'none of them'" in capfd.readouterr().err.splitlines()[-1]
    assert not (project.root / "dvc.lock").exists()
    ended = outcome(project, 2)
    reason = ended["failed"].pop(MODEL)
    assert "its first id is 'none of them'" in reason
    report = str(project.root / "reports" / "site")
    assert ended == {"exit_code": 2, "scores": [], "failed": {}, "report": report}


ERRORS = {error.__name__: error for error in (ServiceError, ZeroDivisionError)}


@each_case(cases(__file__, "faults"))
def test_a_fault_takes_no_other_score(case, two, checkout, capfd, monkeypatch):
    """``scores`` are those of each model that are there; ``waits`` are stages that DVC names."""
    kind, text = case["error"]
    with monkeypatch.context() as patched:
        patched.setattr(case["patch"], Mock(side_effect=ERRORS[kind](text)))
        assert run(two) == 1
    said = capfd.readouterr().err
    for sentence, times in case["says"].items():
        assert said.count(sentence) == times
    for model in (MODEL, "blind"):
        scores = (two.root / "reports/scores" / model).glob("*/**/score.json")
        names = {path.relative_to(two.root).parts[3] for path in scores}
        assert names == {*case["scores"]}
    assert in_lock(two) == {"resolve", "data", "report"}
    assert status(checkout) >= {*case["waits"]}
    goes_on(two, checkout)


def test_a_failed_call_keeps_its_model_out_of_the_lock_and_is_made_again(
    two, checkout, capfd, monkeypatch
):
    respond = Blind.respond

    def answer(self, conversations):
        replies = respond(self, conversations)
        lost = Result("", Outcome.FAILED, error="503")
        return [lost, *replies[1:]]

    edited(two.root, {"mme.min_coverage": 0.1})
    with monkeypatch.context() as patched:
        patched.setattr(Blind, "respond", answer)
        fresh(two)
    said = capfd.readouterr().err
    assert "records failed and are in no score; 'driftledger run' makes failed" in said
    assert in_lock(two) >= {f"score@{MODEL}", "report"}
    assert not in_lock(two) & {"collect@blind", "score@blind"}
    assert "collect@blind" in status(checkout)
    checkout.run("driftledger", "stage", "collect", MODEL)
    goes_on(two, checkout)


def test_failed_records_are_counted_as_a_score_counts_them(project, monkeypatch):
    """The score of a judged benchmark calls also those gradings failed in which the judge gave
    nothing."""
    assert run(project) == 0
    mark = project.root / RECORDS / INPUTS
    made = read_json(mark, Made)
    for ended, scored, counted in [(2, 0, 2), (2, 6, 6), (0, 4, 4), (0, 0, 0)]:
        write_json(mark, made.model_copy(update={"failed": ended}))
        score = question_score("mm_vet").model_copy(
            update={"outcomes": {"failed": scored, "ok": 9}}
        )
        monkeypatch.setattr(scores, "selected_score", lambda *_, score=score: score)
        assert running._failed_records(project) == counted


def test_settings_that_change_meanwhile_are_of_the_next_run(
    project, checkout, monkeypatch
):
    """A model that is selected while calls are made is not up to date afterwards."""

    def meanwhile(*_):
        edited(project.root, {"run.models": [MODEL, "blind"]})
        return DEFAULT

    make = Mock(wraps=collect._make, side_effect=meanwhile)
    with monkeypatch.context() as patched:
        patched.setattr(collect, "_make", make)
        assert run(project) == 0
    assert in_lock(project) == {"resolve", *MADE}
    assert "collect@blind" in status(checkout)
    made = goes_on(project, checkout)
    assert made == ["collect@blind", "score@blind", "report"]


@pytest.mark.parametrize("at", [0, 1])
def test_a_kill_before_the_lock_is_written_loses_nothing(
    at, project, checkout, monkeypatch
):
    commits = Mock(side_effect=[DEFAULT] * at + [KeyboardInterrupt], wraps=books.commit)
    with monkeypatch.context() as patched:
        patched.setattr(running, "commit", commits)
        with pytest.raises(KeyboardInterrupt):
            run(project)
    monkeypatch.setattr(Regions, "respond", None)
    assert "@" not in " ".join(goes_on(project, checkout))
    assert in_lock(project) >= {*MADE}


@pytest.fixture
def other(project, checkout):
    """Another process, which holds the lock of DVC."""
    hold = "import sys; from dvc.repo import Repo, lock_repo\n"
    hold += "with lock_repo(Repo('.')): print('held', flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", hold]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(
        command, cwd=project.root, env=checkout.env, **pipes
    ) as process:
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_another_command_of_dvc_is_waited_for(project, checkout, other, capfd):
    threading.Timer(6, other.terminate).start()
    assert run(project) == 0
    assert "waiting: another command of DVC works here" in capfd.readouterr().err
    assert status(checkout) == set()


def test_where_another_command_of_dvc_stays_the_scores_are_shown(
    project, checkout, other, capfd, monkeypatch
):
    monkeypatch.setattr(books, "_BUSY", 0.0)
    assert run(project) == 1
    other.kill()
    other.wait()
    out, err = capfd.readouterr()
    assert "dvc.lock: another command of DVC works here" in err
    assert "next: driftledger audit" in out
    goes_on(project, checkout)


@each_case(cases(__file__, "conflicts"))
def test_a_conflict_of_a_merge_is_said_before_anything_starts(case, project, sentence):
    sentence(case, project.root)
    assert not (project.root / "data").exists()


def test_where_mlflow_alone_fails_the_scores_are_shown(
    checkout, project, capfd, monkeypatch
):
    shutil.copy(REPOSITORY / "dvc.yaml", project.root)
    away = Mock(side_effect=ConfigError("MLflow is away"))
    monkeypatch.setattr(running, "track", away)
    assert run(project) == 1
    out, err = capfd.readouterr()
    assert "track: MLflow is away" in err
    assert "next: driftledger audit" in out
    assert in_lock(project) >= {f"score@{MODEL}", "report"}


def test_only_one_run_at_a_time_and_only_in_a_project_of_dvc(
    project, tmp_path, monkeypatch
):
    def meanwhile(*_, begins):
        with pytest.raises(ConfigError, match="'driftledger run'"):
            fresh(project)
        return DEFAULT

    data = Mock(wraps=stages.data, side_effect=meanwhile)
    monkeypatch.setattr(running, "data", data)
    assert run(project) == 0
    data.assert_called_once()
    (project.root / ".git").rename(tmp_path / "git")
    with pytest.raises(ConfigError, match="Git repository, which DVC needs; run 'git"):
        run(project)
    (project.root / ".dvc/config").write_bytes(b"[[core\n\xff")
    with pytest.raises(ConfigError, match=r"/\.dvc/config cannot be read: "):
        run(project)
    (project.root / ".dvc").rename(tmp_path / "dvc")
    sentence = "is not a DVC project; 'driftledger init' makes it one"
    with pytest.raises(ConfigError, match=sentence):
        run(project)


SLOW = """
import time
import driftledger


@driftledger.model
def says(prompt, images):
    open("{}ed".format("ask"), "a").write("x")
    time.sleep(0.3)
    return "a red circle"
"""


@pytest.fixture
def slow(project):
    """A project whose model takes its time, and notes each call."""
    (project.root / "slowly.py").write_text(SLOW)
    says = {"provider": "slowly:says", **UNDERSTOOD}
    return edited(project.root, {f"models.{MODEL}": says})


def calls_of(project):
    file = project.root / "asked"
    return len(file.read_text()) if file.is_file() else 0


def wait_for(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("number", "code"),
    [
        (signal.SIGINT, 130),
        (signal.SIGTERM, 143),
        (signal.SIGHUP, 129),
        (signal.SIGKILL, -9),
    ],
)
def test_after_a_stop_the_next_run_goes_on(number, code, slow, checkout, tmp_path):
    command = [sys.executable, "-m", "driftledger", "run"]
    log = tmp_path / "told"
    with (
        log.open("w") as out,
        subprocess.Popen(
            command, cwd=slow.root, stdout=out, stderr=out, env=checkout.env
        ) as process,
    ):
        wait_for(lambda: calls_of(slow) > 1)
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
    if number != signal.SIGKILL:
        assert "stopped; 'driftledger run' goes on from here\n" in log.read_text()
    # which DVC empties before it writes them
    rwlock = slow.root / ".dvc/tmp/rwlock"
    rwlock.parent.mkdir(exist_ok=True)
    lock = slow.root / "dvc.lock"
    rwlock.touch()
    lock.write_text("schema: '2.0'\nstages:\n  data:\n")
    checkout.run("driftledger", "run")
    assert 16 <= calls_of(slow) <= 16 + 8  # a batch that was under way
    assert status(checkout) == set()
    # nobody's file is lost
    assert lock.with_name("dvc.lock.unreadable").read_text().startswith("schema")
    json.loads(rwlock.read_bytes())  # DVC's own


def test_a_closed_pipe_ends_nothing(slow, checkout):
    done = checkout.run("sh", "-c", "driftledger run 2>&1 | head -n 1")
    assert done.stdout == "making data\n"
    assert status(checkout) == set()
    checkout.run("driftledger", "run")
    assert made_last(slow) == []


def test_a_run_works_from_a_folder_below(project, checkout):
    below = project.root / "below"
    below.mkdir()
    checkout.run("sh", "-c", "cd below && driftledger run")
    assert status(checkout) == set()
    assert not [*below.iterdir()]
