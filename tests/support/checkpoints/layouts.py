"""Tiny checkpoints of many vision-language layouts, each from its own configuration and processor
in transformers."""

from pathlib import Path
from typing import Any

import torch
from transformers import CONFIG_MAPPING, GenerationConfig

from driftledger.components.transformers import model_class
from tests.extras.encoding import change_json
from tests.support.cases import cases
from tests.support.checkpoints.text import chat_tokenizer
from tests.support.checkpoints.vision_language import MESSAGE, made, say_words
from tests.support.checkpoints.weights import PARTS, randomise, seeded

LAYOUTS: dict[str, dict[str, Any]] = {
    each["family"]: each for each in cases(__file__, "layouts")
}
"""Family → what builds it: ``tokens`` are the tokenizer's, ``image`` is what a chat template writes
for an image, and empty where such checkpoints are published without a template."""
SMALL = PARTS["small"]
"""Settings of configurations, and what they are unless a layout says otherwise."""


def build(folder: Path, layout: dict[str, Any], seed: int = 0) -> Path:
    """Save a checkpoint with random weights, which says whole words without an end."""
    tokenizer = chat_tokenizer(
        "</s>", dict.fromkeys(["<s>", *layout["tokens"].values()])
    )
    tokenizer.bos_token = "<s>"
    ids = {"bos_token": tokenizer.bos_token_id, "eos_token": tokenizer.eos_token_id}
    for name, token in layout["tokens"].items():
        ids[name] = tokenizer.convert_tokens_to_ids(token)
        setattr(tokenizer, name, token)
        setattr(tokenizer, f"{name}_id", ids[name])
    processor = made(layout["processor"], tokenizer=tokenizer)
    whole = CONFIG_MAPPING[layout["model_type"]]().to_dict()
    config = whole.get("thinker_config", whole)
    for held in (
        config,
        *(config.get(f"{part}_config") or {} for part in ("vision", "audio", "text")),
    ):
        held.update({name: value for name, value in SMALL.items() if name in held})
        held.update(
            {
                name: len(tokenizer)
                for name in ("vocab_size", "vocab_size_per_layer_input")
                if name in held
            }
        )
        for name, number in ids.items():
            held.update(
                {
                    each: number
                    for each in (f"{name}_id", f"{name}_index")
                    if each in held
                }
            )
        for name in ("layer_types", "per_layer_config"):  # computed for fewer layers
            held.pop(name, None)
    for name, value in layout["config"].items():
        config[name] = (
            (config.get(name) or {}) | value if isinstance(value, dict) else value
        )
    kind = CONFIG_MAPPING[layout["model_type"]]
    config = kind.from_dict(whole | layout.get("whole", {}))
    with seeded(seed), torch.no_grad():
        model = randomise(model_class(config, trusted=False).from_config(config))
        for name, gate in model.named_parameters():
            if "attn_gate" in name:  # of Llama 3.2 Vision: closed until it is trained
                gate.fill_(1)
    say_words(getattr(model, "thinker", model), tokenizer, end=0)
    model.generation_config = GenerationConfig(
        eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    if layout["image"]:
        turn = "{% for message in messages %}{{ message['role'] }}: " + MESSAGE.replace(
            "IMAGE", layout["image"]
        )
        processor.chat_template = (
            turn + "\n{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}"
        )
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    change_json(
        folder / "tokenizer_config.json",
        lambda it: it.update(model_specific_special_tokens=layout["tokens"]),
    )
    return folder
