"""Wall time of chains whose model and generator are behind a service, against the ideal and against one call at a time.

The adapters are the real ones, over real sockets, against a local server, in a process of its own, that takes its time
with every answer. The limit holds for the model and for the generator each, so that ideally one half of the samples is
being described while the other is being drawn.
"""

import argparse
import math
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from random import Random

import openai  # noqa: F401
from _report import write
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from driftledger.collect.call_store import CallStore  # noqa: E402
from driftledger.commands.stages import ask  # noqa: E402
from driftledger.components.generators.openai_images import OpenAIImages  # noqa: E402
from driftledger.components.models.openai_chat import OpenAIChat  # noqa: E402
from driftledger.components.remote.limits import Limits  # noqa: E402
from driftledger.core.canonical import sha256_file  # noqa: E402
from driftledger.core.types import ImageFile, Sample  # noqa: E402
from tests.support.chains import chains as chain_stage  # noqa: E402
from tests.support.openai_server import OpenAIServer  # noqa: E402

SAMPLES = 64
ITERATIONS = 3
CONCURRENCY = 32
LATENCY = 1.0
ALONE = 1
"""Samples of the run with one call after another; its time per sample stands for all."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", metavar="WxH", help="be the server, and print the address")
    parser.add_argument("--side", type=int, default=512, help="of the images, in pixels")
    arguments = parser.parse_args()
    if arguments.serve:
        serve(arguments.serve)
        return
    calls = SAMPLES * ITERATIONS * 2
    ideal = (math.ceil(SAMPLES / CONCURRENCY) * ITERATIONS + 1) * LATENCY
    at_once = measure(SAMPLES, CONCURRENCY, arguments.side)
    alone = measure(ALONE, 1, arguments.side) * SAMPLES / ALONE
    print(f"{calls} calls of {LATENCY:g} s, {CONCURRENCY} at once per service, images of {arguments.side} pixels")
    print(f"{at_once:.2f} s against an ideal {ideal:.2f} s: {at_once / ideal:.3f}×")
    print(f"one call after another {alone:.0f} s: {alone / at_once:.1f}× slower")
    results = {
        "samples": SAMPLES,
        "iterations": ITERATIONS,
        "concurrency": CONCURRENCY,
        "latency_seconds": LATENCY,
        "image_side": arguments.side,
        "seconds": round(at_once, 2),
        "ideal_seconds": ideal,
        "ratio_to_ideal": round(at_once / ideal, 3),
        "seconds_one_after_another": round(alone, 1),
        "speed_up": round(alone / at_once, 1),
    }
    write("remote", results, libraries=("openai", "pillow"))


def serve(size: str) -> None:
    width, _, height = size.partition("x")
    with OpenAIServer(latency=LATENCY, image_size=(int(width), int(height))) as server:
        print(server.base_url, flush=True)
        sys.stdin.read()


def measure(samples: int, concurrency: int, side: int) -> float:
    """Seconds that the chains of so many samples take."""
    command = [sys.executable, __file__, "--serve", f"{side}x{side}"]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        try:
            return _seconds(Path(folder), server.stdout.readline().strip(), samples, concurrency, side)
        finally:
            server.communicate("")


def _seconds(folder: Path, address: str, samples: int, concurrency: int, side: int) -> float:
    limits = Limits(concurrency=concurrency)
    model = OpenAIChat(model="vision-1", base_url=address, api_key_env=None, limits=limits)
    generator = OpenAIImages(
        model="image-1", base_url=address, api_key_env=None, image_size=f"{side}x{side}", limits=limits
    )
    stage = chain_stage([_sample(folder, number) for number in range(samples)], model, generator, ITERATIONS)
    with CallStore(folder / "store") as store:
        started = time.perf_counter()
        chains = ask(stage, store)
        seconds = time.perf_counter() - started
    if any(len(chain) < ITERATIONS for chain in chains):
        raise RuntimeError("a chain stopped early")
    return seconds


def _sample(folder: Path, number: int) -> Sample:
    path = folder / f"{number}.png"
    random = Random(number)
    colours = [tuple(random.randrange(256) for _ in range(3)) for _ in range(64)]
    small = Image.new("RGB", (8, 8))
    small.putdata(colours)
    small.resize((256, 256), Image.Resampling.NEAREST).save(path)
    return Sample(f"s{number}", ImageFile(path, sha256_file(path)))


if __name__ == "__main__":
    main()
