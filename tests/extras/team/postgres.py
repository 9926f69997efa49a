"""A real PostgreSQL, where one is installed: Debian's, on a free port of loopback, in a folder that goes with it."""

import os
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.support.real_server import free_port

_USER = "driftledger"
_PATIENCE = 120
"""Seconds for a server to answer."""

_QUICK = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "max_connections=200", "shared_buffers=16MB")
"""What is written there does not outlive the tests."""


class Postgres:
    """A running server with a password; a database for whoever asks for one."""

    def __init__(self, programs: Path, port: int, password: str) -> None:
        self._programs = programs
        self._port = port
        self._password = password

    def database(self, name: str) -> str:
        """The address of a new, empty database."""
        self.sql(f'CREATE DATABASE "{name}"')
        return self.address(name)

    def address(self, name: str) -> str:
        """As SQLAlchemy and MLflow take it, with the password in it."""
        return f"postgresql+psycopg://{_USER}:{self._password}@127.0.0.1:{self._port}/{name}"

    def sql(self, statement: str, database: str = "postgres") -> str:
        """What the rows of one statement hold, a line each, with ``|`` between columns."""
        who = ["--host=127.0.0.1", f"--port={self._port}", f"--username={_USER}", f"--dbname={database}"]
        command = [self._programs / "psql", *who, "--no-psqlrc", "--tuples-only", "--no-align", "-c", statement]
        secret = os.environ | {"PGPASSWORD": self._password}
        return subprocess.run(command, env=secret, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """The server; the test is skipped where there is none."""
    programs = installed()
    if programs is None:
        pytest.skip("there is no PostgreSQL server: apt-get install postgresql")
    with running(programs) as server:
        yield server


def installed() -> Path | None:
    """The folder with the newest server's programs, which Debian keeps off the PATH."""
    debian = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda found: int(found.parts[-3]))
    on_path = shutil.which("initdb")
    found = debian[-1] if debian else Path(on_path).resolve() if on_path else None
    return found.parent if found else None


@contextmanager
def running(programs: Path) -> Iterator[Postgres]:
    """A server in a new folder, ended and removed with it."""
    user = _unprivileged()
    with tempfile.TemporaryDirectory(prefix="driftledger-postgres-", ignore_cleanup_errors=True) as folder:
        top, password = Path(folder), secrets.token_hex(8)
        (top / "password").write_text(password, encoding="utf-8")
        if user:
            for path in (top, top / "password"):
                shutil.chown(path, user)
        data = _made(programs, top, user)
        process, port = _started(programs, data, top / "log", user)
        try:
            yield Postgres(programs, port, password)
        finally:
            process.send_signal(signal.SIGINT)  # ends at once, whoever is still connected
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _unprivileged() -> str | None:
    """Whom the server runs as where root runs the tests, which it refuses."""
    if os.geteuid() != 0:
        return None
    import pwd  # not on every system

    known = {each.pw_name for each in pwd.getpwall()}
    return next(name for name in ("postgres", "nobody") if name in known)


def _made(programs: Path, top: Path, user: str | None) -> Path:
    data = top / "data"
    command = [programs / "initdb", f"--pgdata={data}", f"--username={_USER}", f"--pwfile={top / 'password'}"]
    command += ["--auth=scram-sha-256", "--encoding=UTF8", "--no-locale", "--no-sync"]
    subprocess.run(command, cwd=top, user=user, capture_output=True, check=True)
    return data


def _started(programs: Path, data: Path, log: Path, user: str | None) -> "tuple[subprocess.Popen[bytes], int]":
    """A server that answers, and its port; another port where someone has taken it in the meantime."""
    for _ in range(5):
        port = free_port()
        settings = (*_QUICK, f"port={port}", "listen_addresses=127.0.0.1", "unix_socket_directories=")
        command = [programs / "postgres", "-D", data, *(part for each in settings for part in ("-c", each))]
        with log.open("ab") as output:
            process = subprocess.Popen(
                command, cwd=data, user=user, stdin=subprocess.DEVNULL, stdout=output, stderr=output
            )
        if _answers(programs, process, port):
            return process, port
        process.kill()
        process.wait()
    pytest.fail(f"PostgreSQL did not start: {log.read_text(encoding='utf-8', errors='replace')}")


def _answers(programs: Path, process: "subprocess.Popen[bytes]", port: int) -> bool:
    ready = [programs / "pg_isready", "--quiet", "--host=127.0.0.1", f"--port={port}"]
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None and time.monotonic() < deadline:
        if subprocess.run(ready, check=False).returncode == 0:
            return process.poll() is None
        time.sleep(0.05)
    return False
