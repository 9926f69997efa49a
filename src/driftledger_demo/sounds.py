"""The demonstration for sounds: twenty of them, a model that measures, a synthesiser that reads, an encoder."""

import re
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import groupby
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from driftledger.components.base import Encoder, Generator, library_versions
from driftledger.core.canonical import sha256_of
from driftledger.core.media import Kind, log_mel, wav_bytes
from driftledger.core.types import Conversation, Float32, Float64, Generated, Sound
from driftledger.data.datasets.base import SourceItem
from driftledger.data.datasets.sounds import SoundDataset
from driftledger_demo.models.controls import WordCounter

RATE = 16_000
SOUNDS: frozenset[Kind] = frozenset({"sound"})
_FRAME, _HOP, _SPECTRUM = 1024, 256, 8192


class Heard(NamedTuple):
    """What the demonstration knows of a sound."""

    start: float = 330
    """Pitch in Hz, or the middle of a noise."""
    end: float = 330
    brightness: int = 30
    """Each overtone's strength, in percent of the one below it."""
    noise: int = 0
    """How much of it is noise, in percent."""
    pulses: int = 1
    fade: int = 80
    """How loud a pulse ends, in percent of how it begins."""
    seconds: float = 1.5


def synthesise(heard: Heard, seed: int) -> Sound:
    """Make a sound; the seed draws its noise."""
    n = int(heard.seconds * RATE)
    share = np.arange(n) / n
    pitch = heard.start * (heard.end / heard.start) ** share
    phase, drawn = 2 * np.pi * np.cumsum(pitch) / RATE, np.random.default_rng(seed).standard_normal(n)
    tone = sum(
        (heard.brightness / 100) ** k * np.sin((k + 1) * phase) * ((k + 1) * pitch < 7_000) for k in range(12)
    ) / max(1.0, 1 / (1.01 - heard.brightness / 100))
    octaves = np.log2(np.maximum(np.fft.rfftfreq(n, 1 / RATE), 1) / np.sqrt(heard.start * heard.end))
    hiss = np.fft.irfft(np.fft.rfft(drawn) * np.exp(-(octaves**2)), n)
    within = share * heard.pulses % 1 / (1 if heard.pulses == 1 else 0.6)
    loudness = np.where(within < 1, (heard.fade / 100) ** within, 0) * np.minimum(1, within * 50) * 0.8
    mixed = (1 - heard.noise / 100) * tone + heard.noise / 100 * hiss / np.abs(hiss).max()
    return Sound((loudness * mixed).astype(np.float32)[:, None], RATE)


def listen(sound: Sound) -> Heard:
    """Measure a sound: its pitch at both ends, its overtones, how much of it is noise, and its envelope."""
    samples = sound.mono(RATE).astype(np.float64)
    samples = np.pad(samples, (0, max(0, 2 * _FRAME - len(samples))))
    frames = np.lib.stride_tricks.sliding_window_view(samples, _FRAME)[::_HOP] * np.hanning(_FRAME)
    loud = np.sqrt((frames**2).mean(axis=1))
    if loud.max() < 1e-4:
        return Heard(noise=100, fade=1, seconds=len(samples) / RATE)
    runs = [[at for at, _ in group] for on, group in groupby(enumerate(loud > 0.1 * loud.max()), lambda p: p[1]) if on]
    active = [at for run in runs for at in run]
    power = np.abs(np.fft.rfft(frames[active], _SPECTRUM)) ** 2
    peaks = power[:, 40:].argmax(axis=1) + 40  # from 78 Hz on
    pitches, ends = peaks * RATE / _SPECTRUM, max(1, len(active) // 8)
    rows, width = np.arange(len(active)), _SPECTRUM // _FRAME * 2

    def around(multiple: int) -> Float64:
        places = np.minimum(multiple * peaks, power.shape[1] - width - 1)[:, None] + np.arange(-width, width + 1)
        return np.asarray(power[rows[:, None], places].sum(axis=1))

    overtones = [around(multiple) for multiple in range(1, 6)]
    tonal = np.sum(overtones, axis=0) / power.sum(axis=1)
    noise = float(np.clip((0.95 - np.median(tonal)) / 0.5, 0, 1))
    longest = loud[max(runs, key=len)]
    middle = [float(np.median(pitches))] * 2
    start, end = middle if noise > 0.5 else [float(np.median(some)) for some in (pitches[:ends], pitches[-ends:])]
    return Heard(
        start,
        end,
        round(100 * min(0.9, float(np.median(np.sqrt(overtones[1] / overtones[0]))))),
        round(100 * noise),
        len(runs),
        max(1, round(100 * min(1.0, float(longest[-4:].mean() / longest.max())))),
        round(len(samples) / RATE, 2),
    )


_PITCHES = {"very low": 110, "low": 220, "middling": 440, "high": 880, "very high": 1760}
_MOVES = {"rises": 2.0, "falls": 0.5, "stays": 1.0}
_TIMBRES = {"dull": 10, "bright": 55}
_ENDS = {"fading": 10, "steady": 80}


def _nearest(words: dict[str, Any], value: float) -> str:
    return min(words, key=lambda word: abs(float(np.log(words[word] / max(value, 1e-3)))))


def say(heard: Heard, detail: Literal["coarse", "fine"]) -> str:
    """Describe what was heard: its timbre and pitch in words, and in the fine form every number too."""
    kind = "noise" if heard.noise > 50 else "tone"
    brief = f"A {_nearest(_TIMBRES, heard.brightness)}, {_nearest(_PITCHES, heard.start)} {kind}"
    if detail == "coarse":
        return f"{brief}."
    pulses = "several pulses" if heard.pulses > 1 else "one piece"
    return (
        f"{brief} in {pulses}, {_nearest(_ENDS, heard.fade)}. Its pitch {_nearest(_MOVES, heard.end / heard.start)}. "
        f"It goes from {heard.start:.0f} Hz to {heard.end:.0f} Hz in {heard.seconds} seconds with {heard.pulses} "
        f"pulses, each ending at {heard.fade}%. Its brightness is {heard.brightness}%; {heard.noise}% of it is noise."
    )


def read(text: str) -> Heard:
    """Understand as much of a description as can be."""

    def number(pattern: str, low: float, high: float) -> float | None:
        match = re.search(pattern, text)
        return None if match is None else min(high, max(low, float(match[1])))

    def word(words: dict[str, Any], otherwise: float) -> float:
        spoken = [each for each in sorted(words, key=len, reverse=True) if re.search(rf"\b{each}\b", text)]
        return float(words[spoken[0]]) if spoken else otherwise

    figure, plain = r"(\d{1,6}(?:\.\d+)?)", Heard()
    start = number(rf"from {figure} Hz", 40, 7_000) or word(_PITCHES, plain.start)
    brightness, noise = number(rf"brightness is {figure}%", 0, 90), number(rf"{figure}% of it is noise", 0, 100)
    return Heard(
        start,
        number(rf"to {figure} Hz", 40, 7_000) or start * word(_MOVES, 1),
        round(word(_TIMBRES, plain.brightness) if brightness is None else brightness),
        round(word({"noise": 90}, plain.noise) if noise is None else noise),
        round(number(rf"{figure} pulses", 1, 20) or word({"several": 4}, plain.pulses)),
        round(number(rf"ending at {figure}%", 1, 100) or word(_ENDS, plain.fade)),
        number(rf"{figure} seconds", 0.2, 10) or plain.seconds,
    )


class Sounds(SoundDataset):
    """Short synthesised sounds in four categories, five of each; with ``labelled``, as many again as a support set."""

    provider: ClassVar[str] = "synthesised"

    labelled: bool = False

    def items(self) -> Iterator[SourceItem]:
        for split in ("support", "test") if self.labelled else (None,):
            draws = np.random.default_rng(1 if split == "support" else 0)
            for category in ("bells", "drones", "glides", "noises"):
                for number in range(5):
                    low, part = float(draws.uniform(150, 700)), draws.uniform(size=3)
                    seconds, bright = round(1 + float(part[0]), 2), 20 + round(50 * float(part[1]))
                    kinds = {
                        "bells": Heard(2 * low, 2 * low, bright, 0, 1 + number, 3 + round(12 * part[2]), seconds),
                        "drones": Heard(low, low, bright, 0, 1, 70 + round(30 * part[2]), seconds),
                        "glides": Heard(low, low * (2.5 if number % 2 else 0.5), bright, 0, 1, 80, seconds),
                        "noises": Heard(3 * low, 3 * low, 0, 100, 1 + 2 * (number % 3), 30 + round(60 * part[2])),
                    }
                    sound = synthesise(kinds[category], number)
                    name = f"{f'{split}-' if split else ''}{category}-{number}"
                    label = category if split else None
                    read = partial(wav_bytes, sound)
                    yield SourceItem(name, name, read, None if split else category, label, split)

    def source_digest(self) -> str:
        return sha256_of([self.provider, 1, self.labelled])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "licence": "made by this program"}


class Listener(WordCounter):
    """Measures pitch, overtones, noise and envelope, and says what it heard."""

    provider: ClassVar[str] = "listener"
    version: ClassVar[str] = "1"
    media: ClassVar[frozenset[Kind]] = SOUNDS

    detail: Literal["coarse", "fine"] = "fine"

    def say(self, conversation: Conversation) -> str:
        shown = conversation.last_medium
        return "I hear nothing." if shown is None else say(listen(shown.open()), self.detail)


class Synthesiser(Generator):
    """Makes a sound of what it understands of a text; the seed draws its noise."""

    provider: ClassVar[str] = "synthesiser"
    version: ClassVar[str] = "1"
    media: ClassVar[frozenset[Kind]] = SOUNDS
    understands: ClassVar[frozenset[str]] = frozenset({"listener"})

    @property
    def mark(self) -> str:
        return self.knows or "knows the words and numbers in which the embedded listener speaks"

    def identity(self) -> dict[str, Any]:
        return library_versions("numpy")

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Generated]:
        pairs = zip(prompts, seeds, strict=True)
        return [Generated(sound=synthesise(read(prompt), seed)) for prompt, seed in pairs]


class LogMel(Encoder):
    """Sixteen moments of a log-mel spectrogram with 32 bands, and how long the sound is."""

    provider: ClassVar[str] = "log_mel"
    version: ClassVar[str] = "1"
    understands: ClassVar[frozenset[str]] = frozenset({"listener"})

    def encode_sounds(self, sounds: Sequence[Sound]) -> Float32:
        return np.stack([self._features(sound) for sound in sounds]).astype(np.float32)

    def _features(self, sound: Sound) -> Float64:
        levels = log_mel(sound, bands=32) / 80 + 1
        moments = np.stack([part.mean(axis=0) for part in np.array_split(levels, 16)])
        return np.concatenate([(moments - moments.mean()).ravel(), [1.0, min(sound.seconds, 10)]])
