"""A vision-language checkpoint one at a time, in batches, and in vLLM: which is fastest on this
machine?

Run: python perf/engines.py PATH

PATH is a folder with a checkpoint that transformers loads. vLLM is measured if it is installed and
there is a GPU. The images are noise, so that a model answers at its full length.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import torch
from _report import write
from PIL import Image

from driftledger.components.base import Model
from driftledger.components.transformers import Transformers
from driftledger.components.vllm import VLLM
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium

PROMPT = (
    "Please write a clear, precise, detailed, and concise description of all elements "
    "in the image."
)
TOKENS, SIDE, IMAGES, BATCHES = 128, 336, 64, (1, 4, 16)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        asked = [
            Conversation.ask(PROMPT, noise(Path(folder), number))
            for number in range(IMAGES)
        ]
        model = Transformers(path=sys.argv[1], max_new_tokens=TOKENS)
        rows = {
            f"batches of {size}": per_second(model, asked, size) for size in BATCHES
        }
        if torch.cuda.is_available() and find_spec("vllm") is not None:
            engine = VLLM(path=sys.argv[1], max_new_tokens=TOKENS)
            rows["vllm"] = per_second(engine, asked, len(asked))
    what = f"{Path(sys.argv[1]).name}, {IMAGES} images"
    shown = [
        {
            "what": f"{what}, {name}",
            "value": value,
            "unit": "calls a second",
            "goal": None,
            "beside": "",
        }
        for name, value in rows.items()
    ]
    write(
        "engines",
        {"rows": shown},
        ("torch", "transformers", *(["vllm"] if "vllm" in rows else [])),
    )


def noise(folder: Path, number: int) -> Medium:
    file = folder / f"{number}.png"
    pixels = np.random.default_rng(number).integers(
        0, 256, (SIDE, SIDE, 3), dtype=np.uint8
    )
    Image.fromarray(pixels).save(file)
    return Medium(file, sha256_file(file))


def per_second(model: Model, asked: Sequence[Conversation], size: int) -> float:
    """Calls a second in batches of a size, after one batch that warms up."""
    respond: Callable[[Sequence[Conversation]], object] = model.respond
    respond(asked[:size])
    began = time.perf_counter()
    for start in range(0, len(asked), size):
        respond(asked[start : start + size])
    return round(len(asked) / (time.perf_counter() - began), 2)


if __name__ == "__main__":
    main()
