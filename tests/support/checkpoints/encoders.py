"""Encoders of 32-pixel images and of sentences."""

import json
from pathlib import Path
from typing import Any

import transformers
from safetensors.torch import load_file, save_file
from transformers.models.dinov3_vit.image_processing_dinov3_vit import (
    DINOv3ViTImageProcessor,
)

from tests.support.cases import cases
from tests.support.checkpoints import layouts
from tests.support.checkpoints.text import CLIP_LENGTH, bert_tokenizer, clip_tokenizer
from tests.support.checkpoints.weights import PARTS, randomise, seeded

SIDE = 32
TOWER: dict[str, Any] = PARTS["tower"]
IMAGE: dict[str, Any] = TOWER | {"image_size": SIDE, "patch_size": 8}
SENTENCE_LENGTH = 32
ENCODERS = {each["name"]: each for each in cases(__file__, "encoders")}


def build(folder: Path, name: str, seed: int = 0) -> Path:
    """Save an encoder of images, or of images and texts."""
    layout = ENCODERS[name]
    size = {"height": SIDE, "width": SIDE}
    settings = layout.get("whole") or IMAGE | layout["settings"]
    if "reads" in layout:
        tokens = clip_tokenizer()
        text = TOWER | {
            "vocab_size": len(tokens),
            "max_position_embeddings": CLIP_LENGTH,
            "bos_token_id": tokens.bos_token_id,
            "eos_token_id": tokens.eos_token_id,
            "pad_token_id": tokens.pad_token_id,
        }
        settings = {"text_config": text, "vision_config": IMAGE} | layout["settings"]
        images = transformers.CLIPImageProcessor(
            size={"shortest_edge": SIDE}, crop_size=size
        )
        transformers.CLIPProcessor(images, tokens).save_pretrained(folder)
    elif "processor" in layout:
        arguments = dict(layout["processor"])
        kind = arguments.pop("make")
        makers = {"DINOv3ViTImageProcessor": DINOv3ViTImageProcessor}
        make = makers.get(kind) or getattr(transformers, kind)
        make(**arguments).save_pretrained(folder)
    config = getattr(transformers, layout["config"])(**settings)
    with seeded(seed):
        model = randomise(getattr(transformers, layout["model"])(config))
    model.save_pretrained(folder)
    return folder


def build_sentence_transformer(folder: Path, seed: int = 0) -> Path:
    """Save a BERT with mean pooling that reads 32 tokens."""
    tokens = bert_tokenizer(SENTENCE_LENGTH)
    config = transformers.BertConfig(
        **TOWER, vocab_size=len(tokens), max_position_embeddings=SENTENCE_LENGTH
    )
    with seeded(seed):
        model = randomise(transformers.BertModel(config))
    model.save_pretrained(folder)
    tokens.save_pretrained(folder)
    return with_modules(folder, "sentence")


def build_sentence_clip(folder: Path, seed: int = 0) -> Path:
    """Save a CLIP of sentence-transformers, which takes images and reads 77 tokens."""
    return with_modules(build(folder, "clip", seed), "sentence_clip")


def build_sentence_qwen(folder: Path, seed: int = 0) -> Path:
    """Save an embedding model in the layout of Qwen3-VL-Embedding, which reads 64 tokens.

    Its weights have the names of the whole model, without the head, as published.
    """
    layout = layouts.LAYOUTS["Qwen3-VL"]
    turns = {"turn_token": "<|im_start|>", "end_token": "<|im_end|>"}
    layouts.build(folder, layout | {"tokens": layout["tokens"] | turns}, seed)
    file = folder / "model.safetensors"
    weights = load_file(file)
    del weights["lm_head.weight"]
    save_file(weights, file, {"format": "pt"})
    return with_modules(folder, "sentence_qwen")


def with_modules(folder: Path, name: str) -> Path:
    """Add the files of sentence-transformers to a checkpoint."""
    for each in cases(__file__, name):
        content = each["content"]
        text = content if isinstance(content, str) else json.dumps(content)
        file = folder / each["file"]
        file.parent.mkdir(exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder
