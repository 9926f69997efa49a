"""Chains whose model and generator are behind a service, beside bare loops that make the same calls.

The adapters are the real ones, over real sockets, against a local server, in a process of its own, that takes its time
with every answer. It shares this machine, so that its answers are made before the clock starts. The limit holds for the
model and for the generator each, so that ideally one half of the samples is being described while the other is being
drawn.

Where answers fail, an attempt that fails takes as long as one that does not, and the same attempts at the same calls
fail for everybody. What the longest of the chains then takes by itself, without any wait, is ``least_ratio`` of the
ideal: nobody can be faster. The mean of several draws counts.

The opponents store nothing but the images, claim nothing, count no money and check no answer: a loop over ``httpx2``,
and the same over ``openai`` with the client's own retries. All three run in turn in one process against servers of the
same kind. CPU time is this process's; what the server needs is not in it, but takes its part of the machine.
"""

import argparse
import asyncio
import base64
import io
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import httpx2
import numpy as np
import openai
from _report import write
from _service import Chances, Service, calls_of
from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from driftledger.collect.store import CallStore  # noqa: E402
from driftledger.components.openai import OpenAIChat, OpenAIImages  # noqa: E402
from driftledger.components.service import Limits  # noqa: E402
from driftledger.core.canonical import sha256_file  # noqa: E402
from driftledger.core.types import ImageFile, Sample  # noqa: E402
from driftledger.project.asking import ask  # noqa: E402
from tests.support.chains import chains as chain_stage  # noqa: E402

ITERATIONS = 3
ATTEMPTS = 8

Post = Callable[[str, dict[str, Any]], Awaitable[dict[str, Any]]]
Opened = Callable[[str, int], AbstractAsyncContextManager[Post]]


class Load(NamedTuple):
    """What is asked, and of what server."""

    samples: int
    width: int
    latency: float
    failing: float = 0.0
    """The share of answers that are a 503 without Retry-After."""
    draws: int = 1
    """How often it is drawn which answers fail."""

    @property
    def calls(self) -> int:
        return self.samples * ITERATIONS * 2

    @property
    def ideal(self) -> float:
        """Seconds in which no slot is ever empty and no answer fails."""
        return (math.ceil(self.samples / self.width) * ITERATIONS + 1) * self.latency

    @property
    def least_ratio(self) -> float:
        """What the longest chain takes by itself, over the ideal; the mean of the draws."""
        chances = [Chances(self.failing, draw) for draw in range(self.draws)]
        chains = [list(calls_of(chain, ITERATIONS)) for chain in range(self.samples)]
        longest = [max(sum(map(each.attempts, chain)) for chain in chains) for each in chances]
        return max(1.0, sum(longest) / len(longest) * self.latency / self.ideal)


LOADS = {
    "width_32": Load(64, 32, 1.0),
    "width_200": Load(400, 200, 1.0),
    "width_500": Load(1000, 500, 1.0),
    "width_32_failing": Load(64, 32, 1.0, 0.3, draws=3),
    "no_latency": Load(64, 32, 0.0),
}


class Took(NamedTuple):
    """What a load took."""

    seconds: float
    cpu: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--serve", metavar="LATENCY,FAILING,DRAW,SAMPLES", help="be the server, and print the address")
    parser.add_argument("--side", type=int, default=512, help="of the images, in pixels")
    parser.add_argument("--only", choices=sorted(LOADS), nargs="+", help="measure these and write nothing")
    arguments = parser.parse_args()
    if arguments.serve:
        latency, failing, draw, samples = arguments.serve.split(",")
        chances = Chances(float(failing), int(draw))
        pictures = [first_picture(number) for number in range(int(samples))]
        asyncio.run(serve(Service(pictures, ITERATIONS, arguments.side, float(latency), chances)))
        return
    for measured in OPPONENTS.values():  # imports and first connections
        measure(Load(1, 1, 0.0), arguments.side, measured)
    results: dict[str, Any] = {
        "iterations": ITERATIONS,
        "image_side": arguments.side,
        "clock": "ratio_to_ideal by wall time, cpu_ms_per_call by CPU time of the asking process",
    }
    for name in arguments.only or LOADS:
        load = LOADS[name]
        results[name] = load._asdict() | {"calls": load.calls}
        if load.failing:
            results[name]["least_ratio"] = round(load.least_ratio, 3)
        took = in_turn(load, arguments.side)
        results[name] |= {who: row(load, each) for who, each in took.items()}
        for who, each in took.items():
            print(f"{name}, {who}: {row(load, each)}", flush=True)
    if not arguments.only:
        write("remote", results, libraries=("openai", "httpx2", "pillow"))


def row(load: Load, took: Took) -> dict[str, float]:
    found = {"calls_per_second": round(load.calls / took.seconds, 1)}
    found |= {"cpu_ms_per_call": round(took.cpu / load.calls * 1e3, 2)}
    return found | ({"ratio_to_ideal": round(took.seconds / load.ideal, 3)} if load.ideal else {})


async def serve(service: Service) -> None:
    """Answer until the standard input ends."""
    async with await service.listen() as server:
        print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
        await asyncio.to_thread(sys.stdin.read)


def in_turn(load: Load, side: int) -> dict[str, Took]:
    """What a load takes on the average."""
    draws = [{who: measure(load, side, each, draw) for who, each in OPPONENTS.items()} for draw in range(load.draws)]
    return {who: Took(*np.mean([each[who] for each in draws], axis=0).tolist()) for who in OPPONENTS}


def measure(load: Load, side: int, measured: Callable[[Load, list[Sample], str, Path], None], draw: int = 0) -> Took:
    """What the chains of a load take against a server of their own."""
    settings = f"{load.latency},{load.failing},{draw},{load.samples}"
    command = [sys.executable, __file__, "--side", f"{side}", "--serve", settings]
    with (
        tempfile.TemporaryDirectory() as folder,
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server,
    ):
        assert server.stdout is not None
        try:
            address = server.stdout.readline().strip()
            samples = [_sample(Path(folder), number) for number in range(load.samples)]
            started, cpu = time.perf_counter(), time.process_time()
            measured(load, samples, address, Path(folder))
            return Took(time.perf_counter() - started, time.process_time() - cpu)
        finally:
            server.communicate("")


def ours(load: Load, samples: list[Sample], address: str, folder: Path) -> None:
    """As a stage asks."""
    limits = Limits(concurrency=load.width, attempts=ATTEMPTS)
    settings: dict[str, Any] = {"base_url": address, "api_key_env": None, "limits": limits}
    model = OpenAIChat(model="vision-1", **settings)
    generator = OpenAIImages(model="image-1", image_size=None, **settings)
    stage = chain_stage(samples, model, generator, ITERATIONS)
    with CallStore(folder / "store") as store:
        chains = ask(stage, store)
    if any(len(chain) < ITERATIONS for chain in chains):
        raise RuntimeError("a chain stopped early")


@asynccontextmanager
async def over_httpx(address: str, width: int) -> AsyncIterator[Post]:
    """A POST that tries again at once."""
    limits = httpx2.Limits(max_connections=2 * width, max_keepalive_connections=2 * width)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=120) as client:

        async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            for _ in range(ATTEMPTS):
                response = await client.post(path, json=body)
                if response.is_success:
                    return dict(response.json())
            raise RuntimeError(f"{ATTEMPTS} attempts failed")

        yield post


@asynccontextmanager
async def over_openai(address: str, width: int) -> AsyncIterator[Post]:
    """A POST that tries again as the client does by itself."""
    limits = httpx2.Limits(max_connections=2 * width, max_keepalive_connections=2 * width)
    http = openai.DefaultAsyncHttpxClient(limits=limits, timeout=120)
    async with openai.AsyncOpenAI(api_key="none", base_url=address, max_retries=ATTEMPTS, http_client=http) as client:

        async def post(path: str, body: dict[str, Any]) -> dict[str, Any]:
            return dict((await client.post(path, body=body, cast_to=httpx2.Response)).json())

        yield post


def bare(opened: Opened) -> Callable[[Load, list[Sample], str, Path], None]:
    """The same calls in a loop, as short as it can be written."""

    async def run(load: Load, samples: list[Sample], address: str, folder: Path) -> None:
        describing, drawing = asyncio.Semaphore(load.width), asyncio.Semaphore(load.width)
        async with opened(address, load.width) as post:

            async def chain(sample: Sample) -> None:
                image = sample.image.path.read_bytes()
                for t in range(ITERATIONS):
                    url = f"data:image/png;base64,{base64.b64encode(image).decode()}"
                    shown = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": "Describe."}]
                    messages = [{"role": "user", "content": shown}]
                    async with describing:
                        said = await post("/chat/completions", {"model": "vision-1", "messages": messages})
                    prompt = f"Draw: {said['choices'][0]['message']['content']}"
                    async with drawing:
                        drawn = await post("/images/generations", {"model": "image-1", "prompt": prompt, "n": 1})
                    image = base64.b64decode(drawn["data"][0]["b64_json"])
                    (folder / f"{sample.id}.{t}.png").write_bytes(image)

            await asyncio.gather(*map(chain, samples))

    def started(load: Load, samples: list[Sample], address: str, folder: Path) -> None:
        asyncio.run(run(load, samples, address, folder))

    return started


OPPONENTS: dict[str, Callable[[Load, list[Sample], str, Path], None]] = {
    "ours": ours,
    "bare httpx2": bare(over_httpx),
    "bare openai": bare(over_openai),
}


def first_picture(number: int) -> bytes:
    """What a chain begins with."""
    random = Random(number)
    colours = [tuple(random.randrange(256) for _ in range(3)) for _ in range(64)]
    small, content = Image.new("RGB", (8, 8)), io.BytesIO()
    small.putdata(colours)
    small.resize((256, 256), Image.Resampling.NEAREST).save(content, "PNG")
    return content.getvalue()


def _sample(folder: Path, number: int) -> Sample:
    path = folder / f"{number}.png"
    path.write_bytes(first_picture(number))
    return Sample(f"s{number}", ImageFile(path, sha256_file(path)))


if __name__ == "__main__":
    main()
