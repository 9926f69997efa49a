"""Locks that are written together: a stage that has run is noted, and written with those that come after it.

Written is every few seconds, before anything runs that may read a lock, and at the end, whatever ends the process but
a kill. What a kill loses is noted nowhere else, and done again: its outputs are in DVC's cache, and its calls stored.

To know how DVC would write a lock again, all of it must be parsed, slowly. The digest of one that has turned out to
stay as it is is kept in the reader's own cache: as long as the lock has that digest, it need not be.
"""

import os
import stat
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dvc.utils.serialize import modify_yaml

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import FULL, new_file
from driftledger.repro.kept_texts import read_texts, write_texts
from driftledger.repro.lock_text import Entry, LockText, parsed, read, settled, written

EVERY = 3.0
"""Seconds that a stage waits for others, at the most, where none takes longer."""
_SHARE = 10
"""Of the time, writing takes a tenth at the most."""


class Locks:
    """The locks that this process writes."""

    def __init__(self, temporary: Path, memory: Path) -> None:
        """Write each first to a file in ``temporary``, on the same disk, so that a kill leaves the lock as it was; what
        is remembered of locks is in ``memory``."""
        self._settled = _Settled(memory / "dvc.lock.settled")
        self._partial = temporary / "dvc.lock.partial"
        self._locks: dict[Path, _Lock] = {}
        self._left_to_dvc: set[Path] = set()
        self._written = time.monotonic()
        self._took = 0.0

    def note(self, path: Path, stages: Mapping[str, Mapping[str, Any]]) -> bool | None:
        """Note what is to stand in a lock; whether it stood otherwise there.

        Returns:
            None where the lock is one that DVC must write itself; nothing waits to be written into it then.
        """
        if path in self._left_to_dvc:
            return None
        lock = self._locks.get(path) or self._locks.setdefault(path, _Lock(path, self._partial, self._settled))
        changed = lock.note(stages)
        if changed is None:
            lock.write()
            self._left_to_dvc.add(path)
        return changed

    @property
    def is_due(self) -> bool:
        """Whether it is time to write."""
        return time.monotonic() - self._written > max(EVERY, _SHARE * self._took)

    @property
    def has_noted(self) -> bool:
        """Whether anything is to be written."""
        return any(lock.has_noted for lock in self._locks.values())

    def write(self) -> None:
        """Write all that is noted; where one lock cannot be written, the others are, before its error is raised."""
        began = time.monotonic()
        errors: list[Exception] = []
        for lock in self._locks.values():
            try:
                lock.write()
            except Exception as error:  # whatever is wrong with it
                errors.append(error)
        self._settled.write()
        self._written = time.monotonic()
        self._took = self._written - began
        if errors:
            raise errors[0]


class _Settled:
    """The digests of locks that DVC would write as they are, by their paths; disposable."""

    def __init__(self, file: Path) -> None:
        self._file = file
        self._noted = self._digests = read_texts(file)

    def has(self, path: Path, data: bytes) -> bool:
        return self._digests.get(str(path)) == sha256_bytes(data)

    def note(self, path: Path, data: bytes) -> None:
        self._digests = self._digests | {str(path): sha256_bytes(data)}

    def write(self) -> None:
        if self._digests != self._noted:
            write_texts(self._file, self._digests)
            self._noted = self._digests


class _Lock:
    def __init__(self, path: Path, partial: Path, settled: _Settled) -> None:
        self._path, self._partial, self._settled = path, partial, settled
        self._noted: dict[str, Entry] = {}
        self._read()

    def _read(self) -> None:
        """Take in what the file holds, and put into it what is noted."""
        self._seen = _bytes(self._path)
        self._text = self._parsed(self._seen or b"")
        for name, entry in self._noted.items():
            if self._text is not None:
                self._text.put(name, entry)

    def _parsed(self, data: bytes) -> LockText | None:
        text = settled(data.decode()) if self._settled.has(self._path, data) else None
        return text or parsed(data.decode(), str(self._path))

    def note(self, stages: Mapping[str, Mapping[str, Any]]) -> bool | None:
        if self._seen != _bytes(self._path):
            self._read()
        entries = {name: written(name, stage) for name, stage in stages.items()}
        changed = False
        for name, entry in entries.items():
            if self._text is None or entry is None:
                return None
            changed |= self._text.put(name, entry)
            self._noted[name] = entry
        return changed

    @property
    def has_noted(self) -> bool:
        return bool(self._noted)

    def write(self) -> None:
        if not self._noted:
            return
        if self._seen != _bytes(self._path):  # somebody else was at it
            self._read()
        if self._text is None:
            with modify_yaml(str(self._path)) as data:
                data.setdefault("stages", {}).update(
                    {name: read(name, entry.text) for name, entry in self._noted.items()}
                )
            self._seen = _bytes(self._path)
        else:
            before, self._seen = self._seen, str(self._text).encode()
            if self._seen != before:
                _replace(self._path, self._seen, self._partial)
            if self._text.is_settled:
                self._settled.note(self._path, self._seen)
        self._noted.clear()


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return None


def _replace(path: Path, data: bytes, partial: Path) -> None:
    """Write a file in one step; as DVC does, over itself, where it stands on another disk."""
    path = path.resolve()
    try:
        with new_file(path, partial) as file:
            file.write(data)
            with suppress(FileNotFoundError):
                os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
    except OSError as error:
        if error.errno in FULL:
            raise
        path.write_bytes(data)
