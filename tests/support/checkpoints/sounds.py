"""Tiny random checkpoints that hear and make sounds, in the layouts of transformers."""

from pathlib import Path
from typing import Any

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers


def _tokenizer(special: list[str], end: int, **settings: Any) -> Any:
    """Bytes and a few of their pairs; the token number ``end`` ends a text."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer, made.decoder = pre_tokenizers.ByteLevel(add_prefix_space=False), decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=300, special_tokens=special, initial_alphabet=alphabet)
    made.train_from_iterator(["Describe the sound of a low bell."], trainer)
    if settings:
        made.post_processor = processors.TemplateProcessing(
            single=f"{special[0]} $A {special[end]}", special_tokens=[(special[0], 0), (special[end], end)]
        )
    return transformers.PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=special[end], pad_token=special[1], **settings
    )


def build_clap(folder: Path) -> Path:
    tokenizer = _tokenizer(["<s>", "<pad>", "</s>"], 2, model_max_length=64)
    text = {"vocab_size": len(tokenizer), "hidden_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
    text |= {"intermediate_size": 32, "max_position_embeddings": 70, "eos_token_id": 2}
    audio = {"patch_embeds_hidden_size": 8, "hidden_size": 64, "depths": [1] * 4, "num_attention_heads": [1] * 4}
    config = transformers.ClapConfig(text_config=text, audio_config=audio | {"num_classes": 2}, projection_dim=16)
    torch.manual_seed(0)
    transformers.ClapModel(config).save_pretrained(folder)
    extractor = transformers.ClapFeatureExtractor(truncation="rand_trunc", padding="repeatpad")
    transformers.ClapProcessor(extractor, tokenizer).save_pretrained(folder)
    return folder


def build_wav2vec2(folder: Path) -> Path:
    small = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
    layers = {"conv_dim": (8, 8), "conv_stride": (10, 8), "conv_kernel": (20, 8), "num_feat_extract_layers": 2}
    places = {"num_conv_pos_embeddings": 8, "num_conv_pos_embedding_groups": 2}
    torch.manual_seed(0)
    transformers.Wav2Vec2Model(transformers.Wav2Vec2Config(**small, **layers, **places)).save_pretrained(folder)
    transformers.Wav2Vec2FeatureExtractor().save_pretrained(folder)
    return folder


def build_qwen2_audio(folder: Path) -> Path:
    special = ["<|im_end|>", "<|endoftext|>", "<|im_start|>", "<|AUDIO|>", "<|audio_bos|>", "<|audio_eos|>"]
    tokenizer = _tokenizer(special, 0)
    audio = {"d_model": 16, "encoder_layers": 1, "encoder_attention_heads": 2, "encoder_ffn_dim": 16}
    text = {"model_type": "qwen2", "hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 2}
    text |= {"num_attention_heads": 2, "num_key_value_heads": 2, "vocab_size": len(tokenizer)}
    text |= {"max_position_embeddings": 4096, "eos_token_id": 0, "bos_token_id": None, "pad_token_id": 1}
    config = transformers.Qwen2AudioConfig(
        audio_config=audio | {"num_mel_bins": 80}, text_config=text, audio_token_id=special.index("<|AUDIO|>")
    )
    torch.manual_seed(0)
    model = transformers.Qwen2AudioForConditionalGeneration(config)
    model.generation_config.eos_token_id = 0
    model.save_pretrained(folder)
    processor = transformers.Qwen2AudioProcessor(transformers.WhisperFeatureExtractor(feature_size=80), tokenizer)
    processor.chat_template = processor.default_chat_template
    processor.save_pretrained(folder)
    return folder


def build_musicgen(folder: Path) -> Path:
    tokenizer = _tokenizer(["<s>", "<pad>", "</s>"], 2, model_max_length=64)
    text = transformers.T5Config(vocab_size=300, d_model=16, d_kv=8, d_ff=16, num_layers=1, num_heads=2)
    small = {"hidden_size": 16, "num_filters": 4, "num_lstm_layers": 1}
    audio = transformers.EncodecConfig(**small, codebook_size=64, target_bandwidths=[2.2], sampling_rate=16_000)
    decoder = transformers.MusicgenDecoderConfig(
        vocab_size=64,
        hidden_size=16,
        ffn_dim=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        num_codebooks=audio.num_quantizers,
        max_position_embeddings=512,
    )
    parts = {"text_encoder": text.to_dict(), "audio_encoder": audio.to_dict(), "decoder": decoder.to_dict()}
    torch.manual_seed(0)
    model = transformers.MusicgenForConditionalGeneration(transformers.MusicgenConfig(**parts))
    for layer in model.audio_encoder.quantizer.layers:  # they begin as zeros
        layer.codebook.embed.normal_(std=20)
    settings = model.generation_config
    settings.decoder_start_token_id = settings.pad_token_id = 64
    settings.do_sample, settings.guidance_scale = True, 3.0
    model.save_pretrained(folder)
    transformers.MusicgenProcessor(transformers.EncodecFeatureExtractor(), tokenizer).save_pretrained(folder)
    return folder
