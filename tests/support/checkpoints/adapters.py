"""A tiny LoRA for a tiny checkpoint, as peft saves it."""

from pathlib import Path

import peft
import torch
from transformers import AutoModelForImageTextToText

from tests.support.checkpoints.weights import seeded

LANGUAGE = r".*language_model.*\.(q_proj|v_proj)"


def build_adapter(
    base: Path, folder: Path, targets: str = LANGUAGE, use_dora: bool = False
) -> Path:
    """Adapt the layers whose names match ``targets``, strongly enough to change what is said."""
    model = AutoModelForImageTextToText.from_pretrained(base)
    config = peft.LoraConfig(
        r=4, lora_alpha=32, target_modules=targets, use_dora=use_dora
    )
    with seeded(1):
        adapted = peft.get_peft_model(model, config)
        for name, weight in adapted.named_parameters():
            if "lora_" in name:
                weight.data += torch.randn_like(weight) / 2
    adapted.save_pretrained(folder)
    return folder


def merge(base: Path, adapter: Path) -> None:
    """Add an adapter's product to the weights of its base, in the place of the base."""
    model = AutoModelForImageTextToText.from_pretrained(base)
    merged = peft.PeftModel.from_pretrained(model, adapter).merge_and_unload()
    merged.save_pretrained(base)
