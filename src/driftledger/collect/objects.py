"""Images by their SHA-256, as the call store and each spool keep them below their folder."""

from dataclasses import replace
from pathlib import Path

from driftledger.collect.call_result import Finished
from driftledger.core.canonical import sha256_bytes, sha256_file
from driftledger.core.files import write_bytes
from driftledger.core.types import ImageFile

OBJECTS = "objects"


def object_path(folder: Path, digest: str) -> Path:
    """Where the image with this hash is kept."""
    return folder / OBJECTS / digest[:2] / f"{digest}.png"


def write_image(folder: Path, item: Finished) -> Finished:
    """Write a result's image, if it has one, as a file; OSError where the disk is full or cannot be written."""
    if item.png is None:
        return item
    digest = sha256_bytes(item.png)
    path = object_path(folder, digest)
    if not path.exists():
        write_bytes(path, item.png, shared=True, synced=True)
    return item._replace(png=None, result=replace(item.result, image=ImageFile(path, digest)))


def whole_image(folder: Path, digest: str) -> ImageFile | None:
    """The image with this hash, unless it is gone or altered."""
    path = object_path(folder, digest)
    return ImageFile(path, digest) if path.is_file() and sha256_file(path) == digest else None
