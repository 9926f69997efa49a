"""The votes of the k nearest, for every k at once, against scikit-learn's search for the same neighbours.

Run: python perf/retrieval.py (two minutes)

The size is that of Stanford Dogs in the paper of TRAC, with embeddings of 768 dimensions. Each side runs in a process
of its own, on two cores, so that its peak memory, inputs included, is its own. scikit-learn only searches, in float32;
ours also counts the votes, and rounds every similarity as on any other processor.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from _report import write
from sklearn.neighbors import NearestNeighbors

from driftledger.core.types import Float32
from driftledger.metrics.neighbours import nearest
from driftledger.metrics.retrieval import votes

SUPPORT, TEST, DIMENSIONS, CLASSES = 12_000, 8_580, 768, 120
MOST = 100
"""The largest k; Stanford Dogs has 100 per class in its support set."""
CORES = 2
REPEATS = 5
COMPARED = 500
"""Queries whose neighbours are compared with those of scikit-learn in float64."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SIDES, help="measure one side in this process and print it as JSON")
    only = parser.parse_args().only
    if only is not None:
        print(json.dumps(measure(SIDES[only])))
        return
    ours, theirs = (in_own_process(side) for side in SIDES)
    same = agreeing()
    ratio = theirs["seconds"] / ours["seconds"]
    for side, measured in zip(SIDES, (ours, theirs), strict=True):
        print(f"{side:<20}  {measured['seconds']:>6.2f} s  {measured['peak_mib']:>5.0f} MiB")
    print(f"{ratio:.2f}× as fast; {same} of {COMPARED} queries have the same {MOST} neighbours in the same order")
    results = {
        "support": SUPPORT,
        "test": TEST,
        "dimensions": DIMENSIONS,
        "classes": CLASSES,
        "most_k": MOST,
        "cores": CORES,
        "votes": ours,
        "scikit_learn_search": theirs,
        "times_faster": round(ratio, 2),
        "queries_compared": COMPARED,
        "queries_with_the_same_neighbours": same,
    }
    write("retrieval", results, libraries=("numpy", "scikit-learn"))


def embeddings() -> tuple[Float32, list[str], Float32]:
    """Support set, its labels and queries: noise around one point per class."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CLASSES, DIMENSIONS), dtype=np.float32)
    support, queries = (
        centres[np.arange(size) % CLASSES] + 2 * rng.standard_normal((size, DIMENSIONS), dtype=np.float32)
        for size in (SUPPORT, TEST)
    )
    return support, [f"class {number % CLASSES}" for number in range(SUPPORT)], queries


def by_votes(support: Float32, labels: list[str], queries: Float32) -> None:
    votes(support, labels, queries, MOST)


def by_scikit_learn(support: Float32, _: list[str], queries: Float32) -> None:
    searching(support).kneighbors(queries)


SIDES = {"votes for every k": by_votes, "scikit-learn, search": by_scikit_learn}


def searching(support: Any) -> NearestNeighbors:
    return NearestNeighbors(n_neighbors=MOST, metric="cosine", algorithm="brute").fit(support)


def in_own_process(side: str) -> dict[str, float]:
    threads = dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), str(CORES))
    command = [sys.executable, __file__, "--only", side]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | threads)
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


def measure(run: Callable[[Float32, list[str], Float32], None]) -> dict[str, float]:
    """The shortest of the times in seconds, and this process's peak resident memory in MiB."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:CORES])
    inputs = embeddings()
    seconds = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        run(*inputs)
        seconds.append(time.perf_counter() - started)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {"seconds": round(min(seconds), 2), "peak_mib": round(peak)}


def agreeing() -> int:
    """How many of the first queries have the same neighbours, in the same order, by both."""
    support, _, queries = embeddings()
    ours = nearest(support, queries[:COMPARED], MOST).indices
    theirs = searching(support.astype(np.float64)).kneighbors(queries[:COMPARED].astype(np.float64))[1]
    return int((ours == theirs).all(axis=1).sum())


if __name__ == "__main__":
    main()
