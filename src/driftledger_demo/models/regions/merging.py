"""Adjacent patches → few regions, by Ward's criterion in whole numbers.

Each merge takes the two neighbours that cost least: n₁·n₂/(n₁+n₂) times the squared distance of their mean features.
Sums stay exact integers and ties go to the lower numbers, so the order of merges is the same everywhere.
"""

import heapq
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Heap = list[tuple[int, int, int]]


def merges(labels: NDArray[np.int64], features: NDArray[np.int64]) -> list[tuple[int, int]]:
    """Merge the patches of ``labels`` (H×W, 0…n−1, none empty) until one is left.

    Args:
        features: H×W×3 whole numbers, already weighted against one another.

    Returns:
        Which two were merged, in order; the first merge makes patch n, the next n + 1, and so on.
    """
    count = int(labels.max()) + 1
    areas = np.bincount(labels.ravel(), minlength=count).tolist()
    sums = [list(row) for row in zip(*_sums(labels, features, count), strict=True)]
    merged = [False] * count
    neighbours = _neighbours(labels, count)
    heap: Heap = [
        (_cost(areas[a], sums[a], areas[b], sums[b]), a, b) for a in range(count) for b in neighbours[a] if a < b
    ]
    heapq.heapify(heap)
    pairs = []
    while heap:
        _, a, b = heapq.heappop(heap)
        if merged[a] or merged[b]:
            continue
        new = len(merged)
        merged[a] = merged[b] = True
        merged.append(False)
        pairs.append((a, b))
        areas.append(areas[a] + areas[b])
        sums.append([one + other for one, other in zip(sums[a], sums[b], strict=True)])
        around = (neighbours[a] | neighbours[b]) - {a, b}
        neighbours.append(around)
        for other in around:
            neighbours[other] -= {a, b}
            neighbours[other].add(new)
            heapq.heappush(heap, (_cost(areas[other], sums[other], areas[new], sums[new]), other, new))
    return pairs


def merge(labels: NDArray[np.int64], pairs: Sequence[tuple[int, int]], keep: int) -> NDArray[np.int64]:
    """Return H×W labels 0…keep−1, numbered by first appearance in reading order, after as many of :func:`merges`."""
    count = int(labels.max()) + 1
    parents = list(range(count + max(0, count - keep)))
    for new, (a, b) in enumerate(pairs[: max(0, count - keep)], start=count):
        parents[a] = parents[b] = new
    for node in range(len(parents) - 1, -1, -1):
        parents[node] = parents[parents[node]]
    numbers: dict[int, int] = {}
    table = [numbers.setdefault(parents[node], len(numbers)) for node in range(count)]
    return np.array(table, dtype=np.int64)[labels]


def _cost(n1: int, sums1: Sequence[int], n2: int, sums2: Sequence[int]) -> int:
    (x1, y1, z1), (x2, y2, z2) = sums1, sums2
    x, y, z = x1 * n2 - x2 * n1, y1 * n2 - y2 * n1, z1 * n2 - z2 * n1
    return (x * x + y * y + z * z) // (n1 * n2 * (n1 + n2))


def _sums(labels: NDArray[np.int64], features: NDArray[np.int64], count: int) -> Iterator[list[int]]:
    flat = labels.ravel()
    for channel in range(features.shape[-1]):
        total = np.zeros(count, dtype=np.int64)
        np.add.at(total, flat, features[..., channel].ravel())
        yield total.tolist()


def _neighbours(labels: NDArray[np.int64], count: int) -> list[set[int]]:
    sides = [(labels[:, :-1], labels[:, 1:]), (labels[:-1], labels[1:])]
    codes = np.concatenate([(one * count + other)[one != other] for one, other in sides])
    found: list[set[int]] = [set() for _ in range(count)]
    for code in np.unique(codes).tolist():
        one, other = divmod(code, count)
        found[one].add(other)
        found[other].add(one)
    return found
