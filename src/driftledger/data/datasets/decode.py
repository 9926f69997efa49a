"""Image files of any origin → upright 8-bit RGB, or one sentence saying what is wrong with the file.

This is the only place where foreign image bytes are decoded. Whatever is changed on the way is noted, so that no
conversion stays hidden behind a score; all arithmetic is on integers, so that every machine gets the same pixels.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image, ImageOps, UnidentifiedImageError

from driftledger.core.errors import DataError

FORMATS = ("AVIF", "BMP", "GIF", "JPEG", "JPEG2000", "PNG", "PPM", "QOI", "TIFF", "WEBP")
"""Formats that begin with a signature and that Pillow decodes by itself. Without one, as in TGA, any bytes might pass
for an image; EPS would start Ghostscript on a stranger's file."""

_REDUCED = "16 bits per channel reduced to 8"

_KINDS = {"1": "black and white", "L": "grey", "P": "a palette"}


class Decoded(NamedTuple):
    """An RGB image, and what was done to get it."""

    image: Image.Image
    notes: tuple[str, ...]


def decode(data: bytes, name: str, max_pixels: int) -> Decoded:
    """Decode the bytes of an image file into upright 8-bit RGB.

    Of several frames the first is taken; transparency is laid over white.

    Args:
        data: the whole file.
        name: what errors call it.
        max_pixels: refuse more pixels than this, going by the header, before any are decoded.

    Raises:
        DataError: it is empty, truncated, broken, too large, or no image with a defined 8-bit form.
    """
    if not data:
        raise DataError(f"{name} is an empty file; replace or remove it")
    with _pillow_trouble_as_data_error(name):
        with Image.open(BytesIO(data), formats=FORMATS) as opened:
            _check_size(opened.size, name, max_pixels)
            notes = _notes_before_loading(opened)
            opened.load()
            upright = ImageOps.exif_transpose(opened)
        if _REDUCED in notes and isinstance(upright.info.get("transparency"), tuple):
            raise DataError(
                f"{name} makes one 16-bit colour transparent, which 8 bits cannot; save it with an alpha channel"
            )
        image, more = _to_rgb(upright, opened.format, name)
    return Decoded(image, (*notes, *more))


@contextmanager
def _pillow_trouble_as_data_error(name: str) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of sizes below our own limit, and of metadata that is not kept
            yield
    except (DataError, MemoryError):
        raise
    except UnidentifiedImageError:
        raise DataError(f"{name} is not an image, or not one of {', '.join(FORMATS)}; convert or remove it") from None
    except Image.DecompressionBombError:
        raise DataError(f"{name} has more pixels than Pillow decodes; scale it down or remove it") from None
    except Exception as error:
        # Pillow's decoders answer broken bytes with whatever happens to go wrong, AttributeError included.
        said = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{name} is truncated or broken ({said:.200}); replace or remove it") from None


def _check_size(size: tuple[int, int], name: str, max_pixels: int) -> None:
    width, height = size
    if width < 1 or height < 1:
        raise DataError(f"{name} is {width}×{height} pixels; replace or remove it")
    if width * height > max_pixels:
        raise DataError(
            f"{name} is {width}×{height} pixels, more than max_pixels ({max_pixels}); scale it down or raise that"
        )


def _notes_before_loading(image: Image.Image) -> list[str]:
    """What can only be seen before the pixels are loaded: a TIFF is turned by loading, and raw modes are gone."""
    notes = []
    frames: int = getattr(image, "n_frames", 1)
    if frames > 1:
        notes.append(f"first of {frames} frames")
    if image.mode.startswith("I") or any(str(raw).endswith((";16B", ";16L", ";16N")) for raw in _raw_modes(image)):
        notes.append(_REDUCED)
    if image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9):
        notes.append("rotated upright as its EXIF tag says")
    return notes


def _raw_modes(image: Image.Image) -> Iterator[object]:
    for tile in getattr(image, "tile", ()):
        arguments = tile[3]
        yield from arguments if isinstance(arguments, tuple) else (arguments,)


def _to_rgb(image: Image.Image, file_format: str | None, name: str) -> Decoded:
    if image.mode.startswith("I;16") or (image.mode == "I" and file_format == "PPM"):
        image = _high_bytes(image)
    elif image.mode in ("I", "F"):
        raise DataError(f"{name} holds 32-bit values without a defined white; save it with 8 or 16 bits per channel")
    if image.has_transparency_data:
        return Decoded(_over_white(image), ("transparency laid over white",))
    if image.mode == "RGB":
        return Decoded(image, ())
    return Decoded(image.convert("RGB"), (f"converted from {_KINDS.get(image.mode, image.mode)}",))


def _high_bytes(image: Image.Image) -> Image.Image:
    """16-bit grey → 8-bit grey; Pillow's own conversion cuts everything above 255 off."""
    values = np.asarray(image)
    grey = Image.fromarray((values >> 8).astype(np.uint8))
    clear = image.info.get("transparency")
    if clear is not None:
        grey.putalpha(Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8)))
    return grey


def _over_white(image: Image.Image) -> Image.Image:
    coloured = image.convert("RGBA")
    white = Image.new("RGB", image.size, "white")
    white.paste(coloured, mask=coloured)  # integer arithmetic, rounded to nearest
    return white
