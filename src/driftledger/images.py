"""Images as bytes. Every PNG of ours is written here, so that equal pixels are equal files."""

import io

from PIL import Image


def png_bytes(image: Image.Image) -> bytes:
    """Encode as RGB PNG, without metadata.

    The bytes hang on the zlib inside Pillow, which ``requirements.txt`` pins.
    """
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()
