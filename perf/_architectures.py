"""LLaVA-1.5-7B with random weights: speed depends on shapes, not on what was learnt."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import (
    CLIPVisionConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)
from transformers.models.llava.image_processing_llava import LlavaImageProcessor

from tests.support.checkpoints.text import chat_tokenizer

PATCH = 14
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | upper }}: {% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}{% endfor %} {% endfor %}"
    "ASSISTANT:"
)


class Width(NamedTuple):
    """Of a transformer."""

    hidden: int
    inner: int
    layers: int
    heads: int

    def config(self) -> dict[str, int]:
        return {
            "hidden_size": self.hidden,
            "intermediate_size": self.inner,
            "num_hidden_layers": self.layers,
            "num_attention_heads": self.heads,
        }


class Scale(NamedTuple):
    """How large it is."""

    vision: Width
    language: Width
    vocabulary: int
    image_side: int


FULL = Scale(
    vision=Width(1024, 4096, 24, 16),
    language=Width(4096, 11008, 32, 32),
    vocabulary=32064,
    image_side=336,
)
REDUCED = Scale(
    vision=Width(128, 512, 4, 4),
    language=Width(256, 688, 4, 4),
    vocabulary=2048,
    image_side=112,
)


def build_llava(folder: Path, scale: Scale) -> int:
    """Save the model and its processor; returns the number of its weights."""
    tokenizer = chat_tokenizer("</s>", ["<image>", "<s>"])
    vision = CLIPVisionConfig(**scale.vision.config(), image_size=scale.image_side, patch_size=PATCH)
    language = LlamaConfig(**scale.language.config(), vocab_size=scale.vocabulary, max_position_embeddings=4096)
    config = LlavaConfig(
        vision_config=vision,
        text_config=language,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=(scale.image_side // PATCH) ** 2,
    )
    sides = {"height": scale.image_side, "width": scale.image_side}
    processor = LlavaProcessor(
        LlavaImageProcessor(size={"shortest_edge": scale.image_side}, crop_size=sides),
        tokenizer,
        patch_size=PATCH,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=TEMPLATE,
    )
    with _fast_and_random():
        model = LlavaForConditionalGeneration(config)
    return _save(folder, model, processor)


@contextmanager
def _fast_and_random() -> Iterator[None]:
    """On the GPU where there is one, in bfloat16: 7 billion float32 weights would take 28 GB and minutes."""
    device = "cuda" if torch.cuda.is_available() else "cpu"
    before = torch.get_default_dtype()
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    try:
        with torch.device(device):
            yield
    finally:
        torch.set_default_dtype(before)


def _save(folder: Path, model: Any, processor: Any) -> int:
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return sum(weight.numel() for weight in model.parameters())
