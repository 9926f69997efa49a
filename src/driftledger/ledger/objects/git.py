"""Git's commits and files, read by libgit2: nothing that a repository holds or sets is ever executed.

No hook, filter, text conversion, signature program, file system monitor or transport is run, so a stranger's
repository is read as safely as one's own. What that costs: a file that a filter would change looks changed.
"""

import hashlib
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cached_property, lru_cache
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, FileStatus, SortMode

from driftledger.core.errors import LedgerError
from driftledger.core.shortening import shortened

_UNREADABLE = (pygit2.GitError, KeyError, ValueError)
"""What pygit2 raises for a name, an object or a repository that is missing, malformed or of an unknown format."""
_PARENTS_FIRST = SortMode.TOPOLOGICAL | SortMode.TIME | SortMode.REVERSE
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)
_MOST_TREES = 1_000
"""Trees that stand in memory at once."""
_LAST_SECOND = 253_402_300_799
"""Of the year 9999: a commit can claim to be from any time."""


class Commit(NamedTuple):
    """A commit, and when it was made: ISO 8601, in UTC."""

    id: str
    date: str


class Git:
    """The repository that a folder lies in; paths are relative to the folder, which need not be its top."""

    def __init__(self, root: Path, checkout: pygit2.Repository) -> None:
        self._root = root
        self._checkout = checkout
        self._repository = _main(checkout)
        self._prefix = _prefix(root, checkout)
        self._files = lru_cache(maxsize=_MOST_TREES)(self._read_files)

    @classmethod
    def around(cls, root: Path) -> "Git | None":
        """None where no repository with a commit can be read; :func:`why_unread` says why."""
        found = _find(root)
        return None if isinstance(found, str) else cls(root, found)

    @property
    def is_shallow(self) -> bool:
        """Whether older commits were left out when it was cloned."""
        return self._repository.is_shallow

    def commits(self) -> list[Commit]:
        """Those of HEAD and of every branch and tag, here and of remotes, parents first."""
        tips = self._tips(b"refs/heads/", b"refs/tags/", b"refs/remotes/")
        return [_dated(commit) for commit in self._walk(tips, _PARENTS_FIRST)]

    def commit(self, revision: str) -> Commit | None:
        """The commit that a revision names, if it names one."""
        try:
            return _dated(self._checkout.revparse_single(revision).peel(pygit2.Commit))
        except _UNREADABLE:
            return None

    def before(self, commit: str) -> set[str]:
        """The ids of a commit and of all that lead to it."""
        return {str(each.id) for each in self._walk([commit])}

    def subjects(self, since: str, until: str) -> Iterator[tuple[str, str]]:
        """Id and subject of the commits that lead to ``until`` and not to ``since``, newest first."""
        for each in self._walk([until], SortMode.TIME, hidden=[since]):
            message = each.raw_message.decode(errors="replace").strip()
            yield str(each.id), " ".join(message.partition("\n\n")[0].splitlines())

    def heads(self) -> list[str]:
        """The ids of HEAD and of what is being merged into it."""
        return [str(head) for head in (self._checkout.head.target, *self._checkout.listall_mergeheads())]

    def changes(self, *, below: bool = False) -> dict[str, bool] | None:
        """Path below the top of the checkout → whether Git does not know it, of all that differs from HEAD; None where
        that cannot be told.

        Args:
            below: whether only what is below the folder counts.
        """
        top = self._checkout.workdir
        if top is None or not Path(top, ".git").exists():  # core.worktree can name any folder of the disk
            return None
        try:
            found = self._checkout.status(untracked_files="normal")
        except _UNREADABLE:
            return None
        start = f"{self._prefix}/" if below and self._prefix != "." else ""
        return {path: status == FileStatus.WT_NEW for path, status in found.items() if path.startswith(start)}

    def parents(self, heads: Iterable[str]) -> dict[str, list[str]]:
        """Id → the ids of its parents, of these commits and of all that lead to them, parents first."""
        walk = self._walk(heads, _PARENTS_FIRST)
        return {str(commit.id): [str(parent) for parent in commit.parent_ids] for commit in walk}

    def leads_to(self, old: str, new: str) -> bool:
        """Whether ``old`` is a parent of ``new``, or a parent's parent, and so on."""
        return self._repository.descendant_of(new, old)

    def ids(self, commit: str, paths: Iterable[str]) -> list[str | None]:
        """What a commit has at each of the paths, a file or a folder: an object's id, or None."""
        found = self._object(commit)
        folder = self._folder(found) if isinstance(found, pygit2.Commit) else None
        return [None if entry is None else str(entry.id) for entry in (_at(folder, path) for path in paths)]

    def read(self, name: str | None) -> bytes | None:
        """The content of a file by its id; None where the repository has no such file."""
        found = None if name is None else self._object(name)
        return found.data if isinstance(found, pygit2.Blob) else None

    def size(self, name: str | None) -> int:
        """How many bytes an object has; 0 where the repository has no such object."""
        try:
            return 0 if name is None else self._repository.odb.read_header(name)[1]
        except _UNREADABLE:
            return 0

    def files(self, tree: str) -> dict[str, str]:
        """Path below a tree → id of the file's content; subtrees that several trees share are read once."""
        return self._files(tree)

    def contents(self, path: str) -> Iterator[bytes]:
        """Every content that a commit of any reference gave to a path, each once."""
        found = (self.read(name) for name in self._versions.get(path, ()))
        return (data for data in found if data is not None)

    @cached_property
    def _versions(self) -> dict[str, dict[str, None]]:
        """Path → the ids of all that it held; a folder is looked into once for all commits that share it."""
        found: dict[str, dict[str, None]] = {}
        seen = set[tuple[str, pygit2.Oid]]()
        for commit in self._walk(self._tips(b"refs/"), SortMode.TIME):
            folders = [("", self._folder(commit))]
            while folders:
                path, folder = folders.pop()
                if folder is None or (path, folder.id) in seen:
                    continue
                seen.add((path, folder.id))
                for entry in _entries(folder):
                    if isinstance(entry, pygit2.Tree):
                        folders.append((f"{path}{entry.name}/", entry))
                    elif isinstance(entry, pygit2.Blob):
                        found.setdefault(f"{path}{entry.name}", {})[str(entry.id)] = None
        return found

    def _read_files(self, tree: str) -> dict[str, str]:
        found: dict[str, str] = {}
        for entry in _entries(self._object(tree)):
            if isinstance(entry, pygit2.Tree):
                found |= {f"{entry.name}/{path}": blob for path, blob in self._files(str(entry.id)).items()}
            elif entry.filemode in _FILES:  # and no link, which an audit must not follow
                found[str(entry.name)] = str(entry.id)
        return found

    def _tips(self, *prefixes: bytes) -> Iterator[pygit2.Oid]:
        yield pygit2.Oid(hex=self.heads()[0])
        for reference in self._repository.listall_reference_objects():
            if reference.raw_name.startswith(prefixes):
                with suppress(*_UNREADABLE):  # a tag of a file, a branch that was left without its commit
                    yield reference.peel(pygit2.Commit).id

    def _walk(
        self, tips: Iterable[pygit2.Oid | str], order: SortMode = SortMode.NONE, hidden: Iterable[str] = ()
    ) -> Iterator[pygit2.Commit]:
        walker = self._repository.walk(None, order)
        try:
            for tip in tips:
                walker.push(tip)
            for tip in hidden:
                walker.hide(tip)
            yield from walker
        except _UNREADABLE as error:
            raise LedgerError(
                f"the Git history of {self._root} cannot be read ({shortened(str(error))}); run 'git fsck'"
            ) from None

    def _object(self, name: str) -> pygit2.Object | None:
        try:
            return self._repository[name]
        except _UNREADABLE:
            return None

    def _folder(self, commit: pygit2.Commit) -> pygit2.Object | None:
        """What a commit has at the folder."""
        return _at(self._object(str(commit.tree_id)), self._prefix)


def why_unread(root: Path) -> str:
    """Why no Git history can be read around a folder; empty where it can be."""
    found = _find(root)
    return found if isinstance(found, str) else ""


def contents_at(root: Path, paths: Sequence[str], revision: str = "HEAD") -> list[bytes | None]:
    """The contents of these paths at a revision; None where there is no such file, revision or Git."""
    git = Git.around(root)
    commit = None if git is None else git.commit(revision)
    if git is None or commit is None:
        return [None] * len(paths)
    return [git.read(name) for name in git.ids(commit.id, paths)]


def blob_id(data: bytes | memoryview) -> str:
    """What Git calls a file with this content."""
    hashed = hashlib.sha1(b"blob %d\0" % len(data), usedforsecurity=False)
    hashed.update(data)
    return hashed.hexdigest()


def _find(root: Path) -> pygit2.Repository | str:
    """The repository with a commit that a folder lies in, or why no such can be read."""
    here, ceilings = str(root.resolve()), os.environ.get("GIT_CEILING_DIRECTORIES", "")
    try:
        if pygit2.discover_repository(here, False, ceilings) is None:
            return "there is no Git repository here"
        # By its place and not by that of its objects, to which a checkout may be no more than linked.
        found = pygit2.Repository(here)
        return "the Git repository here has no commit" if found.head_is_unborn else found
    except _UNREADABLE as error:
        reason = str(error).removeprefix(f"{here}: ").replace(here, ".")
        return f"the Git repository here cannot be read ({shortened(reason)})"


def _main(checkout: pygit2.Repository) -> pygit2.Repository:
    """The repository of a linked worktree: libgit2 knows of it alone that it is shallow, and where it ends."""
    common = Path(checkout.path, "commondir")
    return pygit2.Repository(str(common.parent / common.read_text().strip())) if common.is_file() else checkout


def _prefix(root: Path, checkout: pygit2.Repository) -> str:
    """Where a folder lies below the top of a checkout; a bare repository is read from its top."""
    top = None if checkout.workdir is None else Path(checkout.workdir).resolve()
    here = root.resolve()
    return here.relative_to(top).as_posix() if top is not None and here.is_relative_to(top) else "."


def _at(folder: pygit2.Object | None, path: str) -> pygit2.Object | None:
    """The file or folder at a path below a folder."""
    if path == ".":
        return folder
    try:
        found = folder[path] if isinstance(folder, pygit2.Tree) else None
    except _UNREADABLE:
        return None
    return None if isinstance(found, pygit2.Commit) else found  # a submodule's commit is not in this repository


def _entries(folder: pygit2.Object | None) -> list[pygit2.Object]:
    try:
        return list(folder) if isinstance(folder, pygit2.Tree) else []
    except _UNREADABLE:
        return []


def _dated(commit: pygit2.Commit) -> Commit:
    made = datetime.fromtimestamp(min(max(commit.commit_time, 0), _LAST_SECOND), UTC)
    return Commit(str(commit.id), made.isoformat().replace("+00:00", "Z"))
