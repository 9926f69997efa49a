"""Small pictures of stored images."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import Files, read_bytes
from driftledger.core.media import PILLOW_LIMIT, open_picture
from driftledger.data.datasets.decode import decode

SIDE = 192
"""Pixels of the longer side, at most; nothing is enlarged."""

_AT_ONCE = 8


class ShownImage(NamedTuple):
    """An image as a page shows it."""

    source: str
    """Below the site's folder."""
    width: int
    height: int


def shrunk(file: Path, *sides: int) -> list[Image.Image]:
    """Decode an image and return a copy of at most each side.

    Raises:
        DataError: it is not an image, is broken, or has more pixels than Pillow decodes.
        StoreError: it is missing.
    """
    image, _ = decode(read_bytes(file), str(file), PILLOW_LIMIT)
    copies = []
    for side in sides:
        copies.append(image.copy())
        copies[-1].thumbnail((side, side))
    return copies


def thumbnail(file: Path, side: int = SIDE) -> bytes:
    """Return a small picture of a file as WebP; errors as in :func:`shrunk`."""
    return webp(*shrunk(file, side))


def webp(image: Image.Image, *, quality: int = 70) -> bytes:
    """Encode a picture as WebP.

    The bytes depend on the libwebp inside Pillow, which ``requirements.txt`` pins.
    """
    written = BytesIO()
    image.save(written, "WEBP", quality=quality, method=0, exif=b"", icc_profile=b"")
    return written.getvalue()


def thumbnails_of(
    files: Iterable[Path], site: Path
) -> tuple[Mapping[Path, ShownImage], Files]:
    """Return the picture of each file, and the new files of the site.

    A picture is ``images/<first two digits>/<SHA-256 of the file's bytes>.webp``. One that the site
    has is not made again, so a change of how they are made needs another folder. Errors as in
    :func:`thumbnail`.
    """
    files = list(dict.fromkeys(files))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        digests = dict(zip(files, pool.map(_digest, files), strict=True))
        sources = {digest: file for file, digest in digests.items()}
        pictures = list(pool.map(partial(_shown, site), sources, sources.values()))
    by_digest = {}
    new: dict[str, bytes | None] = {}
    for digest, (image, written) in zip(sources, pictures, strict=True):
        by_digest[digest] = image
        new |= written
    return {file: by_digest[digest] for file, digest in digests.items()}, new


def _digest(file: Path) -> str:
    return sha256_bytes(read_bytes(file))


def _shown(site: Path, digest: str, file: Path) -> tuple[ShownImage, Files]:
    path = f"images/{digest[:2]}/{digest}.webp"
    new: dict[str, bytes | None] = {path: None}
    if (site / path).is_file():
        data = read_bytes(site / path)
    else:
        data = new[path] = thumbnail(file)
    with open_picture(BytesIO(data)) as image:
        width, height = image.size
    return ShownImage(path, width, height), new
