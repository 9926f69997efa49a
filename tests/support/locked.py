"""What another process keeps locked."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_HOLD = """
import sqlite3, sys, time
db = sqlite3.connect(sys.argv[1], isolation_level=None)
db.execute("BEGIN EXCLUSIVE")
print("held", flush=True)
time.sleep(float(sys.argv[2]))
"""


@contextmanager
def holding(
    code: str, *arguments: object, **options: Any
) -> Iterator["subprocess.Popen[str]"]:
    """Run code in another process until the block ends; it prints ``held`` once it has begun."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    options |= {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **options) as process:
        assert process.stdout is not None
        try:
            assert process.stdout.readline() == "held\n"
            yield process
        finally:
            process.kill()


@contextmanager
def held(file: Path, seconds: float) -> Iterator[None]:
    """Lock a database for some seconds, or until the block ends."""
    with holding(_HOLD, file, seconds):
        yield
