"""``driftledger run``: one line instead of DVC's text, an end that leads on, and nothing left behind after a stop."""

import os
import pty
import re
import select
import shlex
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil  # type: ignore[import-untyped]
import pytest
from driftledger.core.parent import RUN_SHOWS_THE_END
from filelock import FileLock

from driftledger.commands import run as running
from driftledger.commands.run import Watched, run, stages_of
from driftledger.core.errors import ConfigError
from driftledger.project.project import Project
from tests.conftest import Checkout, stages_run
from tests.support.full_disk import no_file_longer_than

PATIENCE = 60.0
HOSTILE = "\x1b[2J\x9b1m\u202e[red]markup[/red]"

SKIPPED = "Stage '{}' didn't change, skipping"
CACHED = "Stage '{}' is cached - skipping run, checking out outputs"
RUNNING = "Running stage '{}':"
PLACE = "pipelines/genception/dvc.yaml:"

SAY_WHO_ENDS = f'echo "the end is shown by <${RUN_SHOWS_THE_END}>"'
"""1 where the run does, nothing where ``track`` does."""


@pytest.fixture
def project(checkout: Checkout) -> Project:
    return Project(checkout.root)


@pytest.fixture
def dvc(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Put a command of that name in front, which runs these lines of shell; where it notes its arguments."""

    def make(*repro: str, remote: str = "") -> Path:
        seen, script = tmp_path / "seen", tmp_path / "bin" / "dvc"
        script.parent.mkdir(exist_ok=True)
        lines = [
            "#!/bin/sh",
            f'[ "$1" = config ] && {{ echo {shlex.quote(remote)}; exit 0; }}',
            f'echo "$@" >> {shlex.quote(str(seen))}',
            *repro,
        ]
        script.write_text("\n".join(lines) + "\n", encoding="utf-8")
        script.chmod(stat.S_IRWXU)
        path = os.pathsep.join([str(script.parent), str(Path(sys.executable).parent), os.environ["PATH"]])
        monkeypatch.setenv("PATH", path)
        return seen

    return make


def say(*texts: str) -> str:
    return "\n".join(f"printf '%s\\n' {shlex.quote(text)}" for text in texts)


def watched(*lines: str, seconds: float = 1.0) -> Watched:
    seen = Watched(["resolve", "chain@a", "chain@b", "report", "track"])
    for number, line in enumerate(lines):
        seen.read(line, number * seconds)
    return seen


def test_stages_are_counted_whatever_dvc_says_of_them() -> None:
    seen = watched(
        RUNNING.format("resolve"),
        "> driftledger stage resolve",
        SKIPPED.format(f"{PLACE}chain@a"),
        CACHED.format(f"{PLACE}chain@b"),
        "Verifying data sources in stage: 'photos.dvc'",
        "'photos.dvc' didn't change, skipping",
        f"a model says: {RUNNING.format('nothing')}",
        RUNNING.format("report"),
    )
    assert (seen.place(), seen.stage, seen.ran) == ("stage 4 of 5", "report", ["resolve", "report"])


def test_the_time_left_is_told_from_stages_of_the_same_kind_and_never_without_a_basis() -> None:
    assert watched(RUNNING.format("resolve"), SKIPPED.format("chain@a")).left(2.0) is None
    only_skipped = [RUNNING.format("resolve"), SKIPPED.format("chain@a"), SKIPPED.format("chain@b")]
    assert watched(*only_skipped, SKIPPED.format("report")).left(4.0) is None
    seen = Watched(["resolve", "dataset@d", *(f"chain@{n}" for n in range(4))])
    for now, name in ((0.0, "resolve"), (1.0, "dataset@d"), (2.0, "chain@0"), (12.0, "chain@1")):
        seen.read(RUNNING.format(name), now)
    assert seen.left(16.0) == pytest.approx(6.0 + 10.0 + 10.0)
    assert seen.left(60.0) == pytest.approx(20.0)
    assert Watched(None).left(1.0) is None


def test_why_a_run_fails_is_what_the_last_stage_says() -> None:
    ends = ["driftledger: x is wrong; mend it", "ERROR: failed to reproduce 'chain@a': exited with 2"]
    seen = watched("driftledger: an earlier stage complains", RUNNING.format("chain@a"), *ends)
    assert (seen.failed, seen.sentence, seen.is_mistake) == ("chain@a", "x is wrong; mend it", True)
    bug = watched(RUNNING.format("chain@a"), "Traceback (most recent call last):", "KeyError: 'x'", ends[1])
    assert (bug.failed, bug.sentence, bug.is_mistake) == ("chain@a", "'x'", False)


NOTE = "driftledger: not here: models.seer; noted as before"
TRACEBACK = ["Traceback (most recent call last):", '  File "x.py", line 1, in <module>', "    driftledger.x(y)"]


@pytest.mark.parametrize(
    ("raised", "told"),
    [
        ("KeyError: 'x'", "'x'"),
        ("filelock._error.Timeout: too late", "too late"),
        ("AssertionError", "AssertionError"),
        ("x.f.<locals>.Stop: now", "now"),
    ],
)
def test_a_traceback_after_a_mere_note_is_why_a_run_fails(raised: str, told: str) -> None:
    chained = [*TRACEBACK, "ValueError: first", "", "During handling of the above exception, another one:", ""]
    for before in ([], chained):
        seen = watched(RUNNING.format("resolve"), NOTE, *before, *TRACEBACK, raised, "ERROR: failed to reproduce 'x'")
        assert (seen.sentence, seen.is_mistake) == (told, False)


def test_a_mistake_after_or_beside_a_traceback_is_why_a_run_fails() -> None:
    begins, mistake = RUNNING.format("resolve"), "driftledger: x is wrong"
    for lines in (
        [*TRACEBACK, "KeyError: 'logged'", mistake],
        [*TRACEBACK, mistake, "done", "KeyError: 'x'"],
        [mistake, "KeyError: 'x'", "done"],
        [mistake, "Exception ignored in: <function A.__del__ at 0x7f>", *TRACEBACK, "KeyError: 'x'"],
        [mistake, "Exception in thread Thread-1:", *TRACEBACK, "KeyError: 'x'"],
    ):
        seen = watched(begins, *lines)
        assert (seen.sentence, seen.is_mistake) == ("x is wrong", True)
    seen = watched(begins, *TRACEBACK, RUNNING.format("report"), mistake, "done")
    assert (seen.sentence, seen.is_mistake) == ("x is wrong", True)


@pytest.mark.parametrize(
    "place", ["", PLACE, "own st/dvc.yaml:", "größe, it's (2)/dvc.yaml:", "a.yaml:b/dvc.yaml:", "../x/dvc.yaml:"]
)
def test_a_stage_is_named_wherever_its_file_is(place: str) -> None:
    name = f"{place}mine@a"
    for line in (RUNNING, SKIPPED, CACHED, "Stage '{}' is frozen. Its dependencies are not going to be reproduced."):
        assert watched(line.format(name)).stage == "mine@a"
    seen = watched(f"ERROR: failed to reproduce '{name}': failed to run: cat 'b.yaml:c': d, exited with 1")
    assert seen.failed == "mine@a"


def test_dvcs_text_goes_to_the_log_and_the_end_is_told(
    project: Project, dvc: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    lines = [RUNNING.format("resolve"), SKIPPED.format("report"), HOSTILE, RUNNING.format("track")]
    seen = dvc(say(*lines), SAY_WHO_ENDS)
    assert run(project) == 0
    out, err = capfd.readouterr()
    assert seen.read_text().split() == ["repro"]
    log = (project.paths.state / "run.log").read_text(encoding="utf-8")
    assert log.splitlines() == [*lines, "the end is shown by <1>"]
    assert err.splitlines()[-1].startswith("nothing had to be done, 0 calls, in 0:")
    assert err.rstrip().endswith("DVC's text is in .driftledger/run.log")
    assert out.startswith("no scores to show: ")
    assert "\x1b" not in out + err
    assert "Running stage" not in out + err
    assert run(project, ["report", "chain@a"], force=True) == 0
    assert seen.read_text().splitlines()[-1] == "repro --force report chain@a"
    assert (project.paths.state / "run.log.1").is_file()


def test_what_others_have_pushed_is_pulled_where_there_is_a_remote(project: Project, dvc: Callable[..., Path]) -> None:
    seen = dvc(remote="storage")
    assert run(project) == 0
    assert seen.read_text().split() == ["repro", "--pull"]


def test_plain_shows_the_text_as_it_is_and_the_end_once(
    project: Project, dvc: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    text = [RUNNING.format("resolve"), "tabs\tand 100%", RUNNING.format("track"), "no scores to show: by track"]
    dvc(say(*text), SAY_WHO_ENDS)
    assert run(project, plain=True) == 0
    out, err = capfd.readouterr()
    assert out.splitlines() == [*text, "the end is shown by <>"]
    assert err == ""


def test_a_mistake_is_its_sentence_and_a_bug_keeps_dvcs_code(
    project: Project, dvc: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    failed = "ERROR: failed to reproduce 'chain@a': failed to run: driftledger stage, exited with 2"
    dvc(say(RUNNING.format("chain@a"), f"driftledger: {HOSTILE} is wrong", failed), "exit 255")
    assert run(project) == 2
    [line] = capfd.readouterr().err.splitlines()
    assert line.startswith("driftledger: chain@a: \\x1b[2J")
    assert "\x1b" not in line
    assert line.endswith("the whole text is in .driftledger/run.log")
    dvc(say(RUNNING.format("chain@a"), "Traceback (most recent call last):", "KeyError: 'x'", failed), "exit 255")
    assert run(project) == 255
    dvc("exit 3")
    assert run(project) == 3


def test_where_mlflow_alone_fails_the_scores_are_shown(
    project: Project,
    dvc: Callable[..., Path],
    capfd: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dvc(
        say(RUNNING.format("track"), "driftledger: MLflow is away", "ERROR: failed to reproduce 'track': x"), "exit 255"
    )
    shown: list[Any] = []
    monkeypatch.setattr(running, "show_closing", lambda project, mlflow=None: shown.append(mlflow))
    assert run(project) == 2
    assert shown == [()]
    assert "track: MLflow is away" in capfd.readouterr().err


def test_only_one_run_at_a_time_and_only_in_a_project_of_dvc(
    project: Project, dvc: Callable[..., Path], tmp_path: Path
) -> None:
    seen = dvc()
    lock = project.paths.state / "locks" / "run.lock"
    lock.parent.mkdir(parents=True)
    with FileLock(lock), pytest.raises(ConfigError, match="another 'driftledger run' is under way"):
        run(project)
    (project.root / ".dvc").rename(tmp_path / "dvc")
    with pytest.raises(ConfigError, match="is no DVC project"):
        run(project)
    assert not seen.exists()


def test_a_log_that_grows_too_long_goes_on_in_another(
    project: Project, dvc: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "_MOST_BYTES", 10_000)
    dvc("yes 0123456789 | head -n 5000", "yes no-newline | head -n 50000 | tr -d '\\n'")
    assert run(project) == 0
    assert sum(path.stat().st_size for path in project.paths.state.glob("run.log*")) < 2 * (10_000 + 65_536 + 1)


def log_of(project: Project) -> Path:
    log = project.paths.state / "run.log"
    log.parent.mkdir(exist_ok=True)
    return log


@pytest.mark.parametrize("is_there", [True, False])
def test_a_link_at_the_log_is_not_written_through(
    is_there: bool, project: Project, dvc: Callable[..., Path], tmp_path: Path
) -> None:
    dvc("echo text")
    log, elsewhere = log_of(project), tmp_path / "elsewhere"
    if is_there:
        elsewhere.write_text("somebody's")
    log.symlink_to(elsewhere)
    for _ in range(2):
        assert run(project) == 0
    assert log.read_text() == (log.parent / "run.log.1").read_text() == "text\n"
    assert elsewhere.exists() == is_there
    assert not is_there or elsewhere.read_text() == "somebody's"


def test_a_pipe_at_the_log_does_not_hold_a_run_up(project: Project, dvc: Callable[..., Path]) -> None:
    dvc("echo text")
    os.mkfifo(log_of(project))
    assert started(project).wait(PATIENCE) == 0
    assert log_of(project).read_text() == "text\n"


@pytest.mark.parametrize("name", ["run.log", "run.log.1"])
def test_a_log_that_cannot_be_written_is_told_once_and_ends_no_run(
    name: str, project: Project, dvc: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    log_of(project).with_name(name).mkdir()
    log_of(project).touch()
    dvc(say(RUNNING.format("report"), RUNNING.format("chain@a")))
    assert run(project) == 0
    first, *_, last = capfd.readouterr().err.splitlines()
    assert first.startswith(f"driftledger: {log_of(project).with_name(name)}: Is a directory; the run goes on")
    assert last.startswith("2 stages ran, 0 calls, in 0:")
    assert "run.log" not in last
    assert run(project, plain=True) == 0
    out, err = capfd.readouterr()
    assert out.splitlines()[:2] == [RUNNING.format("report"), RUNNING.format("chain@a")]
    assert err.splitlines() == [first]


def test_a_full_disk_for_the_log_ends_no_run(
    project: Project, dvc: Callable[..., Path], capfd: pytest.CaptureFixture[str]
) -> None:
    dvc("yes 0123456789 | head -n 5000", say(RUNNING.format("chain@a"), "driftledger: x is wrong"), "exit 255")
    with no_file_longer_than(1_000):
        assert run(project) == 2
    first, last = capfd.readouterr().err.splitlines()
    assert first.startswith(f"driftledger: {log_of(project)}: File too large; the run goes on")
    assert last == "driftledger: chain@a: x is wrong; 'driftledger run --plain' shows the whole text"


@pytest.mark.parametrize("lies_there", ["file", "link to itself", "folder at run.lock"])
def test_where_its_own_files_cannot_be_is_told_in_a_sentence(
    lies_there: str, project: Project, dvc: Callable[..., Path]
) -> None:
    dvc()
    state = project.paths.state
    if lies_there == "file":
        state.touch()
    elif lies_there == "link to itself":
        state.symlink_to(state)
    else:
        (state / "locks" / "run.lock").mkdir(parents=True)
    process = started(project)
    [told] = process.communicate(timeout=PATIENCE)[0].decode().splitlines()
    assert process.returncode == 2
    assert told.startswith(f"driftledger: {state}")
    assert told.endswith("; mend that and run again")


def test_a_closed_terminal_does_not_end_a_run_that_ignores_it(
    project: Project, dvc: Callable[..., Path], tmp_path: Path
) -> None:
    begun, goes_on = tmp_path / "begun", tmp_path / "goes on"
    dvc(f"touch {shlex.quote(str(begun))}", f"until [ -e {shlex.quote(str(goes_on))} ]; do sleep 0.05; done", "exit 3")
    process = started(project, ignores=[signal.SIGHUP])
    wait_for(begun.exists)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.2)
    goes_on.touch()
    said = process.communicate(timeout=PATIENCE)[0].decode()
    assert process.returncode == 3
    assert "stopped" not in said


def test_the_exit_code_is_dvcs_where_nobody_waits_for_children(project: Project, dvc: Callable[..., Path]) -> None:
    dvc("exit 3")
    process = started(project, ignores=[signal.SIGCHLD])
    assert process.wait(PATIENCE) == 3


def test_signals_are_heard_as_before_when_the_run_is_over(project: Project, dvc: Callable[..., Path]) -> None:
    dvc()
    numbers = (signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD)
    before = [signal.getsignal(number) for number in numbers]
    assert run(project) == 0
    assert [signal.getsignal(number) for number in numbers] == before


def started(project: Project, ignores: Sequence[signal.Signals] = ()) -> "subprocess.Popen[bytes]":
    """Ctrl-C reaches it, also where these tests run in the background, which ignores it."""
    command = [sys.executable, "-c", "from driftledger.cli import main; main()", "run"]

    def hears() -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for number in ignores:
            signal.signal(number, signal.SIG_IGN)

    return subprocess.Popen(
        command, cwd=project.root, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, preexec_fn=hears
    )


def wait_for(condition: Callable[[], bool]) -> None:
    began = time.monotonic()
    while not condition():
        assert time.monotonic() - began < PATIENCE
        time.sleep(0.05)


def is_over(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_who_stops_it_leaves_nothing_behind(
    number: signal.Signals, code: int, project: Project, dvc: Callable[..., Path], tmp_path: Path
) -> None:
    pids = tmp_path / "pids"
    sleeping = [say(RUNNING.format("chain@a")), f"sleep 600 & echo $! $$ > {shlex.quote(str(pids))}", "wait"]
    dvc(*sleeping)
    first = started(project)
    wait_for(lambda: pids.is_file() and len(pids.read_text().split()) == 2)
    child, own = map(int, pids.read_text().split())
    try:
        first.send_signal(number)
        said = first.communicate(timeout=PATIENCE)[0].decode()
        assert first.returncode == code
        wait_for(lambda: is_over(own))
        if number != signal.SIGKILL:
            assert is_over(child)
            assert "stopped; 'driftledger run' goes on from here" in said
    finally:
        for pid in (child, own):
            if not is_over(pid):
                os.kill(pid, signal.SIGKILL)
    dvc(say(RUNNING.format("resolve")))
    assert run(project) == 0


def test_in_a_terminal_one_line_is_written_over(project: Project, dvc: Callable[..., Path]) -> None:
    dvc(say(RUNNING.format("resolve")), "sleep 1.2", say(RUNNING.format(f"{PLACE}chain@a"), HOSTILE), "sleep 1.2")
    main, other = pty.openpty()
    command = [sys.executable, "-c", "from driftledger.cli import main; main()", "run"]
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"}
    process = subprocess.Popen(command, cwd=project.root, stdin=other, stdout=other, stderr=other, env=environment)
    os.close(other)
    text = b""
    while process.poll() is None or select.select([main], [], [], 0)[0]:
        if select.select([main], [], [], 0.1)[0]:
            try:
                text += os.read(main, 65_536)
            except OSError:  # its other end is closed
                break
    os.close(main)
    assert process.wait() == 0
    shown = text.decode()
    assert "stage 1 of 8 · 0 calls · resolve" in shown
    assert "stage 2 of 8 · 0 calls · chain@a" in shown
    before_the_end, _, rest = shown.partition("1 stage ran, ")
    assert rest
    assert before_the_end.count("\n") <= 2
    assert "Running stage" not in shown
    assert "markup" not in shown


@pytest.mark.slow
def test_a_run_with_nothing_to_do_ends_with_scores_and_a_question_that_is_answered(published: Checkout) -> None:
    done = published.run("driftledger", "run", COLUMNS="100")
    log = (published.root / ".driftledger" / "run.log").read_text(encoding="utf-8")
    names = re.findall(r"tage '(?:pipelines/\w+/dvc\.yaml:)?([^':]+)'", log)
    assert sorted(names) == sorted(stages_of(Project(published.root)))
    assert stages_run(log) == ["resolve", "track"]
    assert done.stderr.splitlines()[-1].startswith("nothing had to be done, 0 calls")
    lines = done.stdout.splitlines()
    assert any(line.startswith("regions_medium ") for line in lines)
    [scores], [report], [asked] = (
        [line for line in lines if line.startswith(start)] for start in ("scores: ", "report: ", "next: ")
    )
    assert "http://127.0.0.1:5000/#/experiments/" in scores
    assert Path(report.removeprefix("report: ")) == published.root / "reports" / "site" / "index.html"
    assert Path(report.removeprefix("report: ")).is_file()
    question = shlex.split(asked.removeprefix("next: "))
    assert question == ["driftledger", "audit", "regions_medium/painter/layout:gc_at_2"]
    assert "gc_at_2" in published.run(*question).stdout.lower().replace("gc@2", "gc_at_2")
    assert scores in log.splitlines()
    assert asked not in log  # it is told once, and what it takes is computed once
