"""Images as bytes. Every PNG of ours is written here, so that equal pixels are equal files."""

import base64
import io
from pathlib import Path

from PIL import Image

_EFFORT = 3
"""On photographs less than half the time of zlib's default, for files 4 % larger."""

ENCODING = f"RGB PNG, compress_level {_EFFORT}"
"""Part of an embedded generator's identity: equal pixels written differently are other files."""
MOST_PIXELS = 2**26
"""Pixels of an image that a service drew: 201 MB as RGB."""


MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp"}
"""Suffix → media type, of the files that images are kept in."""


def suffix_of(data: bytes) -> str:
    """The suffix of an image file with these bytes; empty where it is not kept as it is."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return ".webp"
    return {b"\x89PN": ".png", b"\xff\xd8\xff": ".jpg"}.get(data[:3], "")


def data_url(path: Path) -> str:
    """An image file inside an address."""
    return f"data:{MEDIA[path.suffix]};base64,{base64.b64encode(path.read_bytes()).decode()}"


def png_bytes(image: Image.Image) -> bytes:
    """Encode as RGB PNG, without metadata.

    The bytes depend on the zlib inside Pillow, which ``requirements.txt`` pins.
    """
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, format="PNG", compress_level=_EFFORT)
    return buffer.getvalue()
