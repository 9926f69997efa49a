"""Files as Git history has them: score files are in Git and not in DVC's cache."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from driftledger.core.canonical import md5_bytes
from driftledger.ledger.git import git_text, read_blobs


def git_blob(root: Path, path: str, md5: str) -> bytes | None:
    """The content with this MD5 that ``path`` had in some commit, newest first; None where none had it."""
    return next((data for data in _versions(root, path) if md5_bytes(data) == md5), None)


def git_paths(root: Path) -> frozenset[str]:
    """Every path below ``root`` that some commit of any branch holds or held, relative to it."""
    log = git_text(root, "log", "--all", "--full-history", "-m", "--format=", "--name-only", "-z", "--relative")
    return frozenset(name for name in (log or "").split("\0") if name)


def files_at(root: Path, paths: Sequence[str], revision: str = "HEAD") -> list[bytes | None]:
    """The contents of these paths at a revision; None where there is no such file, revision or Git."""
    return list(read_blobs(root, [f"{revision}:./{path}" for path in paths]))


def _versions(root: Path, path: str) -> Iterator[bytes]:
    """Every content that a commit of any branch gave to ``path``, newest first."""
    log = git_text(root, "log", "--all", "--full-history", "-m", "--format=", "--raw", "--no-abbrev", "--", path)
    # A line is ":old-mode new-mode old-blob new-blob status<tab>path".
    blobs = [line.split()[3] for line in (log or "").splitlines() if line.startswith(":")]
    names = [blob for blob in dict.fromkeys(blobs) if set(blob) != {"0"}]
    yield from (data for data in read_blobs(root, names) if data is not None)
