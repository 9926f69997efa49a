"""Spectrograms of sounds: power in bands of the mel scale over time, as numbers and as a picture."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.media import Sound


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
