"""Files as Git history has them: score files are in Git and not in DVC's cache."""

import hashlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

_PLAIN = {"GIT_LITERAL_PATHSPECS": "1", "GIT_OPTIONAL_LOCKS": "0"}


def git_blob(root: Path, path: str, md5: str) -> bytes | None:
    """The content with this MD5 that ``path`` had in some commit, newest first; None where none had it."""
    return next((data for data in _versions(root, path) if _md5(data) == md5), None)


def git_paths(root: Path) -> frozenset[str]:
    """Every path below ``root`` that some commit of any branch holds or held, relative to it."""
    log = _git(root, "log", "--all", "--full-history", "-m", "--format=", "--name-only", "-z", "--relative")
    return frozenset(name for name in (log or b"").decode(errors="replace").split("\0") if name)


def file_at(root: Path, path: str, revision: str = "HEAD") -> bytes | None:
    """The content of ``path`` at a revision; None where there is no such file, revision or Git."""
    return next(_blobs(root, [f"{revision}:./{path}"]), None)


def _versions(root: Path, path: str) -> Iterator[bytes]:
    """Every content that a commit of any branch gave to ``path``, newest first."""
    log = _git(root, "log", "--all", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--", path)
    # A line is ":old-mode new-mode old-blob new-blob status<tab>path".
    blobs = [line.split()[3] for line in (log or b"").decode(errors="replace").splitlines() if line.startswith(":")]
    yield from _blobs(root, [blob for blob in dict.fromkeys(blobs) if set(blob) != {"0"}])


def _blobs(root: Path, names: list[str]) -> Iterator[bytes]:
    """The contents of Git objects that are files, those that there are, in order."""
    if not names:
        return
    out = _git(root, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in names).encode()) or b""
    while out:
        head, _, rest = out.partition(b"\n")
        words = head.split()
        if words[-1:] == [b"missing"] or len(words) != 3:
            out = rest
            continue
        size = int(words[2])
        if words[1] == b"blob":
            yield rest[:size]
        out = rest[size + 1 :]


def _git(root: Path, *arguments: str, stdin: bytes = b"") -> bytes | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *arguments],
            input=stdin,
            capture_output=True,
            check=False,
            env=os.environ | _PLAIN,
        )
    except FileNotFoundError:
        return None
    return done.stdout if done.returncode == 0 else None


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
