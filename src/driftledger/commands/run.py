"""``driftledger run``: bring everything that ``params.yaml`` selects up to date, and show the scores.

First one process makes the calls that are missing, of all models; then ``dvc repro`` runs as a child. DVC's text, and
that of the stages, goes to a log, from which the names of stages are read.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from filelock import FileLock, Timeout
from rich.live import Live

from driftledger.benchmarks.base import RECORDS_OF
from driftledger.commands.collect import tasks_of
from driftledger.commands.stages import SHOWS_THE_END, data, show_closing
from driftledger.core.errors import ConfigError
from driftledger.core.files import INPUTS
from driftledger.core.terminal import clock, console, line
from driftledger.core.text import for_line
from driftledger.project.project import Project
from driftledger.project.resolve import resolve

LOG = "run.log"
"""In the folder of the checkout's state; that of the run before has ``.1`` at its end."""
ALWAYS = ("resolve", "track")
"""Stages that do not count as work."""

_STAGE = re.compile(r"(Running stage|Stage) '([^']+)'")
_SENTENCE = re.compile(r"driftledger: (.+)")
_ERROR = re.compile(r"(?:ERROR: |\w*(?:Error|Exception): )(.+)")
_TRACEBACK = "Traceback (most recent call last):"
_PATIENCE = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""Signals that end a child, and the seconds that it is given after each."""


class _StoppedError(BaseException):
    """A signal asks this process to end."""

    def __init__(self, number: int) -> None:
        super().__init__(128 + number)


def run(project: Project, targets: Sequence[str] = (), *, force: bool = False, plain: bool = False) -> int:
    """Bring everything up to date, or ``targets`` of DVC, end with the scores, and return the exit code.

    Args:
        force: whether records and scores are made again; calls that are stored are not repeated.
        plain: whether DVC's text is shown as it is.

    Raises:
        ConfigError: the settings are wrong, there is no DVC project here, or another run is under way.
    """
    models = project.settings.run.models  # a mistake in params.yaml ends the run before anything starts
    if not (project.root / ".dvc").is_dir():
        raise ConfigError(f"{project.root} is not a DVC project; 'driftledger init' makes it one")
    log = project.paths.state / LOG
    (log.parent / "locks").mkdir(parents=True, exist_ok=True)
    with (log.parent / "locks" / "run.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ConfigError(f"another 'driftledger run' is under way here; its log is {log}") from None
        _remove_unreadable_rwlock(project.root)
        began = time.monotonic()
        own, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")  # the commands of this Python
        path = path if own in path.split(os.pathsep) else os.pathsep.join([own, path])
        environment = os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1", SHOWS_THE_END: "1"}
        heard = [
            each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN
        ]
        kept = {number: signal.signal(number, _stop) for number in heard}  # nohup ignores SIGHUP
        try:
            if force:
                for name in (*(RECORDS_OF.format(model=model) for model in models), "reports/scores"):
                    for mark in (project.root / name).rglob(INPUTS):
                        mark.unlink()
            remote = _has_remote(project.root, environment)
            if not targets and (code := _make_calls(project, environment, remote)):
                return code
            options = [*(["--pull"] if remote else []), *(["--force"] if force else [])]
            code, ran = _follow(project, ["dvc", "repro", *options, *targets], environment, plain, lock.fileno())
        except _StoppedError as stopped:
            _tell("stopped; 'driftledger run' goes on from here")
            return int(stopped.args[0])
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
        if not code:
            work = [name for name in ran if name not in ALWAYS]
            count = f"{len(work)} {'stage' if len(work) == 1 else 'stages'} ran" if work else "nothing had to be done"
            where = log.relative_to(project.root)
            _tell(f"{count}, in {clock(time.monotonic() - began)}; DVC's text is in {where}")
            show_closing(project)
        return code


def _remove_unreadable_rwlock(root: Path) -> None:
    """Remove DVC's lock file if it cannot be read and nobody holds it.

    DVC empties it before it writes it, so that a kill in between leaves a file that every later ``dvc repro`` refuses
    to read (treeverse/dvc#7615).
    """
    file = root / ".dvc" / "tmp" / "rwlock"
    try:
        json.loads(file.read_bytes())
    except FileNotFoundError:
        pass
    except ValueError:
        with suppress(Timeout), FileLock(file.with_name("rwlock.lock"), timeout=5):  # DVC holds it for milliseconds
            file.unlink(missing_ok=True)
            _tell(".dvc/tmp/rwlock is removed: a 'dvc' that was killed left it unreadable")


def _make_calls(project: Project, environment: Mapping[str, str], remote: bool) -> int:
    """Make the calls that are missing, of all models in one process, and return its exit code."""
    resolve(project)
    models = project.settings.run.models
    if remote and not all((project.root / RECORDS_OF.format(model=model)).is_dir() for model in models):
        # What others have paid for comes first. Stages that nobody has pushed are no reason to stop.
        stages = ["data", *(f"collect@{model}" for model in models)]
        command = ["dvc", "pull", "--quiet", "--allow-missing", *stages]
        _wait(subprocess.Popen(command, cwd=project.root, env=environment, stderr=subprocess.DEVNULL))
    data(project)
    if all(task.is_made() for model in models for task in tasks_of(project, model)):
        return 0
    command = [sys.executable, "-P", "-m", "driftledger", "collect", *([] if project.waits else ["--no-wait"])]
    return _wait(subprocess.Popen(command, cwd=project.root, env=environment))


def _follow(
    project: Project, command: Sequence[str], environment: Mapping[str, str], plain: bool, lock: int
) -> tuple[int, list[str]]:
    """Run DVC with its text in the log; return its exit code, and the stages that it ran.

    It holds the ``lock`` of this run too: after a SIGKILL of this process, the next run refuses to start beside it.
    """
    path = project.paths.state / LOG
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{LOG}.1"))
    ran, stage, sentence, mistake = list[str](), "", "", False
    process = subprocess.Popen(
        command, cwd=project.root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True, pass_fds=(lock,),
    )  # fmt: skip
    assert process.stdout is not None
    live = Live(console=console(sys.stderr), transient=True, auto_refresh=False)
    shown = sys.stderr.isatty() and not plain
    try:
        with path.open("xb") as log, live if shown else nullcontext():
            for row in process.stdout:
                log.write(row)
                log.flush()
                text = row.decode(errors="replace").rstrip()
                if plain:
                    print(text, flush=True)
                if match := _STAGE.match(text):
                    stage, sentence, mistake = match[2], "", False
                    if match[1] == "Running stage":
                        ran.append(stage)
                        if not shown and not plain:
                            _tell(f"running {stage}")
                elif match := _SENTENCE.match(text):
                    sentence, mistake = match[1], True
                elif text == _TRACEBACK:  # the sentence before it was a mere note
                    sentence, mistake = "", False
                elif not mistake and (match := _ERROR.match(text)) and not (sentence and match[0].startswith("ERROR")):
                    sentence = match[1]
                if shown:
                    now = f"{stage}: {text}" if ran[-1:] == [stage] else f"{stage} is up to date"
                    live.update(line(now), refresh=True)
        code = _wait(process)
    finally:
        _end(process)
    if code:
        what = sentence or "DVC ended without saying why"
        where = path.relative_to(project.root)
        _tell(f"driftledger: {stage + ': ' if stage else ''}{what}; the whole text is in {where}")
        if stage == "track":
            show_closing(project, mlflow=())
    return (2 if code and mistake else code), ran


def _wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait()
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a child that still runs, and whatever it has started: as Ctrl-C does, then harder."""
    if process.poll() is not None:
        return
    has_group = os.getpgid(process.pid) == process.pid
    for number, patience in _PATIENCE:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, number) if has_group else process.send_signal(number)
        with suppress(subprocess.TimeoutExpired, _StoppedError):
            process.wait(patience)
            break
    if has_group:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # what a stage has started that ignores Ctrl-C


def _stop(number: int, _: object) -> None:
    raise _StoppedError(number)


def _has_remote(root: Path, environment: Mapping[str, str]) -> bool:
    config = [root / ".dvc" / name for name in ("config", "config.local")]
    if not any("remote" in file.read_text(encoding="utf-8", errors="replace") for file in config if file.is_file()):
        return False
    command = ["dvc", "config", "core.remote"]
    try:
        asked = subprocess.run(command, cwd=root, env=environment, capture_output=True, check=False)
    except FileNotFoundError:
        raise ConfigError("there is no 'dvc' on PATH; install driftledger with its dependencies") from None
    return asked.returncode == 0 and bool(asked.stdout.strip())


def _tell(text: str) -> None:
    print(for_line(text), file=sys.stderr, flush=True)
