"""Sounds as files: what is read, what is refused in one sentence, and how they are stored."""

import io
import struct
import tracemalloc

import numpy as np
import pytest

from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import load_yaml
from driftledger.core.media import Sound, encoded, read_wav, wav_bytes
from driftledger.data.build import build
from driftledger.data.datasets.sounds import (
    HuggingFaceSounds,
    SoundFolder,
    decode_sound,
)
from driftledger.data.records import read_samples
from driftledger.data.spectrograms import log_mel, spectrogram
from driftledger.data.thumbnails import thumbnail
from driftledger.project.presets import first_params
from driftledger.project.settings import parse_settings
from tests.support.cases import cases, each_case

soundfile = pytest.importorskip("soundfile")
RATE = 16_000
TONE = np.sin(np.arange(RATE) * 2 * np.pi * 440 / RATE).astype(np.float32)[:, None] / 2


def written(samples, kind, subtype=None, rate=RATE):
    soundfile.write(file := io.BytesIO(), samples, rate, format=kind, subtype=subtype)
    return file.getvalue()


def silence(seconds, rate=RATE, channels=1):
    file = io.BytesIO()
    with soundfile.SoundFile(file, "w", rate, channels, format="FLAC") as out:
        for _ in range(seconds // 60):
            out.write(np.zeros((60 * rate, channels), np.int16))
    return file.getvalue()


def test_equal_samples_are_equal_files_and_every_level_is_kept():
    levels = np.arange(-(2**15), 2**15, dtype=np.int16)
    wav = written(levels, "WAV", "PCM_16")
    assert wav_bytes(read_wav(wav)) == wav
    assert wav_bytes(decode_sound(written(levels, "FLAC", "PCM_16"), "x")[0]) == wav
    assert encoded(Sound(np.array([[2.0], [-2.0]], np.float32), RATE))[
        44:
    ] == struct.pack("<2h", 2**15 - 1, -(2**15))


@pytest.mark.parametrize(
    ("kind", "subtype"),
    [
        ("FLAC", None),
        ("OGG", None),
        ("MP3", None),
        *(("WAV", f"PCM_{n}") for n in ("U8", 24, 32)),
    ],
)
def test_formats_become_one_channel_at_one_rate_and_it_is_noted(kind, subtype):
    sound, notes = decode_sound(
        written(np.repeat(TONE, 2, axis=1), kind, subtype), "x", 8_000
    )
    assert notes == ["2 channels mixed into 1", "resampled from 16000 Hz"]
    assert (sound.rate, sound.samples.shape) == (8_000, (8_000, 1))
    peak = np.abs(np.fft.rfft(sound.samples[:, 0])).argmax()
    assert (peak, 0.45 < np.abs(sound.samples).max() < 0.55) == (440, True)


def sound_file(case):
    """Return the file of a case: a tone of some loudness in each channel, perhaps damaged."""
    if "text" in case:
        return case["text"].encode()
    loudness = np.array(case.get("channels", [1]), np.float32)
    samples = (TONE * loudness)[: case.get("samples")]
    rate = case.get("rate", RATE)
    data = written(samples, case.get("kind", "WAV"), case.get("subtype"), rate)
    if "data_bytes" in case:
        length = struct.pack("<I", case["data_bytes"])
        data = data[:40] + length + data[44:]
    return data[: case.get("bytes")]


@each_case(cases(__file__, "channels"))
def test_channels_that_cancel_one_another_out_are_told(case):
    stereo = case.get("stereo", False)
    sound, notes = decode_sound(sound_file(case), "x", stereo=stereo)
    assert notes == case["notes"]
    if case.get("is_silent"):
        assert np.abs(sound.samples).max() < 0.001


def as_streamed(wav, riff, data):
    return (
        wav[:4]
        + struct.pack("<I", riff)
        + wav[8:40]
        + struct.pack("<I", data)
        + wav[44:]
    )


@pytest.mark.parametrize(
    ("riff", "data"),
    [
        (2**32 - 1, 2**32 - 1),
        (0, 0),
        (36, 0),
        (2**31 - 1, 2**31 - 37),
        (2**31 + 3, 2**31 - 4096),
        (2_000_000_036, 2_000_000_000),
        (32_036, 2_000_000_000),
        (32_036, 0),
        (0, 2**28 - 1),
        (2**32 - 1, 2**32 - 37),
    ],
)
def test_a_streamed_sound_has_the_length_of_what_follows(riff, data, tmp_path):
    wav = written(TONE, "WAV", "PCM_16")
    assert wav_bytes(decode_sound(as_streamed(wav, riff, data), "x")[0]) == wav
    floats = written(TONE, "WAV", "PCM_24")
    assert decode_sound(as_streamed(floats, riff, data), "x")[0].seconds == 1
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one.wav").write_bytes(as_streamed(wav, riff, data))
    build("mine", SoundFolder(path=tmp_path / "in"), tmp_path / "out")
    [sample] = read_samples(tmp_path / "out")
    assert sample.medium.path.read_bytes() == wav


def assert_refused(data, says):
    tracemalloc.start()
    with pytest.raises(DataError, match=says) as caught:
        decode_sound(data, "theirs.wav", RATE)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "\n" not in str(caught.value)
    assert peak < 20_000_000


@each_case(cases(__file__, "hostile_sounds"))
def test_a_hostile_sound_is_one_sentence_in_bounded_memory(case):
    assert_refused(sound_file(case), case["matches"])


def test_ten_hours_of_silence_are_refused():
    says = r"it has 36,000.00 s, and from 0.1 s to max_seconds, 60, are"
    assert_refused(silence(36_000, rate=1_000), says)


def test_a_folder_of_sounds_is_built_with_lengths_and_twins(tmp_path):
    for place, kind in {
        "a/one.wav": "WAV",
        "a/two.flac": "FLAC",
        "b/three.ogg": "OGG",
    }.items():
        (tmp_path / "in" / place).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "in" / place).write_bytes(
            written((TONE * 2**15).astype(np.int16), kind)
        )
    (tmp_path / "in" / "cover.jpg").write_bytes(b"")
    card = build("mine", SoundFolder(path=tmp_path / "in"), tmp_path / "out")
    samples = read_samples(tmp_path / "out")
    assert (card.categories, card.source["left_out"]) == ({"a": 2, "b": 1}, "cover.jpg")
    assert ("max_pixels" in card.settings, card.settings["sampling_rate"]) == (
        False,
        RATE,
    )
    assert (
        samples[0].medium.sha256 == samples[1].medium.sha256 != samples[2].medium.sha256
    )
    assert {(each.medium.kind, each.medium.open().seconds) for each in samples} == {
        ("sound", 1.0)
    }
    assert (tmp_path / "out/samples.jsonl").read_text().count('"seconds":1.0') == 3
    assert 'same sound as a_one"' in (tmp_path / "out/samples.jsonl").read_text()
    assert thumbnail(samples[0].medium.path)[8:12] == b"WEBP"


def test_a_hub_dataset_of_sounds_is_read_undecoded(tmp_path):
    datasets, parquet = (
        pytest.importorskip("datasets"),
        pytest.importorskip("pyarrow.parquet"),
    )
    schema = datasets.Features({"audio": datasets.Audio()}).arrow_schema
    rows = [{"audio": {"bytes": written(TONE, "FLAC"), "path": "tone.flac"}}]
    (tmp_path / "in").mkdir()
    parquet.write_table(
        datasets.table.pa.Table.from_pylist(rows, schema=schema),
        tmp_path / "in/test.parquet",
    )
    card = build(
        "theirs", HuggingFaceSounds(path=str(tmp_path / "in")), tmp_path / "out"
    )
    assert (
        "image_column" in card.settings,
        card.settings["audio_column"],
        card.samples,
    ) == (
        False,
        "audio",
        1,
    )
    assert (
        np.abs(read_samples(tmp_path / "out")[0].medium.open().samples - TONE).max()
        < 1e-4
    )


@each_case(cases(__file__, "other_medium"))
def test_a_component_for_the_other_medium_is_refused(case, tmp_path):
    settings = load_yaml(first_params(tmp_path, "sound_demo", {}))
    settings["run"] |= {"trac": [], "fidelity": [], "datasets": ["sounds", "photos"]}
    parse_settings(settings, "params.yaml")
    settings["run"] |= case["change"]
    with pytest.raises(ConfigError, match=case["matches"]):
        parse_settings(settings, "params.yaml")


def test_a_spectrogram_shows_the_pitch_where_it_is():
    levels = log_mel(Sound(TONE, RATE))
    centres = 700 * (
        10 ** (np.linspace(0, 2595 * np.log10(1 + RATE / 1400), 66)[1:-1] / 2595) - 1
    )
    assert abs(centres[levels.mean(axis=0).argmax()] - 440) < 40
    assert (levels.max(), levels.min() >= -80) == (0.0, True)
    picture = np.asarray(spectrogram(Sound(TONE, RATE)), int).sum(axis=2)
    assert 60 < picture.sum(axis=1).argmax() < 96
