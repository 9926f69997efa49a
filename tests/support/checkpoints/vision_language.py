"""Vision-language models: some 100,000 weights, 32-pixel image tiles, answers in English words."""

from pathlib import Path
from typing import Any

import torch
from transformers import (
    CLIPVisionConfig,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    ProcessorMixin,
    Qwen2_5_VLConfig,
    Qwen2_5_VLForConditionalGeneration,
    Qwen2_5_VLProcessor,
    SmolVLMConfig,
    SmolVLMForConditionalGeneration,
    SmolVLMProcessor,
)
from transformers.models.llava.image_processing_llava import LlavaImageProcessor
from transformers.models.qwen2_vl.image_processing_qwen2_vl import Qwen2VLImageProcessor
from transformers.models.qwen2_vl.video_processing_qwen2_vl import Qwen2VLVideoProcessor
from transformers.models.smolvlm.image_processing_smolvlm import SmolVLMImageProcessor
from transformers.models.smolvlm.video_processing_smolvlm import SmolVLMVideoProcessor

from tests.support.checkpoints.text import chat_tokenizer, spoken
from tests.support.checkpoints.weights import PARTS, randomise, seeded

TILE, PATCH, MERGED = 32, 8, 2
VISION = PARTS["vision"]
TEXT = PARTS["text"]

SHORT = 0.7
"""Of the weights that end an answer: no answer is empty, and most reach 16 tokens."""

LEAKING = {"do_sample": True, "temperature": 1.5, "top_k": 5, "repetition_penalty": 1.3}
"""Saved with Qwen2.5-VL. The penalty is in force in greedy decoding too, unless a call sets it."""

MESSAGE = (
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in "
    "message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}IMAGE{% "
    "endif %}{% endfor %}{% endif %}"
)


def build_llava(folder: Path, seed: int = 0) -> Path:
    """LLaVA-1.5's layout: CLIP vision tower, Llama, ``USER: … ASSISTANT:``; every image is 16
    tokens."""
    tokenizer = chat_tokenizer("</s>", ["<image>", "<s>"])
    vision = CLIPVisionConfig(
        **VISION, image_size=TILE, patch_size=PATCH, projection_dim=32
    )
    config = LlavaConfig(
        vision_config=vision,
        text_config=LlamaConfig(**_text(tokenizer)),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        image_seq_length=(TILE // PATCH) ** 2,
    )
    turns = (
        "{% for message in messages %}{{ message['role'] | upper }}: "
        + MESSAGE.replace("IMAGE", "<image>\n")
    )
    processor = LlavaProcessor(
        LlavaImageProcessor(
            size={"shortest_edge": TILE}, crop_size={"height": TILE, "width": TILE}
        ),
        tokenizer,
        patch_size=PATCH,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=turns
        + " {% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}",
    )
    with seeded(seed):
        return _save(folder, LlavaForConditionalGeneration(config), processor)


def build_qwen2_5_vl(folder: Path, seed: int = 0) -> Path:
    """Qwen2.5-VL's layout: images of 4 to 16 tokens by their shape; saved with ``LEAKING``
    settings."""
    tokenizer = chat_tokenizer(
        "<|im_end|>",
        [
            "<|im_start|>",
            "<|vision_start|>",
            "<|vision_end|>",
            "<|image_pad|>",
            "<|video_pad|>",
        ],
    )
    sections = [2, 3, 3]
    rope = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": sections}
    names = {
        "image": "<|image_pad|>",
        "video": "<|video_pad|>",
        "vision_start": "<|vision_start|>",
    }
    config = Qwen2_5_VLConfig(
        vision_config={
            "depth": 2,
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_heads": 2,
            "patch_size": PATCH,
            "spatial_merge_size": MERGED,
            "window_size": TILE,
            "fullatt_block_indexes": [1],
            "out_hidden_size": 48,
        },
        text_config=_text(tokenizer) | {"hidden_size": 48, "rope_parameters": rope},
        vision_end_token_id=tokenizer.convert_tokens_to_ids("<|vision_end|>"),
        **{
            f"{name}_token_id": tokenizer.convert_tokens_to_ids(token)
            for name, token in names.items()
        },
    )
    sizes: dict[str, Any] = {
        "size": {"shortest_edge": TILE**2, "longest_edge": 4 * TILE**2},
        "patch_size": PATCH,
        "merge_size": MERGED,
    }
    parts = MESSAGE.replace("IMAGE", "<|vision_start|><|image_pad|><|vision_end|>")
    processor = Qwen2_5_VLProcessor(
        Qwen2VLImageProcessor(**sizes),
        tokenizer,
        Qwen2VLVideoProcessor(**sizes),
        chat_template="{% for message in messages %}<|im_start|>{{ message['role'] }}\n"
        + parts
        + "<|im_end|>\n"
        "{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}",
    )
    with seeded(seed):
        return _save(
            folder, Qwen2_5_VLForConditionalGeneration(config), processor, **LEAKING
        )


def build_smolvlm(folder: Path, seed: int = 0) -> Path:
    """SmolVLM's layout: an image is cut into up to 2 × 2 tiles and the whole, 4 tokens each."""
    tiles = [f"<row_{row}_col_{column}>" for row in (1, 2) for column in (1, 2)]
    special = [
        "<image>",
        "<fake_token_around_image>",
        "<global-img>",
        "<|im_start|>",
        *tiles,
    ]
    tokenizer = chat_tokenizer("<end_of_utterance>", special)
    config = SmolVLMConfig(
        vision_config=VISION | {"image_size": TILE, "patch_size": PATCH},
        text_config=LlamaConfig(**_text(tokenizer)),
        scale_factor=MERGED,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
    )
    sizes = {
        "size": {"longest_edge": 2 * TILE},
        "max_image_size": {"longest_edge": TILE},
    }
    turns = (
        "<|im_start|>{% for message in messages %}{{ message['role'] | capitalize }}: "
    )
    processor = SmolVLMProcessor(
        SmolVLMImageProcessor(**sizes),
        tokenizer,
        SmolVLMVideoProcessor(**sizes),
        image_seq_len=(TILE // PATCH // MERGED) ** 2,
        chat_template=turns
        + MESSAGE.replace("IMAGE", "<image>")
        + "<end_of_utterance>\n{% endfor %}{% if add_generation_prompt %}Assistant:{% endif %}",
    )
    with seeded(seed):
        return _save(folder, SmolVLMForConditionalGeneration(config), processor)


def _text(tokenizer: PreTrainedTokenizerFast) -> dict[str, Any]:
    end = tokenizer.eos_token_id
    return TEXT | {
        "vocab_size": len(tokenizer),
        "bos_token_id": end,
        "eos_token_id": end,
        "pad_token_id": end,
    }


@torch.no_grad()
def _save(
    folder: Path, model: PreTrainedModel, processor: ProcessorMixin, **settings: Any
) -> Path:
    """Random weights that say whole words only, and how to generate."""
    randomise(model)
    head = model.get_output_embeddings().weight
    silent = torch.ones(len(head), dtype=torch.bool)
    silent[spoken(processor.tokenizer)] = False
    head[silent] = 0
    end = processor.tokenizer.eos_token_id
    head[end] *= SHORT
    model.generation_config = GenerationConfig(
        eos_token_id=end, pad_token_id=end, **settings
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
