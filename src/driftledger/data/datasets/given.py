"""Images from Python: in a notebook, in the inputs of a scorer."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import numpy as np
from PIL import Image

from driftledger.core.errors import DataError
from driftledger.core.media import from_base64, image_in
from driftledger.core.text import shortened
from driftledger.data.datasets.base import MAX_PIXELS, reached, read_file
from driftledger.data.datasets.decode import decode
from driftledger.data.datasets.pages import file_and_page, is_pdf, page_png

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://", re.IGNORECASE)
_DPI = 150


def read_given(
    given: Any, name: str, setting: str, max_pixels: int = MAX_PIXELS
) -> tuple[Image.Image, list[str]]:
    """Decode an image that Python code hands over.

    It may be a path, a page as ``report.pdf#3``, a file's bytes, a data URL or base64, an image of
    Pillow's, or an array. No address is fetched.

    Returns:
        The image, and a note on each conversion, as :func:`decode` gives them.

    Args:
        name: its name in errors.
        setting: what errors tell the user to set, if it names a file that is missing.

    Raises:
        DataError: it cannot be decoded, or is something else.
        ConfigError: it names no file.
    """
    if isinstance(given, str | Path):
        given, name = _content(str(given), name, setting)
    elif isinstance(given, np.ndarray):
        given = _from_array(given, name)
    elif isinstance(given, bytearray):
        given = bytes(given)
    if isinstance(given, bytes | Image.Image):
        return decode(given, name, max_pixels)
    raise DataError(
        f"{name} is of the type {type(given).__name__}{keys_in(given)}; give a path, a file's "
        "bytes, a data URL, an image of Pillow's or an array"
    )


def keys_in(given: Any) -> str:
    """Name the keys of a mapping for a sentence, in a few words; empty for anything else."""
    if not isinstance(given, Mapping):
        return ""
    keys = ", ".join(f"{key!r:.80}" for key in given)
    return f" with the keys {shortened(keys, 200) or '(none)'}"


def stem_of(given: Any) -> str:
    """Return a file's name without its suffix; empty for anything but a file's name."""
    if not isinstance(given, str | Path) or _is_image(str(given)):
        return ""
    path, page = file_and_page(str(given))
    stem = Path(path).stem.lstrip(".")
    return f"{stem}-{page}" if page else stem


def _is_image(text: str) -> bool:
    """Return True if a text holds an image, and is not a path."""
    return text[:5].lower() == "data:" or image_in(text) is not None


def _content(text: str, name: str, setting: str) -> tuple[bytes, str]:
    """Return the bytes that a text holds or names, and their name in errors."""
    if _is_image(text):
        try:
            return from_base64(unquote(text)), name
        except ValueError as error:
            raise DataError(
                f"{name} is a data URL without base64 ({error!s:.200}); correct it"
            ) from None
    if _ADDRESS.match(text):
        raise DataError(
            f"{name} is an address, {shortened(text, 80)!r}, and none is fetched; give the file's "
            "path or its bytes"
        )
    path, page = file_and_page(text)
    file = reached(Path(path), "file", setting, f"{name} ")
    name = f"{name} {shortened(text, 200)!r}"
    if page:
        return page_png(read_file(file, name), page, name, dpi=_DPI), name
    if is_pdf(path):
        raise DataError(f"{name} is a PDF; name one of its pages, as in report.pdf#1")
    return read_file(file, name), name


def _from_array(array: Any, name: str) -> Image.Image:
    """Convert an array, H×W or H×W×C, to an image of Pillow's.

    Raises:
        DataError: Pillow has no such image.
    """
    try:
        return Image.fromarray(array)
    except (TypeError, ValueError, AttributeError):
        shape = "×".join(map(str, array.shape)) or "no shape"
        raise DataError(
            f"{name} is an array of {shape} of {array.dtype}; give one of H×W×3 of uint8"
        ) from None
