"""The demonstration for sounds: twenty sounds, a listener, a synthesiser and an encoder."""

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import product
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger.components.base import Encoder, Generator, library_versions
from driftledger.core.canonical import sha256_of
from driftledger.core.media import Kind, wav_bytes
from driftledger.core.types import (
    Conversation,
    Float32,
    Float64,
    Result,
    Sound,
    Split,
)
from driftledger.data.datasets.base import SourceItem
from driftledger.data.datasets.sounds import SoundDataset
from driftledger.data.spectrograms import log_mel
from driftledger_demo.models.controls import WordCounter
from driftledger_demo.reading import Words, figures

RATE = 16_000
SOUNDS: frozenset[Kind] = frozenset({"sound"})
_FRAME = 1024
_HOP = 256
_SPECTRUM = 8192


class Heard(NamedTuple):
    """A sound as the demonstration knows it."""

    start: float = 330
    """Pitch in Hz, or the middle of a noise."""
    end: float = 330
    brightness: int = 30
    """Each overtone's strength, in percent of the one below it."""
    noise: int = 0
    """Percent of it that is noise."""
    pulses: int = 1
    fade: int = 80
    """Loudness at the end of a pulse, in percent of its beginning."""
    seconds: float = 1.5


def synthesise(heard: Heard, seed: int) -> Sound:
    """Make a sound; the seed draws its noise."""
    n = int(heard.seconds * RATE)
    share = np.arange(n) / n
    noisy = heard.noise / 100
    tone = _tone(heard, share)
    hiss = _hiss(heard, n, seed)
    mixed = (1 - noisy) * tone + noisy * hiss / np.abs(hiss).max()
    sounding = 1 if heard.pulses == 1 else 0.6
    within = share * heard.pulses % 1 / sounding
    fading = np.where(within < 1, (heard.fade / 100) ** within, 0)
    attack = np.minimum(1, within * 50)
    samples = fading * attack * 0.8 * mixed
    return Sound(samples.astype(np.float32)[:, None], RATE)


def _tone(heard: Heard, share: Float64) -> Float64:
    """Return the pitch and its overtones at each ``share`` of the sound's length."""
    pitch = heard.start * (heard.end / heard.start) ** share
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    brightness = heard.brightness / 100
    tone = np.zeros(len(share))
    for overtone in range(12):
        multiple = overtone + 1
        is_audible = multiple * pitch < 7_000
        tone += brightness**overtone * np.sin(multiple * phase) * is_audible
    return tone / max(1.0, 1 / (1.01 - brightness))


def _hiss(heard: Heard, n: int, seed: int) -> Float64:
    """Return n samples of noise around the middle of the pitches."""
    frequencies = np.maximum(np.fft.rfftfreq(n, 1 / RATE), 1)
    middle = np.sqrt(heard.start * heard.end)
    octaves = np.log2(frequencies / middle)
    noise = np.random.default_rng(seed).standard_normal(n)
    spectrum = np.fft.rfft(noise) * np.exp(-(octaves**2))
    return np.fft.irfft(spectrum, n)


def listen(sound: Sound) -> Heard:
    """Measure a sound: its pitch at both ends, overtones, noise and envelope."""
    samples = sound.mono(RATE).astype(np.float64)
    missing = max(0, 2 * _FRAME - len(samples))
    samples = np.pad(samples, (0, missing))
    windows = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)
    frames = windows[::_HOP] * np.hanning(_FRAME)
    loud = np.sqrt((frames**2).mean(axis=1))
    if loud.max() < 1e-4:
        return Heard(noise=100, fade=1, seconds=len(samples) / RATE)
    active = np.flatnonzero(loud > 0.1 * loud.max())
    gaps = np.flatnonzero(np.diff(active) > 1)
    pulses = np.split(active, gaps + 1)
    power = np.abs(np.fft.rfft(frames[active], _SPECTRUM)) ** 2
    peaks = power[:, 40:].argmax(axis=1) + 40  # from 78 Hz on
    overtones = _powers_of_overtones(power, peaks)
    tonal = np.sum(overtones, axis=0) / power.sum(axis=1)
    noise = float(np.clip((0.95 - np.median(tonal)) / 0.5, 0, 1))
    pitches = peaks * RATE / _SPECTRUM
    ends = len(active) if noise > 0.5 else max(1, len(active) // 8)
    ratios = np.sqrt(overtones[1] / overtones[0])
    brightness = float(np.median(ratios))
    longest = loud[max(pulses, key=len)]
    fade = float(longest[-4:].mean() / longest.max())
    return Heard(
        start=float(np.median(pitches[:ends])),
        end=float(np.median(pitches[-ends:])),
        brightness=round(100 * min(0.9, brightness)),
        noise=round(100 * noise),
        pulses=len(pulses),
        fade=max(1, round(100 * min(1.0, fade))),
        seconds=round(len(samples) / RATE, 2),
    )


def _powers_of_overtones(power: Float64, peaks: NDArray[np.int64]) -> list[Float64]:
    """Return the power around the first five multiples of each frame's peak."""
    width = _SPECTRUM // _FRAME * 2
    around = np.arange(-width, width + 1)
    last = power.shape[1] - width - 1
    overtones = []
    for multiple in range(1, 6):
        middles = np.minimum(multiple * peaks, last)[:, None]
        near = np.take_along_axis(power, middles + around, axis=1)
        overtones.append(near.sum(axis=1))
    return overtones


_PITCHES = Words(
    {
        "very low": 110,
        "low": 220,
        "middling": 440,
        "high": 880,
        "very high": 1760,
    }
)
_MOVES = Words({"rises": 2.0, "falls": 0.5, "stays": 1.0})
_TIMBRES = Words({"dull": 10, "bright": 55})
_ENDS = Words({"fading": 10, "steady": 80})


def _nearest(words: Words[Any], value: float) -> str:
    def octaves(word: str) -> float:
        return abs(float(np.log(words.meanings[word] / max(value, 1e-3))))

    return min(words.meanings, key=octaves)


def say(heard: Heard, detail: Literal["coarse", "fine"]) -> str:
    """Describe a sound: timbre and pitch in words, and in the fine form every number too."""
    timbre = _nearest(_TIMBRES, heard.brightness)
    pitch = _nearest(_PITCHES, heard.start)
    kind = "noise" if heard.noise > 50 else "tone"
    brief = f"A {timbre}, {pitch} {kind}"
    if detail == "coarse":
        return f"{brief}."
    pulses = "several pulses" if heard.pulses > 1 else "one piece"
    end = _nearest(_ENDS, heard.fade)
    move = _nearest(_MOVES, heard.end / heard.start)
    return (
        f"{brief} in {pulses}, {end}. Its pitch {move}. "
        f"It goes from {heard.start:.0f} Hz to {heard.end:.0f} Hz in {heard.seconds} seconds "
        f"with {heard.pulses} pulses, each ending at {heard.fade}%. "
        f"Its brightness is {heard.brightness}%; {heard.noise}% of it is noise."
    )


def read(text: str) -> Heard:
    """Understand as much of a description as possible."""

    def value(form: str, low: float, high: float, otherwise: float) -> float:
        numbers = figures(form.format(r"(\d{1,6}(?:\.\d+)?)"), text, low, high, float)
        return numbers[0] if numbers else otherwise

    plain = Heard()
    start = value(
        "from {} Hz", 40, 7_000, otherwise=_PITCHES.meaning(text) or plain.start
    )
    timbre = _TIMBRES.meaning(text) or plain.brightness
    noise = 90 if "noise" in text else plain.noise
    pulses = 4 if "several" in text else plain.pulses
    fade = _ENDS.meaning(text) or plain.fade
    return Heard(
        start,
        end=value("to {} Hz", 40, 7_000, otherwise=start * (_MOVES.meaning(text) or 1)),
        brightness=round(value("brightness is {}%", 0, 90, otherwise=timbre)),
        noise=round(value("{}% of it is noise", 0, 100, otherwise=noise)),
        pulses=round(value("{} pulses", 1, 20, otherwise=pulses)),
        fade=round(value("ending at {}%", 1, 100, otherwise=fade)),
        seconds=value("{} seconds", 0.2, 10, otherwise=plain.seconds),
    )


class Sounds(SoundDataset):
    """Short synthesised sounds in four categories, five each.

    With ``labelled``, there are as many again as a support set.
    """

    provider: ClassVar[str] = "synthesised"

    labelled: bool = False

    def items(self) -> Iterator[SourceItem]:
        splits: tuple[Split | None, ...] = (
            ("support", "test") if self.labelled else (None,)
        )
        for split in splits:
            draws = np.random.default_rng(1 if split == "support" else 0)
            for category, number in product(
                ("bells", "drones", "glides", "noises"), range(5)
            ):
                sound = synthesise(_example(category, number, draws), number)
                name = f"{category}-{number}"
                if split:
                    name = f"{split}-{name}"
                yield SourceItem(
                    id=name,
                    name=name,
                    read=partial(wav_bytes, sound),
                    category=None if split else category,
                    label=category if split else None,
                    split=split,
                )

    def source_digest(self) -> str:
        return sha256_of([self.provider, 1, self.labelled])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "licence": "made by this program"}


def _example(category: str, number: int, draws: np.random.Generator) -> Heard:
    low = float(draws.uniform(150, 700))
    first, second, third = draws.uniform(size=3).tolist()
    seconds = round(1 + first, 2)
    brightness = 20 + round(50 * second)
    plain = Heard(low, low, brightness=brightness, seconds=seconds)
    match category:
        case "bells":
            fade = 3 + round(12 * third)
            return plain._replace(
                start=2 * low, end=2 * low, pulses=1 + number, fade=fade
            )
        case "drones":
            return plain._replace(fade=70 + round(30 * third))
        case "glides":
            return plain._replace(end=low * (2.5 if number % 2 else 0.5))
        case _:
            pulses = 1 + 2 * (number % 3)
            fade = 30 + round(60 * third)
            return Heard(
                3 * low, 3 * low, brightness=0, noise=100, pulses=pulses, fade=fade
            )


class Listener(WordCounter):
    """A model that measures pitch, overtones, noise and envelope, and describes them."""

    provider: ClassVar[str] = "listener"
    version: ClassVar[str] = "1"
    media: ClassVar[frozenset[Kind]] = SOUNDS

    detail: Literal["coarse", "fine"] = "fine"

    def say(self, conversation: Conversation) -> str:
        sound = conversation.last_medium
        return (
            "I hear nothing."
            if sound is None
            else say(listen(sound.open()), self.detail)
        )


class Synthesiser(Generator):
    """A generator of the sound that it understands a text to mean; the seed draws its noise."""

    provider: ClassVar[str] = "synthesiser"
    version: ClassVar[str] = "1"
    media: ClassVar[frozenset[Kind]] = SOUNDS
    understands: ClassVar[frozenset[str]] = frozenset({"listener"})

    @property
    def mark(self) -> str:
        return (
            self.knows
            or "knows the words and numbers in which the embedded listener speaks"
        )

    def identity(self) -> dict[str, Any]:
        return library_versions("numpy")

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        sounds = []
        for prompt, seed in zip(prompts, seeds, strict=True):
            sound = synthesise(read(prompt), seed)
            sounds.append(Result(sound=sound))
        return sounds


class LogMel(Encoder):
    """Sixteen moments of a log-mel spectrogram with 32 bands, and the sound's length."""

    provider: ClassVar[str] = "log_mel"
    version: ClassVar[str] = "1"
    understands: ClassVar[frozenset[str]] = frozenset({"listener"})

    def encode_sounds(self, sounds: Sequence[Sound]) -> Float32:
        features = [self._features(sound) for sound in sounds]
        return np.stack(features).astype(np.float32)

    def _features(self, sound: Sound) -> Float64:
        levels = log_mel(sound, bands=32) / 80 + 1
        moments = np.stack([part.mean(axis=0) for part in np.array_split(levels, 16)])
        shape = moments - moments.mean()
        return np.concatenate([shape.ravel(), [1.0, min(sound.seconds, 10)]])
