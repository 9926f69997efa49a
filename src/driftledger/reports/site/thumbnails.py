"""Small pictures of stored images."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import read_bytes
from driftledger.data.datasets.base import PILLOW_LIMIT
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


def thumbnail(file: Path, side: int = SIDE) -> bytes:
    """Make a WebP file of at most ``side`` pixels each way.

    The bytes depend on the libwebp inside Pillow, which ``requirements.txt`` pins.

    Raises:
        DataError: it is not an image, is broken, or has more pixels than Pillow decodes.
        StoreError: it is missing.
    """
    image, _ = decode(read_bytes(file), str(file), PILLOW_LIMIT)
    image.thumbnail((side, side))
    written = BytesIO()
    image.save(written, "WEBP", quality=70, method=0, exif=b"", icc_profile=b"")
    return written.getvalue()


def write_thumbnails(site: Path, files: Iterable[Path], before: Path) -> Mapping[Path, ShownImage]:
    """Write the pictures of these files as ``images/<first two digits>/<SHA-256 of the image's bytes>.webp``.

    Args:
        before: the earlier site. Its pictures are taken over, so a change of how they are made needs another folder.

    Errors as in :func:`thumbnail`.
    """

    def write(digest: str, file: Path) -> ShownImage:
        path = f"images/{digest[:2]}/{digest}.webp"
        data = (before / path).read_bytes() if (before / path).is_file() else thumbnail(file)
        (site / path).parent.mkdir(parents=True, exist_ok=True)
        (site / path).write_bytes(data)  # into a site that is not in its place yet
        with Image.open(BytesIO(data)) as image:
            return ShownImage(path, *image.size)

    files = list(dict.fromkeys(files))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        digests = list(pool.map(lambda file: sha256_bytes(read_bytes(file)), files))
        new = dict(zip(digests, files, strict=True))
        shown = dict(zip(new, pool.map(write, new, new.values()), strict=True))
    return {file: shown[digest] for file, digest in zip(files, digests, strict=True)}
