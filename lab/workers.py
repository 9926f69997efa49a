"""Replicas in processes and as Ray actors: how busy are they, and what do kills of replicas, nodes and drivers cost?

Run as ``python -m lab.workers [--kills N] [--on processes] [--on ray]`` in the top folder. It writes
``reports/perf/workers.json``, where what is not measured anew stays. The component sleeps and keeps a log of its own;
Ray's cluster is one on this machine, of two nodes of one CPU each.

- ``busy``: eight replicas; how much of the time from when all are at work until no batch is left is slept through.
- ``kills``: chains of a model and a generator, four replicas each. Replicas, drivers and, of Ray, nodes are killed at
  random moments, the drivers started again; whether every run ends with the bytes that one process alone gives, and
  which calls began again after they had been stored.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import Any

from driftledger.collect.call_result import Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.workers.on_ray import RayActors
from driftledger.collect.workers.processes import Processes
from driftledger.collect.workers.replicas import Replicas
from driftledger.core.progress import Progress
from perf._report import write
from tests.collect.workers.chains import ask_once, chain, images, replicas
from tests.support.fakes.sleeping import Shift, SleepingGenerator, SleepingModel, shifts
from tests.support.ray_cluster import add_node, end_node, two_nodes

REPORT = Path("reports/perf/workers.json")
WORKERS = 8
BATCHES = 160
SAMPLES = 96
BATCH_SIZE = 4
SLEEPS = {"busy": 1.0, "kills": 0.4}
PAUSE = (0.4, 1.6)
"""Seconds between two kills: at least, and at most."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="of each launcher")
    parser.add_argument("--on", action="append", choices=("processes", "ray"), help="may be repeated; else both")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--drive", nargs=2, metavar=("FOLDER", "ADDRESS"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.drive:
        folder, address = arguments.drive
        drive(Path(folder), address)
        return
    results: dict[str, Any] = json.loads(REPORT.read_bytes())["results"] if REPORT.exists() else {}
    for launcher in arguments.on or ("processes", "ray"):
        with two_nodes() if launcher == "ray" else nullcontext() as cluster:
            address = cluster.address if cluster else "processes"
            measured = {"busy": busy(address)}
            if arguments.kills:
                measured["kills"] = kills(address, cluster, arguments.kills, random.Random(arguments.seed))
            results[launcher] = results.get(launcher, {}) | measured
        print(json.dumps(results[launcher], indent=2), flush=True)
    write("workers", results, ("ray",))


def started(address: str, count: int) -> Replicas:
    """So many of each component."""
    return replicas(Processes() if address == "processes" else RayActors(address), count)


def busy(address: str) -> dict[str, Any]:
    """Eight replicas and one component, in steady state."""
    with tempfile.TemporaryDirectory(prefix="driftledger-") as name:
        folder = Path(name)
        model = SleepingModel(log=str(folder / "log"), batch_size=BATCH_SIZE, seconds=SLEEPS["busy"])
        protocols = [
            ask_once(model, image, number) for number, image in enumerate(images(folder, BATCH_SIZE * BATCHES))
        ]
        with (
            closing(started(address, WORKERS)) as workers,
            CallStore(folder / "store") as store,
            Progress("busy", len(protocols)) as progress,
        ):
            run_protocols(protocols, store, progress, 1, workers=workers)
        found = shifts(folder / "log")
    return {"workers": WORKERS, "batches": len(found), "batch_seconds": SLEEPS["busy"], **_busy(found)}


def _busy(found: Sequence[Shift]) -> dict[str, Any]:
    """From the moment at which every replica has begun until the last batch begins, when some run out of work."""
    by_worker = {shift.pid: shift.began for shift in reversed(found)}
    begins, ends = max(by_worker.values()), found[-1].began
    slept = sum(max(0.0, min(ends, shift.ended or ends) - max(begins, shift.began)) for shift in found)
    return {"seconds": round(ends - begins, 1), "ratio_to_ideal": round(slept / len(by_worker) / (ends - begins), 3)}


class NotingStore(CallStore):
    """A call store that writes down when it has stored what."""

    def put(self, finished: Any) -> list[Result]:
        finished = list(finished)
        results = super().put(finished)
        with (self.folder / "stored.log").open("ab", buffering=0) as log:
            log.write("".join(f"{_asked(item)}\t{time.time()!r}\n" for item in finished).encode())
        return results


def _asked(item: Finished) -> str:
    key = item.key
    return f"{item.context.sample} {key.images[0][:16]}" if key.images else f"{key.input} {key.seed}"


def drive(folder: Path, address: str) -> None:
    """Be a driver: see all chains of a folder through, and write down what came of them."""
    shown = images(folder, SAMPLES)
    seconds = SLEEPS["kills"] if address != "here" else 0.0
    common = {"batch_size": BATCH_SIZE, "seconds": seconds}
    model = SleepingModel(log=str(folder / "log"), **common)
    generator = SleepingGenerator(log=str(folder / "log"), **common)
    workers = None if address == "here" else started(address, WORKERS // 2)
    protocols = [chain(model, generator, image, number) for number, image in enumerate(shown)]
    with (
        closing(workers) if workers else nullcontext(),
        NotingStore(folder / "store") as store,
        Progress("kills", 4 * SAMPLES) as progress,
    ):
        done = run_protocols(protocols, store, progress, 4, workers=workers)
    text = json.dumps([[result.to_row() for result in each] for each in done], sort_keys=True)
    (folder / "results").write_text(text)


def _start(folder: Path, address: str) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "lab.workers", "--drive", str(folder), address]
    with (folder / "said").open("ab") as said:
        return subprocess.Popen(command, stdout=said, stderr=said)


def kills(address: str, cluster: Any, count: int, dice: random.Random) -> dict[str, Any]:
    """Runs one after the other, until so many kills have hit."""
    total: dict[str, int] = dict.fromkeys(("replicas", "drivers", "nodes"), 0)
    found: dict[str, int] = dict.fromkeys(
        ("runs", "other_bytes", "calls", "lost", "stored_twice", "begun_again_after_stored"), 0
    )
    again = 0
    with tempfile.TemporaryDirectory(prefix="driftledger-") as name:
        alone = Path(name) / "alone"
        alone.mkdir()
        if _start(alone, "here").wait():
            raise RuntimeError((alone / "said").read_text())
        while sum(total.values()) < count:
            folder = Path(name) / str(found["runs"])
            folder.mkdir()
            _run(folder, address, cluster, total, count, dice)
            found["runs"] += 1
            found["other_bytes"] += _bytes_of(folder) != _bytes_of(alone)
            began = [(asked, shift.began) for shift in shifts(folder / "log") for asked in shift.asked]
            calls, made, noted = _stored(alone), _stored(folder), _noted(folder)
            found["calls"] += len(calls)
            found["lost"] += len(calls.keys() - made.keys())
            found["stored_twice"] += sum(times > 1 for times in made.values())
            found["begun_again_after_stored"] += sum(noted.get(asked, when) < when for asked, when in began)
            again += len(began) - len(calls)
            print(f"{found} {total}", flush=True)
    return {"kills": total, **found, "begun_again_since_killed": again}


def _stored(folder: Path) -> dict[str, int]:
    """How often each call was stored, by its digest."""
    with CallStore(folder / "store") as store:
        return {row.digest: row.made for row in store.rows()}


def _noted(folder: Path) -> dict[str, float]:
    """When each call was stored, as far as the driver lived to note it."""
    lines = (line.split("\t") for line in (folder / "store" / "stored.log").read_text().splitlines())
    return {asked: float(when) for asked, when in lines}


def _bytes_of(folder: Path) -> tuple[bytes, dict[str, bytes]]:
    return (folder / "results").read_bytes(), {path.name: path.read_bytes() for path in folder.rglob("store/**/*.png")}


def _run(folder: Path, address: str, cluster: Any, total: dict[str, int], count: int, dice: random.Random) -> None:
    """Start drivers until one ends by itself, and kill in between."""
    driver = _start(folder, address)
    while True:
        with suppress(subprocess.TimeoutExpired):
            if driver.wait(dice.uniform(*PAUSE)) > 0:
                raise RuntimeError((folder / "said").read_text()[-2000:])
            if driver.returncode == 0:
                return
            driver = _start(folder, address)
            continue
        at_work = _at_work(folder)
        if not at_work or sum(total.values()) >= count:
            continue
        match dice.choices(("replicas", "drivers", "nodes"), (10, 1, 1 if cluster else 0))[0]:
            case "replicas":
                with suppress(ProcessLookupError):
                    os.kill(dice.choice(at_work), signal.SIGKILL)
                    total["replicas"] += 1
            case "drivers":
                driver.kill()
                total["drivers"] += 1
            case "nodes":
                end_node(cluster)
                add_node(cluster)
                total["nodes"] += 1


def _at_work(folder: Path) -> list[int]:
    """The processes that are in the middle of a batch."""
    if not (folder / "log").exists():
        return []
    pids = {shift.pid for shift in shifts(folder / "log") if shift.ended is None}
    return sorted(pid for pid in pids if Path(f"/proc/{pid}").exists())


if __name__ == "__main__":
    main()
