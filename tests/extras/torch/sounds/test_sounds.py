"""Components for sounds, beside the libraries' own classes, on tiny random checkpoints."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import scipy.linalg

from driftledger.benchmarks.base.collecting import write_collected
from driftledger.benchmarks.base.records import stream_records
from driftledger.components.contract import check_component
from driftledger.components.sounds import (
    CLAP,
    DiffusersSounds,
    SoundGenerator,
    TransformersSounds,
    Wav2Vec2,
)
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import ConfigError
from driftledger.core.media import Medium, Sound, encoded, read_wav
from driftledger.core.types import Conversation, PromptUsage, Sample
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.frechet import frechet_distance
from driftledger_demo.sounds import Sounds
from tests.support.chains import chains, collected
from tests.support.checkpoints.text import WORDS

transformers = pytest.importorskip("transformers")
torch = import_module("torch")


@pytest.fixture(scope="session")
def built(tmp_path_factory):
    root, checkpoints = (
        tmp_path_factory.mktemp("checkpoints"),
        import_module("tests.support.checkpoints.sounds"),
    )
    torch.set_num_threads(1)

    def build(name):
        folder = root / name
        return str(folder if folder.exists() else checkpoints.build(folder, name))

    return build


@pytest.fixture(scope="session")
def sounds():
    return [read_wav(item.read()) for item in Sounds().items()][::3]


def test_a_chain_of_three_is_the_same_twice(built, tmp_path):
    samples = []
    for item in list(Sounds(per_category=1).kept_items())[:2]:
        (file := tmp_path / f"{item.id}.wav").write_bytes(item.read())
        samples.append(Sample(item.id, Medium(file, sha256_file(file))))
    model = TransformersSounds(
        path=built("Qwen2-Audio"), device="cpu", max_new_tokens=12
    )
    generator = SoundGenerator(path=built("musicgen"), device="cpu", seconds=0.4)
    files: list[dict[str, str]] = []
    for folder in (tmp_path / "one", tmp_path / "two"):
        collecting = chains(samples, model, generator, iterations=3)
        write_collected(
            folder / "chain", collecting, collected(collecting, folder / "store")
        )
        files.append(
            {
                path.name + path.parent.name: sha256_file(path)
                for path in sorted(folder.rglob("*.wav"))
            }
        )
    records = [*stream_records(tmp_path / "one" / "chain")]
    assert files[0] == files[1]
    files_of = [str(record.drawing and record.drawing.file) for record in records]
    assert [file.split("/")[1] for file in files_of] == ["1", "2", "3"] * 2
    assert len({record.drawing.sha256 for record in records if record.drawing}) == 6
    assert all(record.text for record in records)


@pytest.mark.parametrize(
    ("family", "seconds"), [("Qwen2-Audio", 30), ("Qwen2.5-Omni", 60), ("Gemma 3n", 30)]
)
def test_a_describer_hears_a_whole_sound_or_none(
    family, seconds, built, sounds, tmp_path
):
    model = TransformersSounds(path=built(family), device="cpu", max_new_tokens=4)
    assert check_component(model) == []
    asked = []
    for number, sound in enumerate(
        [*sounds, Sound(np.zeros((seconds * 8_000 + 1, 1), np.float32), 8_000)]
    ):
        (file := tmp_path / f"{number}.wav").write_bytes(encoded(sound))
        asked.append(
            Conversation.ask(
                "Is <|AUDIO|><audio_soft_token> it a bell?",
                Medium(file, sha256_file(file)),
            )
        )
    *replies, long = model.respond(asked)
    assert len({reply.text for reply in replies}) > 1
    # and none of the prompt's
    assert {word for reply in replies for word in reply.text.split()} <= set(WORDS)
    assert (long.outcome, f"longer than the {seconds} s" in str(long.error)) == (
        "failed",
        True,
    )


LENGTHS = {
    "stable_audio": {"audio_end_in_s": 0.5},
    "audioldm_2": {"audio_length_in_s": 0.05},
}


@pytest.mark.parametrize("name", ["musicgen", "bark", "vits", *LENGTHS])
def test_a_generator_goes_by_the_seed_and_the_text_alone(name, built):
    if name == "stable_audio":
        pytest.importorskip("torchsde")
    settings: dict[str, Any] = {"path": built(name), "device": "cpu"}
    generator: Any = (
        DiffusersSounds(**settings, steps=2, arguments=LENGTHS[name])
        if name in LENGTHS
        else SoundGenerator(
            **settings,
            seconds=0.4,
            **{"guidance_scale": 90} if name == "musicgen" else {},
        )
    )
    assert check_component(generator) == []
    state = torch.get_rng_state()
    texts = [
        "the small cat",
        "the small cat",
        "the bright red house and the dog in the tree",
        "a [SEP] b </s> c",
    ]
    made = generator.generate(texts, [1, 2, 1, 1])
    assert torch.equal(state, torch.get_rng_state())
    assert len({encoded(each.sound) for each in made}) == 4
    if name == "bark":  # special tokens are text to it, of which it reads seven tokens
        assert [each.reading for each in made[1:]] == [
            PromptUsage(3, 3),
            PromptUsage(10, 7),
            PromptUsage(12, 7),
        ]
    if name == "audioldm_2":
        with pytest.raises(ConfigError, match="argument 'num_waveforms_per_prompt'"):
            assert DiffusersSounds(
                **settings, arguments={"num_waveforms_per_prompt": 2}
            ).loaded
    if name == "vits":
        assert [each.outcome for each in generator.generate(["日本", ""], [1, 1])] == [
            "failed"
        ] * 2


def test_clap_is_the_librarys(built, sounds):
    encoder, texts = (
        CLAP(path=built("clap"), device="cpu"),
        ["a bell", "the low sound of a bell"],
    )
    model, processor = (
        kind.from_pretrained(built("clap"))
        for kind in (transformers.ClapModel, transformers.ClapProcessor)
    )
    heard = [sound.mono(48_000) for sound in sounds[:2]]
    inputs: Any = processor(
        text=texts, audio=heard, sampling_rate=48_000, padding=True, return_tensors="pt"
    )
    with torch.inference_mode():
        theirs = (
            model(**inputs).logits_per_audio.numpy() / model.logit_scale_a.exp().item()
        )
    features, read = encoder.encode_sounds(sounds), encoder.encode_texts(texts)
    assert np.abs(features[:2] @ read.T - theirs).max() < 1e-5
    assert np.abs(cosine_similarity(features[:2], read) - np.diag(theirs)).max() < 1e-5
    a, b = features[:4, :3].astype(float), features[3:, :3].astype(float)
    (m, s), (n, c) = (
        (some.mean(axis=0), np.cov(some, rowvar=False)) for some in (a, b)
    )
    expected = ((m - n) ** 2).sum() + np.trace(
        s + c - 2 * scipy.linalg.sqrtm(s @ c).real
    )
    assert frechet_distance(a, b) == pytest.approx(expected, abs=1e-6)
    twice = Sound(
        np.tile(sounds[0].samples, (20, 1))[: 20 * sounds[0].rate], sounds[0].rate
    )
    halves = [
        Sound(twice.samples[at : at + 10 * twice.rate], twice.rate)
        for at in (0, 10 * twice.rate)
    ]
    assert (
        np.abs(
            encoder.encode_sounds([twice])[0]
            - encoder.encode_sounds(halves).mean(axis=0)
        ).max()
        < 1e-3
    )


@pytest.mark.parametrize("kind", ["Wav2Vec2", "Hubert"])
def test_wav2vec_is_the_mean_over_time(kind, built, sounds):
    folder = built(kind.lower())
    encoder = Wav2Vec2(path=folder, device="cpu")
    model = getattr(transformers, f"{kind}Model").from_pretrained(folder).eval()
    samples = sounds[0].samples[:, 0]
    inputs = torch.tensor((samples - samples.mean()) / np.sqrt(samples.var() + 1e-7))[
        None
    ]
    with torch.inference_mode():
        expected = model(inputs).last_hidden_state[0].mean(dim=0).numpy()
    assert np.abs(encoder.encode_sounds(sounds)[0] - expected).max() < 1e-4
    assert (encoder.media, encoder.reads) == ({"sound"}, False)
