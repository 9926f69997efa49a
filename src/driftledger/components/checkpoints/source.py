"""A local folder or a repository of the Hugging Face hub, and what it is at this moment.

The hashes of large files are remembered, so that weights are read once and not at every stage.
"""

import os
import re
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, NamedTuple

from platformdirs import user_cache_path

from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import ConfigError, MissingSourceError, nothing_at
from driftledger.core.registry import import_extra
from driftledger.core.text import for_line

_COMMIT = re.compile(r"[0-9a-f]{40}")
_NOT_LOADED = (".md", ".txt.license", ".png", ".jpg", ".gitattributes")
"""What explains a checkpoint and is no part of it."""

_SCHEMA = """
CREATE TABLE IF NOT EXISTS hashes (
    path TEXT PRIMARY KEY, bytes INTEGER, modified_ns INTEGER, changed_ns INTEGER, inode INTEGER, sha256 TEXT
)
"""


class Source(NamedTuple):
    """Where a checkpoint is: ``folder`` here, or ``repository`` at ``commit`` on the hub."""

    folder: Path | None
    repository: str | None
    commit: str | None

    @property
    def location(self) -> str:
        """The first argument of ``from_pretrained``; :attr:`commit` is its ``revision``."""
        return str(self.folder or self.repository)

    def identity(self) -> dict[str, Any]:
        """The commit, or the SHA-256 of every file that a loader may read."""
        if self.folder is None:
            return {"repository": self.repository, "commit": self.commit}
        files = {path.relative_to(self.folder).as_posix(): remembered_sha256(path) for path in _files(self.folder)}
        return {"files": len(files), "sha256": sha256_of(files)}

    def has(self, name: str) -> bool:
        """Whether a file of that name stands at the top; of the hub, without a network, whether its local cache has it.

        Raises:
            OSError: the hub does not say.
        """
        if self.folder is not None:
            return (self.folder / name).is_file()
        hub, errors = import_extra("huggingface_hub"), import_extra("huggingface_hub.errors")
        try:
            hub.hf_hub_download(self.repository, name, revision=self.commit)
        except errors.EntryNotFoundError:
            return False
        return True


def find_source(path: str, revision: str | None) -> Source:
    """The folder ``path``, or the hub repository of that name at the commit behind ``revision``.

    A commit is taken at its word; a branch or tag is asked of the hub, and without a network of the hub's local cache.

    Raises:
        MissingSourceError: neither a folder nor a repository that can be reached.
        ConfigError: a file or an empty folder, a folder with a revision or with a link in a circle, or a path that
            nothing can be asked of.
    """
    try:
        folder = Path(path).expanduser().absolute()
        is_folder = folder.is_dir()
    except (OSError, RuntimeError, ValueError) as error:
        raise ConfigError(f"{path!r:.200} cannot be reached ({for_line(str(error)):.200}); mend path") from None
    if is_folder:
        if revision is not None:
            raise ConfigError(f"{path!r} is a folder here, which has no revision; remove revision or the folder")
        if not _files(folder):
            raise ConfigError(f"{path!r} holds no files; put the checkpoint there, or mend path")
        return Source(folder, None, None)
    if revision is None:
        sentence = f"{path!r:.200} is no folder here; mend path, or set revision if it is on the hub"
        raise MissingSourceError(sentence, path) if nothing_at(folder) else ConfigError(sentence)
    return Source(None, path, revision if _COMMIT.fullmatch(revision) else _commit_of(path, revision))


def _files(folder: Path) -> list[Path]:
    """What a loader may read; like a loader, through links to files and to folders."""
    found: list[Path] = []
    for place, folders, names in os.walk(folder, followlinks=True):
        here = Path(place)
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in folders:
            _refuse_circle(here / name, folder)
        found += [here / name for name in names if not name.startswith(".") and not name.endswith(_NOT_LOADED)]
    return sorted(path for path in found if path.is_file())


def _refuse_circle(inner: Path, folder: Path) -> None:
    """Refuse a link to a folder that the walk from ``folder`` to it has come through, or to one that holds such."""
    if not inner.is_symlink():
        return
    target = inner.resolve()
    passed = [place for place in inner.parents if place.is_relative_to(folder)]
    if any(place.resolve().is_relative_to(target) for place in passed):
        raise ConfigError(f"{str(inner)!r:.300} is a link back to a folder that it lies in; remove it")


def _commit_of(repository: str, revision: str) -> str:
    hub, errors = import_extra("huggingface_hub"), import_extra("huggingface_hub.errors")
    try:
        return str(hub.HfApi().model_info(repository, revision=revision).sha)
    except (errors.HTTPError, errors.OfflineModeIsEnabled, OSError, ValueError) as error:
        cached = _cached_commit(hub, repository, revision)
        if cached is not None:
            return cached
        said = " ".join(str(error).split())
        raise MissingSourceError(
            f"{repository!r:.200} at {revision!r:.100} is no folder here and not reachable on the hub ({said:.300}); "
            "mend path, revision or the network",
            repository,
        ) from None


def _cached_commit(hub: Any, repository: str, revision: str) -> str | None:
    try:
        snapshot = hub.snapshot_download(repository, revision=revision, local_files_only=True)
    except (OSError, ValueError):
        return None
    name = Path(snapshot).name
    return name if _COMMIT.fullmatch(name) else None


def remembered_sha256(file: Path) -> str:
    """Hex SHA-256 of a file's bytes; read again if its size, its inode, or the time it was written has changed.

    What is remembered lives in the user's cache folder. Without one that can be read and written, and within
    :func:`hashed_anew`, the file is read each time.
    """
    path = file.resolve()
    before = path.stat()
    seen = (before.st_size, before.st_mtime_ns, before.st_ctime_ns, before.st_ino)
    with _memory() as memory:
        if memory is None:
            return sha256_file(path)
        with suppress(*_FORGETS):
            query = "SELECT bytes, modified_ns, changed_ns, inode, sha256 FROM hashes WHERE path = ?"
            row = memory.execute(query, (str(path),)).fetchone()
            if row is not None and row[:4] == seen:
                return str(row[4])
        digest = sha256_file(path)
        with suppress(*_FORGETS):
            memory.execute("REPLACE INTO hashes VALUES (?, ?, ?, ?, ?, ?)", (str(path), *seen, digest))
        return digest


_FORGETS = (sqlite3.Error, OverflowError)
"""A memory on a full disk, damaged, locked or read-only; and numbers of files that are too large for SQLite."""

_anew = ContextVar("anew", default=False)


@contextmanager
def hashed_anew() -> Iterator[None]:
    """What is remembered of files is not believed as long as the context lasts: a check goes by the bytes alone."""
    before = _anew.set(True)
    try:
        yield
    finally:
        _anew.reset(before)


@contextmanager
def _memory() -> Iterator[sqlite3.Connection | None]:
    if _anew.get():
        yield None
        return
    folder = user_cache_path("driftledger")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        memory = sqlite3.connect(folder / "hashes.db", timeout=60, isolation_level=None)
    except (OSError, sqlite3.Error):
        yield None
        return
    try:
        with suppress(sqlite3.Error):  # where this fails, so does what follows
            memory.execute(_SCHEMA)
        yield memory
    finally:
        memory.close()
