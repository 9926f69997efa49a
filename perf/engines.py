"""One vision-language checkpoint in every engine: one at a time, in our batches, and in vLLM.

Run: python perf/engines.py [--reduced] [--images N] [--batches N ...] (minutes)

With a GPU it is LLaVA-1.5-7B's shapes with random weights, else reduced ones, whose ratios say little about the full
size. vLLM is measured where there is a GPU and it is installed. *Around generate* is the share of our time in which no
``model.generate`` runs: preprocessing that nothing hides, reading the answers, and replies. It is taken in one run with
its total, so that a busy machine is busy for both. Nothing hides the preprocessing of the first batch, so that there
are several of each size.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import torch
from _report import write
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from _architectures import FULL, REDUCED, build_llava  # noqa: E402

from driftledger.components.transformers import Transformers  # noqa: E402
from driftledger.components.vllm import VLLM  # noqa: E402
from driftledger.core.canonical import sha256_file  # noqa: E402
from driftledger.core.types import Conversation, ImageFile  # noqa: E402

ROUNDS = 2
PROMPT = "Please write a clear, precise, detailed, and concise description of all elements in the image."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--reduced", action="store_true", help="measure the reduced shapes even on a GPU")
    parser.add_argument("--images", type=int, help="how many are described")
    parser.add_argument("--batches", type=int, nargs="+", default=[4, 16], help="sizes beside 1")
    arguments = parser.parse_args()
    full = torch.cuda.is_available() and not arguments.reduced
    scale, count, tokens = (FULL, 64, 128) if full else (REDUCED, 64, 32)
    count = arguments.images or count
    with tempfile.TemporaryDirectory() as folder:
        weights = build_llava(Path(folder) / "llava", scale)
        asked = [Conversation.ask(PROMPT, _noise(Path(folder), number, scale.image_side)) for number in range(count)]
        path = str(Path(folder) / "llava")
        sizes = [1, *arguments.batches]
        rows = by_transformers(path, tokens, asked, sizes)
        if torch.cuda.is_available() and find_spec("vllm") is not None:
            rows["vllm"] = by_vllm(path, tokens, asked)
        else:
            print("not measured, since it takes a GPU and an installation: vLLM")
    for row in rows.values():
        row["times_one_at_a_time"] = round(row["per_second"] / rows["batches of 1"]["per_second"], 2)
    print(f"{'':<28}{'calls/s':>9}{'times 1':>9}{'around generate':>17}")
    for name, row in rows.items():
        around = f"{row['around_generate_percent']} %" if "around_generate_percent" in row else ""
        print(f"{name:<28}{row['per_second']:>9}{row['times_one_at_a_time']:>9}{around:>17}")
    results = {"full_size": full, "weights": weights, "new_tokens": tokens, "images": count, "engines": rows}
    libraries = ["torch", "transformers", *(["vllm"] if "vllm" in rows else [])]
    write("engines" if full else "engines_reduced", results, libraries)


def by_transformers(
    path: str, tokens: int, asked: Sequence[Conversation], sizes: Sequence[int], **settings: Any
) -> dict[str, Any]:
    """Our adapter by batch size; the next batch is prepared beside the one that is computed, as the stages do."""
    model = Transformers(path=path, max_new_tokens=tokens, dtype=_dtype(), **settings)
    inside = _Timed(model.loaded.model.generate)
    model.loaded.model.generate = inside
    best: dict[int, tuple[float, float]] = {}
    for turn in range(ROUNDS + 1):  # the first warms up
        for size in sizes:
            batches = [asked[start : start + size] for start in range(0, len(asked), size)]
            inside.seconds = 0.0
            started = time.perf_counter()
            for number, batch in enumerate(batches):
                if number == 0:
                    model.prepare(batch)
                replies = _respond(model, batch, batches[number + 1 : number + 2])
                assert len(replies) == len(batch)
            taken = (time.perf_counter() - started, inside.seconds)
            if turn:
                best[size] = min(best.get(size, taken), taken)
    model.release()
    return {
        f"batches of {size}": {
            "per_second": round(len(asked) / total, 3),
            "around_generate_percent": round(100 * (1 - generating / total), 1),
        }
        for size, (total, generating) in best.items()
    }


def _respond(model: Transformers, batch: Sequence[Conversation], following: Sequence[Sequence[Conversation]]) -> Any:
    for each in following:
        model.prepare(each)
    return model.respond(batch)


class _Timed:
    """A function that adds up how long it took, the device included."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function = function
        self.seconds = 0.0

    def __call__(self, *given: Any, **settings: Any) -> Any:
        started = time.perf_counter()
        made = self._function(*given, **settings)
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        self.seconds += time.perf_counter() - started
        return made


def by_vllm(path: str, tokens: int, asked: Sequence[Conversation]) -> dict[str, Any]:
    """vLLM's engine, which is handed everything at once and batches by itself."""
    model = VLLM(path=path, max_new_tokens=tokens, dtype="bfloat16")
    seconds = []
    for _ in range(ROUNDS + 1):
        started = time.perf_counter()
        model.respond(asked)
        seconds.append(time.perf_counter() - started)
    model.release()
    return {"per_second": round(len(asked) / min(seconds[1:]), 3)}


def _noise(folder: Path, number: int, side: int) -> ImageFile:
    path = folder / f"{number}.png"
    random = torch.Generator().manual_seed(number)
    pixels = torch.randint(0, 256, (8, 8, 3), dtype=torch.uint8, generator=random)
    Image.fromarray(pixels.numpy()).resize((side, side)).save(path)
    return ImageFile(path, sha256_file(path))


def _dtype() -> Any:
    return "bfloat16" if torch.cuda.is_available() else "float32"


if __name__ == "__main__":
    main()
