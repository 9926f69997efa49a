"""Image → regions: what the describer sees, before it has words for it.

Works on a small copy of the picture with integer filters, so that the same picture gives the same regions on every
processor.
"""

# mypy: untyped-calls-exclude=skimage

import heapq
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.types import ImageFile
from driftledger_demo.cielab import lab
from driftledger_demo.filters import cross_gradient, cross_median, touching
from driftledger_demo.models.regions.geometry import Outline, outlines
from driftledger_demo.vocabulary import RGB

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
    sums = _sums(labels, features, count).tolist()
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


def _sums(labels: NDArray[np.int64], features: NDArray[Any], count: int) -> NDArray[np.int64]:
    """Return the sum of each of ``count`` labels' features."""
    total = np.zeros((count, 3), dtype=np.int64)
    np.add.at(total, labels.ravel(), features.reshape(-1, 3))
    return total


def _neighbours(labels: NDArray[np.int64], count: int) -> list[set[int]]:
    found: list[set[int]] = [set() for _ in range(count)]
    for one, other in touching(labels, count):
        found[one].add(other)
        found[other].add(one)
    return found


WORKING_SIDE = 96
"""The longest side at which pictures are looked at."""
_LEAST_SIDE = 4
"""A thinner picture is widened: filters need neighbours."""


class Region(NamedTuple):
    """One connected part of a picture: its mean colour and its outline."""

    colour: RGB
    outline: Outline


class SegmentedImage(NamedTuple):
    """A picture as regions, from the largest to the smallest; sizes are those of the picture itself."""

    width: int
    height: int
    regions: list[Region]


def see(shown: ImageFile, most_regions: int) -> SegmentedImage:
    """Segment an RGB image into at most ``most_regions`` regions."""
    parts = _parts(shown.path, shown.sha256)
    labels = merge(parts.patches, parts.merges, most_regions)
    count = int(labels.max()) + 1
    colours = _mean_colours(parts.small, labels, count)
    regions = [Region(*both) for both in zip(colours, outlines(labels, count), strict=True)]
    regions.sort(key=lambda region: -region.outline.area)
    return SegmentedImage(parts.width, parts.height, regions)


class _Parts(NamedTuple):
    """What is the same at every level of detail."""

    width: int
    height: int
    small: NDArray[np.uint8]
    patches: NDArray[np.int64]
    merges: list[tuple[int, int]]


@lru_cache(maxsize=1024)  # the three sizes of the describer look at the same images
def _parts(path: Path, sha256: str) -> _Parts:
    image = ImageFile(path, sha256).open()
    longest = max(image.size)
    width, height = (max(_LEAST_SIDE, side * min(longest, WORKING_SIDE) // longest) for side in image.size)
    small = np.array(image.resize((width, height), Image.Resampling.BOX))
    patches = _patches(small)
    return _Parts(image.width, image.height, small, patches, merges(patches, lab(small)))


def _patches(rgb: NDArray[np.uint8]) -> NDArray[np.int64]:
    """Watershed basins of the strongest gradient of the three channels: 0…n−1."""
    # Here, since every stage checks the selected settings, and only describing needs scikit-image.
    from skimage.measure import label
    from skimage.morphology import local_minima
    from skimage.segmentation import watershed

    gradient = cross_gradient(cross_median(rgb))
    markers = label(local_minima(gradient, connectivity=1, allow_borders=True), connectivity=1)
    if markers.max() < 2:
        return np.zeros(gradient.shape, dtype=np.int64)
    basins: NDArray[np.int64] = watershed(gradient, markers).astype(np.int64) - 1
    return basins


def _mean_colours(rgb: NDArray[np.uint8], labels: NDArray[np.int64], count: int) -> list[RGB]:
    total = _sums(labels, rgb, count)
    areas = np.bincount(labels.ravel(), minlength=count)[:, None]
    return [(red, green, blue) for red, green, blue in ((2 * total + areas) // (2 * areas)).tolist()]
