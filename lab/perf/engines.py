"""Two checkpoints on this machine's GPU: how much of the bare library's speed is left?

Run: python -m lab.perf.engines MODEL GENERATOR (folders of a vision-language model and of a
pipeline that draws 1024 × 1024 pixels)

The opponent is a loop around the very same loaded weights. The images are noise.
"""

import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

from driftledger.components.diffusers import Diffusers
from driftledger.components.transformers import Transformers
from driftledger.core.canonical import sha256_file
from driftledger.core.types import Conversation, Medium
from lab.perf._report import Row, row, write

PROMPT = "Please write a clear, precise, detailed description of the image."
DTYPE = "bfloat16"
TOKENS = 128
SIDE = 336
DRAWN = {"width": 1024, "height": 1024}
STEPS = 20


def main(model_path: str, generator_path: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = Transformers(
            path=model_path, dtype=DTYPE, max_new_tokens=TOKENS, batch_size=16
        )
        conversations = [asked(folder / f"{seed}.png", seed) for seed in range(64)]
        generator = Diffusers(
            path=generator_path, dtype=DTYPE, steps=STEPS, batch_size=4, **DRAWN
        )
        rows = []
        for size, count in ((1, 2), (16, 32), (64, 64)):
            what = f"describe, batches of {size}"
            batches = [conversations[at : at + size] for at in range(0, count, size)]
            bare = partial(bare_descriptions, model)
            rows.append(compared(what, batches, model.respond, bare))
        for size, count in ((1, 2), (4, 4)):
            what = f"draw, batches of {size}"
            seeds = [range(at, at + size) for at in range(0, count, size)]
            ours = partial(generator.generate, ["a house"] * size)
            rows.append(compared(what, seeds, ours, partial(bare_drawings, generator)))
    memory = torch.cuda.max_memory_allocated() / 2**30
    rows.append(row("memory of the GPU at most", memory, "GiB"))
    write("engines", rows, ("torch", "transformers", "diffusers"))


def compared(
    what: str,
    batches: Sequence[Sequence[Any]],
    ours: Callable[[Any], object],
    bare: Callable[[Any], object],
) -> Row:
    """Time both in turn, twice after a first round that warms up; the faster of each counts."""

    def seconds(contestant: Callable[[Any], object]) -> float:
        torch.cuda.synchronize()
        began = time.perf_counter()
        for batch in batches:
            contestant(batch)
        torch.cuda.synchronize()
        return time.perf_counter() - began

    _, *times = [(seconds(ours), seconds(bare)) for _ in range(3)]
    count = sum(map(len, batches))
    pace = count / min(each for each, _ in times)
    bare_pace = count / min(each for _, each in times)
    beside = f"{pace / bare_pace:.1%} of the bare library's {bare_pace:.2f}"
    return row(what, pace, "calls a second", beside=beside)


def asked(file: Path, seed: int) -> Conversation:
    """Return a question about an image of noise."""
    random = np.random.default_rng(seed)
    pixels = random.integers(0, 256, (SIDE, SIDE, 3), dtype=np.uint8)
    Image.fromarray(pixels).save(file)
    return Conversation.ask(PROMPT, Medium(file, sha256_file(file)))


def bare_descriptions(model: Transformers, batch: Sequence[Conversation]) -> list[str]:
    """Describe images by transformers alone, with the weights that ``model`` has loaded."""
    ready = model.loaded
    processor = ready.chat.processor
    content = [{"type": "image"}, {"type": "text", "text": PROMPT}]
    prompt = processor.apply_chat_template(
        [{"role": "user", "content": content}], add_generation_prompt=True
    )
    media = [each.last_medium for each in batch]
    images = [Image.open(medium.path).convert("RGB") for medium in media if medium]
    inputs = processor(
        text=[prompt] * len(batch), images=images, padding=True, return_tensors="pt"
    ).to(ready.model.device, torch.bfloat16)
    with torch.inference_mode():
        ids = ready.model.generate(**inputs, max_new_tokens=TOKENS, do_sample=False)
    new = ids[:, inputs["input_ids"].shape[1] :]
    texts: list[str] = processor.batch_decode(new, skip_special_tokens=True)
    return texts


def bare_drawings(generator: Diffusers, seeds: Sequence[int]) -> Any:
    """Draw by diffusers alone, with the weights that ``generator`` has loaded."""
    with torch.inference_mode():
        return generator.loaded.pipeline(
            prompt=["a house"] * len(seeds),
            generator=[torch.Generator("cpu").manual_seed(seed) for seed in seeds],
            num_inference_steps=STEPS,
            output_type="pil",
            **DRAWN,
        ).images


if __name__ == "__main__":
    main(*sys.argv[1:])
