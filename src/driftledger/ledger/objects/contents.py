"""The bytes of DVC outputs, wherever they are: by MD5 alone, so that what the workspace holds now does not matter.

A run of last year is read from the DVC cache, from a remote or from Git history, and its files may be anywhere but at
their paths. Nothing is believed to be what its name says: every file is hashed before it is handed out. And nothing is
asked, run or opened because the checkout names it: see :class:`Reach`.
"""

import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cached_property, lru_cache
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from driftledger.core.canonical import md5_bytes, md5_file, sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.core.files import write_bytes
from driftledger.core.text import shortened
from driftledger.ledger.lineage import Folder
from driftledger.ledger.objects.files import DIR, Workspace, listing_md5, parse_listing
from driftledger.ledger.objects.git import Git
from driftledger.ledger.objects.reach import HERE, Reach, own_folder

_MD5 = re.compile(r"[0-9a-f]{32}(\.dir)?")
_NAMED = "named by the reader"
"""A remote that the reader names by its address."""
_NOT_ASKED = "pass --remote URL, or --trust if this is your own checkout"


class Contents:
    """Finds the bytes of folders by their MD5: in DVC's cache, at their paths, in Git history, in a remote.

    DVC's cache is that in the checkout and that of the reader's own configuration.
    """

    def __init__(self, root: Path, reach: Reach = HERE) -> None:
        self.root = root
        self.unfetched: str | None = None
        """Why the last :meth:`fetch` could not ask the remote, as DVC or the service says it."""
        self._reach, self._own = reach, own_folder(root)
        self.here = Workspace(root, trust=reach.trust, caches=self._readers)
        self._listings: dict[str, dict[str, str]] = {}
        self._paths: dict[tuple[str, str], Path] = {}
        self.listing_here = lru_cache(maxsize=None)(self.here.listing)

    def manifest(self, folder: Folder) -> dict[str, str]:
        """Path relative to the folder → MD5 of every file below it.

        Raises:
            LedgerError: which files its output had is not known.
        """
        files, start = self.output(folder.out, folder.md5), f"{folder.path}/".removeprefix(f"{folder.out}/")
        if not files:
            raise LedgerError(
                f"the list of the files in {folder.out} (md5 {folder.md5}) is neither in DVC's cache nor here; run "
                "'dvc fetch'"
            )
        return {name.removeprefix(start): md5 for name, md5 in files.items() if name.startswith(start)}

    def output(self, out: str, md5: str) -> dict[str, str]:
        """The same of an output; empty where it is not known."""
        if md5 not in self._listings:
            self._listings[md5] = next(self._known_listings(out, md5), {})
        return self._listings[md5]

    def path(self, md5: str, near: str) -> Path | None:
        """A file that has this MD5, or None.

        Args:
            near: the path, relative to the top folder, at which it was written.
        """
        if (md5, near) not in self._paths:
            path = next((file for file in self._candidates(md5, near) if md5_file(file) == md5), None)
            path = path or self._from_git(md5, near)
            if path is None:
                return None
            self._paths[md5, near] = path
        return self._paths[md5, near]

    def within(self, folder: Folder, name: str) -> Path | None:
        """A file of a folder, wherever such bytes are; None where they are nowhere here, or the folder has no such
        file; errors as in :meth:`manifest`."""
        md5 = self.manifest(folder).get(name)
        return None if md5 is None else self.path(md5, f"{folder.path}/{name}")

    def cached(self, md5: str) -> Iterator[Path]:
        """Where DVC's caches keep the object of this name, whatever it holds."""
        if _MD5.fullmatch(md5):
            for cache in chain([self.root / ".dvc/cache"], self._readers()):
                if self.here.is_here(cached := cache / f"files/md5/{md5[:2]}/{md5[2:]}"):
                    yield cached

    def fetch(self, folders: Iterable[Folder]) -> list[Folder]:
        """Fetch what is not here from the remote that the reader names, in one transfer; with trust and no name, from
        the default one of the checkout.

        Returns:
            What could still not be had: no remote, no network (``unfetched`` says why), or nothing there.
        """
        absent = [each for each in dict.fromkeys(folders) if not self.has(each)]
        if not absent:
            return []
        if self._reach.remote is None and not self._reach.trust:
            self.unfetched = _NOT_ASKED
            return absent
        wanted = {each.md5 for each in absent}
        listings, self.unfetched = self._pull(wanted)
        self._listings = {md5: files for md5, files in self._listings.items() if files} | listings
        return [each for each in absent if not self.has(each)]

    def has(self, folder: Folder) -> bool:
        """Whether every byte of a folder is here."""
        try:
            files = self.manifest(folder)
        except LedgerError:
            return False
        return bool(files) and all(self.path(md5, f"{folder.path}/{name}") for name, md5 in files.items())

    def materialise(self, folder: Folder, target: Path) -> None:
        """Set up a folder at ``target``, for reading alone: its files are links, or copies where the disk has none.

        Raises:
            LedgerError: something of it is not here; :meth:`fetch` it first.
        """
        for name, md5 in self.manifest(folder).items():
            path = self.path(md5, f"{folder.path}/{name}")
            if path is None:
                raise LedgerError(f"the bytes of {folder.path}/{name} (md5 {md5}) are not here; run 'dvc fetch'")
            link = target / name
            link.parent.mkdir(parents=True, exist_ok=True)
            try:
                link.symlink_to(path.resolve())
            except OSError:
                shutil.copyfile(path, link)

    def _pull(self, outputs: Collection[str]) -> tuple[dict[str, dict[str, str]], str | None]:
        """Fetch outputs by their MD5s in one transfer, each file checked as it comes in; no commit is checked out.

        Returns:
            MD5 of an output → its files; and why the remote could not be asked, None where it could.
        """
        from dvc.api import DVCFileSystem
        from dvc_data.hashfile.hash_info import HashInfo

        name, remotes = self._reach.remote or self._settings["core"].get("remote"), self._settings["remote"]
        if name is None:
            return {}, "no default DVC remote is set; see 'dvc remote add --default'"
        if name not in remotes:
            address = name if "://" in name else str(Path(name).expanduser().absolute())
            name, remotes = _NAMED, {_NAMED: {"url": address}}  # an address has capitals, and DVC makes names small
        cache, listings = {"dir": str(self._own / "dvc")}, dict[str, dict[str, str]]()
        config = {"core": {"remote": name, "no_scm": True}, "cache": cache, "remote": {name: remotes[name]}}
        with TemporaryDirectory(prefix="driftledger-") as top:
            (Path(top) / ".dvc").mkdir()
            repo = DVCFileSystem(top, config=config).repo
            try:
                source, target = repo.cloud.get_remote_odb(), repo.cache.local
                for md5 in outputs:
                    with suppress(FileNotFoundError):
                        files = parse_listing(source.fs.cat_file(source.oid_to_path(md5)))
                        if files is not None and listing_md5(files) == md5:
                            listings[md5] = files
                # DVC does not fetch the files of a folder with its listing: it is asked for both.
                wanted = {*outputs, *(md5 for files in listings.values() for md5 in files.values())}
                infos = {HashInfo("md5", md5) for md5 in wanted}
                repo.cloud.transfer(source, target, infos, cache_odb=target, verify=True)
            except Exception as error:  # of whatever library speaks the remote's protocol, some of which share no base
                return listings, f"{type(error).__name__}: {shortened(str(error))}"
        return listings, None

    def _known_listings(self, out: str, md5: str) -> Iterator[dict[str, str]]:
        for cached in self.cached(md5):
            data = cached.read_bytes()
            if md5_bytes(data) + DIR == md5 and (files := parse_listing(data)):
                yield files
        if listing_md5(files := self.listing_here(out)) == md5:
            yield files
        if self._git is not None:  # scores, which Git keeps and DVC does not
            for tree, _ in self._git.ever_at(out):
                if listing_md5(files := self._git.listing(tree)) == md5:
                    yield files

    def _candidates(self, md5: str, near: str) -> Iterator[Path]:
        """Files that may have an MD5."""
        yield from self.cached(md5)
        if (here := self.here.here(near)) is not None:
            yield here

    def _from_git(self, md5: str, near: str) -> Path | None:
        """A file that Git holds, written to the reader's folder."""
        if self._git is None:
            return None
        for blob, _ in self._git.ever_at(near):
            data = self._git.read(blob)
            if data is not None and md5_bytes(data) == md5:
                path = self._own / "contents" / sha256_bytes(data)
                if not path.is_file() or path.read_bytes() != data:
                    write_bytes(path, data, shared=True)
                return path
        return None

    @cached_property
    def _git(self) -> Git | None:
        return Git.around(self.root)

    @cached_property
    def _settings(self) -> dict[str, Any]:
        """DVC's settings of this user and this machine, and those of the checkout if it is the reader's own."""
        from dvc.api import DVCFileSystem
        from dvc.exceptions import DvcException

        try:
            with TemporaryDirectory(prefix="driftledger-") as nowhere:
                (Path(nowhere) / ".dvc").mkdir()
                top = self.root if self._reach.trust and (self.root / ".dvc").is_dir() else Path(nowhere)
                return dict(DVCFileSystem(str(top), config={"core": {"no_scm": True}}).repo.config)
        except DvcException as error:
            raise LedgerError(f"DVC's configuration cannot be read ({shortened(str(error))}); edit it") from None

    def _readers(self) -> Iterator[Path]:
        """The reader's caches of DVC."""
        yield self._own / "dvc"
        if named := self._settings["cache"].get("dir"):
            yield Path(named)


class Recorded:
    """Folders of exactly the recorded bytes in a temporary place, for code that reads folders; each is set up once."""

    def __init__(self, contents: Contents, top: Path, absent: Sequence[Folder]) -> None:
        self._contents, self._top, self._absent = contents, top, absent
        self._places: dict[Folder, Path] = {}

    def __call__(self, folder: Folder) -> Path:
        """Where its bytes are, to be read and not written to.

        Raises:
            LedgerError: they are not here.
        """
        if folder in self._absent:
            reason = f" ({self._contents.unfetched})" if self._contents.unfetched else ""
            raise LedgerError(f"{folder.path} (of md5 {folder.md5}) is neither in a cache nor on a remote{reason}")
        if folder not in self._places:
            place = self._top / str(len(self._places))
            self._contents.materialise(folder, place)
            self._places[folder] = place
        return self._places[folder]


@contextmanager
def recorded(contents: Contents, folders: Iterable[Folder]) -> Iterator[Recorded]:
    """The bytes of these folders, fetched from the remote where they are not here, as long as the context lasts."""
    absent = contents.fetch(folders)
    with TemporaryDirectory(prefix="driftledger-") as top:
        yield Recorded(contents, Path(top), absent)
