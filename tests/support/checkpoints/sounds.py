"""Tiny random checkpoints that hear and make sounds, in the layouts of transformers and diffusers."""

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
from tests.support.checkpoints.text import bert_tokenizer, roberta_tokenizer, t5_tokenizer
from tests.support.checkpoints.weights import randomise, seeded

HEARING: dict[str, dict[str, Any]] = {each["family"]: each for each in cases(__file__, "sounds")}
"""Family → what builds it, as for images: ``image`` is what a chat template writes for a sound."""


def build(folder: Path, name: str) -> Path:
    """Save the checkpoint of a family that hears, or of a function here."""
    if name in HEARING:
        return layouts.build(folder, HEARING[name])
    with seeded(0), torch.no_grad():
        globals()[f"_{name}"](folder)
    return folder


def _clap_model(tokenizer: Any) -> Any:
    text = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text |= {"intermediate_size": 32, "max_position_embeddings": 70, "eos_token_id": 2}
    audio = {"patch_embeds_hidden_size": 8, "hidden_size": 64, "depths": [1] * 4, "num_attention_heads": [1] * 4}
    config = transformers.ClapConfig(text_config=text, audio_config=audio | {"num_classes": 2}, projection_dim=16)
    return transformers.ClapModel(config)


def _clap(folder: Path) -> None:
    tokenizer = roberta_tokenizer(64)
    _clap_model(tokenizer).save_pretrained(folder)
    extractor = transformers.ClapFeatureExtractor(truncation="rand_trunc", padding="repeatpad")
    transformers.ClapProcessor(extractor, tokenizer).save_pretrained(folder)


def _wav2vec2(folder: Path, kind: str = "Wav2Vec2") -> None:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    layers = {"conv_dim": (8, 8), "conv_stride": (10, 8), "conv_kernel": (20, 8), "num_feat_extract_layers": 2}
    places = {"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2}
    config = getattr(transformers, f"{kind}Config")(**small, **layers, **places)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)


def _hubert(folder: Path) -> None:
    _wav2vec2(folder, "Hubert")


def _musicgen(folder: Path) -> None:
    tokenizer = t5_tokenizer(64)
    text = transformers.T5Config(vocab_size=len(tokenizer), d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    small = {"hidden_size": 16, "num_filters": 4, "num_lstm_layers": 1}
    audio = transformers.EncodecConfig(**small, codebook_size=64, target_bandwidths=[2.2], sampling_rate=16_000)
    decoder = transformers.MusicgenDecoderConfig(
        vocab_size=64, hidden_size=16, ffn_dim=16, num_hidden_layers=1, num_attention_heads=2,
        num_codebooks=audio.num_quantizers, max_position_embeddings=512,
    )  # fmt: skip
    parts = {"text_encoder": text.to_dict(), "audio_encoder": audio.to_dict(), "decoder": decoder.to_dict()}
    model = transformers.MusicgenForConditionalGeneration(transformers.MusicgenConfig(**parts))
    for layer in model.audio_encoder.quantizer.layers:  # they begin as zeros
        layer.codebook.embed.normal_(std=20)
    settings = model.generation_config
    settings.decoder_start_token_id = settings.pad_token_id = 64
    settings.do_sample, settings.guidance_scale = True, 3.0
    model.save_pretrained(folder)
    transformers.MusicgenProcessor(transformers.EncodecFeatureExtractor(), tokenizer).save_pretrained(folder)


def _bark(folder: Path) -> None:
    tokenizer, codes, ends, texts = bert_tokenizer(256), 16, 20, 22
    small = {"hidden_size": 16, "num_layers": 1, "num_heads": 2, "block_size": 512}
    sizes = {
        "semantic": texts + len(tokenizer) + 2,
        "coarse_acoustics": ends + 2 * codes + 2,
        "fine_acoustics": codes + 1,
    }
    parts = {f"{name}_config": small | {"input_vocab_size": n, "output_vocab_size": n} for name, n in sizes.items()}
    parts["fine_acoustics_config"]["n_codes_total"] = 4
    audio = {"hidden_size": 16, "num_filters": 4, "num_lstm_layers": 1, "codebook_size": codes}
    codec = transformers.EncodecConfig(**audio, target_bandwidths=[6.0]).to_dict()
    model = randomise(transformers.BarkModel(transformers.BarkConfig(**parts, codec_config=codec)), gain=6)
    for layer in model.codec_model.quantizer.layers:
        layer.codebook.embed.normal_(std=1)
    model.save_pretrained(folder)
    semantic = dict.fromkeys(("eos_token_id", "semantic_pad_token", "semantic_vocab_size"), ends) | {
        "text_encoding_offset": texts, "text_pad_token": texts + len(tokenizer), "max_input_semantic_length": 7,
        "semantic_infer_token": texts + len(tokenizer) + 1, "min_new_tokens": 8, "max_new_tokens": 9, "do_sample": True,
    }  # fmt: skip
    coarse = {"coarse_semantic_pad_token": ends + 2 * codes, "coarse_infer_token": ends + 2 * codes + 1}
    fine = {"n_fine_codebooks": 4, "max_fine_history_length": 32, "max_fine_input_length": 64}
    settings = {"semantic_config": semantic, "coarse_acoustics_config": coarse | {"do_sample": True}}
    settings |= {"fine_acoustics_config": fine, "codebook_size": codes, "sample_rate": 24_000}
    (folder / "generation_config.json").write_text(json.dumps(settings), encoding="utf-8")
    transformers.BarkProcessor(tokenizer).save_pretrained(folder)


def _vits(folder: Path) -> None:
    folder.mkdir()
    (entries := folder / "entries.json").write_text(
        json.dumps({c: n for n, c in enumerate("_abcdefghijklmnopqrstuvwxyz '")})
    )
    transformers.VitsTokenizer(entries, pad_token="_", unk_token="'", phonemize=False).save_pretrained(folder)
    config = transformers.VitsConfig(
        vocab_size=29, hidden_size=16, num_hidden_layers=1, ffn_dim=16, flow_size=16, spectrogram_bins=9,
        upsample_initial_channel=16, upsample_rates=[8, 8], upsample_kernel_sizes=[16, 16], resblock_kernel_sizes=[3],
        resblock_dilation_sizes=[[1]], duration_predictor_filter_channels=16, duration_predictor_num_flows=2,
        prior_encoder_num_flows=1, prior_encoder_num_wavenet_layers=1, posterior_encoder_num_wavenet_layers=1,
    )  # fmt: skip
    transformers.VitsModel(config).save_pretrained(folder)


def _stable_audio(folder: Path) -> None:
    """With the scheduler of Stable Audio Open, which needs torchsde."""
    transformer = diffusers.StableAudioDiTModel(
        sample_size=64, in_channels=4, out_channels=4, num_layers=1, attention_head_dim=8, num_attention_heads=2,
        num_key_value_attention_heads=1, cross_attention_dim=WIDTH, cross_attention_input_dim=WIDTH, time_proj_dim=8,
        global_states_input_dim=2 * WIDTH,
    )  # fmt: skip
    vae = diffusers.AutoencoderOobleck(
        encoder_hidden_size=4, downsampling_ratios=[4, 4], channel_multiples=[1, 2], decoder_channels=4,
        decoder_input_channels=4, sampling_rate=1_000,
    )  # fmt: skip
    diffusers.StableAudioPipeline(
        vae=vae,
        text_encoder=_t5(),
        projection_model=stable_audio.StableAudioProjectionModel(WIDTH, WIDTH, min_value=0, max_value=16),
        tokenizer=t5_tokenizer(64),
        transformer=randomise(transformer),
        scheduler=diffusers.CosineDPMSolverMultistepScheduler(),
    ).save_pretrained(folder)


def _audioldm_2(folder: Path) -> None:
    """With the language model as the published checkpoint names it."""
    tokenizer = roberta_tokenizer(64)
    language = transformers.GPT2Config(vocab_size=8, n_positions=128, n_embd=16, n_layer=1, n_head=2)
    language.max_new_tokens = 4
    blocks: dict[str, Any] = {"norm_num_groups": 4, "in_channels": 4, "out_channels": 4, "layers_per_block": 1}
    unet = audioldm2.AudioLDM2UNet2DConditionModel(
        **blocks, sample_size=8, block_out_channels=(8, 16), attention_head_dim=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"), up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=[[None, 16, WIDTH]] * 2,
    )  # fmt: skip
    vae = diffusers.AutoencoderKL(
        **blocks | {"in_channels": 1, "out_channels": 1}, block_out_channels=(8, 8), latent_channels=4,
        down_block_types=("DownEncoderBlock2D",) * 2, up_block_types=("UpDecoderBlock2D",) * 2,
    )  # fmt: skip
    vocoder = transformers.SpeechT5HifiGanConfig(
        model_in_dim=8, upsample_initial_channel=8, upsample_rates=[4, 4], upsample_kernel_sizes=[8, 8],
        resblock_kernel_sizes=[3], resblock_dilation_sizes=[[1]], normalize_before=False, sampling_rate=16_000,
    )  # fmt: skip
    diffusers.AudioLDM2Pipeline(
        vae=randomise(vae),
        text_encoder=_clap_model(tokenizer),
        text_encoder_2=_t5(),
        projection_model=audioldm2.AudioLDM2ProjectionModel(16, WIDTH, 16),
        language_model=transformers.GPT2Model(language),
        tokenizer=tokenizer,
        tokenizer_2=t5_tokenizer(64),
        feature_extractor=transformers.ClapFeatureExtractor(),
        unet=randomise(unet),
        scheduler=diffusers.DDIMScheduler(clip_sample=False),
        vocoder=randomise(transformers.SpeechT5HifiGan(vocoder)),
    ).save_pretrained(folder)
