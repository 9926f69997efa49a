"""Sound files of any origin as sounds of one rate; and datasets of them: a folder, or one of the
Hugging Face hub.

This is the only place where foreign sounds are decoded. What was done to one is noted; its length,
rate and channels are read from its header and bounded before its samples are decoded.
"""

import wave
from io import BytesIO
from pathlib import Path
from struct import pack, unpack_from
from typing import ClassVar

import numpy as np
from pydantic import Field

from driftledger.core.errors import DataError
from driftledger.core.media import Kind, Sound, read_wav
from driftledger.core.registry import import_extra
from driftledger.core.text import shortened
from driftledger.data.datasets.base import DatasetProvider
from driftledger.data.datasets.decode import NOTHING_LEFT
from driftledger.data.datasets.image_folder import ImageFolder
from driftledger.data.hub import HuggingFace

FORMATS = (".wav", ".flac", ".ogg", ".opus", ".mp3", ".aif", ".aiff")
MOST_RATE = 192_000
MOST_CHANNELS = 8
MOST_SAMPLES = 2**26
SHORTEST = 0.1
LONGEST = 60.0
MOST_SECONDS = 600.0
"""The longest where settings name no other, and the most that they allow."""


_LARGEST_WAV = 2**31 - 2**16
"""Bytes of samples; servers write this length or a larger one where they do not know it, or one
that is longer than an hour."""
_FAINTEST = 0.01
"""Of a sound's loudest sample: where its channels' mean stays below, they cancel one another out.
"""


def decode_sound(
    data: bytes,
    name: str,
    rate: int | None = None,
    *,
    stereo: bool = False,
    max_seconds: float = LONGEST,
) -> tuple[Sound, list[str]]:
    """Decode a sound file into one or two channels at a rate; a WAV of whole numbers needs no
    library.

    Args:
        rate: in samples a second; None is its own.

    Returns:
        The sound, and what was done to get it.

    Raises:
        DataError: it cannot be decoded, is too short or too long, or holds what is not a number.
        MissingExtraError: ``soundfile`` is needed and not installed.
    """
    try:
        sound = _read(data, max_seconds)
        if not np.isfinite(sound.samples).all():
            raise ValueError("it holds samples that are not numbers")
    except (ValueError, RuntimeError, wave.Error, EOFError) as error:
        # soundfile's errors are RuntimeErrors
        reason = shortened(str(error)) or "it is cut"
        raise DataError(
            f"{name} cannot be used: {reason}; correct or remove it"
        ) from None
    samples = sound.samples
    notes = []
    if np.abs(samples).max() > 1:
        notes.append("clipped at full scale")
    channels = samples.shape[1]
    if channels != 1 + stereo:
        mixed = samples.mean(axis=1, keepdims=True, dtype=np.float64)
        if np.abs(mixed).max() < _FAINTEST * np.abs(samples).max():
            notes.append(f"{NOTHING_LEFT} to hear: its channels cancel one another out")
        samples = np.repeat(mixed, 1 + stereo, axis=1)
        plural = "s" if channels > 1 else ""
        notes.append(f"{channels} channel{plural} mixed into {1 + stereo}")
    if rate is not None and rate != sound.rate:
        notes.append(f"resampled from {sound.rate} Hz")
    clipped = Sound(samples.clip(-1, 1).astype(np.float32), sound.rate)
    return clipped.at(rate or sound.rate), notes


def _with_lengths(data: bytes) -> bytes:
    """Return a WAV that was streamed, so that its header holds no true lengths, with those of what
    follows."""
    head, mark, rest = data.partition(b"data")
    at = head.find(b"fmt ")
    if head[:4] + head[8:12] != b"RIFFWAVE" or len(rest) < 4 or len(head) < at + 20:
        return data
    [length] = unpack_from("<I", rest)
    [a_second] = unpack_from("<I", head, at + 16)
    follows = len(rest) - 4
    if length == 0:
        is_streamed = not rest[4:8].isalnum()  # else another part of the file follows
    else:
        is_streamed = length > follows and length >= min(3600 * a_second, _LARGEST_WAV)
    if not is_streamed:
        return data
    return (
        pack("<4sI", b"RIFF", len(data) - 8)
        + head[8:]
        + mark
        + pack("<I", follows)
        + rest[4:]
    )


def _read(data: bytes, max_seconds: float) -> Sound:
    if not data:
        raise ValueError("it is empty")
    data = _with_lengths(data)
    if data[:4] == b"RIFF" and data[20:22] == b"\x01\0":
        with wave.open(BytesIO(data)) as header:
            _check(
                header.getframerate(),
                header.getnchannels(),
                header.getnframes(),
                max_seconds,
            )
        return read_wav(data)
    with import_extra("soundfile").SoundFile(BytesIO(data)) as file:
        _check(file.samplerate, file.channels, file.frames, max_seconds)
        samples = file.read(file.frames, dtype="float32", always_2d=True)
        if len(samples) != file.frames:
            raise ValueError(
                f"its header says {file.frames:,} samples, and {len(samples):,} follow"
            )
        return Sound(samples, file.samplerate)


def _check(rate: int, channels: int, samples: int, max_seconds: float) -> None:
    if not 1 <= rate <= MOST_RATE or not 1 <= channels <= MOST_CHANNELS:
        raise ValueError(
            f"it has {rate:,} Hz and {channels} channels, and at most {MOST_RATE:,} Hz and "
            f"{MOST_CHANNELS} channels are read"
        )
    if not SHORTEST <= samples / rate <= max_seconds:
        raise ValueError(
            f"it has {samples / rate:,.2f} s, and from {SHORTEST} s to max_seconds, "
            f"{max_seconds:g}, are read"
        )
    if samples * channels > MOST_SAMPLES:
        raise ValueError(
            f"it has {samples * channels:,} samples in all channels, and {MOST_SAMPLES:,} are read"
        )


class SoundDataset(DatasetProvider):
    """A dataset of sounds: each is brought to one sampling rate, and to one channel."""

    medium: ClassVar[Kind] = "sound"

    sampling_rate: int = Field(default=16_000, ge=4_000, le=96_000)
    """Samples a second of every sound."""
    stereo: bool = False
    """Whether every sound has two channels."""
    max_seconds: float = Field(default=LONGEST, ge=1, le=MOST_SECONDS)
    """A longer sound is refused by its header."""

    @property
    def unused(self) -> set[str]:
        return super().unused | {"max_pixels", "image_column", "pdf_dpi"}

    def decode(self, data: bytes, name: str) -> tuple[Sound, list[str]]:
        return decode_sound(
            data,
            name,
            self.sampling_rate,
            stereo=self.stereo,
            max_seconds=self.max_seconds,
        )


class SoundFolder(SoundDataset, ImageFolder):
    """The sounds below ``path``, in categories or classes as those of an image folder."""

    formats = FORMATS

    def is_read(self, name: str) -> bool:
        return Path(name).suffix.lower() in FORMATS


class HuggingFaceSounds(SoundDataset, HuggingFace):
    """A dataset of the hub with a column of sounds."""

    files_in = "audio_column"

    audio_column: str = "audio"
