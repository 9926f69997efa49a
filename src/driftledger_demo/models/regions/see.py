"""Image → regions: what the describer sees, before it is put into words.

It works on a small copy of the picture with integer filters, so that the same picture gives the
same regions on every processor.
"""

# mypy: untyped-calls-exclude=skimage

from collections.abc import Sequence
from functools import lru_cache
from heapq import heappop, heappush
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from driftledger.core.types import Medium
from driftledger_demo.cielab import lab
from driftledger_demo.filters import (
    Pixels,
    Whole,
    cross_gradient,
    cross_median,
    label_means,
    label_sums,
    touching,
)
from driftledger_demo.models.regions.geometry import Outline, outlines

WORKING_SIDE = 96
"""The longest side at which pictures are looked at."""
_LEAST_SIDE = 4
"""A thinner picture is widened: filters need neighbours."""


def merges(labels: Whole, features: Whole) -> list[tuple[int, int]]:
    """Merge the patches of ``labels`` (H×W, 0…n−1, none empty) until one is left.

    Args:
        features: H×W×3 whole numbers, already weighted against one another.

    Returns:
        The two that were merged, in order; the first merge makes patch n, the next n + 1, ….
    """
    areas = np.bincount(labels.ravel())
    count = len(areas)
    sums = label_sums(labels, features, count)
    patches = np.column_stack([areas, sums]).tolist()
    neighbours: list[set[int]] = [set() for _ in patches]
    heap: list[tuple[int, int, int]] = []

    def meet(one: int, other: int) -> None:
        neighbours[one].add(other)
        neighbours[other].add(one)
        cost = _cost(patches[one], patches[other])
        heappush(heap, (cost, one, other))

    for pair in touching(labels, count):
        meet(*sorted(pair))
    merged: set[int] = set()
    pairs = []
    while heap:
        _, a, b = heappop(heap)
        if a in merged or b in merged:
            continue
        merged |= {a, b}
        pairs.append((a, b))
        new = len(patches)
        both = map(add, patches[a], patches[b])
        patches.append(list(both))
        neighbours.append(set())
        around = neighbours[a] | neighbours[b]
        for other in around - merged:
            meet(other, new)
    return pairs


def merge(labels: Whole, pairs: Sequence[tuple[int, int]], keep: int) -> Whole:
    """Merge pairs in the order of :func:`merges` until ``keep`` patches are left.

    Returns:
        H×W labels 0…keep−1, numbered by first appearance in reading order.
    """
    count = len(pairs) + 1
    done = pairs[: max(0, count - keep)]
    parents = list(range(count + len(done)))
    for new, (a, b) in enumerate(done, start=count):
        parents[a] = parents[b] = new
    for node in reversed(range(len(parents))):
        parents[node] = parents[parents[node]]
    numbers: dict[int, int] = {}
    table = []
    for parent in parents[:count]:
        number = numbers.setdefault(parent, len(numbers))
        table.append(number)
    return np.array(table)[labels]


def _cost(one: Sequence[int], other: Sequence[int]) -> int:
    """Return the squared deviation that joining two patches, each an area and sums, adds."""
    n1 = one[0]
    n2 = other[0]
    squares = 0
    for a, b in zip(one, other, strict=True):
        squares += (a * n2 - b * n1) ** 2
    return squares // (n1 * n2 * (n1 + n2))


class SegmentedImage(NamedTuple):
    """A picture as regions, from the largest on; width and height are the picture's own."""

    width: int
    height: int
    colours: Pixels
    """Mean colours, n×3."""
    outlines: list[Outline]


def see(medium: Medium, most_regions: int) -> SegmentedImage:
    """Segment an RGB image into at most ``most_regions`` regions."""
    parts = _parts(medium.path, medium.sha256)
    labels = merge(parts.patches, parts.merges, most_regions)
    count = int(labels.max()) + 1
    by_label = outlines(labels, count)
    order = sorted(
        range(count),
        key=lambda label: -by_label[label].area,
    )
    colours = label_means(labels, parts.small, count)
    return SegmentedImage(
        *parts.size,
        colours=colours[order],
        outlines=[by_label[label] for label in order],
    )


class _Parts(NamedTuple):
    """The part of the work that is the same at every level of detail."""

    size: tuple[int, int]
    small: Pixels
    patches: Whole
    merges: list[tuple[int, int]]


@lru_cache(maxsize=1024)  # the three sizes of the describer look at the same images
def _parts(path: Path, sha256: str) -> _Parts:
    image = Medium(path, sha256).open()
    longest = max(image.size)
    working = min(longest, WORKING_SIDE)
    width = max(_LEAST_SIDE, image.width * working // longest)
    height = max(_LEAST_SIDE, image.height * working // longest)
    resized = image.resize(
        (width, height),
        Image.Resampling.BOX,
    )
    small = np.array(resized)
    patches = _patches(small)
    return _Parts(
        image.size,
        small,
        patches=patches,
        merges=merges(patches, lab(small)),
    )


def _patches(rgb: Pixels) -> Whole:
    """Return watershed basins of the strongest gradient of the three channels: 0…n−1."""
    # Here, since every stage checks the selected settings, and only describing needs scikit-image.
    from skimage.measure import label
    from skimage.morphology import local_minima
    from skimage.segmentation import watershed

    gradient = cross_gradient(cross_median(rgb))
    minima = local_minima(gradient, connectivity=1, allow_borders=True)
    markers = label(minima, connectivity=1)
    if markers.max() < 2:
        return np.zeros(gradient.shape, dtype=np.int64)
    return np.asarray(watershed(gradient, markers) - 1, dtype=np.int64)
