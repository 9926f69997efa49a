"""Small pictures of stored images, each made once however often it is shown."""

import base64
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import ByBytes, by_bytes, read_bytes
from driftledger.data.datasets.base import PILLOW_LIMIT
from driftledger.data.datasets.decode import decode

SIDE = 192
"""Pixels of the longer side, at most; nothing is enlarged."""

_AT_ONCE = 8


class ShownImage(NamedTuple):
    """An image as a page shows it."""

    source: str
    """Below the site's folder, or a ``data:`` address."""
    width: int
    height: int


def thumbnail(file: Path, side: int = SIDE) -> tuple[bytes, int, int]:
    """Make a WebP file of at most ``side`` pixels each way; return its bytes, width and height.

    The bytes depend on the libwebp inside Pillow, which ``requirements.txt`` pins.

    Raises:
        DataError: it is no image, is broken, or has more pixels than Pillow decodes.
        StoreError: it is missing.
    """
    image = decode(read_bytes(file), str(file), PILLOW_LIMIT).image
    image.thumbnail((side, side))
    written = BytesIO()
    image.save(written, "WEBP", quality=70, method=2, exif=b"", icc_profile=b"")
    return written.getvalue(), *image.size


class Thumbnails:
    """The pictures of one site: ``images/<first two digits>/<SHA-256 of the image's bytes>.webp``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._made: dict[str, ShownImage] = {}

    def of(self, files: Iterable[Path]) -> Mapping[Path, ShownImage]:
        """Return the pictures of these files, and make those that are missing; errors as in :func:`thumbnail`."""
        files = list(dict.fromkeys(files))
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            digests = dict(zip(files, pool.map(lambda file: sha256_bytes(read_bytes(file)), files), strict=True))
            new = {digest: file for file, digest in digests.items() if digest not in self._made}
            self._made.update(zip(new, pool.map(self._make, new, new.values()), strict=True))
        return {file: self._made[digest] for file, digest in digests.items()}

    def _make(self, digest: str, file: Path) -> ShownImage:
        data, width, height = thumbnail(file)
        path = f"images/{digest[:2]}/{digest}.webp"
        (self._folder / path).parent.mkdir(parents=True, exist_ok=True)
        (self._folder / path).write_bytes(data)  # into a site that is not in its place yet
        return ShownImage(path, width, height)


def inline(file: Path, side: int) -> ShownImage:
    """A picture inside a page itself; errors as in :func:`thumbnail`."""
    return _inline(by_bytes(file), side)


@lru_cache(4096)
def _inline(image: ByBytes, side: int) -> ShownImage:
    data, width, height = thumbnail(image.path, side)
    return ShownImage(f"data:image/webp;base64,{base64.b64encode(data).decode()}", width, height)
