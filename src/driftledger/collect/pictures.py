"""Images of a call store, named by their SHA-256.

A file is believed while it has the size and time that it had when it was hashed; ``verify`` hashes
all.
"""

import os
import sqlite3
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from driftledger.collect.database import Database
from driftledger.collect.tables import component_id, is_intact
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.files import link_file, write_bytes
from driftledger.core.media import MEDIA, suffix_of
from driftledger.core.text import say
from driftledger.core.types import Medium

_NOTE = "INSERT OR REPLACE INTO pictures VALUES (?, ?, ?)"


@dataclass(frozen=True)
class Pictures:
    """The media in the folder of a database."""

    database: Database

    @property
    def files(self) -> list[Path]:
        """All files, those among them that are being written."""
        return [*self.database.folder.glob("objects/*/*")]

    def path(self, digest: str, suffix: str = ".png") -> Path:
        """Return the path of the image with this hash."""
        return self.database.folder / "objects" / digest[:2] / f"{digest}{suffix}"

    def find(self, digest: str) -> Medium | None:
        """Return the image with this hash; None if it is missing or damaged."""
        for suffix in MEDIA:
            kept = Medium(self.path(digest, suffix), digest)
            if self._is_intact(kept):
                return kept
        return None

    def _is_intact(self, kept: Medium) -> bool:
        """Return True if a file is there and has its hash."""
        if not kept.path.is_file():
            return False
        facts = _facts(kept.path)
        query = "SELECT size, mtime_ns FROM pictures WHERE image = ?"
        with self.database.reading() as db:
            row = db.execute(query, (bytes.fromhex(kept.sha256),)).fetchone()
        if row == facts:
            return True
        is_intact = sha256_file(kept.path) == kept.sha256
        if is_intact and self.database.writes:
            self.database.put_later(partial(note, medium=kept))
        return is_intact

    def keep(self, image: bytes | Path) -> Medium:
        """Keep the bytes or the file of an image; two threads may keep the same.

        Raises:
            StoreError: the disk is full or cannot be written.
        """
        data = image if isinstance(image, bytes) else image.read_bytes()
        digest = sha256_bytes(data)
        kept = Medium(self.path(digest, suffix_of(data) or ".png"), digest)
        try:
            if not self._is_intact(kept):
                if isinstance(image, Path):
                    link_file(image, kept.path)
                else:
                    write_bytes(kept.path, data, durable=True)
        except OSError as error:
            raise self.database.full(error) from None
        return kept

    def link(self, folder: Path) -> None:
        """Replace copies of our images by links: DVC copies links before it runs a stage."""
        for path in folder.rglob("*"):
            if (
                path.suffix in MEDIA
                and path.lstat().st_nlink == 1
                and not path.is_symlink()
            ):
                kept = self.find(sha256_file(path))
                if kept is not None:
                    link_file(kept.path, path)

    def lost(self) -> set[str]:
        """Return the keys of calls without their images, and print how many there are.

        Files that killed processes have left half written are removed.
        """
        folder = self.database.folder
        own = f".{os.getpid()}."
        with self.database.reading() as db:
            query = (
                "SELECT key, result, image, checksum FROM calls WHERE image NOT NULL"
            )
            rows = db.execute(query)
            images = {row[0].hex(): row[2].hex() for row in rows if is_intact(row)}
            db.execute("PRAGMA shrink_memory")  # all pages were read
            # listed after the rows, since an image comes before its row
            files = self.files
            for file in files if self.database.writes else ():
                if file.suffix == ".partial" and own not in file.name:
                    file.unlink()
        kept = {file.stem for file in files}
        lost = {key for key, image in images.items() if image not in kept}
        again = "made again, unless finished records hold them"
        if lost:
            calls = f"{len(lost):,} stored calls in {folder}"
            say(f"{calls} have lost their images and are {again}")
        elif kept and not self.database.is_recovered and not self.database.count():
            store = f"the call store {folder} holds no calls"
            say(f"{store}, although images lie beside it: its calls are {again}")
        return lost

    def mean_size(self, component: str) -> float | None:
        """Return the mean bytes of the images of the component with this fingerprint.

        Returns None if none is stored; errors as in :meth:`Database.reading`.
        """
        query = "SELECT avg(size) FROM calls JOIN pictures USING (image) WHERE component = ?"
        with self.database.reading() as db:
            mean: tuple[float | None] = db.execute(
                query, (component_id(component),)
            ).fetchone()
        return mean[0]


def _facts(file: Path) -> tuple[int, int]:
    """Return the size and time of a file."""
    status = file.stat()
    return status.st_size, status.st_mtime_ns


def note(db: sqlite3.Connection, medium: Medium) -> None:
    """Note the size and time of an image that has its hash."""
    db.execute(_NOTE, (bytes.fromhex(medium.sha256), *_facts(medium.path)))
