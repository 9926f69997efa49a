"""What the encoder of a first answer takes on a CPU: ``python -m lab.encoder_time`` in the top
folder, twenty minutes of CPU and 9 GB of memory.

The network has the published sizes of Qwen3-VL-Embedding-2B (its ``config.json``) and random
weights, which take as long as trained ones. Time is the processor's, so that other work on the
machine does not count.
"""

import time
from typing import Any

import torch
from transformers import Qwen3VLConfig, Qwen3VLModel

CORES = 2
BATCH = 4
"""As in the catalogue."""
SIDE = 512
"""Pixels; the bound of the catalogue."""
TEXT = 300
"""Tokens of a long description."""
IMAGES = 100
TEXTS = 200
LANGUAGE = {
    "hidden_size": 2048,
    "num_hidden_layers": 28,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "intermediate_size": 6144,
    "vocab_size": 151936,
}
VISION = {
    "depth": 24,
    "hidden_size": 1024,
    "intermediate_size": 4096,
    "num_heads": 16,
    "out_hidden_size": 2048,
    "patch_size": 16,
    "spatial_merge_size": 2,
    "temporal_patch_size": 2,
    "deepstack_visual_indexes": [5, 11, 17],
}


def images(config: Qwen3VLConfig) -> dict[str, Any]:
    """Return the input of a batch of square images, each with a few words of the template."""
    vision = config.vision_config
    side = SIDE // vision.patch_size
    values = 3 * vision.temporal_patch_size * vision.patch_size**2
    words = torch.full((BATCH, 15), 100)
    tokens = side**2 // vision.spatial_merge_size**2
    places = torch.full((BATCH, tokens), config.image_token_id)
    start = torch.full((BATCH, 1), config.vision_start_token_id)
    end = torch.full((BATCH, 1), config.vision_end_token_id)
    ids = torch.cat([words, start, places, end, words], dim=1)
    return {
        "input_ids": ids,
        "attention_mask": torch.ones_like(ids),
        "pixel_values": torch.randn(BATCH * side**2, values),
        "image_grid_thw": torch.tensor([[1, side, side]] * BATCH),
        "mm_token_type_ids": (ids == config.image_token_id).int(),
    }


def texts() -> dict[str, Any]:
    """Return the input of a batch of texts."""
    ids = torch.randint(0, 1000, (BATCH, TEXT))
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids)}


def seconds(model: Qwen3VLModel, batch: dict[str, Any], times: int = 3) -> float:
    """Return the CPU seconds of one input of a batch: the least of some, after a first call."""
    model(**batch, use_cache=False)
    taken = []
    for _ in range(times):
        start = time.process_time()
        model(**batch, use_cache=False)
        taken.append(time.process_time() - start)
    return min(taken) / BATCH


def main() -> None:
    """Print the seconds of an image and of a text, and the minutes of a first answer."""
    torch.set_num_threads(CORES)
    config = Qwen3VLConfig(text_config=LANGUAGE, vision_config=VISION)
    print(f"{'dtype':9} {'CPU s, image':>13} {'CPU s, text':>12} {'minutes':>8}")
    for dtype in (torch.bfloat16, torch.float32):
        torch.set_default_dtype(dtype)
        model = Qwen3VLModel(config).eval()
        with torch.inference_mode():
            image = seconds(model, images(config))
            text = seconds(model, texts())
        minutes = (IMAGES * image + TEXTS * text) / 60 / CORES
        name = str(dtype).removeprefix("torch.")
        print(f"{name:9} {image:13.1f} {text:12.1f} {minutes:8.0f}", flush=True)
        del model


if __name__ == "__main__":
    main()
