"""Components for sounds, beside the libraries' own classes, on tiny random checkpoints."""

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from driftledger.benchmarks.collecting import write_collected
from driftledger.benchmarks.records import read_records
from driftledger.components.sounds import CLAP, SoundGenerator, TransformersSounds, Wav2Vec2
from driftledger.core.canonical import sha256_file
from driftledger.core.media import Medium, Sound, encoded, read_wav
from driftledger.core.types import Conversation, Sample
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.frechet import frechet_distance
from driftledger_demo.sounds import Sounds
from tests.support.chains import chains, collected

transformers = pytest.importorskip("transformers")
torch = import_module("torch")


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    root, checkpoints = tmp_path_factory.mktemp("checkpoints"), import_module("tests.support.checkpoints.sounds")
    torch.set_num_threads(1)

    def build(name: str) -> str:
        folder = root / name
        return str(folder if folder.exists() else getattr(checkpoints, f"build_{name}")(folder))

    return build


@pytest.fixture(scope="session")
def sounds() -> list[Sound]:
    return [read_wav(item.read()) for item in Sounds().items()][::3]


def test_a_chain_of_three_is_the_same_twice(built: Callable[[str], str], tmp_path: Path) -> None:
    samples = []
    for item in list(Sounds(per_category=1).kept_items())[:2]:
        (file := tmp_path / f"{item.id}.wav").write_bytes(item.read())
        samples.append(Sample(item.id, Medium(file, sha256_file(file))))
    model = TransformersSounds(path=built("qwen2_audio"), device="cpu", max_new_tokens=12)
    generator = SoundGenerator(path=built("musicgen"), device="cpu", seconds=0.4)
    files: list[dict[str, str]] = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        collecting = chains(samples, model, generator, iterations=3)
        write_collected(folder / "chain", collecting, collected(collecting, folder / "store"))
        files.append({path.name + path.parent.name: sha256_file(path) for path in sorted(folder.rglob("*.wav"))})
    records = read_records(tmp_path / "one" / "chain")
    assert files[0] == files[1]
    assert [(record.step, str(record.drawing and record.drawing.image)[-5:]) for record in records[:3]] == [
        (1, "1.wav"),
        (2, "2.wav"),
        (3, "3.wav"),
    ]
    assert len({record.drawing.image_sha256 for record in records if record.drawing}) == 6
    assert all(record.text for record in records)


def test_a_describer_answers_alone_as_in_a_batch_and_by_what_it_hears(
    built: Callable[[str], str], sounds: list[Sound], tmp_path: Path
) -> None:
    media = []
    for number, sound in enumerate((sounds[0], sounds[-1])):
        (file := tmp_path / f"{number}.wav").write_bytes(encoded(sound))
        media.append(Medium(file, sha256_file(file)))
    model = TransformersSounds(path=built("qwen2_audio"), device="cpu", max_new_tokens=8)
    asked = [Conversation.ask("Describe <|AUDIO|> the sound.", medium) for medium in media]
    replies = model.respond(asked)
    assert [model.respond([each])[0] for each in asked] == replies
    assert all(reply.text for reply in replies)
    (long := tmp_path / "long.wav").write_bytes(encoded(Sound(np.zeros((31 * 8_000, 1), np.float32), 8_000)))
    [reply] = model.respond([Conversation.ask("Describe it.", Medium(long, sha256_file(long)))])
    assert (reply.outcome, "longer than the 30 s" in str(reply.error)) == ("failed", True)


def test_a_generator_goes_by_the_seed_and_the_text_alone(built: Callable[[str], str]) -> None:
    generator = SoundGenerator(path=built("musicgen"), device="cpu", seconds=0.4, guidance_scale=90)
    assert generator.loaded
    state = torch.get_rng_state()
    one, other, words = (encoded(each.sound) for each in generator.generate(["a", "a", "a bell"], [1, 2, 1]))  # type: ignore[arg-type]
    assert torch.equal(state, torch.get_rng_state())
    assert len({one, other, words}) == 3
    assert encoded(generator.generate(["a"], [1])[0].sound) == one  # type: ignore[arg-type]


def test_clap_is_the_librarys(built: Callable[[str], str], sounds: list[Sound]) -> None:
    encoder, texts = CLAP(path=built("clap"), device="cpu"), ["a bell", "the low sound of a bell"]
    model, processor = (
        kind.from_pretrained(built("clap")) for kind in (transformers.ClapModel, transformers.ClapProcessor)
    )
    heard = [sound.mono(48_000) for sound in sounds[:2]]
    inputs: Any = processor(text=texts, audio=heard, sampling_rate=48_000, padding=True, return_tensors="pt")
    with torch.inference_mode():
        theirs = model(**inputs).logits_per_audio.numpy() / model.logit_scale_a.exp().item()
    features, read = encoder.encode_sounds(sounds), encoder.encode_texts(texts)
    assert np.abs(features[:2] @ read.T - theirs).max() < 1e-5
    assert np.abs(cosine_similarity(features[:2], read) - np.diag(theirs)).max() < 1e-5
    a, b = features[:4, :3].astype(float), features[3:, :3].astype(float)
    (m, s), (n, c) = ((some.mean(axis=0), np.cov(some, rowvar=False)) for some in (a, b))
    expected = ((m - n) ** 2).sum() + np.trace(s + c - 2 * scipy.linalg.sqrtm(s @ c).real)
    assert frechet_distance(a, b) == pytest.approx(expected, abs=1e-6)
    twice = Sound(np.tile(sounds[0].samples, (20, 1))[: 20 * sounds[0].rate], sounds[0].rate)
    halves = [Sound(twice.samples[at : at + 10 * twice.rate], twice.rate) for at in (0, 10 * twice.rate)]
    assert np.abs(encoder.encode_sounds([twice])[0] - encoder.encode_sounds(halves).mean(axis=0)).max() < 1e-3


def test_wav2vec_is_the_mean_over_time(built: Callable[[str], str], sounds: list[Sound]) -> None:
    encoder = Wav2Vec2(path=built("wav2vec2"), device="cpu")
    model = transformers.Wav2Vec2Model.from_pretrained(built("wav2vec2")).eval()
    samples = sounds[0].samples[:, 0]
    inputs = torch.tensor((samples - samples.mean()) / np.sqrt(samples.var() + 1e-7))[None]
    with torch.inference_mode():
        expected = model(inputs).last_hidden_state[0].mean(dim=0).numpy()
    assert np.abs(encoder.encode_sounds(sounds)[0] - expected).max() < 1e-4
    assert (encoder.media, encoder.reads, encoder.frechet_name) == ({"sound"}, False, "frechet_wav2vec2")
