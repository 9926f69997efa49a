"""The votes of the k nearest, for every k at once, against searches for the same neighbours.

Run: python perf/retrieval.py (a minute)

The size is that of Stanford Dogs in the paper of TRAC, with embeddings of 768 dimensions. The opponents are numpy's
product with ``argpartition``, in float64 as ours and in float32, and faiss, torch and scikit-learn if they are
installed. The others only search, and those in float32 order near neighbours by its errors; ours also counts the votes,
of cosines rounded to 9 decimals. For how many queries the others rank otherwise is reported too. Vectors are scaled to
length 1 in every measured time; each side's peak of memory includes the inputs, 63 MiB.
"""

import argparse
import json
from functools import partial
from typing import Any

import numpy as np
from _report import write
from _sides import CORES, in_turn, installed, measure

from driftledger.core.types import Float32
from driftledger.metrics.neighbours import nearest
from driftledger.metrics.retrieval import votes

SUPPORT, TEST, DIMENSIONS, CLASSES = 12_000, 8_580, 768, 120
MOST = 100
"""The largest k; Stanford Dogs has 100 per class in its support set."""
ROUNDS, REPEATS = 2, 2
COMPARED = 500
"""Queries whose neighbours are compared."""
OURS, BEST = "votes for every k", "faiss, IndexFlatIP"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=SIDES, help="measure one side in this process and print it as JSON")
    only = parser.parse_args().only
    if only is not None:
        inputs = embeddings()
        print(json.dumps(measure(lambda: SIDES[only][0](*inputs), REPEATS)))
        return
    sides = [side for side, (_, modules) in SIDES.items() if installed(*modules)]
    measured = dict(zip(sides, in_turn(__file__, [["--only", side] for side in sides], ROUNDS), strict=True))
    for side, row in measured.items():
        ours = measured[OURS]
        row["ours_takes_times_as_long"] = round(ours["seconds"] / row["seconds"], 2)
        row["ours_takes_times_the_cpu"] = round(ours["cpu_seconds"] / row["cpu_seconds"], 2)
        print(f"{side:<24} {row['seconds']:>6.2f} s {row['cpu_seconds']:>6.2f} s of CPU {row['peak_mib']:>5} MiB")
    results = {
        "support": SUPPORT,
        "test": TEST,
        "dimensions": DIMENSIONS,
        "classes": CLASSES,
        "most_k": MOST,
        "cores": CORES,
        "sides": measured,
        "queries_compared": COMPARED,
        "queries_with_other_neighbours": {side: other(side) for side in sides if side != OURS},
    }
    modules = {"faiss": "faiss-cpu", "sklearn": "scikit-learn", "torch": "torch"}
    used = {modules[module] for side in sides for module in SIDES[side][1]}
    write("retrieval", results, libraries=("numpy", *sorted(used)))


def embeddings() -> tuple[Float32, list[str], Float32]:
    """Support set, its labels and queries: noise around one point per class."""
    rng = np.random.default_rng(1)
    centres = rng.standard_normal((CLASSES, DIMENSIONS), dtype=np.float32)
    support, queries = (_around(centres, size, rng) for size in (SUPPORT, TEST))
    return support, [f"class {number % CLASSES}" for number in range(SUPPORT)], queries


def _around(centres: Float32, size: int, rng: np.random.Generator) -> Float32:
    noise = rng.standard_normal((size, DIMENSIONS), dtype=np.float32)
    noise *= 2
    for start in range(0, size, CLASSES):
        noise[start : start + CLASSES] += centres[: size - start]
    return noise


def by_votes(support: Float32, labels: list[str], queries: Float32) -> None:
    votes(support, labels, queries, MOST)


def by_numpy(support: Float32, _: list[str], queries: Float32, kind: Any = np.float64) -> Any:
    sets = (rows.astype(kind) for rows in (support, queries))
    known, asked = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in sets)
    found = []
    for start in range(0, len(asked), 512):
        cosines = asked[start : start + 512] @ known.T
        top = np.argpartition(-cosines, MOST - 1, axis=1)[:, :MOST]
        order = np.argsort(-np.take_along_axis(cosines, top, axis=1), axis=1, kind="stable")
        found.append(np.take_along_axis(top, order, axis=1))
    return np.concatenate(found)


def by_faiss(support: Float32, _: list[str], queries: Float32) -> Any:
    import faiss

    faiss.omp_set_num_threads(CORES)
    known, asked = support.copy(), queries.copy()
    faiss.normalize_L2(known)
    faiss.normalize_L2(asked)
    index = faiss.IndexFlatIP(DIMENSIONS)
    index.add(known)
    return index.search(asked, MOST)[1]


def by_torch(support: Float32, _: list[str], queries: Float32) -> Any:
    import torch

    torch.set_num_threads(CORES)
    known = torch.nn.functional.normalize(torch.from_numpy(support)).T.contiguous()
    asked = torch.nn.functional.normalize(torch.from_numpy(queries))
    return torch.cat([torch.topk(some @ known, MOST, dim=1).indices for some in asked.split(1024)]).numpy()


def by_scikit_learn(support: Float32, _: list[str], queries: Float32) -> Any:
    from sklearn.neighbors import NearestNeighbors

    search = NearestNeighbors(n_neighbors=MOST, metric="cosine", algorithm="brute").fit(support)
    return search.kneighbors(queries)[1]


SIDES: dict[str, tuple[Any, tuple[str, ...]]] = {
    OURS: (by_votes, ()),
    "numpy, float64": (by_numpy, ()),
    "numpy, float32": (partial(by_numpy, kind=np.float32), ()),
    BEST: (by_faiss, ("faiss",)),
    "torch, topk of blocks": (by_torch, ("torch",)),
    "scikit-learn, brute": (by_scikit_learn, ("sklearn",)),
}
"""How, and the modules that it takes."""


def other(side: str) -> int:
    """How many of the first queries have other neighbours, or in another order, than by exact cosines."""
    support, labels, queries = embeddings()
    theirs = SIDES[side][0](support, labels, queries[:COMPARED])
    ours = nearest(support, queries[:COMPARED], MOST).indices
    return int((ours != theirs).any(axis=1).sum())


if __name__ == "__main__":
    main()
