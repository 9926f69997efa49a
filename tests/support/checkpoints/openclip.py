"""A CLIP in open_clip's own layout, in a file of its own because that library takes seconds to
import."""

import json
from pathlib import Path

import open_clip
from safetensors.torch import save_file

from tests.support.checkpoints.weights import PARTS, randomise, seeded


def build_open_clip(folder: Path, seed: int = 0) -> Path:
    """A folder for open_clip's ``local-dir:``; its tokenizer is the one in open_clip's wheel."""
    model = PARTS["open_clip"]
    preprocess = {
        "mean": open_clip.OPENAI_DATASET_MEAN,
        "std": open_clip.OPENAI_DATASET_STD,
        "interpolation": "bicubic",
        "resize_mode": "shortest",
    }
    config = {"model_cfg": model, "preprocess_cfg": preprocess}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "open_clip_config.json").write_text(
        json.dumps(config, indent=2), encoding="utf-8"
    )
    with seeded(seed):
        weights = randomise(open_clip.CLIP(**model)).state_dict()
    save_file(weights, folder / "open_clip_model.safetensors", {"format": "pt"})
    return folder
