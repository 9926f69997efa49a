"""Commands that tests start, in processes that need not import all they use: they are forked where that has been done.

A test of a whole pipeline starts some fifteen commands, and each takes half a second of CPU to import libraries. Here
processes for each name of a command (:data:`PROGRAMS`) import them once, and are forked for each command. Programs of
the same names, first on the ``PATH`` of a :class:`~tests.conftest.Checkout`, hand over to them: what DVC starts goes
the same way. The command is a process with its own folder, environment, channels, signals and end, and its console
script runs in it.

That is so where ``DRIFTLEDGER_TESTS_WARM`` is set. The real program is started instead wherever that might not be the
same: see :mod:`tests.support.warm.server`.
"""

import atexit
import os
import secrets
import socket
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import NamedTuple

PROGRAMS = ("driftledger", "dvc")
"""The commands that are forked. ``mlflow`` is started so rarely that it is not worth its imports."""

WANTED = bool(os.environ.get("DRIFTLEDGER_TESTS_WARM"))
"""Whether checkouts' commands are forked."""

SEEDS = 2
"""How many processes there are for each: one of these is taken by chance.

What is forked orders its sets as where it is forked from; results that depend on that order differ between these.
"""

_SERVER = Path(__file__).parent / "server.py"
_CLIENT = Path(__file__).parent / "client.py"
_LONGEST_FIRST_LINE = 250  # of a script, of which Linux reads 256 bytes


class _Warm(NamedTuple):
    folder: Path
    """Programs that hand over."""
    places: dict[str, tuple[str, ...]]
    """Abstract addresses by program, which no other user can guess."""
    environment: dict[str, str]
    """That of these tests, before one of them has changed it."""


@cache
def _warm() -> _Warm | None:
    real = Path(sys.executable).parent
    first = f"#!{sys.executable} -IS\n"
    paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if (
        sys.platform != "linux" or len(first) > _LONGEST_FIRST_LINE
        or not all((real / name).is_file() for name in PROGRAMS)
        or not all(not path or Path(path).is_absolute() for path in paths)
    ):  # fmt: skip
        return None
    folder = Path(mkdtemp(prefix="warm-"))
    places = {name: tuple(f"driftledger-{secrets.token_hex(12)}" for _ in range(SEEDS)) for name in PROGRAMS}
    made = _Warm(folder, places, dict(os.environ))
    for name, places in made.places.items():
        head = f"{first}PROGRAM = {str(real / name)!r}\nPLACES = {places!r}\n"
        (folder / name).write_text(head + _CLIENT.read_text(encoding="utf-8"), encoding="utf-8")
        (folder / name).chmod(0o700)
    atexit.register(_remove, folder)
    return made


def _remove(folder: Path) -> None:
    with suppress(OSError):
        for each in folder.iterdir():
            each.unlink()
        folder.rmdir()


def path() -> list[str]:
    """What to put in front of ``PATH``."""
    made = _warm()
    return [str(made.folder)] if made else []


def said() -> str:
    """Which commands were forked, and why others were not."""
    made = _warm()
    file = made.folder / "said" if made else None
    return file.read_text(encoding="utf-8") if file and file.exists() else ""


def start(name: str, environment: dict[str, str]) -> None:
    """Start what ``name`` is forked from, if that is one of :data:`PROGRAMS`, and all that it may start itself.

    Args:
        environment: what all commands have beside that of these tests.
    """
    made = _warm()
    for each in (PROGRAMS if name == "dvc" else (name,)) if made else ():
        if made and each in made.places and each not in _started:
            _started.add(each)
            _start(each, made, made.environment | environment)


_started: set[str] = set()


def _start(name: str, made: _Warm, environment: dict[str, str]) -> None:
    for place in made.places[name]:
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        listener.bind("\0" + place)
        listener.listen()  # who asks before all is imported waits
        with listener, (made.folder / "said").open("a", encoding="utf-8") as log:
            server = subprocess.Popen(
                [sys.executable, str(_SERVER), name, str(listener.fileno()), str(Path(sys.executable).parent / name)],
                stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=log,
                env=environment, cwd=os.sep, process_group=0, pass_fds=[listener.fileno()],
            )  # fmt: skip
        atexit.register(_end, server)


def _end(server: "subprocess.Popen[bytes]") -> None:
    """It ends when nobody can start it any more; what it has used counts as used by this process."""
    with suppress(OSError):
        assert server.stdin
        server.stdin.close()
    server.wait()
