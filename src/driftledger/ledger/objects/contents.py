"""Bytes of DVC outputs by their MD5, wherever they are.

What the workspace holds now does not matter.

A run of last year is read from DVC's cache or from Git's history, and its files may be anywhere but
at their paths. Nothing is believed to be what its name says: every file is hashed before it is
handed out. And nothing is fetched, run or opened because the checkout names it.
"""

import re
import shutil
import weakref
from collections.abc import Iterator
from functools import cache, cached_property
from pathlib import Path
from tempfile import mkdtemp

from driftledger.core.canonical import md5_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.files import LARGEST_TEXT, read_jsonl, read_regular
from driftledger.ledger.lineage import Folder, Lineage
from driftledger.ledger.objects.files import (
    DIR,
    Listing,
    Workspace,
    listing_md5,
    parse_listing,
)
from driftledger.ledger.objects.git import Git
from driftledger.scoring.score import ROWS, Row

FETCH = "run 'dvc fetch'; --trust also looks into a cache outside of the checkout"
"""What to do about bytes that are not here."""
_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")


class Contents:
    """Finds files of folders by MD5: in DVC's cache, at their paths, in Git.

    Args:
        trust: whether the checkout is the reader's own: its links may lead out of it, and a cache
            of DVC that its configuration names is read too.
    """

    def __init__(self, root: Path, *, trust: bool) -> None:
        self.root = root
        self._trust = trust
        self.here = Workspace(root, trust=trust)
        self.listing_here = cache(self.here.listing)
        self._manifests: dict[Folder, Listing] = {}
        self._listings: dict[str, Listing] = {}
        self._paths: dict[tuple[str, str], Path] = {}
        self._recorded: dict[Folder, Path] = {}
        self.git = Git.around(root)

    def manifest(self, folder: Folder) -> Listing:
        """Return path relative to the folder → MD5 of every file below it.

        Raises:
            LedgerError: the files of its output are not known.
        """
        if folder in self._manifests:  # each of its files asks for it
            return self._manifests[folder]
        files = self.output(folder.out, folder.md5)
        start = f"{folder.path}/".removeprefix(f"{folder.out}/")
        if not files:
            raise LedgerError(
                f"no list of the files in {folder.out} (md5 {folder.md5}) is here; {FETCH}"
            )
        inner = {}
        for name, md5 in files.items():
            if name.startswith(start):
                inner[name.removeprefix(start)] = md5
        return self._manifests.setdefault(folder, inner)

    def output(self, out: str, md5: str) -> Listing:
        """Return path → MD5 of every file in an output; empty if they are not known."""
        if md5 not in self._listings:
            self._listings[md5] = next(self._known_listings(out, md5), {})
        return self._listings[md5]

    def path(self, md5: str, near: str) -> Path | None:
        """Return a file that has this MD5, or None.

        Args:
            near: the path, relative to the top folder, at which it was written.
        """
        if (md5, near) in self._paths:
            return self._paths[md5, near]
        for file in self._candidates(md5, near):
            if self.here.md5(file) == md5:
                self._paths[md5, near] = file
                return file
        return None

    def within(self, folder: Folder, name: str) -> Path | None:
        """Return a file of a folder; errors as in :meth:`manifest`.

        It is None if the folder has no such file, or its bytes are not here.
        """
        md5 = self.manifest(folder).get(name)
        return None if md5 is None else self.path(md5, f"{folder.path}/{name}")

    def cached(self, md5: str) -> Iterator[Path]:
        """Yield the files named by an MD5 in DVC's caches, whatever they hold."""
        if not _MD5.fullmatch(md5):
            return
        if (
            cached := self.here.here(f".dvc/cache/files/md5/{md5[:2]}/{md5[2:]}")
        ) is not None:
            yield cached
        for objects in self._configured:
            if (cached := self.here.here(objects / md5[:2] / md5[2:])) is not None:
                yield cached

    def cached_listing(self, md5: str) -> Listing | None:
        """Return the files of a folder by its MD5, if DVC's caches list them."""
        for cached in self.cached(md5):
            data = read_regular(cached, LARGEST_TEXT)
            if md5_bytes(data) + DIR == md5 and (files := parse_listing(data)):
                return files
        return None

    def has(self, folder: Folder) -> bool:
        """Return True if every byte of a folder is here."""
        try:
            files = self.manifest(folder)
        except LedgerError:
            return False
        return bool(files) and all(
            self.path(md5, f"{folder.path}/{name}") for name, md5 in files.items()
        )

    def recorded(self, folder: Folder) -> Path:
        """Return a folder of exactly the recorded bytes, for code that reads folders.

        It is the folder in the workspace if that has these bytes. Otherwise it is a folder of
        links, or copies if links are impossible, which lasts as long as this object.

        Raises:
            LedgerError: bytes are not here.
        """
        if folder in self._recorded:
            return self._recorded[folder]
        manifest = self.manifest(folder)
        top = self.root / folder.path
        present = set()
        for file in top.rglob("*"):
            if file.is_symlink() or not file.is_dir():
                present.add(file.relative_to(top).as_posix())
        # nothing else may be read there
        if present == manifest.keys() and self.listing_here(folder.path) == manifest:
            return self._recorded.setdefault(folder, top)
        copy = Path(mkdtemp(dir=self._temporary))
        for name, md5 in manifest.items():
            path = self.path(md5, f"{folder.path}/{name}")
            if path is None:
                raise LedgerError(
                    f"{folder.path}/{name} of md5 {folder.md5} is not here; {FETCH}"
                )
            link = copy / name
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                link.symlink_to(path.resolve())
            except OSError:
                shutil.copyfile(path, link)
        return self._recorded.setdefault(folder, copy)

    def _known_listings(self, out: str, md5: str) -> Iterator[Listing]:
        if files := self.cached_listing(md5):
            yield files
        if listing_md5(files := self.listing_here(out)) == md5:
            yield files
        if self.git is not None:  # scores, which Git keeps and DVC does not
            for tree, _ in self.git.ever_at(out):
                if listing_md5(files := self.git.listing(tree)) == md5:
                    yield files

    def _candidates(self, md5: str, near: str) -> Iterator[Path]:
        """Yield files that may have an MD5."""
        yield from self.cached(md5)
        if (here := self.here.here(near)) is not None:
            yield here
        if self.git is not None:
            for blob, _ in self.git.ever_at(near):
                (path := self._temporary / blob).write_bytes(self.git.read(blob) or b"")
                yield path

    @cached_property
    def _temporary(self) -> Path:
        """A folder for copies and files of Git's history; it lasts as long as this object."""
        folder = Path(mkdtemp(prefix="driftledger-"))
        weakref.finalize(self, shutil.rmtree, folder)
        return folder

    @cached_property
    def _configured(self) -> list[Path]:
        """The cache that DVC's configuration names, if it is trusted."""
        if not self._trust or not (self.root / ".dvc").is_dir():
            return []
        from dvc.api import DVCFileSystem

        files = DVCFileSystem(str(self.root), config={"core": {"no_scm": True}})
        return [Path(files.repo.cache.local.path)]


def rows_of(lineage: Lineage, contents: Contents) -> list[Row]:
    """Read the rows of exactly this version of a score."""
    path = contents.within(lineage.folder, ROWS)
    if path is None:
        raise LedgerError(
            f"{lineage.rows_path} of that version (md5 {lineage.folder.md5}) is not here; {FETCH}"
        )
    return read_jsonl(path, Row, lineage.rows_path)
