"""Files, pages and Pillow images → upright 8-bit RGB.

This is the only place where foreign images are decoded, so that one picture has one set of pixels,
whichever way it comes in. Every conversion is noted, so that none stays hidden behind a score; all
arithmetic is on integers, so that every machine gets the same pixels.
"""

import re
import warnings
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from io import BytesIO
from typing import NamedTuple

import numpy as np
from PIL import ExifTags, Image, ImageCms, ImageOps, UnidentifiedImageError

from driftledger.core.errors import DataError
from driftledger.core.text import shortened

FORMATS = (
    "AVIF",
    "BMP",
    "GIF",
    "JPEG",
    "JPEG2000",
    "PNG",
    "PPM",
    "QOI",
    "TIFF",
    "WEBP",
)
"""Formats that begin with a signature and that Pillow decodes by itself. TGA has no signature, so
that any bytes might pass for it; EPS would start Ghostscript on a stranger's file."""

LEAST_SPREAD = 16
"""The least spread of an image's values, in levels of 256; with less, nothing is left to see."""
NOTHING_LEFT = "nothing is left"
"""The beginning of the note that a conversion left nothing to see."""

NOTHING_DRAWN = "the image is wholly transparent, or reading it left nothing to see"
"""The note of a drawing that shows nothing."""

_FIRST_FRAME = re.compile(r"first of \d+ frames")
"""The note of an image with several frames; only the first is read."""
_CLEAR = "wholly transparent, laid over white"
_LOSES = re.compile(r"first of \d+ frames|16 bits|transparency|wholly")
"""The beginning of notes of conversions that can lose something."""

_ALIKE = 2
"""The most levels of 256 by which two equal profiles differ through rounding."""
_KINDS = {"1": "black and white", "L": "grey", "P": "a palette"}


class Losses(NamedTuple):
    """The names of images that lost something when they were read."""

    blank: list[str]
    """Those that show nothing any more."""
    frames: list[str]
    """Those with several frames; only the first is read."""


def shows_nothing(notes: Iterable[str]) -> bool:
    """Return whether notes of :func:`decode` say that nothing is left."""
    return any(note.startswith(NOTHING_LEFT) for note in notes)


def losses(noted: Iterable[tuple[str, Sequence[str]]]) -> Losses:
    """Return which images lost something.

    Args:
        noted: the name of each image, and the notes of :func:`decode` on it.
    """
    blank = []
    frames = []
    for name, notes in noted:
        if shows_nothing(notes):
            blank.append(name)
        if any(map(_FIRST_FRAME.fullmatch, notes)):
            frames.append(name)
    return Losses(blank, frames)


class DrawnPage(bytes):
    """A page of a PDF, drawn as PNG. If its layers are hidden, it comes out white."""


def decode(
    data: bytes | Image.Image, name: str, max_pixels: int
) -> tuple[Image.Image, list[str]]:
    """Decode an image into upright 8-bit RGB: its first frame, without transparency.

    Transparency is laid over white, or over black if white would leave nothing to see. A note with
    :data:`NOTHING_LEFT` says that a conversion left nothing to see.

    Returns:
        The image, and a note on each conversion.

    Args:
        data: a file's bytes, or an image of Pillow's, which counts as the file that it was.
        name: its name in errors.
        max_pixels: an image whose header says more is refused before it is decoded.

    Raises:
        DataError: it cannot be decoded, is too large, or has no defined 8-bit form.
    """
    if not isinstance(data, Image.Image) and not data:
        raise DataError(f"{name} is empty or has no image; add one, or remove it")
    try:
        with ExitStack() as stack:
            # Pillow warns about sizes below our own limit, and about metadata that is not kept.
            stack.enter_context(warnings.catch_warnings(action="ignore"))
            opened = data
            if not isinstance(opened, Image.Image):
                file = Image.open(BytesIO(opened), formats=FORMATS)
                opened = stack.enter_context(file)
            if not 0 < opened.width * opened.height <= max_pixels:
                raise DataError(
                    f"{name} is {opened.width}×{opened.height} pixels, and max_pixels allows "
                    f"{max_pixels}; scale it down or raise that"
                )
            notes = _notes_before_loading(opened)
            notes += _profile_notes(opened.info.get("icc_profile"), opened.mode)
            upright = ImageOps.exif_transpose(opened)  # which loads it
            image, more = _to_rgb(upright, opened.format, name)
            notes += more
            is_page = isinstance(data, DrawnPage)
            loses = is_page or any(map(_LOSES.match, notes))
            if loses and _spread(image) < LEAST_SPREAD:
                is_animated = any(map(_FIRST_FRAME.fullmatch, notes))
                if is_page or is_animated or _CLEAR in more or _differs(upright):
                    values = f"all values lie within {LEAST_SPREAD} of 256 levels"
                    notes.append(f"{NOTHING_LEFT} to see: {values}")
    except (DataError, MemoryError):
        raise
    except UnidentifiedImageError:
        raise DataError(
            f"{name} is not an image, or not one of {', '.join(FORMATS)}; convert or remove it"
        ) from None
    except Image.DecompressionBombError:
        raise DataError(
            f"{name} has more pixels than Pillow reads; make it smaller or remove it"
        ) from None
    except Exception as error:
        # Pillow's decoders answer broken bytes with any exception, AttributeError included
        reason = shortened(str(error)) or type(error).__name__
        raise DataError(
            f"{name} cannot be decoded ({reason}); replace or remove it"
        ) from None
    return image, notes


def _spread(image: Image.Image) -> int:
    """Return the largest difference between two values of a channel of an RGB image, 0 to 255."""
    return int(np.ptp(np.asarray(image), axis=(0, 1)).max())


def _differs(image: Image.Image) -> bool:
    """Return whether an image of any mode has two different pixels."""
    values = np.asarray(image)
    return bool((values != values[0, 0]).any())


def _notes_before_loading(image: Image.Image) -> list[str]:
    """Note what loading the pixels hides: it rotates a TIFF, and drops raw modes."""
    frames: int = getattr(image, "n_frames", 1)
    notes = []
    if (
        frames > 1 and image.format == "MPO"
    ):  # the others are previews or brightness maps
        notes.append(f"first of {frames} images of a photograph")
    elif (
        frames > 1 and image.tell()
    ):  # only an image of Pillow's can be at another frame
        notes.append(f"frame {image.tell() + 1} of {frames}")
    elif frames > 1:
        notes.append(f"first of {frames} frames")
    raw_modes = [tile[3] for tile in getattr(image, "tile", ())]
    if image.mode.startswith("I") or re.search(";16[BLN]", str(raw_modes)):
        notes.append("16 bits per channel reduced to 8")
    if image.getexif().get(ExifTags.Base.Orientation, 1) in range(2, 9):
        notes.append("rotated upright as its EXIF tag says")
    return notes


def _profile_notes(profile: bytes | None, mode: str) -> list[str]:
    """Note a colour profile that is not sRGB's.

    It is not applied: libraries do that differently, and no evaluation tool does it.
    """
    if not profile or mode not in ("RGB", "RGBA", "CMYK"):
        return []
    try:
        own = ImageCms.ImageCmsProfile(BytesIO(profile))
        if mode != "CMYK":
            levels = np.array([0, 51, 102, 153, 204, 255], np.uint8)
            cube = np.meshgrid(levels, levels, levels)
            colours = np.stack(cube, axis=-1).reshape(1, -1, 3)
            transform = ImageCms.buildTransform(
                own, ImageCms.createProfile("sRGB"), "RGB", "RGB"
            )
            applied = ImageCms.applyTransform(Image.fromarray(colours), transform)
            if abs(np.asarray(applied, int) - colours).max() <= _ALIKE:
                return []
        description = shortened(ImageCms.getProfileDescription(own))
        return [f"its colour profile, {description}, is not applied"]
    except (ImageCms.PyCMSError, OSError, ValueError, TypeError):
        return ["its colour profile cannot be read and is not applied"]


def _laid_over(colour: str, image: Image.Image) -> Image.Image:
    """Return an RGBA image on a background of one colour."""
    ground = Image.new("RGB", image.size, colour)
    ground.paste(image, mask=image)  # integer arithmetic, rounded to nearest
    return ground


def _to_rgb(
    image: Image.Image, file_format: str | None, name: str
) -> tuple[Image.Image, list[str]]:
    if image.mode.startswith("I;16") or (image.mode == "I" and file_format == "PPM"):
        # Pillow's own conversion would cut off all values above 255
        values = np.asarray(image)
        clear = image.info.get("transparency")
        image = Image.fromarray((values >> 8).astype(np.uint8))
        if clear is not None:
            image.putalpha(
                Image.fromarray(np.where(values == clear, 0, 255).astype(np.uint8))
            )
    elif image.mode in ("I", "F"):
        raise DataError(
            f"{name} holds 32-bit values without a defined white; save it with 8 or 16 bits per "
            "channel"
        )
    if image.has_transparency_data:
        coloured = image.convert("RGBA")
        if not coloured.getchannel("A").getbbox():
            return _laid_over("white", coloured), [_CLEAR]
        over_white = _laid_over("white", coloured)
        over_black = _laid_over("black", coloured)
        if _spread(over_white) < LEAST_SPREAD <= _spread(over_black):
            return over_black, [
                "transparency laid over black, since over white nothing is left to see"
            ]
        return over_white, ["transparency laid over white"]
    if image.mode == "RGB":
        return image, []
    converted = image.convert("RGB")
    if image.mode == "LAB":
        # Pillow adds its profile of sRGB, which holds the time and would change the PNG's bytes
        converted.info.pop("icc_profile", None)
    return converted, [f"converted from {_KINDS.get(image.mode, image.mode)}"]
