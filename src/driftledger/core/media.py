"""Images and texts as files.

Every PNG of driftledger is written here, so that equal pixels are equal files.
"""

import base64
import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

from PIL import Image

from driftledger.core.canonical import open_regular
from driftledger.core.files import read_regular

MEDIA = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
}
"""Suffix of a stored image → its media type."""
Kind: TypeAlias = Literal["image", "text"]
_EFFORT = 3
"""On photographs less than half the time of zlib's default, for files 4 % larger."""

ENCODING = f"RGB PNG, compress_level {_EFFORT}"
"""Part of an embedded generator's identity: equal pixels written differently are other files."""
MOST_PIXELS = 2**26
"""Pixels of an image that a service drew: 201 MB as RGB."""
PILLOW_LIMIT = 2 * 89_478_485
"""Pixels beyond which Pillow decodes no image: 537 MB as RGB."""
_STORED_FORMATS = ("PNG", "JPEG", "WEBP")


@dataclass(frozen=True, slots=True)
class Medium:
    """An image or a text on disk, known by the SHA-256 of its bytes.

    An image is a PNG, or the JPEG or WebP that a service drew. A text is what a chain begins with.
    """

    path: Path
    sha256: str
    content: Image.Image | None = field(default=None, compare=False, repr=False)
    """The decoded image, if it was decoded ahead; :meth:`open` returns a copy of it."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.path)

    def open(self) -> Any:
        """Decode the file into an RGB image, H×W×3 of uint8, or a text."""
        if self.content is not None:
            return self.content.copy()
        if self.kind == "text":
            return read_regular(self.path).decode(errors="replace")
        with open_regular(self.path) as file, open_picture(file) as image:
            return image.convert("RGB")


@contextmanager
def open_picture(file: BinaryIO) -> Iterator[Image.Image]:
    """Open a stored picture: a PNG, JPEG or WebP. Pixels are counted before any is decoded.

    The file may be a stranger's. Pillow chooses a decoder by content, and some start programs:
    EPS starts Ghostscript. So the formats are those that driftledger stores, and no others.

    Raises:
        ValueError: it is another kind of file, or has more pixels.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            image = Image.open(file, formats=_STORED_FORMATS)
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(
            f"it is no PNG, JPEG or WebP that can be read: {error}"
        ) from None
    with image:
        if image.width * image.height > PILLOW_LIMIT:
            size = f"{image.width} × {image.height} pixels"
            raise ValueError(f"it has {size}, and up to {PILLOW_LIMIT:,} are read")
        yield image


def kind_of(file: Path) -> Kind:
    """Return the medium of a stored file."""
    return "text" if file.suffix == ".txt" else "image"


def suffix_of(data: bytes) -> str:
    """Return the suffix of an image file with these bytes; empty if it is not stored as it is."""
    if data[:4] + data[8:12] == b"RIFFWEBP":
        return ".webp"
    return {b"\x89PN": ".png", b"\xff\xd8\xff": ".jpg"}.get(data[:3], "")


_SHORTEST_IMAGE = 60
"""Characters of base64: no image that is read is shorter, and few paths are as long."""


def from_base64(text: str) -> bytes:
    """Decode base64 as services and tables write it.

    Lines, the alphabet of addresses, missing padding and a data URL around it are read, and
    characters that are no base64 are left out.

    Raises:
        ValueError: no bytes can be made of it.
    """
    return base64.urlsafe_b64decode(text.rpartition(",")[2] + "===")


def image_in(text: str) -> bytes | None:
    """Return the image that a text holds in base64; None where it holds none, as a path does."""
    if len(text) < _SHORTEST_IMAGE:
        return None
    try:
        data = from_base64(text)
    except ValueError:
        return None
    return data if suffix_of(data) or data[:4] == b"GIF8" or data[:2] == b"BM" else None


def data_url(path: Path) -> str:
    """Write a file as an address that holds it."""
    content = base64.b64encode(read_regular(path)).decode()
    return f"data:{MEDIA[path.suffix]};base64,{content}"


def png_bytes(image: Image.Image) -> bytes:
    """Encode as RGB PNG, without metadata.

    The bytes depend on the zlib inside Pillow, which ``requirements.txt`` pins.
    """
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, format="PNG", compress_level=_EFFORT)
    return buffer.getvalue()
