"""The describer: a LLaVA-1.5 of under a million weights, which describes arrangements and answers
about scenes."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from transformers import (
    CLIPVisionConfig,
    CLIPVisionModel,
    GenerationConfig,
    LlamaConfig,
    LlavaConfig,
    LlavaForConditionalGeneration,
    LlavaProcessor,
)
from transformers.models.llava.image_processing_pil_llava import LlavaImageProcessorPil

from driftledger_demo.datasets.arrangements.grammar import SIDE
from lab.trio.autoencoder import MIDDLE
from lab.trio.lessons import Asked, Choices, Lessons, Plain
from lab.trio.loop import half
from lab.trio.settings import Mix
from lab.trio.stream import Random
from lab.trio.tokens import chat_tokenizer

_PATCH = 8
_LENGTH = 1024
_SIZES = {"hidden_size": 96, "intermediate_size": 256, "num_attention_heads": 3}
_END, _IMAGE = "</s>", "<image>"
_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] | upper }}: {% if message['content'] is "
    "string %}{{ message['content'] }}{% else %}{% for part in message['content'] %}{% if "
    "part['type'] == 'image' %}<image>\n{% else %}{{ part['text'] }}{% endif %}{% endfor %}{% "
    "endif %} {% endfor %}{% if add_generation_prompt %}ASSISTANT:{% endif %}"
)
"""LLaVA-1.5's: ``USER: <image>\\n… ASSISTANT:``."""


def build_processor(words: list[str]) -> LlavaProcessor:
    """With an entry for each of ``words``; every image is 64 tokens."""
    tokenizer = chat_tokenizer(words, _END, [_IMAGE, "<s>"], _LENGTH)
    images = LlavaImageProcessorPil(
        size={"shortest_edge": SIDE},
        crop_size={"height": SIDE, "width": SIDE},
        image_mean=MIDDLE,
        image_std=MIDDLE,
    )
    return LlavaProcessor(
        images,
        tokenizer,
        patch_size=_PATCH,
        num_additional_image_tokens=1,
        vision_feature_select_strategy="default",
        chat_template=_TEMPLATE,
    )


def eye_config() -> CLIPVisionConfig:
    """Of the image tower."""
    return CLIPVisionConfig(
        **_SIZES, num_hidden_layers=3, image_size=SIDE, patch_size=_PATCH
    )


def build(
    processor: LlavaProcessor, eye: CLIPVisionModel
) -> LlavaForConditionalGeneration:
    """Untrained, but for its image tower."""
    tokenizer = processor.tokenizer
    end = tokenizer.eos_token_id
    config = LlavaConfig(
        vision_config=eye.config,
        text_config=LlamaConfig(
            **_SIZES,
            num_hidden_layers=4,
            initializer_range=_SIZES["hidden_size"] ** -0.5,
            vocab_size=len(tokenizer),
            max_position_embeddings=_LENGTH,
            tie_word_embeddings=True,
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        ),
        image_token_index=tokenizer.convert_tokens_to_ids(_IMAGE),
        image_seq_length=(SIDE // _PATCH) ** 2,
        vision_feature_layer=-1,
        tie_word_embeddings=True,
    )
    model = LlavaForConditionalGeneration(config)
    model.model.vision_tower.load_state_dict(eye.state_dict())
    model.generation_config = GenerationConfig(eos_token_id=end, pad_token_id=end)
    return model


@dataclass(frozen=True)
class NextToken:
    """Cross-entropy of the answers' tokens: of descriptions, of choices and of free answers."""

    model: LlavaForConditionalGeneration
    processor: LlavaProcessor
    lessons: Lessons
    mix: Mix
    device: str

    def __call__(self, random: Random) -> Tensor:
        described = self._loss(self.lessons.descriptions(random, self.mix.descriptions))
        chosen = self._loss(self.lessons.questions(random, self.mix.choices, Choices))
        told = self._loss(self.lessons.questions(random, self.mix.free, Plain))
        return described + chosen + told

    def _loss(self, asked: Asked) -> Tensor:
        inputs, targets = encode(self.processor, asked)
        with half(self.device):
            hidden = self.model.model(
                **{key: value.to(self.device) for key, value in inputs.items()}
            ).last_hidden_state
            before, wanted = hidden[:, :-1], targets[:, 1:].to(self.device)
            # scores of a whole vocabulary are dear: only where there is something to tell
            told = wanted >= 0
            scores = self.model.lm_head(before[told])
        return nn.functional.cross_entropy(scores.float(), wanted[told])


def encode(processor: LlavaProcessor, asked: Asked) -> tuple[dict[str, Any], Tensor]:
    """A batch as the model takes it, and for each token its number if it belongs to an answer, else
    -100."""
    turns = [
        [
            {
                "role": "user",
                "content": [{"type": "image"}, {"type": "text", "text": question}],
            }
        ]
        for question in asked.questions
    ]
    begun = processor.apply_chat_template(
        turns, add_generation_prompt=True, tokenize=False
    )
    whole = [
        f"{before} {answer}{_END}"
        for before, answer in zip(begun, asked.answers, strict=True)
    ]
    inputs = processor(
        images=list(asked.images), text=whole, padding=True, return_tensors="pt"
    )
    answers = processor.tokenizer(
        [f" {answer}{_END}" for answer in asked.answers], add_special_tokens=False
    ).input_ids
    targets = torch.full_like(inputs["input_ids"], -100)
    for row, tokens in enumerate(answers):  # padding is on the left
        targets[row, -len(tokens) :] = inputs["input_ids"][row, -len(tokens) :]
    return dict(inputs), targets


def save(
    folder: Path, model: LlavaForConditionalGeneration, processor: LlavaProcessor
) -> None:
    """As transformers saves it, weights in half precision."""
    model.half().save_pretrained(folder)
    processor.save_pretrained(folder)
