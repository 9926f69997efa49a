"""The bytes of DVC outputs, wherever they are: by MD5 alone, so that what the workspace holds now does not matter.

A run of last year is read from the DVC cache, from the remote or from Git history, and its files may be anywhere but at
their paths. Nothing is believed to be what its name says: every file is hashed before it is handed out. And nothing is
asked, run or opened because the checkout names it: see :class:`Reach`.
"""

import os
import re
import shutil
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property, lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from driftledger.core.canonical import md5_bytes, md5_file, sha256_bytes, sha256_file
from driftledger.core.errors import LedgerError
from driftledger.core.file_states import FileState
from driftledger.core.files import write_bytes
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.fetching import (
    FOLDER,
    manifest_md5,
    opened,
    own_settings,
    parse_manifest,
    pull,
    throwaway,
)
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.reach import HERE, Reach, own_folder

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")
_NOT_ASKED = "none is asked without --remote URL, or --trust where this checkout is your own"


class Contents:
    """Finds the bytes of DVC outputs by their MD5: in DVC's cache, at their paths, in Git history, in a remote.

    DVC's cache is that in the checkout and that of the reader's own configuration; a link that leads out of both is not
    followed.

    One that lives as long as a command does: a file that has not changed since is not hashed again.
    """

    def __init__(self, root: Path, reach: Reach = HERE) -> None:
        self.root = root
        self.unfetched: str | None = None
        """Why the last :meth:`fetch` could not ask the remote, as DVC or the service says it."""
        self._reach, self._own = reach, own_folder(root)
        self._is_within = lru_cache(maxsize=None)(self._leads_within)
        self._known: dict[tuple[Callable[[Path], str], str], tuple[FileState, str]] = {}
        self._manifests: dict[str, dict[str, str]] = {}
        self._found: dict[tuple[str, str | None], Path] = {}
        self._blobs: dict[tuple[str, str], Path | None] = {}

    def manifest(self, locked: LockedFile) -> dict[str, str]:
        """Relative path → MD5 of every file of a folder; ``{"": md5}`` for a file.

        Raises:
            LedgerError: the folder's manifest is neither cached nor that of the folder at its path.
        """
        if not locked.md5.endswith(FOLDER):
            return {"": locked.md5}
        if locked.md5 not in self._manifests:
            found = self._manifest(locked)
            if found is None:
                raise LedgerError(
                    f"which files {locked.path} had is known neither to DVC's cache nor here (md5 {locked.md5}); "
                    "run 'dvc fetch'"
                )
            self._manifests[locked.md5] = found
        return self._manifests[locked.md5]

    def path(self, md5: str, near: str | None = None) -> Path | None:
        """A file that really has this MD5, or None.

        Args:
            near: the path, relative to the top folder, at which it was written: a file there is taken too, and Git
                history is searched for it.
        """
        wanted, found = md5.removesuffix(FOLDER), self._found.get((md5, near))
        if found is None or not found.is_file() or self.md5_of(found) != wanted:
            found = next((file for file in self._candidates(md5, near) if self.md5_of(file) == wanted), None)
            if found is None:
                return None if near is None else self._from_git(md5, near)
            self._found[md5, near] = found
        return found

    def _candidates(self, md5: str, near: str | None) -> Iterator[Path]:
        """Files that may have an MD5; last those of the reader's caches, to find which DVC has to be imported."""
        yield from self._objects(md5, [self._theirs])
        if near is not None and not md5.endswith(FOLDER) and (here := self.here(near)) is not None:
            yield here
        yield from self._objects(md5, self._readers)

    def here(self, path: str) -> Path | None:
        """The file at a path relative to the top folder; None where there is none, or a link leads to it from
        elsewhere."""
        file = self.root / path
        return file if self._is_here(file) else None

    def within(self, folder: LockedFile, name: str) -> Path | None:
        """A file of a folder, wherever such bytes are; None where they are not at hand, or the folder has no such file.

        Raises:
            LedgerError: which files the folder had is not known.
        """
        md5 = self.manifest(folder).get(name)
        return None if md5 is None else self.path(md5, beneath(folder.path, name))

    def cached(self, md5: str) -> Path | None:
        """Where DVC's cache keeps the object called so, whatever it holds; None where it has none."""
        return next(self._objects(md5, self._caches), None)

    def runs(self) -> Iterator[Path]:
        """DVC's run cache: ``runs/<two digits>/<what went in>/<what came out>``, each the lock entry of one run."""
        return (path for cache in self._caches for path in sorted(cache.glob("runs/*/*/*")) if self._is_here(path))

    def _objects(self, md5: str, caches: Iterable[Path]) -> Iterator[Path]:
        """What caches have under the name of an object, whatever it holds."""
        if _MD5.fullmatch(md5):
            paths = (cache / f"files/md5/{md5[:2]}/{md5[2:]}" for cache in caches)
            yield from filter(self._is_here, paths)

    def md5_of(self, path: Path) -> str:
        """Hex MD5 of a file, hashed once for as long as it stays as it is."""
        return self._hash(path, md5_file)

    def sha256_of(self, path: Path) -> str:
        """Hex SHA-256 of a file, in the same way."""
        return self._hash(path, sha256_file)

    def _hash(self, path: Path, hashed: Callable[[Path], str]) -> str:
        name, state = (hashed, str(path)), FileState.of(path)
        known = self._known.get(name)
        if known is None or known[0] != state:
            known = self._known[name] = (state, hashed(path))
        return known[1]

    def fetch(self, locked: Sequence[LockedFile]) -> list[LockedFile]:
        """Fetch what is not at hand from the remote that the reader names, in one transfer; with trust and no name,
        from the default one of the checkout.

        Returns:
            What could still not be had: no remote, no network (``unfetched`` says why), or nothing there.
        """
        absent = [each for each in locked if not self.has(each)]
        if not absent:
            return []
        manifests = dict[str, dict[str, str]]()
        if self._reach.remote is not None:
            with throwaway(self._reach.remote, self._own / "dvc") as repo:
                manifests, self.unfetched = pull(repo, absent)
        elif self._repo is not None:
            manifests, self.unfetched = pull(self._repo, absent)
        else:
            self.unfetched = f"{self.root} is no DVC project" if self._reach.trust else _NOT_ASKED
        self._manifests |= manifests
        return [each for each in absent if not self.has(each)]

    def has(self, locked: LockedFile) -> bool:
        """Whether every byte of an output is at hand."""
        try:
            manifest = self.manifest(locked)
        except LedgerError:
            return False
        return all(self.path(md5, beneath(locked.path, name)) is not None for name, md5 in manifest.items())

    def fits(self, locked: LockedFile) -> bool:
        """Whether every byte is at hand, and size and number of files are as they were locked."""
        return self.has(locked) and self.measured(locked) == locked

    def measured(self, locked: LockedFile) -> LockedFile:
        """The same, with size and number of files as they are.

        Raises:
            LedgerError: something of it is not at hand.
        """
        files = [self._at_hand(locked, name, md5) for name, md5 in self.manifest(locked).items()]
        return _locked(locked.path, locked.md5, files)

    def locked_here(self, path: str) -> LockedFile | None:
        """The file or folder at a path as it is now, as DVC would lock it; None where nothing is there."""
        top = self.root / path
        if self._is_here(top):
            return _locked(path, self.md5_of(top), [top])
        found = self.folder_here(path)
        return _locked(path, manifest_md5(found), [top / name for name in found]) if found else None

    def folder_here(self, path: str) -> dict[str, str]:
        """Relative path → MD5 of every file in a folder as it is now, less what ``.dvcignore`` leaves out."""
        return {name: self.md5_of(self.root / path / name) for name in self.more_here(path)}

    def more_here(self, path: str, than: Collection[str] = ()) -> list[str]:
        """The files that are now in a folder, relative to it, less those named and what ``.dvcignore`` leaves out."""
        top = self.root / path
        files = [top / name for name in _names_below(top) if name not in than]
        return [
            file.relative_to(top).as_posix()
            for file in sorted(files)
            if self._is_here(file) and not self._is_ignored(str(file))
        ]

    def in_place(self, locked: LockedFile) -> Path | None:
        """The file or folder at the path of an output, where it has exactly these bytes and no file beside them, not
        even one that DVC ignores: it can be read as it stands.

        Raises:
            LedgerError: which files the folder had is not known.
        """
        top, manifest = self.root / locked.path, self.manifest(locked)
        if locked.md5.endswith(FOLDER) and _names_below(top) != manifest.keys():
            return None
        files = ((top / name if name else top, md5) for name, md5 in manifest.items())
        return top if all(self._is_here(file) and self.md5_of(file) == md5 for file, md5 in files) else None

    def materialise(self, locked: LockedFile, target: Path) -> None:
        """Set up exactly these bytes at ``target``, a file or folder that must not be there yet, for reading alone.

        The files are links to where the bytes are, or copies where the disk has no links: do not write to them.

        Raises:
            LedgerError: something of it is not at hand; :meth:`fetch` it first.
        """
        for name, md5 in self.manifest(locked).items():
            path = self._at_hand(locked, name, md5)
            link = target / name if name else target
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                link.symlink_to(path.resolve())
            except OSError:
                shutil.copyfile(path, link)

    def _at_hand(self, locked: LockedFile, name: str, md5: str) -> Path:
        where = beneath(locked.path, name)
        path = self.path(md5, where)
        if path is None:
            raise LedgerError(
                f"the bytes of {where} (md5 {md5}) are not at hand; run 'dvc fetch', or restore them where they "
                "were stored"
            )
        return path

    def _manifest(self, locked: LockedFile) -> dict[str, str] | None:
        """That of DVC's cache; else of the folder at its path, if that still is the folder which was locked."""
        cached = self.path(locked.md5)
        if cached is not None and (files := parse_manifest(cached.read_bytes())):
            return files
        here = self.folder_here(locked.path)
        return here if here and manifest_md5(here) == locked.md5 else None

    def _from_git(self, md5: str, near: str) -> Path | None:
        """A file that Git holds, written where the reader keeps things: Git has no files of old contents."""
        if (near, md5) not in self._blobs:
            contents = () if self._git is None else self._git.contents(near)
            data = next((data for data in contents if md5_bytes(data) == md5), None)
            self._blobs[near, md5] = None if data is None else _put(self._own / "contents", data)
        return self._blobs[near, md5]

    @cached_property
    def _git(self) -> Git | None:
        return Git.around(self.root)

    @cached_property
    def _repo(self) -> Any:
        """DVC's own view of a checkout that is the reader's; None for any other, and where it is not the top of one."""
        return opened(self.root) if self._reach.trust and (self.root / ".dvc").is_dir() else None

    @property
    def _caches(self) -> list[Path]:
        """The top folders of DVC's caches: the checkout's first, then the reader's."""
        return [self._theirs, *self._readers]

    @cached_property
    def _theirs(self) -> Path:
        return self.root / ".dvc" / "cache" if self._repo is None else Path(self._repo.cache.local_cache_dir)

    @cached_property
    def _readers(self) -> list[Path]:
        own = own_settings()["cache"].get("dir")
        return [*([Path(own)] if own else []), self._own / "dvc"]

    @cached_property
    def _top(self) -> Path:
        return self.root.resolve()

    @cached_property
    def _tops(self) -> list[Path]:
        return [each.resolve() for each in self._readers]

    def _is_here(self, path: Path) -> bool:
        """Whether a file is there, and no link leads to it out of the checkout and the reader's caches, unless the
        checkout is the reader's own."""
        try:
            mode = path.lstat().st_mode
            if stat.S_ISLNK(mode):
                return path.is_file() and self._is_within(path.resolve().parent)
        except (OSError, ValueError):  # a NUL in its name
            return False
        return stat.S_ISREG(mode) and self._is_within(path.parent)

    def _leads_within(self, folder: Path) -> bool:
        if self._reach.trust:
            return True
        resolved = folder.resolve()
        return resolved.is_relative_to(self._top) or any(resolved.is_relative_to(top) for top in self._tops)

    @cached_property
    def _is_ignored(self) -> Callable[[str], bool]:
        """Whether ``.dvcignore`` leaves a file out, as DVC reads it."""
        if not (self.root / ".dvc").is_dir():
            return lambda file: False
        from dvc.fs import localfs
        from dvc.ignore import DvcIgnoreFilter

        ignored: Callable[[str], bool] = DvcIgnoreFilter(localfs, str(self.root)).is_ignored_file
        return ignored


class Recorded:
    """Folders of exactly the recorded bytes, for code that reads folders: where they stand in the checkout, else in a
    temporary place, each set up once."""

    def __init__(self, contents: Contents, top: Path, absent: Iterable[LockedFile]) -> None:
        self._contents, self._top = contents, top
        self._absent = {locked.md5 for locked in absent}
        self._there: dict[str, Path] = {}

    def __call__(self, locked: LockedFile) -> Path:
        """Where its bytes are, to be read and not written to.

        Raises:
            LedgerError: they are not at hand.
        """
        if locked.md5 in self._absent:
            reason = f" ({self._contents.unfetched})" if self._contents.unfetched else ""
            raise LedgerError(f"{locked.path} (md5 {locked.md5}) is neither in a cache nor on a remote{reason}")
        if locked.md5 not in self._there:
            place = self._contents.in_place(locked)
            if place is None:
                place = self._top / str(len(self._there))
                self._contents.materialise(locked, place)
            self._there[locked.md5] = place
        return self._there[locked.md5]


@contextmanager
def recorded(contents: Contents, outputs: Iterable[LockedFile]) -> Iterator[Recorded]:
    """The bytes of these outputs, fetched from the remote where they are not here, as long as the context lasts."""
    absent = contents.fetch(list({locked.md5: locked for locked in outputs}.values()))
    with TemporaryDirectory(prefix="driftledger-") as top:
        yield Recorded(contents, Path(top), absent)


def beneath(path: str, name: str) -> str:
    """The path of a file of an output; ``name`` is empty where the output is the file itself."""
    return f"{path}/{name}" if name else path


def _names_below(top: Path) -> set[str]:
    """The files in a folder, relative to it. A link to a folder is one of them: nothing is looked for behind it."""
    found = set[str]()
    for folder, folders, files in os.walk(top):
        below = "" if folder == str(top) else f"{Path(folder).relative_to(top).as_posix()}/"
        links = [name for name in folders if Path(folder, name).is_symlink()]
        found.update(f"{below}{name}" for name in (*files, *links))
    return found


def _locked(path: str, md5: str, files: Sequence[Path]) -> LockedFile:
    nfiles = len(files) if md5.endswith(FOLDER) else None
    return LockedFile(path=path, md5=md5, size=sum(file.stat().st_size for file in files), nfiles=nfiles)


def _put(folder: Path, data: bytes) -> Path:
    """Keep ``data`` under a name that is its hash."""
    path = folder / sha256_bytes(data)
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data, shared=True)
    return path
