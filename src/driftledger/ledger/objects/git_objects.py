"""Git's commits and objects, read one after the other: a long history never stands in memory at once."""

import os
import subprocess
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple, Self

from driftledger.ledger.git import git_text

_REFERENCES = ("--branches", "--tags", "--remotes", "HEAD")
_TREE = b"40000"
_MOST_TREES = 1_000
"""Trees that stand in memory at once."""


class Commit(NamedTuple):
    """A commit, and when it was made: ISO 8601, in UTC."""

    id: str
    date: str


class GitObjects:
    """The repository that ``root`` lies in; paths are relative to ``root``, which need not be its top."""

    def __init__(self, root: Path, prefix: str) -> None:
        self._root = root
        self._prefix = prefix
        self._reader: subprocess.Popen[bytes] | None = None
        self._files = lru_cache(maxsize=_MOST_TREES)(self._read_files)

    @classmethod
    def around(cls, root: Path) -> "GitObjects | None":
        """None where there is no Git, no repository, or no commit in it."""
        prefix = git_text(root, "rev-parse", "--show-prefix")
        if prefix is None or git_text(root, "rev-parse", "--verify", "--quiet", "HEAD") is None:
            return None
        return cls(root, prefix.rstrip("\n"))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._reader is not None:
            self._reader.communicate()

    @property
    def is_shallow(self) -> bool:
        """Whether older commits were left out when it was cloned."""
        return git_text(self._root, "rev-parse", "--is-shallow-repository") == "true\n"

    def commits(self) -> list[Commit]:
        """Those of every branch and tag, parents first."""
        said = git_text(self._root, "log", "--reverse", "--date-order", "--format=%H %ct", *_REFERENCES) or ""
        return [Commit(name, _iso(int(seconds))) for name, seconds in map(str.split, said.splitlines())]

    def commit(self, revision: str) -> Commit | None:
        """The commit that a revision names, if it names one."""
        said = git_text(self._root, "log", "-1", "--format=%H %ct", "--end-of-options", revision, "--")
        if not said:
            return None
        name, seconds = said.split()
        return Commit(name, _iso(int(seconds)))

    def before(self, revision: str) -> set[str]:
        """The ids of a commit and of all that lead to it."""
        return set((git_text(self._root, "rev-list", "--end-of-options", revision, "--") or "").split())

    def ids(self, commits: Sequence[str], paths: Sequence[str]) -> Iterator[list[str | None]]:
        """For each commit, what it has at each of the paths: an object's id, or None."""
        asked = "".join(f"{commit}:{self._prefix}{path}\n" for commit in commits for path in paths)
        said = git_text(self._root, "cat-file", "--batch-check=%(objectname)", stdin=asked.encode()) or ""
        found = [None if line.endswith(" missing") else line for line in said.splitlines()]
        return (found[start : start + len(paths)] for start in range(0, len(found), len(paths)))

    def read(self, name: str) -> bytes:
        """The content of an object; empty where the repository has no such object."""
        reader = self._started()
        stdin, stdout = _pipe(reader.stdin), _pipe(reader.stdout)
        stdin.write(f"{name}\n".encode())
        stdin.flush()
        head = stdout.readline().split()
        if len(head) != 3:
            return b""
        return stdout.read(int(head[2]) + 1)[:-1]

    def files(self, tree: str) -> dict[str, str]:
        """Path below a tree → id of the file's content; subtrees that several trees share are read once."""
        return self._files(tree)

    def _read_files(self, tree: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for mode, name, child in _entries(self.read(tree), len(tree) // 2):
            if mode == _TREE:
                found |= {f"{name}/{path}": blob for path, blob in self._files(child).items()}
            elif mode.startswith(b"100"):
                found[name] = child
        return found

    def _started(self) -> "subprocess.Popen[bytes]":
        if self._reader is None:
            command = ["git", "-C", str(self._root), "cat-file", "--batch"]
            self._reader = subprocess.Popen(
                command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
            )
        return self._reader


def _entries(tree: bytes, digest: int) -> Iterator[tuple[bytes, str, str]]:
    """Mode, name and id of each entry of a tree object: ``mode name NUL id``, the id in ``digest`` raw bytes."""
    at = 0
    while at < len(tree):
        end = tree.index(b"\0", at)
        mode, _, name = tree[at:end].partition(b" ")
        at = end + 1 + digest
        yield mode, os.fsdecode(name), tree[end + 1 : at].hex()


def _pipe(pipe: IO[bytes] | None) -> IO[bytes]:
    if pipe is None:
        raise ValueError("the process was started without this pipe")
    return pipe


def _iso(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")
