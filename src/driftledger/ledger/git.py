"""Git as a program: the one place that runs it."""

import io
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

_QUIET = {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"}
"""A path is a path, whatever is in its name, and what only asks writes nothing."""


def git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes | None:
    """What Git says in ``root``; None where it fails or is not installed."""
    command = ["git", "-C", str(root), "-c", "log.showSignature=false", *arguments]
    try:
        done = subprocess.run(command, input=stdin, capture_output=True, check=False, env=os.environ | _QUIET)
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def git_text(root: Path, *arguments: str, stdin: bytes = b"", errors: str = "replace") -> str | None:
    """The same as text."""
    said = git(root, *arguments, stdin=stdin)
    return None if said is None else said.decode(errors=errors)


def read_blobs(root: Path, names: Sequence[str]) -> Iterator[bytes | None]:
    """The contents of these objects, by one process; None for one that is not there, or is no file.

    A name that Git could not take on one line is not there.
    """
    if not names:
        return
    asked = "".join(f"{name if name.isprintable() else ''}\n" for name in names)
    out = io.BytesIO(git(root, "cat-file", "--batch", stdin=asked.encode()) or b"")
    for _ in names:
        head = out.readline().split()
        if len(head) != 3:  # "<name> missing"
            yield None
        else:
            data = out.read(int(head[2]) + 1)[:-1]
            yield data if head[1] == b"blob" else None
