"""Images and sounds as files. Every WAV of ours is written here, so that equal samples are equal
files."""

import base64
import io
import wave
from dataclasses import dataclass, field
from math import gcd
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.canonical import open_regular
from driftledger.core.files import read_regular
from driftledger.core.images import png_bytes

MEDIA = {".png": "image/png", ".jpg": "image/jpeg", ".webp": "image/webp", ".wav": "audio/wav"}
"""Suffix → media type, of the files that images and sounds are kept in."""
Kind: TypeAlias = Literal["image", "sound"]
ANY_MEDIUM: frozenset[Kind] = frozenset({"image", "sound"})


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
            self.samples.astype(np.float64), rate // common, self.rate // common, axis=0
        )
        return Sound(samples.astype(np.float32), rate)

    def mono(self, rate: int) -> NDArray[np.float32]:
        """Return its n samples at a rate, the mean of all channels."""
        mean: NDArray[np.float64] = self.at(rate).samples.mean(axis=1, dtype=np.float64)
        return mean.astype(np.float32)


@dataclass(frozen=True, slots=True)
class Medium:
    """An image or a sound on disk, known by the SHA-256 of its bytes.

    An image is a PNG, or the JPEG or WebP that a service drew. A sound is a WAV.
    """

    path: Path
    sha256: str
    content: Image.Image | Sound | None = field(default=None, compare=False, repr=False)
    """What :meth:`open` gives, where it is decoded before it is asked for."""

    @property
    def kind(self) -> Kind:
        return kind_of(self.path)

    def open(self) -> Any:
        """Decode the file into an RGB image, H×W×3 of uint8, or into a :class:`Sound`."""
        if self.content is not None:
            return self.content.copy() if isinstance(self.content, Image.Image) else self.content
        if self.kind == "sound":
            return read_wav(read_regular(self.path))
        with open_regular(self.path) as file, Image.open(file) as image:
            return image.convert("RGB")


def kind_of(file: Path) -> Kind:
    """What a file of ours holds."""
    return "sound" if file.suffix == ".wav" else "image"


def suffix_of(data: bytes) -> str:
    """The suffix of a file with these bytes; empty where it is not kept as it is."""
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
    """A file inside an address."""
    return f"data:{MEDIA[path.suffix]};base64,{base64.b64encode(read_regular(path)).decode()}"


def encoded(medium: Image.Image | Sound) -> bytes:
    """Encode an image as PNG, or a sound as WAV."""
    return wav_bytes(medium) if isinstance(medium, Sound) else png_bytes(medium)


def wav_bytes(sound: Sound) -> bytes:
    """Encode as a WAV of 16 bits, rounded to the nearest of its levels; what is outside of −1 to 1
    is clipped."""
    levels = (
        np.rint(sound.samples.astype(np.float64) * 2**15).clip(-(2**15), 2**15 - 1).astype("<i2")
    )
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
        raise ValueError(f"it is not a WAV of whole numbers ({error or 'it is cut'})") from None
    if raw.size != count * channels * width or not rate:
        raise ValueError(
            f"its header says {count:,} samples at {rate:,} Hz, and {raw.size:,} bytes follow"
        )
    levels = np.zeros((count * channels, 4), np.uint8)
    # 8 bits have no sign
    levels[:, 4 - width :] = raw.reshape(-1, width) ^ (0x80 if width == 1 else 0)
    return Sound(
        (levels.view("<i4").astype(np.float64) / 2**31).astype(np.float32).reshape(-1, channels),
        rate,
    )


def log_mel(sound: Sound, bands: int = 64) -> NDArray[np.float64]:
    """The power in triangular bands of the mel scale up to 8 kHz, t×bands in decibels from −80 to
    the loudest, 0."""
    samples = sound.mono(sound.rate).astype(np.float64)
    size = 1 << (sound.rate // 25).bit_length()
    samples = np.pad(samples, (0, max(0, size - len(samples))))
    starts = np.linspace(
        0, len(samples) - size, min(512, 1 + 4 * (len(samples) - size) // size)
    ).astype(int)
    frames = samples[starts[:, None] + np.arange(size)] * np.hanning(size)
    highest = min(sound.rate / 2, 8000)
    edges = 700 * (10 ** (np.linspace(0, 2595 * np.log10(1 + highest / 700), bands + 2) / 2595) - 1)
    frequencies = np.linspace(0, sound.rate / 2, size // 2 + 1)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges[:-1])[:, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges[1:])[:, None]
    power = np.abs(np.fft.rfft(frames)) ** 2 @ np.maximum(0, np.minimum(rising, falling)).T
    levels: NDArray[np.float64] = np.maximum(
        10 * np.log10(np.maximum(power, 1e-10) / max(power.max(), 1e-10)), -80
    )
    return levels


def spectrogram(sound: Sound) -> Image.Image:
    """A picture of a sound: time from left to right, pitch upwards, bright where it is loud."""
    levels = log_mel(sound).T[::-1] / 80 + 1
    colours = np.stack([levels**0.7, levels**1.6, 0.25 + 0.5 * levels * (1 - levels)], axis=-1)
    return Image.fromarray((255 * colours.clip(0, 1)).round().astype(np.uint8)).resize((192, 96))
