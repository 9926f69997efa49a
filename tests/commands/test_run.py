"""``driftledger run``: all stages in one process, what DVC says afterwards, and nothing left behind
after a stop."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
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
from tests.conftest import REPOSITORY, make_checkout
from tests.support.cases import cases, each_case
from tests.support.ledgers import question_score
from tests.support.locked import holding
from tests.support.small import contents, edited, folders, without_tracking

PATIENCE = 60.0
MODEL = "regions_medium"
RECORDS = f"data/records/{MODEL}/genception/my_images/painter"
UNDERSTOOD = {"understood_by": ["painter", "layout", "rubric"]}
MADE = ["data", f"collect@{MODEL}", f"score@{MODEL}", "report"]


@pytest.fixture
def project(checkout, monkeypatch):
    """A project of which nothing is made; it is the current folder."""
    monkeypatch.chdir(checkout.root)
    without_tracking(checkout.root)
    return checkout


@pytest.fixture(scope="module")
def first_run(tmp_path_factory):
    """A project in which everything is made, to be copied."""
    checkout = make_checkout(tmp_path_factory.mktemp("first"))
    without_tracking(checkout.root)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(checkout.root)
        assert fresh(checkout) == 0
    return checkout


@pytest.fixture
def made(first_run, tmp_path, monkeypatch):
    """A copy of it; it is the current folder."""
    copy = first_run.copy(tmp_path / "made")
    monkeypatch.chdir(copy.root)
    return copy


@pytest.fixture
def unlocked(made):
    """The same without ``dvc.lock`` and without one page of the report."""
    (made.root / "dvc.lock").unlink()
    (made.root / "reports/leaderboard.md").unlink()
    return made


def opened(project):
    return Project(project.root, own_code=True)


def fresh(project, **more):
    """Evaluate as a new process does, which reads the settings again."""
    return run(opened(project), **more)


def made_last(project):
    """The stages that the last run says it made."""
    log = (project.root / STATE / "run.log").read_text()
    return re.findall(r"^making (.+)$", log, re.MULTILINE)


def status(project):
    """The stages that DVC names, but the one that always runs."""
    named = re.findall(r"^(\S+):$", project.run("dvc", "status").stdout, re.MULTILINE)
    return {name for name in named if name != "resolve"}


def goes_on(project):
    """Finish what an earlier run has left; the stages that it makes."""
    assert fresh(project) == 0
    assert status(project) == set()
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
    edited(project.root, over | models | {"question_sets": {"few": few}})
    return project


def test_a_run_makes_all_says_so_and_the_next_one_makes_nothing(project, capfd):
    assert fresh(project) == 0
    out, err = capfd.readouterr()
    said = [line for line in err.splitlines() if line.startswith("making ")]
    assert said == [f"making {stage}" for stage in MADE]
    assert err.splitlines()[-1].startswith("4 stages were made, in 0:")
    assert made_last(project) == MADE
    assert "next: driftledger audit" in out
    assert status(project) == set()
    before = folders(project.root)
    files = contents(project.root)
    lock = (project.root / "dvc.lock").read_bytes()
    assert fresh(project) == 0
    assert made_last(project) == []
    last = capfd.readouterr().err.splitlines()[-1]
    assert re.fullmatch(r"nothing had to be done, in 0:\d\d:\d\d", last)
    assert folders(project.root) == before
    assert project.repro() == ["resolve"]
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


def test_dvc_repro_writes_the_same_bytes(made):
    files = made.outputs()
    for folder in ("data", "reports", STATE, ".dvc/cache"):
        shutil.rmtree(made.root / folder)
    (made.root / "dvc.lock").unlink()
    made.repro()
    assert made.outputs() == files


def test_a_file_that_was_changed_is_made_again(made):
    files = made.outputs()
    records = made.root / RECORDS / "records.jsonl"
    text = records.read_text()
    records.unlink()  # its bytes are in DVC's cache, too
    records.write_text(text + "\n")
    (made.root / "reports/leaderboard.md").write_text("# Mine\n")
    assert goes_on(made) == [f"collect@{MODEL}", "report"]
    assert made.outputs() == files


def test_a_lock_that_was_lost_is_written_and_nothing_else_is_made(made):
    lock = made.root / "dvc.lock"
    before = lock.read_bytes()
    lock.unlink()
    assert fresh(made) == 0
    assert made_last(made) == []
    assert lock.read_bytes() == before


def test_what_others_have_pushed_is_pulled_before_anything_is_asked(
    made, tmp_path, monkeypatch
):
    made.run("dvc", "remote", "add", "--default", "ours", str(tmp_path / "ours"))
    made.run("dvc", "push")
    files = contents(made.root)
    for name in ("data/records", "data/datasets", STATE, ".dvc/cache"):
        shutil.rmtree(made.root / name)
    respond = Regions.respond
    monkeypatch.setattr(Regions, "respond", None)
    assert fresh(made) == 0
    assert made_last(made) == []
    assert contents(made.root) == files
    # an older folder, as after 'git pull' without 'dvc pull'
    lock = (made.root / "dvc.lock").read_bytes()
    change = made.root / "params.yaml"
    text = change.read_text()
    monkeypatch.setattr(Regions, "respond", respond)
    edited(made.root, {"genception.iterations": 1})
    assert fresh(made) == 0
    change.write_text(text)
    (made.root / "dvc.lock").write_bytes(lock)
    shutil.rmtree(made.root / STATE)
    monkeypatch.setattr(Regions, "respond", None)
    assert fresh(made) == 0
    assert not [stage for stage in made_last(made) if "collect" in stage]
    assert contents(made.root) == files


def test_a_mistake_of_all_calls_ends_the_run_before_the_scores(project, capfd):
    (project.root / "theirs.json").write_text('{"none of them": "Yes."}')
    theirs = {"provider": "predictions", "path": "theirs.json", **UNDERSTOOD}
    edited(project.root, {f"models.{MODEL}": theirs})
    assert fresh(project) == 2
    assert "its first id is 'none of them'" in capfd.readouterr().err.splitlines()[-1]
    assert not (project.root / "dvc.lock").exists()
    ended = outcome(opened(project), 2)
    reason = ended["failed"].pop(MODEL)
    assert "its first id is 'none of them'" in reason
    report = str(project.root / "reports" / "site")
    assert ended == {"exit_code": 2, "scores": [], "failed": {}, "report": report}


ERRORS = {error.__name__: error for error in (ServiceError, ZeroDivisionError)}


@each_case(cases(__file__, "faults"))
def test_a_fault_takes_no_other_score(case, two, capfd, monkeypatch):
    """``scores`` are those of each model that are there; ``waits`` are stages that DVC names."""
    kind, text = case["error"]
    with monkeypatch.context() as patched:
        patched.setattr(case["patch"], Mock(side_effect=ERRORS[kind](text)))
        assert fresh(two) == 1
    said = capfd.readouterr().err
    for sentence, times in case["says"].items():
        assert said.count(sentence) == times
    for model in (MODEL, "blind"):
        scores = (two.root / "reports/scores" / model).glob("*/**/score.json")
        names = {path.relative_to(two.root).parts[3] for path in scores}
        assert names == {*case["scores"]}
    assert in_lock(two) == {"resolve", "data", "report"}
    if case["waits"]:
        assert status(two) >= {*case["waits"]}
    goes_on(two)


def test_a_failed_call_keeps_its_model_out_of_the_lock_and_is_made_again(
    two, capfd, monkeypatch
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
    assert "collect@blind" in status(two)
    two.run("driftledger", "stage", "collect", MODEL)
    goes_on(two)


def test_failed_records_are_counted_as_a_score_counts_them(made, monkeypatch):
    """The score of a judged benchmark calls also those gradings failed in which the judge gave
    nothing."""
    mark = made.root / RECORDS / INPUTS
    noted = read_json(mark, Made)
    for ended, scored, counted in [(2, 0, 2), (2, 6, 6), (0, 4, 4), (0, 0, 0)]:
        write_json(mark, noted.model_copy(update={"failed": ended}))
        score = question_score("mm_vet").model_copy(
            update={"outcomes": {"failed": scored, "ok": 9}}
        )
        monkeypatch.setattr(scores, "selected_score", lambda *_, score=score: score)
        assert running._failed_records(opened(made)) == counted


def test_settings_that_change_meanwhile_are_of_the_next_run(project, monkeypatch):
    """A model that is selected while calls are made is not up to date afterwards."""

    def meanwhile(*_):
        edited(project.root, {"run.models": [MODEL, "blind"]})
        return DEFAULT

    make = Mock(wraps=collect._make, side_effect=meanwhile)
    with monkeypatch.context() as patched:
        patched.setattr(collect, "_make", make)
        assert fresh(project) == 0
    assert in_lock(project) == {"resolve", *MADE}
    assert "collect@blind" in status(project)
    assert goes_on(project) == ["collect@blind", "score@blind", "report"]


@pytest.mark.parametrize("at", [0, 1])
def test_a_kill_before_the_lock_is_written_loses_nothing(at, unlocked, monkeypatch):
    commits = Mock(side_effect=[DEFAULT] * at + [KeyboardInterrupt], wraps=books.commit)
    monkeypatch.setattr(Regions, "respond", None)
    with monkeypatch.context() as patched:
        patched.setattr(running, "commit", commits)
        with pytest.raises(KeyboardInterrupt):
            fresh(unlocked)
    assert "@" not in " ".join(goes_on(unlocked))
    assert in_lock(unlocked) >= {*MADE}


HOLDS = """
import sys
from dvc.repo import Repo, lock_repo
with lock_repo(Repo(".")):
    print("held", flush=True)
    sys.stdin.read()
"""


@pytest.fixture
def other(unlocked):
    """Another process, which holds the lock of DVC."""
    with holding(HOLDS, cwd=unlocked.root, env=unlocked.env) as process:
        yield process


def test_another_command_of_dvc_is_waited_for(unlocked, other, monkeypatch):
    said = Mock(side_effect=lambda _: other.terminate())
    monkeypatch.setattr(books, "say", said)
    assert fresh(unlocked) == 0
    said.assert_called_once_with("waiting: another command of DVC works here")
    assert status(unlocked) == set()


def test_where_another_command_of_dvc_stays_the_scores_are_shown(
    unlocked, other, capfd, monkeypatch
):
    monkeypatch.setattr(books, "_BUSY", 0.0)
    assert fresh(unlocked) == 1
    other.kill()
    other.wait()
    out, err = capfd.readouterr()
    assert "dvc.lock: another command of DVC works here" in err
    assert "next: driftledger audit" in out
    goes_on(unlocked)


@each_case(cases(__file__, "conflicts"))
def test_a_conflict_of_a_merge_is_said_before_anything_starts(case, project, sentence):
    sentence(case, project.root)
    assert not (project.root / "data").exists()


def test_where_mlflow_alone_fails_the_scores_are_shown(unlocked, capfd, monkeypatch):
    shutil.copy(REPOSITORY / "dvc.yaml", unlocked.root)
    away = Mock(side_effect=ConfigError("MLflow is away"))
    monkeypatch.setattr(running, "track", away)
    assert fresh(unlocked) == 1
    out, err = capfd.readouterr()
    assert "track: MLflow is away" in err
    assert "next: driftledger audit" in out
    assert in_lock(unlocked) >= {f"score@{MODEL}", "report"}


def test_only_one_run_at_a_time_and_only_in_a_project_of_dvc(
    made, tmp_path, monkeypatch
):
    def meanwhile(*_, begins):
        with pytest.raises(ConfigError, match="'driftledger run'"):
            fresh(made)
        return DEFAULT

    data = Mock(wraps=stages.data, side_effect=meanwhile)
    monkeypatch.setattr(running, "data", data)
    assert fresh(made) == 0
    data.assert_called_once()
    (made.root / ".git").rename(tmp_path / "git")
    with pytest.raises(ConfigError, match="Git repository, which DVC needs; run 'git"):
        fresh(made)
    (made.root / ".dvc/config").write_bytes(b"[[core\n\xff")
    with pytest.raises(ConfigError, match=r"/\.dvc/config cannot be read: "):
        fresh(made)
    (made.root / ".dvc").rename(tmp_path / "dvc")
    sentence = "is not a DVC project; 'driftledger init' makes it one"
    with pytest.raises(ConfigError, match=sentence):
        fresh(made)


SLOW = """
import time
import driftledger


@driftledger.model
def says(prompt, images):
    open("{}ed".format("ask"), "a").write("x")
    time.sleep(0.1)
    return "a red circle"
"""


@pytest.fixture
def slow(project):
    """A project whose model takes its time, and notes each call."""
    (project.root / "slowly.py").write_text(SLOW)
    says = {"provider": "slowly:says", **UNDERSTOOD}
    edited(project.root, {f"models.{MODEL}": says})
    return project


def calls_of(project):
    file = project.root / "asked"
    return len(file.read_text()) if file.is_file() else 0


def wait_for(condition):
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


STOPS = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    signal.SIGHUP: 129,
    signal.SIGKILL: -9,
}
"""The exit code after a signal."""


def test_after_a_stop_the_next_run_goes_on(slow, tmp_path):
    """Each run is stopped after two calls, and the last one goes to the end."""
    edited(slow.root, {"genception.iterations": 5})
    command = [sys.executable, "-m", "driftledger", "run"]
    log = tmp_path / "told"
    for number, code in STOPS.items():
        before = calls_of(slow)
        with (
            log.open("w") as out,
            subprocess.Popen(
                command, cwd=slow.root, stdout=out, stderr=out, env=slow.env
            ) as process,
        ):
            wait_for(lambda before=before: calls_of(slow) > before + 1)
            process.send_signal(number)
            assert process.wait(PATIENCE) == code
        says = "stopped; 'driftledger run' goes on from here\n"
        assert (says in log.read_text()) == (number != signal.SIGKILL)
    # which DVC empties before it writes them
    rwlock = slow.root / ".dvc/tmp/rwlock"
    rwlock.parent.mkdir(exist_ok=True)
    lock = slow.root / "dvc.lock"
    rwlock.touch()
    lock.write_text("schema: '2.0'\nstages:\n  data:\n")
    slow.run("driftledger", "run")
    most_lost = 8 * len(STOPS)  # a batch that was under way
    assert 40 <= calls_of(slow) <= 40 + most_lost
    assert status(slow) == set()
    # nobody's file is lost
    assert lock.with_name("dvc.lock.unreadable").read_text().startswith("schema")
    json.loads(rwlock.read_bytes())  # DVC's own


def test_a_run_from_a_folder_below_is_ended_by_no_closed_pipe(slow):
    below = slow.root / "below"
    below.mkdir()
    done = slow.run("sh", "-c", "cd below && driftledger run 2>&1 | head -n 1")
    assert done.stdout == "making data\n"
    assert not [*below.iterdir()]
    assert status(slow) == set()
    slow.run("driftledger", "run")
    assert made_last(slow) == []
