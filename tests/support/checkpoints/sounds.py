"""Tiny random checkpoints that hear and make sounds, in the layouts of transformers and
diffusers."""

import json
from pathlib import Path
from typing import Any

import diffusers
import torch
import transformers
from diffusers.pipelines import audioldm2, stable_audio

from tests.support.cases import cases
from tests.support.checkpoints import layouts
from tests.support.checkpoints.diffusion import WIDTH, _t5
from tests.support.checkpoints.text import (
    bert_tokenizer,
    roberta_tokenizer,
    t5_tokenizer,
)
from tests.support.checkpoints.weights import PARTS, randomise, seeded

HEARING: dict[str, dict[str, Any]] = {
    each["family"]: each for each in cases(__file__, "sounds")
}
"""Family → what builds it, as for images: ``image`` is what a chat template writes for a sound."""


def build(folder: Path, name: str) -> Path:
    """Save the checkpoint of a family that hears, or of a function here."""
    if name in HEARING:
        return layouts.build(folder, HEARING[name])
    with seeded(0), torch.no_grad():
        globals()[f"_{name}"](folder)
    return folder


def _clap_model(tokenizer: Any) -> Any:
    config = transformers.ClapConfig(**PARTS["clap"])
    config.text_config.vocab_size = len(tokenizer)
    return transformers.ClapModel(config)


def _clap(folder: Path) -> None:
    tokenizer = roberta_tokenizer(64)
    _clap_model(tokenizer).save_pretrained(folder)
    extractor = transformers.ClapFeatureExtractor(
        truncation="rand_trunc", padding="repeatpad"
    )
    transformers.ClapProcessor(extractor, tokenizer).save_pretrained(folder)


def _wav2vec2(folder: Path, kind: str = "Wav2Vec2") -> None:
    config = getattr(transformers, f"{kind}Config")(**PARTS["wav2vec2"])
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)


def _hubert(folder: Path) -> None:
    _wav2vec2(folder, "Hubert")


def _musicgen(folder: Path) -> None:
    tokenizer = t5_tokenizer(64)
    config = transformers.MusicgenConfig(**PARTS["musicgen"])
    config.text_encoder.vocab_size = len(tokenizer)
    config.decoder.num_codebooks = config.audio_encoder.num_quantizers
    model = transformers.MusicgenForConditionalGeneration(config)
    for layer in model.audio_encoder.quantizer.layers:  # they begin as zeros
        layer.codebook.embed.normal_(std=20)
    settings = model.generation_config
    settings.decoder_start_token_id = settings.pad_token_id = 64
    settings.do_sample, settings.guidance_scale = True, 3.0
    model.save_pretrained(folder)
    transformers.MusicgenProcessor(
        transformers.EncodecFeatureExtractor(), tokenizer
    ).save_pretrained(folder)


def _bark(folder: Path) -> None:
    tokenizer, settings = bert_tokenizer(256), PARTS["bark_settings"]
    ends = settings["semantic_config"]["text_encoding_offset"] + len(tokenizer)
    parts = dict(PARTS["bark"])
    for name, size in {
        "semantic": ends + 2,
        "coarse_acoustics": 54,
        "fine_acoustics": 17,
    }.items():
        small = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "block_size": 512}
        parts[f"{name}_config"] = small | {
            "input_vocab_size": size,
            "output_vocab_size": size,
        }
    parts["fine_acoustics_config"]["n_codes_total"] = 4
    model = randomise(transformers.BarkModel(transformers.BarkConfig(**parts)), gain=6)
    for layer in model.codec_model.quantizer.layers:
        layer.codebook.embed.normal_(std=1)
    model.save_pretrained(folder)
    semantic = settings["semantic_config"] | {
        "text_pad_token": ends,
        "semantic_infer_token": ends + 1,
    }
    (folder / "generation_config.json").write_text(
        json.dumps(settings | {"semantic_config": semantic})
    )
    transformers.BarkProcessor(tokenizer).save_pretrained(folder)


def _vits(folder: Path) -> None:
    folder.mkdir()
    entries = {
        letter: number for number, letter in enumerate("_abcdefghijklmnopqrstuvwxyz '")
    }
    (folder / "entries.json").write_text(json.dumps(entries))
    tokenizer = transformers.VitsTokenizer(
        folder / "entries.json", pad_token="_", unk_token="'", phonemize=False
    )
    tokenizer.save_pretrained(folder)
    transformers.VitsModel(transformers.VitsConfig(**PARTS["vits"])).save_pretrained(
        folder
    )


def _stable_audio(folder: Path) -> None:
    """With the scheduler of Stable Audio Open, which needs torchsde."""
    diffusers.StableAudioPipeline(
        vae=diffusers.AutoencoderOobleck(**PARTS["stable_audio_vae"]),
        text_encoder=_t5(),
        projection_model=stable_audio.StableAudioProjectionModel(
            WIDTH, WIDTH, min_value=0, max_value=16
        ),
        tokenizer=t5_tokenizer(64),
        transformer=randomise(
            diffusers.StableAudioDiTModel(**PARTS["stable_audio_transformer"])
        ),
        scheduler=diffusers.CosineDPMSolverMultistepScheduler(),
    ).save_pretrained(folder)


def _audioldm_2(folder: Path) -> None:
    """With the language model as the published checkpoint names it."""
    tokenizer = roberta_tokenizer(64)
    diffusers.AudioLDM2Pipeline(
        vae=randomise(diffusers.AutoencoderKL(**PARTS["audioldm_2_vae"])),
        text_encoder=_clap_model(tokenizer),
        text_encoder_2=_t5(),
        projection_model=audioldm2.AudioLDM2ProjectionModel(16, WIDTH, 16),
        language_model=transformers.GPT2Model(
            transformers.GPT2Config(**PARTS["audioldm_2_language"])
        ),
        tokenizer=tokenizer,
        tokenizer_2=t5_tokenizer(64),
        feature_extractor=transformers.ClapFeatureExtractor(),
        unet=randomise(
            audioldm2.AudioLDM2UNet2DConditionModel(**PARTS["audioldm_2_unet"])
        ),
        scheduler=diffusers.DDIMScheduler(clip_sample=False),
        vocoder=randomise(
            transformers.SpeechT5HifiGan(
                transformers.SpeechT5HifiGanConfig(**PARTS["audioldm_2_vocoder"])
            )
        ),
    ).save_pretrained(folder)
