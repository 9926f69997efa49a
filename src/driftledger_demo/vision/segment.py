"""Image → things: what stands out from the ground, what it looks like and where it is.

Nothing here knows how a picture was made. Regions are where colour changes little from point to point, so that uneven
light does not part them; a ground is what touches the border; whatever else is left is a thing, or holds several
colours. Whole numbers only, so that the same picture gives the same answer on every processor.
"""

# mypy: untyped-calls-exclude=skimage

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_demo.cielab import SCALE, lab
from driftledger_demo.filters import gradient, median, touching
from driftledger_demo.vision.world import GROUND_COLOURS, PLACES, THING_COLOURS, nearest_colour

Mask = NDArray[np.bool_]
Point = tuple[int, int]
"""Across, down; twice the pixel's, so that its corners are whole numbers too."""
Quad = tuple[Point, Point, Point, Point]
"""Upper left, upper right, lower right, lower left."""

_LEAST = 24
"""Pixels; of less no shape can be told."""


def shape_of(mask: Mask) -> str | None:
    """What a region is called, or None where it looks like nothing that has a name.

    A ring has a hole in its middle. Of the others a cross and a star fill little of their hull. A heart has most of
    itself above the middle of its height and a triangle below; a circle's border is everywhere as far away, and a
    square and a diamond stand on a side or on a corner. Upside down, a heart and a triangle are each other.
    """
    area = int(np.count_nonzero(mask))
    if area < _LEAST:
        return None
    full = _filled(mask)
    whole = int(np.count_nonzero(full))
    if 100 * (whole - area) > 12 * whole:
        return "ring"
    hull = hull_of(full)
    twice = _twice_area(hull)
    if twice == 0:
        return None
    rows, columns = np.nonzero(full)
    x, y = ((2 * int(at.sum()) + whole) * 1000 // whole for at in (columns, rows))  # thousandths of half a pixel
    reach = [((1000 * px - x) ** 2 + (1000 * py - y) ** 2) // 1000 for px, py in hull]
    solid = 1000 * 8 * whole // twice  # a pixel is four of its half ones
    round_ = max(reach) * 2 // twice  # 318 for a circle, 500 for a square
    height, width = full.shape
    low = (y - 1000 * height) // (2 * height)  # how far below the middle of the height, in ‰ of it
    if solid < 730:
        return "star"
    if solid < 820:
        return "cross"
    if low < -38:
        return "heart"
    if low > 50 and round_ > 560:
        return "triangle"
    if round_ < 385:
        return "circle"
    return "square" if 100 * whole > 66 * height * width else "diamond"


def hull_of(mask: Mask) -> list[Point]:
    """The convex hull of a region's pixels with their corners, clockwise from its left."""
    points = set()
    for row in np.flatnonzero(mask.any(axis=1)).tolist():
        line = np.flatnonzero(mask[row])
        first, last = 2 * int(line[0]), 2 * int(line[-1]) + 2
        points |= {(first, 2 * row), (first, 2 * row + 2), (last, 2 * row), (last, 2 * row + 2)}
    ordered = sorted(points)
    upper, lower = _half(ordered), _half(ordered[::-1])
    return upper[:-1] + lower[:-1]


def _half(points: Sequence[Point]) -> list[Point]:
    chain: list[Point] = []
    for point in points:
        while len(chain) > 1 and _turn(chain[-2], chain[-1], point) <= 0:
            chain.pop()
        chain.append(point)
    return chain


def _turn(a: Point, b: Point, c: Point) -> int:
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def _twice_area(hull: Sequence[Point]) -> int:
    return abs(sum(a[0] * b[1] - a[1] * b[0] for a, b in zip(hull, [*hull[1:], *hull[:1]], strict=True)))


def _filled(mask: Mask) -> Mask:
    """``mask`` and whatever it encloses."""
    from skimage.measure import label

    outside = label(np.pad(~mask, 1, constant_values=True), connectivity=1)
    return np.asarray(outside != outside[0, 0])[1:-1, 1:-1]


def quad_around(mask: Mask) -> Quad | None:
    """The corners of what is most like a rectangle in ``mask``, without thin poles; None where nothing is left."""
    body = _without_thin(mask)
    if not body.any():
        return None
    hull = hull_of(body)
    if len(hull) < 4:
        return None
    along = _direction(hull)
    across = (-along[1], along[0])

    def far(u: int, v: int) -> Point:
        x, y = u * along[0] + v * across[0], u * along[1] + v * across[1]
        return max(hull, key=lambda point: (point[0] * x + point[1] * y, point))

    return far(-1, -1), far(1, -1), far(1, 1), far(-1, 1)


def _without_thin(mask: Mask) -> Mask:
    """Opened by a square of a twentieth of the picture: what is thinner is gone."""

    from scipy.ndimage import maximum_filter, minimum_filter

    side = max(3, max(mask.shape) // 24) | 1
    opened = maximum_filter(minimum_filter(mask.astype(np.uint8), side, mode="constant"), side, mode="constant")
    return np.asarray(opened.astype(np.bool_) & mask)


def _direction(hull: Sequence[Point]) -> Point:
    """The direction nearest to level of the sides of the smallest rectangle around ``hull``."""
    best: tuple[int, Point] | None = None
    for a, b in zip(hull, [*hull[1:], *hull[:1]], strict=True):
        u, v = b[0] - a[0], b[1] - a[1]
        length = u * u + v * v
        along = [p[0] * u + p[1] * v for p in hull]
        across = [p[1] * u - p[0] * v for p in hull]
        size = (max(along) - min(along)) * (max(across) - min(across)) * 1000 // length
        if best is None or size < best[0]:
            best = size, (u, v)
    u, v = best[1] if best else (1, 0)
    if abs(v) > abs(u):
        u, v = v, -u
    return (u, v) if u > 0 else (-u, -v)


Pixels = NDArray[np.uint8]
Labels = NDArray[np.int64]

_LEAST_SIDE = 8
"""Of the picture; in a smaller one there is nothing to be seen."""
_CALM = 12
"""Grey levels of change from a point to its neighbours within a region, at the most, in a picture without noise."""
_ALIKE = 9 * SCALE
"""CIELAB distance up to which neighbouring regions are one."""
_SAME_GROUND = 14 * SCALE
"""The same, up to which a region anywhere belongs to a ground."""
_OTHER = 20 * SCALE
"""The same, from which a part of a thing has another colour."""
_LEAST_PART = 8
"""Percent of a thing that such a part covers."""
_SPECK = 80
"""One thing in so many parts of 100,000 of the picture is the smallest."""
_INSET = 9_000
"""In the same unit: what takes up more, with its surroundings, is more than a shape."""
_GROUND_SHARE = 12
"""Percent of the border that a second ground touches."""
_SIZES = {"small": 145, "medium-sized": 225}
"""Widest extent, in ‰ of the picture's; what is wider is large."""
_MOST = 60


class ColourRegion(NamedTuple):
    """A free-standing region of one colour."""

    shape: str | None
    """None where it looks like nothing that has a name."""
    colour: str
    size: str
    column: int
    row: int
    area: int
    """Pixels."""

    @property
    def place(self) -> str:
        return PLACES[3 * self.row + self.column]


@dataclass(frozen=True, eq=False)
class Inset:
    """What is more than a shape: a flag, a sign, a board. ``quad`` are its corners in ``pixels``, the whole picture."""

    quad: Quad
    mask: Mask
    """Where it is in the picture."""
    pixels: Pixels
    centre: tuple[int, int]


class Look(NamedTuple):
    """What is to be seen in a picture; things in reading order of their cells of the 3×3 grid."""

    width: int
    height: int
    pattern: str
    grounds: tuple[str, ...]
    things: tuple[ColourRegion, ...]
    inset: Inset | None


@lru_cache(maxsize=512)  # three question sets are about the same images, and have several questions about each
def look(file: bytes, longest: int) -> Look:
    """Segment an image file, of which a larger one is looked at with ``longest`` pixels a side."""
    small = Image.open(BytesIO(file)).convert("RGB")
    if max(small.size) > longest:
        width, height = (max(1, side * longest // max(small.size)) for side in small.size)
        small = small.resize((width, height), Image.Resampling.BOX)
    width, height = small.size
    pixels = np.asarray(small)
    if min(width, height) < _LEAST_SIDE:
        return Look(width, height, "one plain colour", (), (), None)
    labels, means = _regions(pixels)
    colours = lab(means)
    grounds = _grounds(labels, colours)
    if not grounds:
        return Look(width, height, "one plain colour", (), (), None)
    of_ground = _near(colours, colours[grounds], _SAME_GROUND)
    things, inset = _things(pixels, labels, means, of_ground >= 0)
    pattern = _pattern(of_ground[labels], len(grounds))
    names = tuple(nearest_colour(means[index], GROUND_COLOURS) for index in _in_order(of_ground[labels], grounds))
    return Look(width, height, pattern, names, tuple(things), inset)


def _regions(pixels: Pixels) -> tuple[Labels, NDArray[np.uint8]]:
    """Labels 0…n−1 of regions within which colour changes little, and their mean colours."""
    # Here, since every stage checks the selected settings, and only answering needs scikit-image.
    from skimage.measure import label
    from skimage.segmentation import watershed

    calm = median(pixels, 2 if max(pixels.shape) > 200 else 1)
    changes = gradient(calm)
    usual = int(np.sort(changes, axis=None)[changes.size // 2])
    seeds = label(changes < max(_CALM, 3 * usual), connectivity=1)
    sizes = np.bincount(seeds.ravel())
    seeds[(sizes < max(4, seeds.size * _SPECK // 500_000))[seeds]] = 0
    if seeds.max() == 0:
        seeds[:] = 1
    basins = watershed(changes, seeds)
    numbers = np.cumsum(np.bincount(basins.ravel()) > 0) - 1
    return _joined(numbers[basins].astype(np.int64), calm)


def _joined(labels: Labels, pixels: Pixels) -> tuple[Labels, NDArray[np.uint8]]:
    """Neighbours of like colour made one, the most alike first; means move along."""
    count = int(labels.max()) + 1
    areas = np.bincount(labels.ravel(), minlength=count)
    channels = (pixels[..., at].ravel() for at in range(3))  # sums are whole, and so exact, in doubles
    sums = np.stack([np.bincount(labels.ravel(), each, count) for each in channels], axis=-1).astype(np.int64)
    parents = list(range(count))

    def root(index: int) -> int:
        while parents[index] != index:
            parents[index] = parents[parents[index]]
            index = parents[index]
        return index

    means = lab(((2 * sums + areas[:, None]) // (2 * areas[:, None])).astype(np.uint8))
    pairs = sorted((_distance(means[a], means[b]), a, b) for a, b in touching(labels, count))
    for distance, a, b in pairs:
        if distance >= 4 * _ALIKE**2:
            break
        one, other = root(a), root(b)
        if one == other:
            continue
        mean = lab(np.stack([sums[at] // areas[at] for at in (one, other)]).astype(np.uint8))
        if _distance(mean[0], mean[1]) < _ALIKE**2:
            keep, drop = min(one, other), max(one, other)
            parents[drop] = keep
            sums[keep] += sums[drop]
            areas[keep] += areas[drop]
    roots = np.array([root(index) for index in range(count)])
    kept, numbers = np.unique(roots, return_inverse=True)
    return numbers[labels], (sums[kept] // areas[kept][:, None]).astype(np.uint8)


def _border(labels: Labels) -> Labels:
    return np.concatenate([labels[0], labels[-1], labels[1:-1, 0], labels[1:-1, -1]])


def _grounds(labels: Labels, colours: NDArray[np.int64]) -> list[int]:
    """The region that touches most of the border and, where one of another colour touches enough of it, that too."""
    counts = Counter(_border(labels).tolist())
    if not counts:
        return []
    first = max(counts, key=lambda index: (counts[index], -index))
    unlike = {index for index in counts if _distance(colours[index], colours[first]) >= _SAME_GROUND**2}
    shares = {
        index: sum(counts[other] for other in unlike if _distance(colours[index], colours[other]) < _SAME_GROUND**2)
        for index in sorted(unlike)
    }
    second = max(shares, key=lambda index: (shares[index], counts[index], -index), default=None)
    if second is None or 100 * shares[second] < _GROUND_SHARE * sum(counts.values()):
        return [first]
    return [first, second]


def _distance(one: NDArray[np.int64], other: NDArray[np.int64]) -> int:
    return int(((one - other) ** 2).sum())


def _near(colours: NDArray[np.int64], kinds: NDArray[np.int64], most: int) -> Labels:
    """Which of ``kinds`` each colour is, or −1."""
    distances = ((colours[:, None] - kinds[None]) ** 2).sum(axis=-1)
    nearest = distances.argmin(axis=1)
    return np.where(distances.min(axis=1) < most**2, nearest, -1)


def _in_order(kinds: Labels, grounds: list[int]) -> list[int]:
    """``grounds`` from the upper left corner on."""
    at = [
        int(np.flatnonzero(kinds.ravel() == kind)[0]) if (kinds == kind).any() else kinds.size
        for kind in range(len(grounds))
    ]
    return [grounds[kind] for kind in sorted(range(len(grounds)), key=lambda kind: at[kind])]


def _pattern(kinds: Labels, count: int) -> str:
    """How the grounds alternate along lines across the picture."""
    if count < 2:
        return "one plain colour"
    height, width = kinds.shape
    across = max(_changes(kinds[at * (height - 1) // 8]) for at in range(9))
    down = max(_changes(kinds[:, at * (width - 1) // 8]) for at in range(9))
    if across > down:
        return "vertical stripes"
    return "two halves, one above the other" if down <= 1 else "horizontal stripes"


def _changes(line: Labels) -> int:
    """How often one ground follows the other, of runs that are not slivers."""
    edges = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), len(line)]
    runs = [int(line[start]) for start, end in pairwise(edges) if line[start] >= 0 and 40 * (end - start) >= len(line)]
    return sum(one != other for one, other in pairwise(runs))


def _things(
    pixels: Pixels, labels: Labels, means: NDArray[np.uint8], is_ground: Mask
) -> tuple[list[ColourRegion], Inset | None]:
    from skimage.measure import label, regionprops

    height, width = labels.shape
    things: list[tuple[Point, ColourRegion]] = []
    insets: list[tuple[int, Inset]] = []
    found = regionprops(label(~is_ground[labels], connectivity=1))
    for region in sorted(found, key=lambda region: -region.area)[:_MOST]:
        if region.area * 100_000 < _SPECK * labels.size:
            break
        top, left, bottom, right = region.bbox
        mask = np.asarray(region.image, dtype=np.bool_)
        inside = Counter(labels[top:bottom, left:right][mask].tolist())
        main = max(inside, key=lambda index: (inside[index], -index))
        others = sum(count for index, count in inside.items() if _distance(*lab(means[[index, main]])) >= _OTHER**2)
        mixed = 100 * others >= _LEAST_PART * int(region.area)
        if (bottom - top) * (right - left) * 100_000 > _INSET * labels.size or (
            mixed and region.area * 40 > labels.size
        ):
            whole = np.zeros(labels.shape, dtype=np.bool_)
            whole[top:bottom, left:right] = mask
            quad = quad_around(whole)
            if quad is not None:
                centre = (left + right) // 2, (top + bottom) // 2
                insets.append((int(region.area), Inset(quad, whole, pixels, centre)))
            continue
        extent = 1000 * max(right - left, bottom - top) // max(width, height)
        size = next((name for name, most in _SIZES.items() if extent <= most), "large")
        colour = nearest_colour(means[main], THING_COLOURS)
        column, row = 3 * (left + right) // (2 * width), 3 * (top + bottom) // (2 * height)
        thing = ColourRegion(shape_of(mask), colour, size, column, row, int(region.area))
        things.append(((left + right, top + bottom), thing))
    inset = max(insets, key=lambda one: one[0])[1] if insets else None
    free = [thing for box, thing in things if inset is None or not _within(box, inset)]
    return sorted(free, key=lambda thing: (thing.row, thing.column)), inset


def _within(box: Point, inset: Inset) -> bool:
    """Whether a point, in half pixels, is in the upright rectangle around an inset's corners."""
    return all(min(each) < at < max(each) for at, each in zip(box, zip(*inset.quad, strict=True), strict=True))
