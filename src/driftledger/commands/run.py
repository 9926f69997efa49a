"""``driftledger run``: bring everything that ``params.yaml`` selects up to date, and show the scores.

First one process makes the calls that are missing, of all models; then ``dvc repro`` runs as a child. DVC's text, and
that of the stages, goes to a log, from which the names of stages are read.
"""

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
from driftledger.commands.closing import show_closing
from driftledger.commands.collect import tasks_of
from driftledger.commands.resolve import resolve
from driftledger.commands.stages import data
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.made import INPUTS, is_made
from driftledger.core.progress import clock
from driftledger.core.terminal import console, line
from driftledger.project.project import Project
from driftledger.project.rwlock import clear

LOG = "run.log"
"""In the folder of the checkout's state; that of the run before has ``.1`` at its end."""

ALWAYS = ("resolve", "track")
"""Stages that do not count as work."""

SHOWS_THE_END = "DRIFTLEDGER_RUN_SHOWS_THE_END"
"""Set for what a run starts, since the run itself ends with the scores."""

_STAGE = re.compile(r"(Running stage|Stage) '([^']+)'")
_SENTENCE = re.compile(r"driftledger: (.+)")
_ERROR = re.compile(r"(?:ERROR: |\w*(?:Error|Exception): )(.+)")
_TRACEBACK = "Traceback (most recent call last):"
_PATIENCE = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))
"""Signals that end a child, and the seconds that it is given after each."""


class _StoppedError(BaseException):
    """A signal asks this process to end."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def run(project: Project, targets: Sequence[str] = (), *, force: bool = False, plain: bool = False) -> int:
    """Bring everything up to date, or ``targets`` of DVC, end with the scores, and return the exit code.

    Args:
        force: whether records and scores are made again; calls that are stored are not repeated.
        plain: whether DVC's text is shown as it is.

    Raises:
        ConfigError: the settings are wrong, there is no DVC project here, or another run is under way.
    """
    settings = project.settings  # a mistake in params.yaml is told before anything starts
    if not (project.root / ".dvc").is_dir():
        raise ConfigError(f"{project.root} is not a DVC project; 'driftledger init' makes it one")
    state = project.paths.state
    (state / "locks").mkdir(parents=True, exist_ok=True)
    try:
        lock = FileLock(state / "locks" / "run.lock").acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"another 'driftledger run' is under way here; its log is {state / LOG}") from None
    with lock:
        for sentence in clear(project.root):
            _tell(sentence)
        began, environment = time.monotonic(), _environment()
        kept = {number: signal.signal(number, _stop) for number in (signal.SIGTERM, signal.SIGHUP) if _heard(number)}
        try:
            if force:
                for name in (*(RECORDS_OF.format(model=model) for model in settings.run.models), "reports/scores"):
                    for mark in (project.root / name).rglob(INPUTS):
                        mark.unlink()
            remote = _has_remote(project.root, environment)
            if not targets and (code := _make_calls(project, environment, remote)):
                return code
            options = [*(["--pull"] if remote else []), *(["--force"] if force else [])]
            code, ran = _follow(project, ["dvc", "repro", *options, *targets], environment, plain)
        except _StoppedError as stopped:
            _tell("stopped; 'driftledger run' goes on from here")
            return stopped.code
        finally:
            for number, handler in kept.items():
                signal.signal(number, handler)
        if code:
            return code
        work = [name for name in ran if name not in ALWAYS]
        count = f"{len(work)} {'stage' if len(work) == 1 else 'stages'} ran" if work else "nothing had to be done"
        log = (state / LOG).relative_to(project.root)
        _tell(f"{count}, in {clock(time.monotonic() - began)}; DVC's text is in {log}")
        show_closing(project)
        return 0


def _make_calls(project: Project, environment: Mapping[str, str], remote: bool) -> int:
    """Make the calls that are missing, of all models in one process, and return its exit code."""
    resolve(project)
    run = project.settings.run
    if remote and not all((project.root / RECORDS_OF.format(model=model)).is_dir() for model in run.models):
        # What others have paid for comes first. Stages that nobody has pushed are no reason to stop.
        stages = ["data", *(f"collect@{model}" for model in run.models)]
        command = ["dvc", "pull", "--quiet", "--allow-missing", *stages]
        _wait(subprocess.Popen(command, cwd=project.root, env=environment, stderr=subprocess.DEVNULL))
    data(project)
    if not any(_is_missing(project, model) for model in run.models):
        return 0
    return _wait(
        subprocess.Popen([sys.executable, "-P", "-m", "driftledger", "collect"], cwd=project.root, env=environment)
    )


def _is_missing(project: Project, model: str) -> bool:
    """Whether records of a model are missing, or were made from something else; files are not looked into."""
    return not all(
        is_made(project.root / task.stage.at(task.keys), task.inputs_now(project), look_into_files=False)
        for task in tasks_of(project, model)
    )


def _follow(
    project: Project, command: Sequence[str], environment: Mapping[str, str], plain: bool
) -> tuple[int, list[str]]:
    """Run DVC with its text in the log; its exit code, and the stages that it ran."""
    path = project.paths.state / LOG
    with suppress(FileNotFoundError):
        path.replace(path.with_name(f"{LOG}.1"))
    ran, stage, sentence, mistake = list[str](), "", "", False
    process = subprocess.Popen(
        command, cwd=project.root, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, start_new_session=True,
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
                elif text == _TRACEBACK:  # what came before it was a mere note
                    sentence, mistake = "", False
                elif not mistake and (match := _ERROR.match(text)) and not (sentence and match[0].startswith("ERROR")):
                    sentence = match[1]
                if shown:
                    live.update(
                        line(f"{stage}: {text}" if ran[-1:] == [stage] else f"{stage} is up to date"), refresh=True
                    )
        code = process.wait()
    except KeyboardInterrupt:
        raise _StoppedError(128 + signal.SIGINT) from None
    finally:
        _end(process)
    if code:
        what = sentence or "DVC ended without saying why"
        _tell(
            f"driftledger: {stage + ': ' if stage else ''}{what}; the whole text is in {path.relative_to(project.root)}"
        )
        if stage == "track":
            show_closing(project, mlflow=())
    return (2 if code and mistake else code), ran


def _wait(process: "subprocess.Popen[bytes]") -> int:
    try:
        return process.wait()
    except KeyboardInterrupt:
        raise _StoppedError(128 + signal.SIGINT) from None
    finally:
        _end(process)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End a child that still runs, and whatever it has started: as Ctrl-C does, then harder."""
    if process.poll() is not None:
        return
    has_group = os.getpgid(process.pid) == process.pid
    for number, patience in _PATIENCE:
        with suppress(ProcessLookupError):
            if has_group:
                os.killpg(process.pid, number)
            else:
                process.send_signal(number)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt, _StoppedError):
            process.wait(patience)
            break
    if has_group:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)  # what a stage has started that ignores Ctrl-C


def _stop(number: int, _: object) -> None:
    raise _StoppedError(128 + number)


def _heard(number: int) -> bool:
    """Whether a signal is not ignored, as ``nohup`` has it."""
    return signal.getsignal(number) != signal.SIG_IGN


def _environment() -> dict[str, str]:
    """Return this process's environment, with the commands of its Python on the path."""
    own, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if own not in path.split(os.pathsep):
        path = os.pathsep.join([own, path])
    return os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1", SHOWS_THE_END: "1"}


def _has_remote(root: Path, environment: Mapping[str, str]) -> bool:
    config = [root / ".dvc" / name for name in ("config", "config.local")]
    if not any("remote" in file.read_text(encoding="utf-8", errors="replace") for file in config if file.is_file()):
        return False
    try:
        asked = subprocess.run(
            ["dvc", "config", "core.remote"], cwd=root, env=environment, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise ConfigError("there is no 'dvc' on PATH; install driftledger with its dependencies") from None
    return asked.returncode == 0 and bool(asked.stdout.strip())


def _tell(text: str) -> None:
    print(for_line(text), file=sys.stderr, flush=True)
