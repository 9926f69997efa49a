"""Spectrograms of sounds: power by time and mel band, as numbers and as a picture."""

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.media import Sound

_SILENT = 1e-10
"""Power below which all is silence."""


def log_mel(sound: Sound, bands: int = 64) -> NDArray[np.float64]:
    """Return the power in triangular bands of the mel scale up to 8 kHz.

    It is t×bands in decibels, from −80 to the loudest, 0.
    """
    samples = sound.mono(sound.rate).astype(np.float64)
    size = 1 << (sound.rate // 25).bit_length()
    missing = max(0, size - len(samples))
    samples = np.pad(samples, (0, missing))
    last = len(samples) - size
    starts = np.linspace(0, last, min(512, 1 + 4 * last // size)).astype(int)
    places = starts[:, None] + np.arange(size)
    spectra = np.abs(np.fft.rfft(samples[places] * np.hanning(size)))
    power = spectra**2 @ _mel_filters(sound.rate, size, bands).T
    loudest = max(power.max(), _SILENT)
    decibels = 10 * np.log10(np.maximum(power, _SILENT) / loudest)
    return np.asarray(np.maximum(decibels, -80))


def _mel_filters(rate: int, size: int, bands: int) -> NDArray[np.float64]:
    """Return the weight of each frequency of a spectrum in each band, bands×frequencies."""
    highest = min(rate / 2, 8000)
    mels = np.linspace(0, 2595 * np.log10(1 + highest / 700), bands + 2)
    edges = 700 * (10 ** (mels / 2595) - 1)
    frequencies = np.linspace(0, rate / 2, size // 2 + 1)
    rising = (frequencies - edges[:-2, None]) / np.diff(edges[:-1])[:, None]
    falling = (edges[2:, None] - frequencies) / np.diff(edges[1:])[:, None]
    return np.asarray(np.maximum(0, np.minimum(rising, falling)))


def spectrogram(sound: Sound) -> Image.Image:
    """Draw a sound: time from left to right, pitch upwards, bright where it is loud."""
    levels = log_mel(sound).T[::-1] / 80 + 1
    red = levels**0.7
    green = levels**1.6
    blue = 0.25 + 0.5 * levels * (1 - levels)
    colours = np.stack([red, green, blue], axis=-1).clip(0, 1)
    pixels = (255 * colours).round().astype(np.uint8)
    return Image.fromarray(pixels).resize((192, 96))
