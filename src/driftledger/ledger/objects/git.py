"""Git's commits and files, read by libgit2: nothing is executed.

No hook, filter, text conversion, signature program, file system monitor or transport is run, so a
stranger's repository is read as safely as one's own. What that costs: a file that a filter would
change looks changed.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pygit2
from pygit2.enums import FileMode, SortMode

from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.files import read_regular
from driftledger.core.text import shortened
from driftledger.ledger.objects.files import Listing

_UNREADABLE = (pygit2.GitError, KeyError, ValueError)
"""Errors of pygit2 for missing or malformed names, objects and repositories."""
_FILES = (FileMode.BLOB, FileMode.BLOB_EXECUTABLE)
_RULES = (".gitattributes", ".gitignore")
"""Files of a checkout that libgit2 reads in each folder."""
_NAMED = (b"refs/heads/", b"refs/tags/", b"refs/remotes/")
_LAST_SECOND = 253_402_300_799
"""The end of the year 9999: a commit can claim any time."""
NO_REPOSITORY = "no Git repository here"
_NO_COMMIT = "the Git repository here has no commit"


class Commit(NamedTuple):
    """A commit, and when it was made: ISO 8601, in UTC."""

    id: str
    date: str


class Git:
    """The repository around a project.

    Paths are relative to the project's folder, which need not be the top of the repository.
    """

    def __init__(self, root: Path, checkout: pygit2.Repository) -> None:
        self._root = root
        self._checkout = checkout
        self._repository = checkout
        if (common := Path(checkout.path, "commondir")).is_file():
            # A linked worktree: libgit2 knows of its main repository alone that it is shallow, and
            # where it ends.
            self._repository = pygit2.Repository(
                str(common.parent / read_regular(common).decode().strip())
            )
        self.is_shallow: bool = self._repository.is_shallow
        """True if older commits were left out of the clone."""
        top = Path(
            checkout.workdir or root
        ).resolve()  # a bare repository is read from its top
        here = root.resolve()
        below = here.relative_to(top).as_posix() if here.is_relative_to(top) else "."
        self.prefix = "" if below == "." else f"{below}/"
        """The path from the top of the checkout to the project, with a slash; or empty."""
        self.files = cache(self._files)
        """Return path → id of each file below a tree, by the id of the tree; empty for None."""
        self._md5 = cache(lambda name: md5_bytes(self.read(name) or b""))

    @classmethod
    def around(cls, root: Path) -> "Git | None":
        """Open a repository; None if none with a commit can be read (:func:`why_unread`)."""
        repository = _find(root)
        return None if isinstance(repository, str) else cls(root, repository)

    def commits(self) -> list[Commit]:
        """List the commits of HEAD and all branches and tags, parents first."""
        commits = []
        for commit in self._walk():
            commits.append(Commit(str(commit.id), _date(commit)))
        return commits[::-1]

    def commit(self, reference: str) -> str | None:
        """Return the id of the commit that a branch, a tag or ``HEAD~3`` names, if any."""
        try:
            return str(self._checkout.revparse_single(reference).peel(pygit2.Commit).id)
        except _UNREADABLE:
            return None

    def date(self, commit: str) -> str:
        """Return the day of a commit; empty if the repository has no such commit."""
        named = self._object(commit)
        return _date(named)[:10] if isinstance(named, pygit2.Commit) else ""

    def heads(self) -> list[str]:
        """Return the ids of HEAD and of commits that are being merged into it."""
        merging = self._checkout.listall_mergeheads()
        return [str(head) for head in (self._checkout.head.target, *merging)]

    def changes(self) -> list[str] | None:
        """List the paths of HEAD that differ in the checkout; None if it is unknown."""
        top = self._checkout.workdir
        # core.worktree can name any folder of the disk
        if top is None or not Path(top, ".git").exists():
            return None
        try:
            folders: set[Path] = set()
            for entry in self._checkout.index:
                folders.update(Path(entry.path).parents)
            for folder in folders:
                for name in _RULES:
                    rule = Path(top, folder, name)
                    # a pipe, which libgit2 would wait for
                    if rule.exists() and not rule.is_file():
                        return None
            return list(self._checkout.status(untracked_files="no"))
        except _UNREADABLE:
            return None

    def is_unmerged(self, path: str) -> bool:
        """Return True if a file has a conflict of a merge."""
        conflicts = self._checkout.index.conflicts
        return conflicts is not None and self.prefix + path in conflicts

    def id_at(self, commit: str, path: str) -> str | None:
        """Return the id of what a commit has at a path of the project, if anything."""
        try:
            return str(
                self._repository[commit].peel(pygit2.Tree)[self.prefix + path].id
            )
        except _UNREADABLE:
            return None

    def read(self, name: str | None) -> bytes | None:
        """Read a file by its id; None if the repository has no such file."""
        blob = self._object(name)
        return blob.data if isinstance(blob, pygit2.Blob) else None

    def listing(self, tree: str | None) -> Listing:
        """Return path below a tree → MD5 of the file's content."""
        return {path: self._md5(blob) for path, blob in self.files(tree).items()}

    def ever_at(
        self, path: str, heads: Sequence[str] = ()
    ) -> Iterator[tuple[str, str]]:
        """Yield each object that commits had at a path, newest first, with a commit.

        Args:
            heads: the commits to search with their history; by default, all branches and tags.
        """
        seen = set()
        for commit in self._walk(heads):
            named = self.id_at(str(commit.id), path)
            if named is not None and named not in seen:
                seen.add(named)
                yield named, str(commit.id)

    def _files(self, tree: str | None) -> dict[str, str]:
        folder = self._object(tree)
        files = {}
        for entry in folder if isinstance(folder, pygit2.Tree) else ():
            if isinstance(entry, pygit2.Tree):
                for path, blob in self.files(str(entry.id)).items():
                    files[f"{entry.name}/{path}"] = blob
            elif (
                entry.filemode in _FILES
            ):  # and no link, which a reader must not follow
                files[str(entry.name)] = str(entry.id)
        return files

    def _walk(self, heads: Sequence[str] = ()) -> Iterator[pygit2.Commit]:
        """Yield commits and their history, the newest first and parents last.

        By default, they are HEAD and every branch and tag, also of remotes.
        """
        tips: list[pygit2.Oid | str] = [*(heads or self.heads())]
        for reference in self._repository.listall_reference_objects():
            is_named = reference.raw_name.startswith(_NAMED)
            if is_named and not heads:
                # a tag of a file, a branch that was left without its commit
                with suppress(*_UNREADABLE):
                    tips.append(reference.peel(pygit2.Commit).id)
        # by time alone, commits of one second come in any order
        walker = self._repository.walk(None, SortMode.TOPOLOGICAL | SortMode.TIME)
        try:
            for tip in tips:
                walker.push(tip)
            yield from walker
        except _UNREADABLE as error:
            raise LedgerError(
                f"the Git history of {self._root} cannot be read ({shortened(str(error))}); run "
                "'git fsck'"
            ) from None

    def _object(self, name: str | None) -> pygit2.Object | None:
        try:
            return None if name is None else self._repository[name]
        except _UNREADABLE:
            return None


def _date(commit: pygit2.Commit) -> str:
    date = datetime.fromtimestamp(min(max(commit.commit_time, 0), _LAST_SECOND), UTC)
    return date.isoformat().replace("+00:00", "Z")


class CommitTree(NamedTuple):
    """The project's files in a commit, with the methods of ``Workspace``."""

    git: Git
    commit: str

    def read(self, path: str) -> bytes | None:
        """Read a file; None if the commit has no such file."""
        return self.git.read(self.git.id_at(self.commit, path))

    def listing(self, folder: str) -> Listing:
        """Return path relative to the folder → MD5 of every file below it."""
        return self.git.listing(self.git.id_at(self.commit, folder))


def why_unread(root: Path) -> str:
    """Say why no Git history can be read around a folder; empty if it can be."""
    repository = _find(root)
    return repository if isinstance(repository, str) else ""


def is_unreadable(root: Path) -> bool:
    """Return True if a repository cannot be read, for instance another user's."""
    return why_unread(root) not in ("", NO_REPOSITORY, _NO_COMMIT)


def _not_files(top: Path) -> Iterator[Path]:
    """Yield pipes and devices below a folder: libgit2 would wait for them.

    Links to them count.
    """
    waiting = [top]
    while waiting:
        with suppress(OSError), os.scandir(waiting.pop()) as entries:
            for entry in entries:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(Path(entry.path))
                elif (
                    not entry.is_file()
                    and not entry.is_dir()
                    and Path(entry.path).exists()
                ):
                    yield Path(entry.path)


def _find(root: Path) -> pygit2.Repository | str:
    """Return the repository around a folder, or why none with a commit can be read."""
    here = str(root.resolve())
    ceilings = os.environ.get("GIT_CEILING_DIRECTORIES", "")
    try:
        folder = pygit2.discover_repository(here, False, ceilings)
        if folder is None:
            return NO_REPOSITORY
        if strange := next(_not_files(Path(folder)), None):
            return (
                f"the Git repository here cannot be read ({strange.name} in it is not a regular "
                "file)"
            )
        # by the checkout's own path: its objects may be in another place, which it links to
        repository = pygit2.Repository(here)
        return (
            _NO_COMMIT
            if repository.head_is_unborn or not repository.head.target
            else repository
        )
    except _UNREADABLE as error:
        reason = str(error).removeprefix(f"{here}: ").replace(here, ".")
        return f"the Git repository here cannot be read ({shortened(reason)})"
