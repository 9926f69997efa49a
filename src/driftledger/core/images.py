"""Images as bytes. Every PNG of ours is written here, so that equal pixels are equal files."""

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from PIL import Image

_EFFORT = 3
"""On photographs less than half the time of zlib's default, for files 4 % larger."""

ENCODING = f"RGB PNG, compress_level {_EFFORT}"
"""Part of an embedded generator's identity: equal pixels written differently are other files."""
MOST_PIXELS = 2**26
"""Pixels of an image that a service or a stranger made: 201 MB as RGB."""


def png_bytes(image: Image.Image) -> bytes:
    """Encode as RGB PNG, without metadata.

    The bytes depend on the zlib inside Pillow, which ``requirements.txt`` pins.
    """
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, format="PNG", compress_level=_EFFORT)
    return buffer.getvalue()


@contextmanager
def strangers_pixels() -> Iterator[None]:
    """While it lasts, Pillow raises ``DecompressionBombError`` for an image of more than :data:`MOST_PIXELS`."""
    before = Image.MAX_IMAGE_PIXELS
    Image.MAX_IMAGE_PIXELS = MOST_PIXELS // 2  # it warns above that, and refuses twice as many
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            yield
    finally:
        Image.MAX_IMAGE_PIXELS = before
