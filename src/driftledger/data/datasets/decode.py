"""Images of any origin → upright 8-bit RGB: files, drawn pages, and images of Pillow's.

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
"""Formats that begin with a signature and that Pillow decodes by itself. Without one, as in TGA,
any bytes might pass for an image; EPS would start Ghostscript on a stranger's file."""

LEAST_SPREAD = 16
"""Levels of 256 between the darkest and the brightest value of an image; below, nothing is left to
see."""
NOTHING_LEFT = "nothing is left"
"""How the note of a conversion begins that took everything away: ``nothing is left to see``."""

NOTHING_DRAWN = "the image is wholly transparent, or reading it left nothing to see"
"""The note of a drawing from which reading took everything away."""

_FIRST_FRAME = re.compile(r"first of \d+ frames")
"""The note of an image of several frames, of which the others are left out."""
_CLEAR = "wholly transparent, laid over white"
_LOSES = re.compile(r"first of \d+ frames|16 bits|transparency|wholly")
"""How the notes of those conversions begin that can take something away."""

_ALIKE = 2
"""Levels of 256 within which two profiles are the same but for rounding."""
_KINDS = {"1": "black and white", "L": "grey", "P": "a palette"}


class Losses(NamedTuple):
    """The names of images from which reading took something away."""

    blank: list[str]
    """Nothing is left in these to see, or to hear."""
    frames: list[str]
    """Of these, the first frame is read alone."""


def shows_nothing(notes: Iterable[str]) -> bool:
    """Return whether notes of :func:`decode` say that nothing is left."""
    return any(note.startswith(NOTHING_LEFT) for note in notes)


def losses(noted: Iterable[tuple[str, Sequence[str]]]) -> Losses:
    """Return the losses that notes of :func:`decode` name, by the names that stand beside them."""
    blank = []
    frames = []
    for name, notes in noted:
        if shows_nothing(notes):
            blank.append(name)
        if any(map(_FIRST_FRAME.fullmatch, notes)):
            frames.append(name)
    return Losses(blank, frames)


class DrawnPage(bytes):
    """A page of a PDF, drawn as PNG: it may come out white, as one whose layers are off does."""


def decode(
    data: bytes | Image.Image, name: str, max_pixels: int
) -> tuple[Image.Image, list[str]]:
    """Decode an image into upright 8-bit RGB: its first frame, without transparency.

    Transparency is laid over white, or over black where white would leave nothing to see. A
    conversion that leaves nothing to see is noted with :data:`NOTHING_LEFT`.

    Returns:
        The image, and what was done to get it.

    Args:
        data: a file's bytes, or an image of Pillow's, which counts as the file that it was.
        name: what errors call it.
        max_pixels: refuse more pixels than this, going by the header, before any are decoded.

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
    """Note what can only be seen before the pixels are loaded: loading turns a TIFF, and raw modes
    are gone then."""
    frames: int = getattr(image, "n_frames", 1)
    notes = []
    if frames > 1 and image.format == "MPO":  # previews, or what brightens it
        notes.append(f"first of {frames} images of a photograph")
    elif frames > 1 and image.tell():  # which only an image of Pillow's can be at
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

    Libraries apply it in other ways, and no evaluation tool applies it.
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
    """Return an RGBA image over a ground of one colour."""
    ground = Image.new("RGB", image.size, colour)
    ground.paste(image, mask=image)  # integer arithmetic, rounded to nearest
    return ground


def _to_rgb(
    image: Image.Image, file_format: str | None, name: str
) -> tuple[Image.Image, list[str]]:
    if image.mode.startswith("I;16") or (image.mode == "I" and file_format == "PPM"):
        # Pillow's own conversion would cut everything above 255 off.
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
        # Pillow's own for sRGB, which holds the time and so would change the bytes of the PNG
        converted.info.pop("icc_profile", None)
    return converted, [f"converted from {_KINDS.get(image.mode, image.mode)}"]
