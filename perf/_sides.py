"""Several ways to do one thing, each in a process of its own and in turn, so that a busy machine is busy for all.

Of every way the shortest wall time and the least CPU time of all its runs count, and the largest peak of memory.
"""

import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any

CORES = 2
"""What every way may use."""


def installed(*modules: str) -> bool:
    """Whether all are there; says which is not, since what is not there is not measured."""
    lacking = [module for module in modules if find_spec(module) is None]
    if lacking:
        print(f"not measured, since it is not installed: {', '.join(lacking)}", file=sys.stderr)
    return not lacking


def in_turn(script: str, calls: Sequence[Sequence[str]], rounds: int) -> list[dict[str, Any]]:
    """What ``script`` prints as JSON when it is called with each of ``calls``, every one in each round."""
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(CORES))
    measured: list[list[dict[str, Any]]] = [[] for _ in calls]
    for _ in range(rounds):
        for call, runs in zip(calls, measured, strict=True):
            command = [sys.executable, script, *call]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads)
            runs.append(json.loads(done.stdout.splitlines()[-1]))
    return [_best(runs) for runs in measured]


def _best(runs: Sequence[dict[str, Any]]) -> dict[str, Any]:
    best = dict(runs[0])
    for name in ("seconds", "cpu_seconds"):
        best[name] = min(run[name] for run in runs)
    best["peak_mib"] = max(run["peak_mib"] for run in runs)
    return best


def measure(run: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """The shortest wall and CPU time of ``run`` in seconds, and this process's peak resident memory in MiB."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    walls, cpus = [], []
    for _ in range(repeats):
        wall, cpu = time.perf_counter(), time.process_time()
        run()
        walls.append(time.perf_counter() - wall)
        cpus.append(time.process_time() - cpu)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": _short(min(walls)), "cpu_seconds": _short(min(cpus)), "peak_mib": round(peak)}


def _short(seconds: float) -> float:
    return float(f"{seconds:.3g}")
