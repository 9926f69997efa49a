"""Several processes on one call store: is each call made once, does one budget hold for all, and what does a kill cost?

Run as ``python -m lab.at_once [--kills N]`` in the top folder. It writes ``reports/perf/at_once.json``. Projects are
made in temporary folders; the service is a server on this machine that keeps a log of its own.

- ``once``: two, four and eight ``driftledger collect`` at once; how often the service was asked the same.
- ``budget``: eight at once with ``max_calls: 40``; how often it was asked in all.
- ``shared``: eight processes with a component that sleeps; the time that all its batches take, over an eighth of it.
- ``kills``: eight at once, of which one after the other is killed at a random moment and started again; how often the
  service was asked again what it had answered, and whether the answer was stored then.
"""

import argparse
import json
import multiprocessing
import random
import signal
import subprocess
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

from driftledger.collect.call_result import Context
from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.core.canonical import sha256_bytes
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Reply, Turn
from perf._report import write
from tests.conftest import Checkout, draw, make_checkout
from tests.support.openai_server import OpenAIServer

SAMPLES = 24
ITERATIONS = 3
BUDGET = 40
SLEEPS = 0.5
BATCHES = 320
WORKERS = 8


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    results = {
        "once": [once(count) for count in (1, 2, 4, 8)],
        "budget": budget(),
        "shared": shared(),
        "kills": kills(arguments.kills, random.Random(arguments.seed)),
    }
    write("at_once", results, ("filelock",))
    print(json.dumps(results, indent=2))


@contextmanager
def project(server: OpenAIServer, **limits: int) -> Iterator[Checkout]:
    """A checkout with a model and a generator behind the server, its dataset built."""

    def services(params: dict[str, Any]) -> None:
        common = {"base_url": server.base_url, "api_key_env": None, "limits": {"concurrency": 2, **limits}}
        params["run"] |= {"models": ["seer"], "generators": ["pen"]}
        params["genception"] |= {"iterations": ITERATIONS, "cross_check": []}
        params["models"]["seer"] = {"provider": "openai", "model": "vision-1", **common}
        params["generators"]["pen"] = {"provider": "openai_images", "model": "image-1", "image_size": "64x64", **common}

    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        checkout = make_checkout(Path(folder))
        for number in range(8, SAMPLES):
            draw(checkout.root / "my_images" / "round" / f"{number}.png", number)
        checkout.params(services)
        checkout.run("dvc", "repro", "-s", "resolve", "dataset")
        yield checkout


def start(checkout: Checkout) -> "subprocess.Popen[bytes]":
    """A ``driftledger collect`` in the background."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(["driftledger", "collect"], cwd=checkout.root, env=checkout.env, stdout=quiet, stderr=quiet)


def asked(server: OpenAIServer) -> Counter[str]:
    """How often each request came in."""
    return Counter(sha256_bytes(json.dumps(request.body, sort_keys=True).encode()) for request in server.requests)


def once(count: int) -> dict[str, Any]:
    """So many at once."""
    with OpenAIServer(latency=0.2) as server, project(server) as checkout:
        began = time.perf_counter()
        codes = [process.wait() for process in [start(checkout) for _ in range(count)]]
        seconds = time.perf_counter() - began
        found = asked(server)
    return {
        "processes": count,
        "failed": sum(map(bool, codes)),
        "calls": len(found),
        "requests": found.total(),
        "seconds": round(seconds, 1),
    }


def budget() -> dict[str, int]:
    """Eight at once that may ask the model forty times."""
    with OpenAIServer(latency=0.05) as server, project(server, max_calls=BUDGET) as checkout:
        for process in [start(checkout) for _ in range(WORKERS)]:
            process.wait()
        paths = Counter(request.path for request in server.requests)
    return {
        "max_calls": BUDGET,
        "processes": WORKERS,
        **{f"requests to {path}": n for path, n in sorted(paths.items())},
    }


class Sleeper(Model):
    """Takes its time, and says what it was asked; a line of its log for each batch."""

    provider: ClassVar[str] = "sleeper"
    version: ClassVar[str] = "1"
    log: str

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        began = time.time()
        time.sleep(SLEEPS)
        with Path(self.log).open("a") as log:
            log.write(f"{began} {time.time()}\n")
        return [Reply(str(conversation.turns[-1].parts[0])) for conversation in conversations]


def _one(model: Sleeper, number: int) -> Steps[str]:
    asked = Ask(model, "describe", Conversation((Turn("user", (f"number {number}",)),)), Context("d", str(number), 1))
    return str((yield asked).text)


def _sleep(folder: Path) -> None:
    model = Sleeper(log=str(folder / "log"), batch_size=4)
    with CallStore(folder) as store, Progress("sleep", 0) as progress:
        run_protocols([_one(model, number) for number in range(4 * BATCHES)], store, progress, 1)


def shared() -> dict[str, Any]:
    """Eight processes that sleep for each batch; from the first batch's beginning to the last one's end."""
    spawn = multiprocessing.get_context("spawn")
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        processes = [spawn.Process(target=_sleep, args=(Path(folder),)) for _ in range(WORKERS)]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        spans = [tuple(map(float, line.split())) for line in (Path(folder) / "log").read_text().splitlines()]
    seconds = max(end for _, end in spans) - min(began for began, _ in spans)
    ideal = BATCHES * SLEEPS / WORKERS
    return {
        "processes": WORKERS,
        "batches": BATCHES,
        "made": len(spans),
        "seconds_each": SLEEPS,
        "seconds": round(seconds, 2),
        "of_ideal": round(ideal / seconds, 3),
    }


def kills(count: int, dice: random.Random) -> dict[str, Any]:
    """Killed at random moments until all kills are done, over as many projects as that takes."""
    total, projects = Counter[str](), 0
    while total["kills"] < count:
        projects += 1
        total.update(_killed(count - total["kills"], dice))
    return {"processes": WORKERS, "projects": projects, **total}


def _killed(most: int, dice: random.Random) -> Counter[str]:
    with OpenAIServer(latency=1.0) as server, project(server) as checkout:
        running, killed = [start(checkout) for _ in range(WORKERS)], 0
        while killed < most and any(process.poll() is None for process in running):
            time.sleep(dice.uniform(0.2, 2.0))
            place = dice.randrange(WORKERS)
            if running[place].poll() is None:
                running[place].send_signal(signal.SIGKILL)
                running[place].wait()
                killed += 1
                running[place] = start(checkout)
        codes = [process.wait() for process in running]
        found = asked(server)
        with CallStore(checkout.root / ".driftledger") as store:
            rows = store.rows()
        checkout.run("dvc", "repro", "report")
        later = asked(server)
    return Counter(
        {
            "kills": killed,
            "failed": sum(map(bool, codes)),
            "calls": len(found),
            "asked again, killed on their way": found.total() - len(found),
            "stored twice": sum(row.made - 1 for row in rows),
            "lost": len(found) - len(rows),
            "asked again by dvc repro": later.total() - found.total(),
        }
    )


if __name__ == "__main__":
    main()
