"""Vision-language models: some 100,000 weights, 32-pixel image tiles, answers in English words."""

from importlib import import_module
from pathlib import Path
from typing import Any

import torch
from transformers import (
    CONFIG_MAPPING,
    GenerationConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
)

from driftledger.components.transformers import model_class
from tests.support.cases import cases
from tests.support.checkpoints.text import chat_tokenizer, spoken
from tests.support.checkpoints.weights import PARTS, randomise, seeded

LAYOUTS = {each["name"]: each for each in cases(__file__, "vision_language")}
SHORT = 0.7
"""The factor of the weights that end an answer: none is empty, and most reach 16 tokens."""

MESSAGE = (
    "{% if message['content'] is string %}{{ message['content'] }}{% else %}{% for part in "
    "message['content'] %}{% if part['type'] == 'text' %}{{ part['text'] }}{% else %}IMAGE{% "
    "endif %}{% endfor %}{% endif %}"
)


def build(folder: Path, name: str, seed: int = 0) -> Path:
    """Save a checkpoint with random weights, which says whole words."""
    layout = LAYOUTS[name]
    tokenizer = chat_tokenizer(layout["end"], layout["special"])
    end = tokenizer.eos_token_id
    text = PARTS["text"] | {"vocab_size": len(tokenizer)} | layout["text"]
    text |= dict.fromkeys(("bos_token_id", "eos_token_id", "pad_token_id"), end)
    ids = {}
    for setting, token in layout["ids"].items():
        ids[setting] = tokenizer.convert_tokens_to_ids(token)
    kind = CONFIG_MAPPING[layout["model_type"]]
    config = kind(text_config=text, **layout["config"], **ids)
    message = MESSAGE.replace("IMAGE", layout["image"])
    processor = made(
        layout["processor"],
        tokenizer=tokenizer,
        chat_template=layout["template"].replace("MESSAGE", message),
    )
    with seeded(seed):
        model = randomise(model_class(config, trusted=False).from_config(config))
    say_words(model, tokenizer, SHORT)
    model.generation_config = GenerationConfig(
        eos_token_id=end, pad_token_id=end, **layout.get("generation", {})
    )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


@torch.no_grad()
def say_words(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerFast, end: float
) -> None:
    """Let a model say whole words only; the weights of the end are multiplied by ``end``."""
    head = model.get_output_embeddings().weight
    silent = torch.ones(len(head), dtype=torch.bool)
    silent[spoken(tokenizer)] = False
    head[silent] = 0
    head[tokenizer.eos_token_id] *= end


def made(part: dict[str, Any], **more: Any) -> Any:
    """Make an object of a class in ``transformers.models``; its arguments may be such objects."""
    module, _, name = part["class"].rpartition(".")
    module = module if "." in module else f"{module}.processing_{module}"
    arguments = {}
    for key, value in part.items():
        is_part = isinstance(value, dict) and "class" in value
        arguments[key] = made(value) if is_part else value
    del arguments["class"]
    kind = getattr(import_module(f"transformers.models.{module}"), name)
    return kind(**arguments, **more)
