"""A server of somebody else's, as a process of its own."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.error import URLError
from urllib.request import urlopen

PATIENCE = 600.0
"""Seconds after which a server that does not answer is taken not to start."""


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(
    command: Sequence[str | Path],
    health: str,
    environment: Mapping[str, str],
    folder: Path | None = None,
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a server and wait until it answers at the address ``health``; end it and its workers
    with the context."""
    environment = os.environ | environment
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=environment,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + PATIENCE
        while process.poll() is None and time.monotonic() < deadline:
            try:
                urlopen(health, timeout=5).close()  # an address of our own
                break
            except (URLError, OSError):
                time.sleep(0.2)
        assert process.poll() is None, "the server has ended"
        yield process
    finally:
        with suppress(ProcessLookupError):  # a test has ended it
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
