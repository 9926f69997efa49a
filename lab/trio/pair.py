"""The pair of towers: an open_clip model whose image tower and text tower agree on arrangements."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import open_clip
import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import CLIPTokenizer

from driftledger_demo.datasets.arrangements.grammar import SIDE
from lab.trio.autoencoder import MIDDLE, as_input
from lab.trio.loop import half
from lab.trio.stream import Random, arrangements, images, worn

_BATCH = 192


def settings(tokenizer: CLIPTokenizer) -> dict[str, Any]:
    """``model_cfg`` of ``open_clip_config.json``."""
    return {
        "embed_dim": 64,
        "vision_cfg": {
            "image_size": SIDE,
            "layers": 3,
            "width": 64,
            "head_width": 32,
            "patch_size": 8,
        },
        "text_cfg": {
            "context_length": tokenizer.model_max_length,
            "vocab_size": len(tokenizer),
            "width": 64,
            "heads": 2,
            "layers": 3,
            # open_clip then takes the tokenizer beside its configuration
            "hf_tokenizer_name": "captions",
            "pad_id": tokenizer.pad_token_id,
            "eos_id": tokenizer.eos_token_id,
            "pool_type": "eos",
        },
    }


def build(tokenizer: CLIPTokenizer) -> open_clip.CLIP:
    """Untrained."""
    chosen = settings(tokenizer)
    text = {
        key: value
        for key, value in chosen["text_cfg"].items()
        if key != "hf_tokenizer_name"
    }
    return open_clip.CLIP(**{**chosen, "text_cfg": text})


@dataclass(frozen=True)
class Contrast:
    """Cross-entropy of which caption belongs to which image of a batch, and of which image to which
    caption."""

    model: open_clip.CLIP
    tokenizer: CLIPTokenizer
    device: str

    def __call__(self, random: Random) -> Tensor:
        some = arrangements(random, _BATCH)
        pixels = as_input(worn(random, images(some))).to(self.device)
        tokens = self.tokenizer(
            [one.caption for one in some], padding="max_length", return_tensors="pt"
        ).input_ids
        with half(self.device):
            seen = self.model.encode_image(pixels, normalize=True)
            read = self.model.encode_text(tokens.to(self.device), normalize=True)
        scores = (
            self.model.logit_scale.exp().clamp(max=100) * seen.float() @ read.float().T
        )
        own = torch.arange(_BATCH, device=scores.device)
        return (
            nn.functional.cross_entropy(scores, own)
            + nn.functional.cross_entropy(scores.T, own)
        ) / 2


def save(folder: Path, model: open_clip.CLIP, tokenizer: CLIPTokenizer) -> None:
    """A folder for open_clip's ``local-dir:``, weights in half precision."""
    folder.mkdir(parents=True, exist_ok=True)
    preprocess = {
        "mean": MIDDLE,
        "std": MIDDLE,
        "interpolation": "bicubic",
        "resize_mode": "shortest",
    }
    config = {"model_cfg": settings(tokenizer), "preprocess_cfg": preprocess}
    (folder / "open_clip_config.json").write_text(
        json.dumps(config, indent=2) + "\n", encoding="utf-8"
    )
    weights = {
        key: value.contiguous() for key, value in model.half().state_dict().items()
    }
    save_file(weights, folder / "open_clip_model.safetensors", {"format": "pt"})
    tokenizer.save_pretrained(folder)
