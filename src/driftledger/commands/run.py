"""``driftledger run``: DVC brings up to date what ``params.yaml`` selects, and one line says how far it is.

DVC's own text, and that of the stages, goes to a log, of which the names of stages are read. DVC runs in a process and
a session of its own, so that it and all that it has started can be ended together, and it ends when this process does.
"""

import errno
import os
import queue
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import product
from pathlib import Path
from threading import Thread
from typing import IO, Any

from filelock import FileLock, Timeout
from rich.live import Live

from driftledger.collect.store import CallsMade
from driftledger.commands.closing import show_closing
from driftledger.core.errors import ConfigError
from driftledger.core.escaping import for_line
from driftledger.core.parent import RUN_SHOWS_THE_END, UNDER_RUN, end_with_parent
from driftledger.core.progress import clock
from driftledger.core.terminal import console, line
from driftledger.project.project import Project
from driftledger.project.rwlock import clear

LOG = "run.log"
"""In the folder of the checkout's state; that of the run before has ``.1`` at its end."""

REPRO = "driftledger.repro"
"""What does as ``dvc repro`` does, in one process."""

ALWAYS = ("resolve", "track")
"""Stages that every run runs again."""

_MOST_BYTES = 50_000_000
"""Of a log, before it goes on in a new one."""
_LONGEST = 65_536
_TICK = 0.5
_QUIET = 6
"""Ticks without a line after the end, when a process that was left behind keeps the pipe open."""
_SELDOM, _AT_MOST = 60.0, 10.0
"""Seconds between lines where nobody watches: without news, and at the least."""
_BASIS = 3
"""Stages that must be over before the time left is told."""
_PATIENCE = ((signal.SIGINT, 20.0), (signal.SIGTERM, 10.0), (signal.SIGKILL, 10.0))

_STAGE = re.compile(
    r"(?P<ran>Running stage|Stage) '(?:.+?\.yaml:)??(?P<name>[^':]+)'"
    r"(?:$|:| didn't change, skipping| is cached - skipping run| is frozen)"
)
_OURS = re.compile(r"driftledger: (.+)")
_ERROR = re.compile(r"(?:ERROR: |\w*(?:Error|Exception): )(.+)")
_MLFLOW = re.compile(r"(?:scores|MLflow): .")
_FAILED = re.compile(r"ERROR: failed to reproduce '(?:.+?\.yaml:)??([^':]+)'(?:$|:)")
_TRACEBACK = "Traceback (most recent call last):"
_RAISED = re.compile(r"([A-Za-z_][\w.<>]*)(?:: (.+))?$")
"""The line below a traceback, which is indented."""
_ASIDE = ("Exception ignored ", "Exception in thread ")
"""How the line begins above a traceback of something that ends no process."""


class Watched:
    """What DVC's lines say of a run."""

    def __init__(self, expected: Sequence[str] | None) -> None:
        """Expect all stages of these names; None where only some are wanted."""
        self._expected = expected
        self._began: float | None = None
        self._spent: dict[str, float] = {}
        self.ran: list[str] = []
        """Stages that were not up to date, in order."""
        self.stage = ""
        """The one that is looked at now."""
        self.failed: str | None = None
        self.sentence: str | None = None
        """Why the run fails, as far as a line says so."""
        self.mlflow: list[str] = []
        """Where the last stage says that MLflow shows the scores, or why not."""
        self.is_mistake = False
        """Whether that is a sentence of ours, for the user to mend."""
        self._before = ""
        self._in_traceback = False

    def read(self, text: str, now: float) -> None:
        """Take a line in."""
        before, self._before = self._before, text
        if stage := _STAGE.match(text):
            self._over(now)
            self.stage, self._began = stage["name"], now
            self.sentence, self.is_mistake, self._in_traceback = None, False, False
            if stage["ran"] == "Running stage":
                self.ran.append(stage["name"])
        elif self.stage == "track" and _MLFLOW.match(text):
            self.mlflow.append(text)
        elif failed := _FAILED.match(text):
            self.failed = failed[1]
        elif text == _TRACEBACK:
            self._in_traceback = not before.startswith(_ASIDE)
        elif ours := _OURS.match(text):
            self.sentence, self.is_mistake, self._in_traceback = ours[1], True, False
        elif error := self._error(text):
            self.sentence, self.is_mistake, self._in_traceback = error, False, False

    def _error(self, text: str) -> str | None:
        """Why, if a line says so and is no sentence of ours; after such a sentence only one below a traceback does."""
        if not self.is_mistake and (error := _ERROR.match(text)):
            return error[1]
        raised = _RAISED.match(text) if self._in_traceback else None
        return raised and (raised[2] or raised[1])

    def _over(self, now: float) -> None:
        if self._began is not None:
            self._spent[self.stage] = now - self._began

    def left(self, now: float) -> float | None:
        """Seconds that are left, if each stage takes as long as those of its kind took; None without a basis."""
        ran = [name for name in self.ran if name not in ALWAYS and name in self._spent]
        if self._expected is None or self._began is None or len(self._spent) < _BASIS or not ran:
            return None
        kinds: dict[str, list[float]] = {}
        for name, seconds in self._spent.items():
            kinds.setdefault(_kind(name), []).append(seconds)
        usual = sum(self._spent.values()) / len(self._spent)

        def takes(name: str) -> float:
            of_kind = kinds.get(_kind(name))
            return sum(of_kind) / len(of_kind) if of_kind else usual

        waiting = [name for name in self._expected if name not in self._spent and name != self.stage]
        return sum(map(takes, waiting)) + max(0.0, takes(self.stage) - (now - self._began))

    def place(self) -> str:
        """Which stage it is at, of how many."""
        at = len(self._spent) + (self._began is not None and self.stage not in self._spent)
        return f"stage {at}" + (f" of {max(at, len(self._expected))}" if self._expected is not None else "")

    def told(self, made: CallsMade, now: float) -> str:
        """The line for people."""
        calls, left = made.count(), self.left(now)
        words = [
            self.place(),
            *([f"{clock(left)} left"] if left is not None and left >= 1 else []),
            f"{calls.calls:,} calls",
        ]
        return " · ".join([*words, *([f"cost {calls.cost:.2f}"] if calls.cost else [])])


def _kind(name: str) -> str:
    return name.partition("@")[0]


def stages_of(project: Project) -> list[str]:
    """The names of all stages that ``dvc repro`` looks at, by the selection and the tables of the benchmarks."""
    run = project.settings.run
    names = ["resolve", *(f"dataset@{name}" for name in run.datasets)]
    names += [f"question_set@{name}" for name in run.question_sets]
    for spec in project.settings.benchmarks:
        for stage in (*spec.collects, spec.scores):
            every = product(*(run.names(spec.name, key) for key in stage.keys))
            names += [stage.named(dict(zip(stage.keys, each, strict=True))) for each in every]
    return [*names, "correlation", "report", "track"]


def run(project: Project, targets: Sequence[str] = (), *, force: bool = False, plain: bool = False) -> int:
    """Bring everything up to date, or ``targets``, and end with the scores; the exit code.

    Args:
        force: whether every stage runs again.
        plain: whether DVC's text is shown as it is, and nothing else before the end.

    Raises:
        ConfigError: the settings are wrong, there is no DVC project here, or another run is under way.
    """
    watched = Watched(None if targets else stages_of(project))
    if not (project.root / ".dvc").is_dir():
        raise ConfigError(f"{project.root} is no DVC project; 'driftledger init' makes it one")
    state = project.paths.state
    (state / "locks").mkdir(parents=True, exist_ok=True)
    lock = FileLock(state / "locks" / "run.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ConfigError(f"another 'driftledger run' is under way here; its log is {state / LOG}") from None
    with lock:
        for cleared in clear(project.root):
            print(cleared, file=sys.stderr, flush=True)
        began, made = time.monotonic(), CallsMade(project.state)
        environment = _environment(shows_the_end=not plain)
        command = [*_repro(project.root, environment), *(["--force"] if force else []), *targets]
        try:
            with _Log(state / LOG) as log:
                code = _follow(command, project.root, environment, log, watched, _plain if plain else _shower(made))
        except _StoppedError as stopped:
            _tell("stopped; 'driftledger run' goes on from here")
            return stopped.code
        log_at = f"{(state / LOG).relative_to(project.root)}" if log.is_whole else None
        if code:
            if watched.failed == "track":
                show_closing(project, mlflow=())
            return _failed(watched, code, log_at)
        if not plain:
            ran, calls = [name for name in watched.ran if name not in ALWAYS], made.count()
            spent = f", cost {calls.cost:.2f}" if calls.cost else ""
            took = clock(time.monotonic() - began)
            told = f"{len(ran)} {'stage' if len(ran) == 1 else 'stages'} ran" if ran else "nothing had to be done"
            where = f"; DVC's text is in {log_at}" if log_at else ""
            _tell(f"{told}, {calls.calls:,} calls{spent}, in {took}{where}")
        if not (plain and "track" in watched.ran):
            show_closing(project, mlflow=watched.mlflow or None)
        return 0


def _tell(text: str) -> None:
    print(for_line(text), file=sys.stderr, flush=True)


def _failed(watched: Watched, code: int, log: str | None) -> int:
    where = f"{watched.failed or watched.stage}: " if watched.failed or watched.stage else ""
    what = watched.sentence or "DVC ended without a word of why"
    text = f"the whole text is in {log}" if log else "'driftledger run --plain' shows the whole text"
    _tell(f"driftledger: {where}{what}; {text}")
    return 2 if watched.is_mistake else code


def _environment(*, shows_the_end: bool) -> dict[str, str]:
    """That of this process; where its own commands cannot be found, with them in front."""
    own, path = str(Path(sys.executable).parent), os.environ.get("PATH", "")
    if own not in path.split(os.pathsep):
        path = os.pathsep.join([own, path])
    told = {UNDER_RUN: "1", RUN_SHOWS_THE_END: "1" if shows_the_end else ""}
    return os.environ | {"PATH": path, "PYTHONUNBUFFERED": "1"} | told


def _repro(root: Path, environment: Mapping[str, str]) -> list[str]:
    """What reproduces: where ``dvc`` is that of this Python, ``dvc repro`` in one process; else as it is."""
    found, own = shutil.which("dvc", path=environment["PATH"]), Path(sys.executable).with_name("dvc")
    if found is not None and own.exists() and own.samefile(found):
        return [sys.executable, "-P", "-m", REPRO]
    return ["dvc", "repro", *_pull(root, environment)]


def _pull(root: Path, environment: Mapping[str, str]) -> list[str]:
    """What others have pushed is pulled, where there is a remote to pull it from."""
    asked = ["dvc", "config", "core.remote"]
    try:
        said = subprocess.run(
            asked, cwd=root, env=environment, stdin=subprocess.DEVNULL, capture_output=True, check=False
        )
    except FileNotFoundError:
        raise ConfigError("there is no 'dvc' on PATH; install driftledger with its dependencies") from None
    return ["--pull"] if said.returncode == 0 and said.stdout.strip() else []


class _Log:
    """The log: that of the run before is kept, and one that grows too long goes on in a new file.

    If it cannot be written, that is told once, and the run goes on.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: IO[bytes] | None = None
        self._bytes = 0
        self.is_whole = True
        """Whether all that was to be written could be."""

    def __enter__(self) -> "_Log":
        with self._or_without():
            self._file = self._begun()
        return self

    def _begun(self) -> IO[bytes]:
        """A new file; what lies there is moved and never written through, since it may be a link or a pipe."""
        if self._path.is_dir() and not self._path.is_symlink():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self._path))
        with suppress(FileNotFoundError):
            self._path.replace(self._path.with_name(f"{self._path.name}.1"))
        self._bytes = 0
        return self._path.open("xb")

    def write(self, data: bytes) -> None:
        """Add to it."""
        if self._file is None:
            return
        with self._or_without():
            if self._bytes > _MOST_BYTES:
                self._file.close()
                self._file = self._begun()
            self._file.write(data)
            self._file.flush()
            self._bytes += len(data)

    @contextmanager
    def _or_without(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._close()
            self.is_whole = False
            place = error.filename2 or self._path
            _tell(f"driftledger: {place}: {error.strerror}; the run goes on, and DVC's text is kept no further")

    def _close(self) -> None:
        file, self._file = self._file, None
        if file is not None:
            with suppress(OSError):  # what could not be written before cannot be now
                file.close()

    def __exit__(self, *_: object) -> None:
        self._close()


class _StoppedError(BaseException):
    """A signal asks this process to end."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


Shower = Callable[["Iterator[bytes | None]", Watched], None]
"""Shows what goes on, while it takes in lines as they come; None where none came for a moment."""


def _follow(
    command: Sequence[str],
    root: Path,
    environment: Mapping[str, str],
    log: _Log,
    watched: Watched,
    shower: Shower,
) -> int:
    """Run DVC to its end, and return its exit code.

    Raises:
        _StoppedError: this process is to end; all that was started has ended then.
    """
    with _signals():
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,  # there is one thread yet
        )
        try:
            shower(_lines(process, log, watched), watched)
            return process.wait()
        except KeyboardInterrupt:
            raise _StoppedError(128 + signal.SIGINT) from None
        finally:
            _end(process)


def _lines(process: "subprocess.Popen[bytes]", log: _Log, watched: Watched) -> "Iterator[bytes | None]":
    """The lines of a process as they come, each in the log and taken in; None where none came for a moment."""
    assert process.stdout is not None
    came: queue.Queue[bytes | None] = queue.Queue(maxsize=1_000)
    stream: IO[bytes] = process.stdout
    Thread(target=_put_all, args=(stream, came), daemon=True).start()
    quiet = 0
    while quiet < _QUIET:
        try:
            data = came.get(timeout=_TICK)
        except queue.Empty:
            quiet += process.poll() is not None
            yield None
            continue
        if data is None:
            return
        log.write(data)
        watched.read(data.decode(errors="replace").rstrip(), time.monotonic())
        yield data


def _put_all(stream: IO[bytes], came: "queue.Queue[bytes | None]") -> None:
    for data in iter(partial(stream.readline, _LONGEST), b""):
        came.put(data)
    came.put(None)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End it, and whatever it has started: as Ctrl-C does, and if that is not enough, harder."""
    for sign, patience in _PATIENCE:
        if process.poll() is not None:
            break
        with suppress(ProcessLookupError):
            os.killpg(process.pid, sign)
        with suppress(subprocess.TimeoutExpired, KeyboardInterrupt, _StoppedError):
            process.wait(patience)
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


@contextmanager
def _signals() -> Iterator[None]:
    """Let SIGTERM, and a closed terminal, end the run as Ctrl-C does, unless they are ignored, as with nohup."""

    def stop(number: int, _: Any) -> None:
        raise _StoppedError(128 + number)

    heard = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    kept = {each: signal.signal(each, stop) for each in heard}
    try:
        yield
    finally:
        for each, handler in kept.items():
            signal.signal(each, handler)


def _plain(lines: "Iterator[bytes | None]", watched: Watched) -> None:
    """DVC's text as it is."""
    for data in lines:
        if data is not None:
            sys.stdout.buffer.write(data)
            sys.stdout.buffer.flush()


def _shower(made: CallsMade) -> Shower:
    return partial(_live if sys.stderr.isatty() else _few_lines, made)


def _live(made: CallsMade, lines: "Iterator[bytes | None]", watched: Watched) -> None:
    """One line that is written over."""
    drawn = 0.0
    with Live(console=console(sys.stderr), transient=True, auto_refresh=False) as live:
        for _ in lines:
            now = time.monotonic()
            if now - drawn >= _TICK:
                drawn = now
                told = f"{watched.told(made, now)} · {watched.stage}" if watched.stage else "looking what is new …"
                text = line(told)
                text.no_wrap, text.overflow = True, "ellipsis"
                live.update(text, refresh=True)


def _few_lines(made: CallsMade, lines: "Iterator[bytes | None]", watched: Watched) -> None:
    """A line for a stage that runs, and now and then one."""
    told, ran = time.monotonic(), 0
    for _ in lines:
        now = time.monotonic()
        is_news = len(watched.ran) > ran
        if watched.stage and now - told >= (_AT_MOST if is_news else _SELDOM):
            print(for_line(f"{watched.told(made, now)} · {watched.stage}"), file=sys.stderr, flush=True)
            told, ran = now, len(watched.ran)
