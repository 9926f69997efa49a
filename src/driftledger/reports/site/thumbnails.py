"""Small pictures of stored images and sounds."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from PIL import Image

from driftledger.core.canonical import sha256_bytes
from driftledger.core.files import Files, read_bytes
from driftledger.core.media import kind_of
from driftledger.data.datasets.base import PILLOW_LIMIT
from driftledger.data.datasets.decode import decode
from driftledger.data.datasets.sounds import MOST_SECONDS, decode_sound
from driftledger.data.spectrograms import spectrogram

SIDE = 192
"""Pixels of the longer side, at most; nothing is enlarged."""

_AT_ONCE = 8


class ShownImage(NamedTuple):
    """An image, or a sound, as a page shows it."""

    source: str
    """Below the site's folder."""
    width: int
    height: int
    sound: str = ""
    """Where the sound is that the picture is a spectrogram of."""


def thumbnail(file: Path, side: int = SIDE) -> bytes:
    """Make a WebP file of at most ``side`` pixels each way; of a sound, a spectrogram.

    The bytes depend on the libwebp inside Pillow, which ``requirements.txt`` pins.

    Raises:
        DataError: it is not an image or a sound, is broken, or has more pixels than Pillow decodes.
        StoreError: it is missing.
    """
    if kind_of(file) == "sound":
        image = spectrogram(decode_sound(read_bytes(file), str(file), max_seconds=MOST_SECONDS)[0])
    else:
        image, _ = decode(read_bytes(file), str(file), PILLOW_LIMIT)
    image.thumbnail((side, side))
    written = BytesIO()
    image.save(written, "WEBP", quality=70, method=0, exif=b"", icc_profile=b"")
    return written.getvalue()


def thumbnails_of(files: Iterable[Path], site: Path) -> tuple[Mapping[Path, ShownImage], Files]:
    """Make the pictures of these files, as ``images/<first two digits>/<SHA-256 of the file's
    bytes>.webp``, and copies of sounds beside them, without pictures that the site has: a change of
    how they are made needs another folder.

    Errors as in :func:`thumbnail`.
    """

    def made(digest: str, file: Path) -> tuple[ShownImage, Files]:
        path = f"images/{digest[:2]}/{digest}.webp"
        new: dict[str, bytes | None] = {path: None if (site / path).is_file() else thumbnail(file)}
        sound = str(Path(path).with_suffix(".wav")) if kind_of(file) == "sound" else ""
        if sound:
            new[sound] = read_bytes(file)
        with Image.open(BytesIO(data) if (data := new[path]) else site / path) as image:
            return ShownImage(path, *image.size, sound), new

    files = list(dict.fromkeys(files))
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        digests = list(pool.map(lambda file: sha256_bytes(read_bytes(file)), files))
        each = dict(zip(digests, files, strict=True))
        shown = dict(zip(each, pool.map(made, each, each.values()), strict=True))
    pictures = {file: shown[digest][0] for file, digest in zip(files, digests, strict=True)}
    return pictures, {path: data for _, some in shown.values() for path, data in some.items()}
