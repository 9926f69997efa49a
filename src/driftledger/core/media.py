"""Images, sounds and texts as files.

Every PNG and WAV of ours is written here, so that equal pixels and equal samples are equal files.
"""

import base64
import io
import warnings
import wave
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import gcd
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.canonical import open_regular
from driftledger.core.files import read_regular

MEDIA = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".webp": "image/webp",
    ".wav": "audio/wav",
}
"""Suffix → media type, of the files that images and sounds are kept in."""
Kind: TypeAlias = Literal["image", "sound", "text"]
ANY_MEDIUM: frozenset[Kind] = frozenset({"image", "sound"})
_EFFORT = 3
"""On photographs less than half the time of zlib's default, for files 4 % larger."""

ENCODING = f"RGB PNG, compress_level {_EFFORT}"
"""Part of an embedded generator's identity: equal pixels written differently are other files."""
MOST_PIXELS = 2**26
"""Pixels of an image that a service drew: 201 MB as RGB."""
PILLOW_LIMIT = 2 * 89_478_485
"""Pixels beyond which Pillow decodes no image: 537 MB as RGB."""
_STORED_FORMATS = ("PNG", "JPEG", "WEBP")


@dataclass(frozen=True, slots=True, eq=False)
class Sound:
    """A sound of n samples in c channels."""

    samples: NDArray[np.float32]
    """n×c, from −1 to 1."""
    rate: int
    """Samples a second."""

    @property
    def seconds(self) -> float:
        return len(self.samples) / self.rate

    def at(self, rate: int) -> "Sound":
        """Return it at another sampling rate, by a polyphase filter."""
        if rate == self.rate:
            return self
        from scipy.signal import resample_poly

        common = gcd(rate, self.rate)
        samples = resample_poly(
            self.samples.astype(np.float64),
            rate // common,
            self.rate // common,
            axis=0,
        )
        return Sound(samples.astype(np.float32), rate)

    def mono(self, rate: int) -> NDArray[np.float32]:
        """Return its n samples at a rate, the mean of all channels."""
        mean: NDArray[np.float64] = self.at(rate).samples.mean(axis=1, dtype=np.float64)
        return mean.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Medium:
    """An image, a sound or a text on disk, known by the SHA-256 of its bytes.

    An image is a PNG, or the JPEG or WebP that a service drew. A sound is a WAV. A text is what a
    chain begins with.
    """

    path: Path
    sha256: str
    content: Image.Image | Sound | None = field(default=None, compare=False, repr=False)
    """What :meth:`open` gives, where it is decoded before it is asked for."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.path)

    def open(self) -> Any:
        """Decode the file into an RGB image, H×W×3 of uint8, a :class:`Sound` or a text."""
        if self.content is not None:
            return (
                self.content.copy()
                if isinstance(self.content, Image.Image)
                else self.content
            )
        if self.kind == "sound":
            return read_wav(read_regular(self.path))
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
    if file.suffix == ".txt":
        return "text"
    return "sound" if file.suffix == ".wav" else "image"


def suffix_of(data: bytes) -> str:
    """Return the suffix of a file with these bytes; empty where it is not kept as it is."""
    if data[:4] == b"RIFF":
        return {b"WEBP": ".webp", b"WAVE": ".wav"}.get(data[8:12], "")
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


def encoded(medium: Image.Image | Sound | str) -> bytes:
    """Encode an image as PNG, a sound as WAV, or a text as UTF-8."""
    if isinstance(medium, str):
        return medium.encode()
    return wav_bytes(medium) if isinstance(medium, Sound) else png_bytes(medium)


def png_bytes(image: Image.Image) -> bytes:
    """Encode as RGB PNG, without metadata.

    The bytes depend on the zlib inside Pillow, which ``requirements.txt`` pins.
    """
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, format="PNG", compress_level=_EFFORT)
    return buffer.getvalue()


def wav_bytes(sound: Sound) -> bytes:
    """Encode as a WAV of 16 bits.

    Samples are rounded to the nearest of its levels; what is outside of −1 to 1 is clipped.
    """
    rounded = np.rint(sound.samples.astype(np.float64) * 2**15)
    levels = rounded.clip(-(2**15), 2**15 - 1).astype("<i2")
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setparams((levels.shape[1], 2, sound.rate, 0, "NONE", ""))
        file.writeframes(levels.tobytes())
    return buffer.getvalue()


def read_wav(data: bytes) -> Sound:
    """Decode a WAV of whole numbers, 8 to 32 bits.

    Raises:
        ValueError: it is another kind of WAV, or is cut.
    """
    try:
        with wave.open(io.BytesIO(data)) as file:
            channels, width, rate, count = file.getparams()[:4]
            raw = np.frombuffer(file.readframes(count), np.uint8)
    except (wave.Error, EOFError) as error:
        raise ValueError(
            f"it is not a WAV of whole numbers ({error or 'it is cut'})"
        ) from None
    if raw.size != count * channels * width or not rate:
        raise ValueError(
            f"its header says {count:,} samples at {rate:,} Hz, and {raw.size:,} bytes follow"
        )
    levels = np.zeros((count * channels, 4), np.uint8)
    # 8 bits have no sign
    levels[:, 4 - width :] = raw.reshape(-1, width) ^ (0x80 if width == 1 else 0)
    samples = levels.view("<i4").astype(np.float64) / 2**31
    return Sound(samples.astype(np.float32).reshape(-1, channels), rate)
