"""How far spools, the merge, the call store and the driver carry, with components that do nothing.

Run as ``python perf/scale.py [--calls N] [--workers W]``; it writes ``reports/perf/scale.json``. All calls are text,
a description of some 200 characters each; images are files beside them and cost what copying them costs. Each part runs
in a process of its own, so that its peak of memory is its own; seconds are of the CPU, since the machine may be busy.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

from _report import write

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Cost, Finished, Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.claims import Store
from driftledger.collect.merge import merge_spool
from driftledger.collect.scheduler import run_protocols
from driftledger.collect.shards import Shard
from driftledger.collect.spool import Spool, spools_in
from driftledger.collect.steps import Ask, Steps
from driftledger.components.base import Model
from driftledger.core.progress import Progress
from driftledger.core.types import Conversation, Outcome, Reply, Turn

TEXT = "A red house stands beside a tall tree, and in front of it a dog looks at a ball. " * 2
Part = Callable[[Path, int, int], dict[str, Any]]

SCHEDULED = 20_000
BATCH = 16


class Idle(Model):
    """Answers at once."""

    provider: ClassVar[str] = "idle"
    version: ClassVar[str] = "1"
    batch_size: int = BATCH

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [Reply(TEXT) for _ in conversations]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=1_000_000)
    parser.add_argument("--workers", type=int, default=256)
    parser.add_argument("--part", choices=PARTS, help="measure one part in this process")
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    if arguments.part is not None:
        print(json.dumps(_measured(PARTS[arguments.part], arguments.folder, arguments.calls, arguments.workers)))
        return
    with tempfile.TemporaryDirectory(prefix="driftledger-") as folder:
        results: dict[str, Any] = {"calls": arguments.calls, "workers": arguments.workers}
        for part in PARTS:
            results[part] = _in_own_process(part, Path(folder), arguments)
            print(part, json.dumps(results[part]), flush=True)
    write("scale", results, ("pydantic", "filelock"))


def _in_own_process(part: str, folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    sizes = ["--calls", str(arguments.calls), "--workers", str(arguments.workers)]
    command = [sys.executable, __file__, "--part", part, "--folder", str(folder), *sizes]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def _measured(
    part: Callable[[Path, int, int], dict[str, Any]], folder: Path, calls: int, workers: int
) -> dict[str, Any]:
    began = time.process_time()
    found = part(folder, calls, workers)
    seconds = time.process_time() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"cpu_seconds": round(seconds, 1), "peak_mib": round(peak)} | found


def spooling(folder: Path, calls: int, workers: int) -> dict[str, Any]:
    """What all workers together take to write their spools, a batch at a time."""
    began, each = time.process_time(), calls // workers
    for worker in range(workers):
        with Spool(folder / "apart" / str(worker), Shard(worker, workers)) as spool:
            for start in range(worker * each, (worker + 1) * each, 500):
                spool.put([_finished(number) for number in range(start, min(start + 500, (worker + 1) * each))])
        spool.folder.rename(_made(folder / "spool") / spool.folder.name)
    size = sum(path.stat().st_size for path in (folder / "spool").rglob("*.jsonl"))
    return {"bytes_per_call": round(size / calls), "calls_per_cpu_second": round(calls / (time.process_time() - began))}


def starting(folder: Path, calls: int, workers: int) -> dict[str, Any]:
    """What a shard takes to look into all of them when it starts."""
    with Spool(folder / "spool", Shard(0, 1)) as spool:
        assert len(spool) == calls // workers * workers
    return {}


def merging(folder: Path, calls: int, workers: int) -> dict[str, Any]:
    """The merge of all of them, and how it slows down as the store grows."""
    spools, pace = spools_in(folder / "spool"), []
    with CallStore(folder / "store") as store:
        for tenth in range(10):
            began, made = time.process_time(), 0
            for spool in spools[len(spools) * tenth // 10 : len(spools) * (tenth + 1) // 10]:
                made += merge_spool(store, spool).new
            pace.append(round(made / (time.process_time() - began)))
    size = (folder / "store" / "calls.db").stat().st_size
    return {
        "calls_per_cpu_second_by_tenth": pace,
        "store_bytes_per_call": round(size / calls),
        "cpu_seconds_per_100k": round(100_000 / (sum(pace) / len(pace)), 1),
    }


def merging_again(folder: Path, calls: int, workers: int) -> dict[str, Any]:
    """A merge of what is merged already."""
    with CallStore(folder / "store") as store:
        for spool in spools_in(folder / "spool"):
            assert merge_spool(store, spool).new == 0
    return {}


def driving(folder: Path, calls: int, workers: int) -> dict[str, Any]:
    """How many calls the driver hands out and stores, with a store and with a spool, and finds again in the store."""
    with CallStore(folder / "driven") as store, Spool(folder / "driven-spool", Shard(0, 1)) as spool:
        return {
            "scheduled": SCHEDULED,
            "into_the_store_per_cpu_second": _driven(store),
            "found_there_per_cpu_second": _driven(store),
            "into_a_spool_per_cpu_second": _driven(spool),
        }


def _driven(store: Store) -> int:
    began, model = time.process_time(), Idle()
    with Progress("idle", total=0) as progress:
        run_protocols([_asking(model, number) for number in range(SCHEDULED)], store, progress, 1)
    return round(SCHEDULED / (time.process_time() - began))


def _asking(model: Model, number: int) -> Steps[Result]:
    asked = Conversation((Turn("user", (f"Describe picture {number}.",)),))
    return (yield Ask(model, "describe", asked, Context("photos", str(number), 1)))


def _finished(number: int) -> Finished:
    model = _MODEL
    turns = [{"role": "user", "parts": [{"image": f"{number:064x}"}, {"text": f"Describe this picture. {TEXT}"}]}]
    key = CallKey(model.fingerprint, "describe", turns, (f"{number:064x}",), None, model.spec)
    return Finished(key, Context("photos", str(number), 1), Result(Outcome.OK, text=TEXT), None, Cost(0.5, 300, 40))


def _made(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_MODEL = Idle()

PARTS: dict[str, Part] = {
    "spooling": spooling,
    "starting": starting,
    "merging": merging,
    "merging_again": merging_again,
    "driving": driving,
}


if __name__ == "__main__":
    main()
