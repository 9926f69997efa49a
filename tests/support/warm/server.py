"""Imports what a command uses, and is forked for each one that :mod:`tests.support.warm.client` asks for.

Run as a program: the command's name, the number of a socket that listens, and the console script. It ends when its
standard input does.

A command is refused, and then started as usual, where a fork would not be what a start is:

- a variable of its environment differs that was read while importing, or that the interpreter or a library reads at its
  start (:data:`READ_AT_START`); ``PYTHONPATH`` may differ where nothing that is imported would be found elsewhere;
- the kernel knows otherwise of the process that asks: its user, session, limits, capabilities, mask or ignored signals.

What a fork shares with its origin is the seed of ``hash``, of which there are several
(:data:`~tests.support.warm.SEEDS`), and modules that the command itself might not have imported: tests of what is
imported start programs of their own.
"""

import atexit
import gc
import importlib
import os
import re
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from types import CodeType, ModuleType

IMPORTED = {
    "dvc": ("dvc.cli", "dvc.cli.parser", "dvc.repo", "dvc.repo.reproduce", "dvc.repo.commit", "dvc.stage.run"),
    "driftledger": (
        "driftledger.cli", "driftledger.commands.stages", "driftledger.benchmarks.runner",
        "driftledger.project.settings", "driftledger.project.catalogue", "driftledger.reports.report",
        "driftledger.tracking.projection", "dvc.repo", "mlflow",
    ),
}  # fmt: skip
"""What is imported, by command; one that cannot be is left to the commands."""

READ_AT_START = re.compile(
    "PYTHON(?!PATH$)|LANG|LC_|TZ$|LD_|MALLOC_|GLIBC_|OMP_|OPENBLAS_|MKL_|NPY_|ARROW_|TQDM_|FSSPEC_|COVERAGE_|DVC_DEBUG|GOTO_"
)
NOT_COMPARED = {"PATH", "PYTEST_CURRENT_TEST"}
"""Read while importing, to look whether there is something: not what tests differ in."""

FREE_OF_LOCKS = {"jemalloc_bg_thd"}
"""Threads beside which a process can be forked: jemalloc, in pyarrow, sees to it itself."""

_SAME = re.compile("(Uid|Gid|Groups|Umask|NoNewPrivs|Seccomp|Cap...|SigBlk|SigIgn):")
_PATIENCE = 10.0


class _Noting(os._Environ):  # type: ignore[type-arg]
    """An environment that notes what is read."""

    read: set[str] = set()  # noqa: RUF012

    def __getitem__(self, name: str) -> str:
        self.read.add(name)
        return super().__getitem__(name)


def imported(name: str) -> set[str]:
    """Import all for this command; the variables that were read."""
    import zoneinfo  # noqa: F401  # looks for Python's folders

    import fsspec.config  # noqa: F401  # reads all variables, for those of its prefix
    import tqdm  # noqa: F401  # the same

    usual = type(os.environ)
    os.environ.__class__ = _Noting
    try:
        for module in IMPORTED[name]:
            with suppress(ImportError):
                importlib.import_module(module)
    finally:
        os.environ.__class__ = usual
    return {each for each in _Noting.read if isinstance(each, str)} - NOT_COMPARED


def known_of(process: int | str) -> list[str]:
    """What the kernel knows of a process that a fork has from where it is forked."""
    place = Path("/proc", str(process))
    status = [line for line in (place / "status").read_text().splitlines() if _SAME.match(line)]
    return [*status, (place / "limits").read_text(), str(os.getsid(0 if process == "self" else int(process)))]


class Asked:
    """The command that a process was started for: where it runs, and with what."""

    def __init__(self, connection: socket.socket) -> None:
        """Read it.

        Raises:
            OSError: nobody asks any more, or somebody else.
            ValueError: the process is not one of ours.
        """
        connection.settimeout(_PATIENCE)
        self.process, user, _ = struct.unpack("3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
        if user != os.geteuid():
            raise ValueError("another user asks")
        _, self.channels, _, _ = socket.recv_fds(connection, 1, 3)
        self.place = Path("/proc", str(self.process))
        pairs = (self.place / "environ").read_bytes().split(b"\0")
        self.environment = dict(pair.split(b"=", 1) for pair in pairs if b"=" in pair)
        words = (self.place / "cmdline").read_bytes().split(b"\0")[:-1]
        self.arguments = [os.fsdecode(word) for word in words[3:]]  # python -IS PROGRAM

    def differs(self, started_with: dict[bytes, bytes], read: set[str]) -> str:
        """In what it differs, so that what is imported already might be otherwise there; nothing if it does not."""
        for name in started_with.keys() | self.environment.keys():
            text = os.fsdecode(name)
            if started_with.get(name) != self.environment.get(name) and (text in read or READ_AT_START.match(text)):
                return text
        return ", ".join({*known_of(self.process)} ^ {*known_of("self")})


def paths(variable: bytes | None) -> list[str] | None:
    """The folders of a ``PYTHONPATH``; None where one of them depends on where a command runs."""
    found = [each for each in os.fsdecode(variable or b"").split(os.pathsep) if each]
    return found if all(os.path.isabs(each) for each in found) else None  # noqa: PTH117


def other_path(before: list[str], after: list[str]) -> list[str] | None:
    """``sys.path`` with another ``PYTHONPATH``; None where something imported already would be found elsewhere."""
    if before == after:
        return sys.path
    loaded = {name.partition(".")[0] for name in sys.modules} | {"sitecustomize", "usercustomize"}
    files = [str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())]
    for folder in {*before} ^ {*after}:
        with suppress(FileNotFoundError):
            if loaded & {name.partition(".")[0] for name in os.listdir(folder)}:  # noqa: PTH208
                return None
        if any(file.startswith(folder + os.sep) for file in files):
            return None
    kept = [each for each in sys.path[1:] if each not in before]
    return [sys.path[0], *after, *kept]


def alone() -> bool:
    """Whether no thread could hold a lock that a fork would find closed for ever."""
    names = {
        (task / "comm").read_text().strip()
        for task in Path("/proc/self/task").iterdir()
        if task.name != str(os.getpid())
    }
    return names <= FREE_OF_LOCKS


def become(asked: Asked, path: list[str], program: str) -> None:
    """Make this fork what a start of the program would be."""
    for number, channel in enumerate(asked.channels):
        os.dup2(channel, number)
        os.close(channel)
    os.chdir(asked.place / "cwd")
    with suppress(OSError):
        os.setpgid(0, os.getpgid(asked.process))
    for name in [*os.environb]:
        if name not in asked.environment:
            del os.environb[name]
    os.environb.update(asked.environment)
    sys.stdout.reconfigure(line_buffering=os.isatty(1))  # type: ignore[union-attr]
    sys.argv = [program, *asked.arguments]
    sys.orig_argv = [sys.executable, *sys.argv]
    sys.path[:] = path
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    gc.enable()


class Server:
    """Waits for those who ask, and for the ends of commands."""

    def __init__(self, listener: socket.socket) -> None:
        self.listener = listener
        self.poll = select.poll()
        self.running: dict[int, tuple[int, socket.socket]] = {}
        """Command and connection, by what tells of the command's end."""

    def serve(self, program: str, read: set[str]) -> None:
        """Fork for each command; returns in the forks."""
        started_with, before = dict(os.environb), paths(os.environb.get(b"PYTHONPATH")) or []
        self.poll.register(self.listener, select.POLLIN)
        self.poll.register(0, select.POLLIN)
        wanted = True
        while wanted or self.running:
            for file, _ in self.poll.poll():
                if file == 0:
                    wanted = False
                    self.poll.unregister(0)
                    self.poll.unregister(self.listener)
                elif file == self.listener.fileno():
                    if self._fork(program, read, started_with, before):
                        return
                elif file in self.running:
                    self._ended(file)
                else:
                    self._left(file)
        os._exit(0)

    def _fork(self, program: str, read: set[str], started_with: dict[bytes, bytes], before: list[str]) -> bool:
        connection, _ = self.listener.accept()
        asked = None
        try:
            asked = Asked(connection)
            after = paths(asked.environment.get(b"PYTHONPATH"))
            path = None if after is None else other_path(before, after)
            if path is None:
                raise ValueError("it has another PYTHONPATH")
            if different := asked.differs(started_with, read):
                raise ValueError(f"it differs in {different}")
            if len(asked.channels) != 3 or not alone():
                raise ValueError("it has no channels, or this process has threads")
        except (OSError, ValueError) as error:
            print(error, file=sys.stderr, flush=True)
            for channel in asked.channels if asked else ():
                os.close(channel)  # otherwise who reads from the command would wait for ever
            connection.close()
            return False
        number = os.fork()
        if number:
            print("forked:", *asked.arguments[:3], file=sys.stderr, flush=True)
        else:
            for file, (_, other) in self.running.items():
                os.close(file)
                other.close()
            self.listener.close()
            connection.close()
            become(asked, path, program)
            return True
        for channel in asked.channels:
            os.close(channel)
        with suppress(OSError):
            connection.send(number.to_bytes(4, sys.byteorder))
        end = os.pidfd_open(number)
        self.running[end] = (number, connection)
        self.poll.register(end, select.POLLIN)
        self.poll.register(connection, select.POLLIN)
        return False

    def _ended(self, file: int) -> None:
        number, connection = self.running.pop(file)
        self.poll.unregister(file)
        os.close(file)
        with suppress(KeyError):
            self.poll.unregister(connection)
        code = os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])
        with suppress(OSError):
            connection.send(code.to_bytes(4, sys.byteorder, signed=True))
        connection.close()

    def _left(self, file: int) -> None:
        """Who asked was killed: so is the command."""
        for number, connection in self.running.values():
            if connection.fileno() == file:
                self.poll.unregister(connection)
                os.kill(number, signal.SIGKILL)
                return


class End:
    """The end of a fork: when all that Python does before it takes itself apart is done, that is left out.

    Half of what a small command costs would be for that, in pages that are copied to be given back.
    """

    def __init__(self) -> None:
        """To be made before anything is imported: what is registered first is done last."""
        self.code: int | None = None
        atexit.register(self._leave)

    def _leave(self) -> None:
        if self.code is not None:
            try:
                sys.stdout.flush()
                sys.stderr.flush()
            except (OSError, ValueError, AttributeError):
                return  # Python tells of it
            os._exit(self.code)


def run(code: CodeType, program: str, end: End) -> None:
    """Run a console script as Python does."""
    module = ModuleType("__main__")
    module.__file__ = program
    module.__dict__["__builtins__"] = __builtins__
    sys.modules["__main__"] = module
    sys.excepthook = _without_this_file
    try:
        exec(code, module.__dict__)
        end.code = 0
    except SystemExit as ended:
        end.code = 0 if ended.code is None else ended.code & 0xFF if isinstance(ended.code, int) else 1
        raise
    except Exception:
        end.code = 1
        raise


def _without_this_file(kind: type[BaseException], error: BaseException, trace: object) -> None:
    while trace is not None and trace.tb_frame.f_code.co_filename == __file__:  # type: ignore[attr-defined]
        trace = trace.tb_next  # type: ignore[attr-defined]
    sys.__excepthook__(kind, error, trace)  # type: ignore[arg-type]


if __name__ == "__main__":
    _, _name, _listener, _program = sys.argv
    _end = End()
    sys.path[0] = str(Path(_program).parent)
    _server = Server(socket.socket(fileno=int(_listener)))
    gc.disable()
    _read = imported(_name)
    _code = compile(Path(_program).read_bytes(), _program, "exec")
    gc.collect()
    gc.freeze()
    _server.serve(_program, _read)
    del _server
    run(_code, _program, _end)
