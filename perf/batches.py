"""Images per second in batches against one at a time, through the adapters, with the shapes of the papers' models.

Needs a GPU for LLaVA-1.5-7B and Stable Diffusion 1.4; without one it measures reduced shapes, and says so.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch
from _report import write
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from _architectures import FULL, REDUCED, Scale, build_llava, build_stable_diffusion  # noqa: E402

from driftledger.components.generators.diffusers import Diffusers  # noqa: E402
from driftledger.components.models.transformers import Transformers  # noqa: E402
from driftledger.core.canonical import sha256_file  # noqa: E402
from driftledger.core.types import Conversation, ImageFile  # noqa: E402

PROMPT = "Please write a clear, precise, detailed, and concise description of all elements in the image."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="measure the reduced shapes even on a GPU")
    parser.add_argument("--images", type=int, help="how many are described and drawn")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16], help="sizes beside 1")
    arguments = parser.parse_args()
    full = torch.cuda.is_available() and not arguments.reduced
    scale, images = (FULL, 32) if full else (REDUCED, 16)
    results: dict[str, Any] = {"full_size": full, "device": _device()}
    if not full:
        print("no GPU is used: these are reduced shapes, whose ratios say little about the full-size models")
    sizes = [1, *arguments.batches]
    with tempfile.TemporaryDirectory() as folder:
        count = arguments.images or images
        results["llava_1_5_7b"] = describing(Path(folder) / "llava", scale, count, sizes)
        results["stable_diffusion_1_4"] = drawing(Path(folder) / "diffusion", scale, count, sizes)
    write("batches" if full else "batches_reduced", results, libraries=("torch", "transformers", "diffusers"))


def describing(folder: Path, scale: Scale, images: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Throughput of the vision-language model by batch size."""
    weights = build_llava(folder, scale)
    tokens = 128 if scale is FULL else 32
    model = Transformers(path=str(folder), max_new_tokens=tokens, dtype=_dtype())
    shown = [_noise(folder.parent, number, scale.image_side) for number in range(images)]
    asked = [Conversation.ask(PROMPT, image) for image in shown]
    found = measure("LLaVA", model.respond, asked, sizes)
    model.release()
    return {"weights": weights, "dtype": model.dtype, "new_tokens": tokens, "images": images, **found}


def drawing(folder: Path, scale: Scale, images: int, sizes: Sequence[int]) -> dict[str, Any]:
    """Throughput of the generator by batch size."""
    weights = build_stable_diffusion(folder, scale)
    steps = 50 if scale is FULL else 5
    side = scale.drawn_side
    generator = Diffusers(path=str(folder), steps=steps, height=side, width=side, dtype=_dtype())
    prompts = [f"A painting of {number} boats on a lake" for number in range(images)]
    found = measure("Stable Diffusion", lambda some: generator.generate(some, range(len(some))), prompts, sizes)
    generator.release()
    return {"weights": weights, "dtype": generator.dtype, "steps": steps, "side": side, "images": images, **found}


def measure(name: str, call: Callable[[Any], Any], things: Sequence[Any], sizes: Sequence[int]) -> dict[str, Any]:
    """Things per second by batch size, after one batch to warm up, and how many times that of one at a time."""
    rates: dict[int, float] = {}
    for size in sizes:
        call(things[:size])
        started = time.perf_counter()
        for start in range(0, len(things), size):
            call(things[start : start + size])
        rates[size] = len(things) / (time.perf_counter() - started)
        print(f"{name}, batches of {size}: {rates[size]:.2f} per second, {rates[size] / rates[1]:.2f}×", flush=True)
    return {
        "per_second": {str(size): round(rate, 3) for size, rate in rates.items()},
        "speed_up": {str(size): round(rate / rates[1], 2) for size, rate in rates.items()},
    }


def _noise(folder: Path, number: int, side: int) -> ImageFile:
    path = folder / f"{number}.png"
    random = torch.Generator().manual_seed(number)
    pixels = torch.randint(0, 256, (8, 8, 3), dtype=torch.uint8, generator=random)
    Image.fromarray(pixels.numpy()).resize((side, side)).save(path)
    return ImageFile(path, sha256_file(path))


def _dtype() -> Any:
    return "bfloat16" if torch.cuda.is_available() else "float32"


def _device() -> str:
    return torch.cuda.get_device_name() if torch.cuda.is_available() else "cpu"


if __name__ == "__main__":
    main()
