"""Encoders of 32-pixel images and of sentences."""

import json
from pathlib import Path
from typing import Any

from transformers import (
    BertConfig,
    BertModel,
    BitImageProcessor,
    CLIPConfig,
    CLIPImageProcessor,
    CLIPModel,
    CLIPProcessor,
    Dinov2Config,
    Dinov2Model,
    DINOv3ViTConfig,
    DINOv3ViTModel,
    MetaClip2Config,
    MetaClip2Model,
    PreTrainedModel,
    SiglipConfig,
    SiglipModel,
    TimmWrapperConfig,
    TimmWrapperModel,
    ViTConfig,
    ViTImageProcessor,
    ViTModel,
)
from transformers.models.dinov3_vit.image_processing_dinov3_vit import (
    DINOv3ViTImageProcessor,
)

from tests.support.checkpoints.text import CLIP_LENGTH, bert_tokenizer, clip_tokenizer
from tests.support.checkpoints.weights import PARTS, randomise, seeded

SIDE, PATCH = 32, 8
SIZE = {"height": SIDE, "width": SIDE}
TOWER: dict[str, Any] = PARTS["tower"]
IMAGE: dict[str, Any] = TOWER | {"image_size": SIDE, "patch_size": PATCH}
SENTENCE_LENGTH = 32


def build_vit(folder: Path, seed: int = 0) -> Path:
    """A ViT whose file holds a pooler."""
    return _vit(folder, seed, pooler=True)


def build_dinov2(folder: Path, seed: int = 0) -> Path:
    """DINOv2's layout."""
    with seeded(seed):
        _save(folder, Dinov2Model(Dinov2Config(**IMAGE)))
    BitImageProcessor(size={"shortest_edge": SIDE}, crop_size=SIZE).save_pretrained(
        folder
    )
    return folder


def build_clip(folder: Path, seed: int = 0) -> Path:
    """CLIP's layout: both towers, and a tokenizer that cuts at 77 tokens."""
    return _two_towers(folder, seed, CLIPConfig, CLIPModel, projection_dim=24)


def build_dinov3(folder: Path, seed: int = 0) -> Path:
    """DINOv3's layout: rotary positions, registers, and an image processor of torchvision alone."""
    with seeded(seed):
        _save(folder, DINOv3ViTModel(DINOv3ViTConfig(**IMAGE, num_register_tokens=2)))
    DINOv3ViTImageProcessor(size=SIZE).save_pretrained(folder)
    return folder


def build_timm(folder: Path, seed: int = 0) -> Path:
    """Perception Encoder's layout, as timm publishes it."""
    made = {"embed_dim": 32, "depth": 1, "num_heads": 2, "img_size": SIDE}
    half = [0.5, 0.5, 0.5]
    shown = {
        "input_size": [3, SIDE, SIDE],
        "interpolation": "bicubic",
        "crop_pct": 1.0,
        "mean": half,
        "std": half,
    }
    config = TimmWrapperConfig(
        architecture="vit_pe_core_tiny_patch16_384",
        model_args=made,
        pretrained_cfg=shown,
        num_labels=2,
    )
    with seeded(seed):
        _save(folder, TimmWrapperModel(config))
    return folder


def build_metaclip(folder: Path, seed: int = 0) -> Path:
    """MetaCLIP 2's layout; a tokenizer like CLIP's in place of XLM-R's."""
    return _two_towers(folder, seed, MetaClip2Config, MetaClip2Model, projection_dim=24)


def build_siglip(folder: Path, seed: int = 0) -> Path:
    """SigLIP's layout: a text is read at its last token, which is padding."""
    return _two_towers(folder, seed, SiglipConfig, SiglipModel)


def build_sentence_transformer(folder: Path, seed: int = 0) -> Path:
    """A BERT with mean pooling, that reads 32 tokens."""
    tokens = bert_tokenizer(SENTENCE_LENGTH)
    config = BertConfig(
        **TOWER, vocab_size=len(tokens), max_position_embeddings=SENTENCE_LENGTH
    )
    with seeded(seed):
        _save(folder, BertModel(config))
    tokens.save_pretrained(folder)
    pooling = {
        "word_embedding_dimension": config.hidden_size,
        "pooling_mode_mean_tokens": True,
    }
    module = "sentence_transformers.models."
    layout = {
        "modules.json": [
            {"idx": 0, "name": "0", "path": "", "type": module + "Transformer"},
            {"idx": 1, "name": "1", "path": "1_Pooling", "type": module + "Pooling"},
        ],
        "sentence_bert_config.json": {
            "max_seq_length": SENTENCE_LENGTH,
            "do_lower_case": False,
        },
        "1_Pooling/config.json": pooling,
    }
    (folder / "1_Pooling").mkdir(exist_ok=True)
    for name, content in layout.items():
        (folder / name).write_text(json.dumps(content, indent=2), encoding="utf-8")
    return folder


def _two_towers(folder: Path, seed: int, config: Any, model: Any, **more: Any) -> Path:
    tokens = clip_tokenizer()
    text = TOWER | {
        "vocab_size": len(tokens),
        "max_position_embeddings": CLIP_LENGTH,
        "bos_token_id": tokens.bos_token_id,
        "eos_token_id": tokens.eos_token_id,
        "pad_token_id": tokens.pad_token_id,
    }
    with seeded(seed):
        _save(folder, model(config(text_config=text, vision_config=IMAGE, **more)))
    images = CLIPImageProcessor(size={"shortest_edge": SIDE}, crop_size=SIZE)
    CLIPProcessor(images, tokens).save_pretrained(folder)
    return folder


def _vit(folder: Path, seed: int, pooler: bool) -> Path:
    with seeded(seed):
        _save(folder, ViTModel(ViTConfig(**IMAGE), add_pooling_layer=pooler))
    ViTImageProcessor(size=SIZE).save_pretrained(folder)
    return folder


def _save(folder: Path, model: PreTrainedModel) -> None:
    randomise(model)
    model.save_pretrained(folder)
