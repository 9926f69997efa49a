"""A CLIP in open_clip's own layout, in a file of its own because that library takes seconds to
import."""

import json
from pathlib import Path

import open_clip
from safetensors.torch import save_file

from tests.support.checkpoints.encoders import PATCH, SIDE
from tests.support.checkpoints.text import CLIP_LENGTH
from tests.support.checkpoints.weights import randomise, seeded


def build_open_clip(folder: Path, seed: int = 0) -> Path:
    """A folder for open_clip's ``local-dir:``; its tokenizer is the one in open_clip's wheel."""
    model = {
        "embed_dim": 24,
        "vision_cfg": {
            "image_size": SIDE,
            "layers": 2,
            "width": 32,
            "head_width": 16,
            "patch_size": PATCH,
        },
        "text_cfg": {
            "context_length": CLIP_LENGTH,
            "vocab_size": 49408,
            "width": 8,
            "heads": 2,
            "layers": 2,
        },
    }
    preprocess = {
        "mean": open_clip.OPENAI_DATASET_MEAN,
        "std": open_clip.OPENAI_DATASET_STD,
        "interpolation": "bicubic",
        "resize_mode": "shortest",
    }
    config = {"model_cfg": model, "preprocess_cfg": preprocess}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "open_clip_config.json").write_text(json.dumps(config, indent=2), encoding="utf-8")
    with seeded(seed):
        weights = randomise(open_clip.CLIP(**model)).state_dict()
    save_file(weights, folder / "open_clip_model.safetensors", {"format": "pt"})
    return folder
