"""Image → things: regions that stand out from the ground, with shape, colour and place.

Nothing here knows how a picture was made. Regions are where colour changes little from point to
point, so that uneven light does not part them; a ground is what touches the border; whatever else
is left is a thing, or holds several colours. Whole numbers only, so that the same picture gives the
same answer on every processor.
"""

# mypy: untyped-calls-exclude=skimage

from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from io import BytesIO
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from PIL import Image

from driftledger_demo.cielab import SCALE, lab, nearest_colours
from driftledger_demo.filters import (
    Mask,
    Pixels,
    Whole,
    gradient,
    label_means,
    label_sums,
    median,
    touching,
)
from driftledger_demo.vision.world import GROUND_COLOURS, PLACES, THING_COLOURS

_LEAST = 24
"""Pixels; fewer have no recognisable shape."""


def shape_of(mask: Mask) -> str | None:
    """Return the name of a region's shape, or None if it looks like nothing that has a name.

    A ring has a hole in its middle. Of the others a cross and a star fill little of their hull. A
    heart has most of itself above the middle of its height and a triangle below; a circle's border
    is everywhere as far away, and a square and a diamond stand on a side or on a corner. Upside
    down, a heart and a triangle are each other.
    """
    from scipy.ndimage import binary_fill_holes

    area = np.count_nonzero(mask)
    if area < _LEAST:
        return None
    full = binary_fill_holes(mask)
    filled = np.count_nonzero(full)
    if 100 * (filled - area) > 12 * filled:
        return "ring"
    hull = hull_of(full)
    x, y = hull.T
    twice = abs(int((x * np.roll(y, -1) - y * np.roll(x, -1)).sum()))
    height, width = full.shape
    points = np.argwhere(full)[:, ::-1]
    centre = (2 * points.sum(axis=0) + filled) * 1000 // filled  # thousandths of half a pixel
    reach = int(((1000 * hull - centre) ** 2).sum(axis=1).max()) // 1000
    solid = 1000 * 8 * filled // twice  # a pixel is four of its half ones
    roundness = reach * 2 // twice  # 318 for a circle, 500 for a square
    low = (centre[1] - 1000 * height) // (2 * height)  # below the middle of the height, in ‰ of it
    if solid < 730:
        return "star"
    if solid < 820:
        return "cross"
    if low < -38:
        return "heart"
    if low > 50 and roundness > 560:
        return "triangle"
    if roundness < 385:
        return "circle"
    return "square" if 100 * filled > 66 * height * width else "diamond"


def hull_of(mask: Mask) -> Whole:
    """Return the convex hull of a region's pixels with their corners, clockwise from its left.

    Its points are (across, down), n×2, in half pixels, so that the corners are whole numbers too.
    """
    rows = np.flatnonzero(mask.any(axis=1))
    left = mask[rows].argmax(axis=1)
    right = mask.shape[1] - mask[rows, ::-1].argmax(axis=1)
    across = np.concatenate([left, left, right, right])
    down = np.concatenate([rows, rows + 1, rows, rows + 1])
    points = np.unique(2 * np.stack([across, down], axis=-1), axis=0).tolist()
    return np.array(_half(points)[:-1] + _half(points[::-1])[:-1])


def _half(points: list[list[int]]) -> list[list[int]]:
    chain: list[list[int]] = []
    for x, y in points:
        while len(chain) > 1:
            (x0, y0), (x1, y1) = chain[-2:]
            if (x1 - x0) * (y - y0) > (y1 - y0) * (x - x0):
                break
            chain.pop()
        chain.append([x, y])
    return chain


def quad_around(mask: Mask) -> Whole | None:
    """Return the corners of the part of ``mask`` that is most like a rectangle, or None.

    They are upper left, upper right, lower right and lower left, 4×2. Thin poles do not count.
    """
    from scipy.ndimage import maximum_filter, minimum_filter

    side = max(3, max(mask.shape) // 24) | 1
    core = minimum_filter(mask.astype(np.uint8), side, mode="constant")
    body = mask & (maximum_filter(core, side, mode="constant") > 0)
    if not body.any():
        return None
    hull = hull_of(body)
    along = _direction(hull)
    across = np.array([-along[1], along[0]])
    corners = []
    for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        reach = hull @ (u * along + v * across)
        corners.append(hull[np.lexsort((hull[:, 1], hull[:, 0], reach))[-1]])
    return np.array(corners)


def _direction(hull: Whole) -> Whole:
    """Return the side nearest to level of the smallest rectangle around ``hull``."""
    sides = np.roll(hull, -1, axis=0) - hull
    along = sides @ hull.T
    across = sides @ np.array([-hull[:, 1], hull[:, 0]])
    areas = np.ptp(along, axis=1) * np.ptp(across, axis=1) * 1000 // (sides**2).sum(axis=1)
    u, v = sides[areas.argmin()]
    level = np.array([v, -u] if abs(v) > abs(u) else [u, v])
    return level if level[0] > 0 else -level


_LEAST_SIDE = 8
"""Pixels a side; in a smaller picture there is nothing to be seen."""
_CALM = 12
"""Grey levels of change around a point within a region, in a picture without noise."""
_ALIKE = 9 * SCALE
"""CIELAB distance up to which neighbouring regions are one."""
_SAME_GROUND = 14 * SCALE
"""The same, up to which a region anywhere belongs to a ground."""
_OTHER = 20 * SCALE
"""The same, from which a part of a thing has another colour."""
_LEAST_PART = 8
"""Percent of a thing that such a part covers."""
_SPECK = 80
"""Size of the smallest thing, in 1/100,000 of the picture."""
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
    """A flag, a sign or a board: more than a shape."""

    quad: Whole
    """Corners in the picture, in half pixels."""
    mask: Mask
    box: tuple[slice, slice]
    """The rows and columns of the picture that ``mask`` covers."""
    pixels: Pixels
    """The whole picture."""
    centre: tuple[int, int]


class Look(NamedTuple):
    """Everything to be seen in a picture; things in reading order of the 3×3 cells."""

    width: int
    height: int
    pattern: str
    grounds: list[str]
    things: list[ColourRegion]
    inset: Inset | None


@lru_cache(maxsize=512)  # three question sets have several questions about the same images
def look(file: bytes, longest: int) -> Look:
    """Segment an image file; a larger one is scaled to ``longest`` pixels a side."""
    small = Image.open(BytesIO(file)).convert("RGB")
    most = max(small.size)
    if most > longest:
        width, height = (max(1, side * longest // most) for side in small.size)
        small = small.resize((width, height), Image.Resampling.BOX)
    if min(small.size) < _LEAST_SIDE:
        return Look(*small.size, "one plain colour", grounds=[], things=[], inset=None)
    pixels = np.asarray(small)
    labels, means = _regions(pixels)
    colours = lab(means)
    grounds = _grounds(labels, colours)
    distances = _distance(colours[:, None], colours[grounds])
    is_ground = distances.min(axis=1) < _SAME_GROUND**2
    kinds = np.where(is_ground, distances.argmin(axis=1), -1)[labels]
    in_order = sorted(range(len(grounds)), key=lambda kind: int(np.argmax(kinds == kind)))
    names = nearest_colours([means[grounds[kind]] for kind in in_order], GROUND_COLOURS, light=2)
    things, inset = _things(pixels, labels, means, is_ground)
    return Look(*small.size, _pattern(kinds), names, things, inset)


def _regions(pixels: Pixels) -> tuple[Whole, Pixels]:
    """Return labels 0…n−1 of regions within which colour changes little, and their mean colours."""
    # Here, since every stage checks the selected settings, and only answering needs scikit-image.
    from skimage.measure import label
    from skimage.segmentation import watershed

    calm = median(pixels, 2 if max(pixels.shape) > 200 else 1)
    changes = gradient(calm)
    usual = int(np.sort(changes, axis=None)[changes.size // 2])
    seeds = label(changes < max(_CALM, 3 * usual), connectivity=1)
    sizes = np.bincount(seeds.ravel())
    seeds[(sizes < max(4, seeds.size * _SPECK // 500_000))[seeds]] = 0
    basins = watershed(changes, seeds)
    numbers = np.cumsum(np.bincount(basins.ravel()) > 0) - 1
    return _joined(numbers[basins], calm)


def _joined(labels: Whole, pixels: Pixels) -> tuple[Whole, Pixels]:
    """Join neighbours of like colour, the most alike first; means move along."""
    count = int(labels.max()) + 1
    areas = np.bincount(labels.ravel())[:, None]
    sums = label_sums(labels, pixels, count)
    means = lab(label_means(labels, pixels, count))
    roots = np.arange(count)
    pairs = [(int(_distance(means[a], means[b])), a, b) for a, b in touching(labels, count)]
    for distance, a, b in sorted(pairs):
        if distance >= 4 * _ALIKE**2:
            break
        keep, drop = sorted(roots[[a, b]])
        both = lab((sums[[keep, drop]] // areas[[keep, drop]]).astype(np.uint8))
        if keep != drop and _distance(both[0], both[1]) < _ALIKE**2:
            roots[roots == drop] = keep
            sums[keep] += sums[drop]
            areas[keep] += areas[drop]
    kept, numbers = np.unique(roots, return_inverse=True)
    return numbers[labels], (sums[kept] // areas[kept]).astype(np.uint8)


def _grounds(labels: Whole, colours: Whole) -> list[int]:
    """Return the region that touches most of the border, and a second of another colour, if any.

    The second and those like it touch enough of the border together.
    """
    border = [labels[0], labels[-1], labels[1:-1, 0], labels[1:-1, -1]]
    counts = np.bincount(np.concatenate(border), minlength=len(colours))
    first = int(counts.argmax())
    unlike = _distance(colours, colours[first]) >= _SAME_GROUND**2
    shares = {}
    for index in np.flatnonzero(unlike & (counts > 0)).tolist():
        alike = unlike & (_distance(colours, colours[index]) < _SAME_GROUND**2)
        shares[index] = int(counts[alike].sum()), int(counts[index]), -index
    second = max(shares, key=shares.__getitem__, default=first)
    if second == first or 100 * shares[second][0] < _GROUND_SHARE * counts.sum():
        return [first]
    return [first, second]


def _distance(one: Whole, other: Whole) -> Whole:
    """Return the squared distances of colours (…×3)."""
    return np.asarray(((one - other) ** 2).sum(axis=-1))


def _pattern(kinds: Whole) -> str:
    """Return how the grounds alternate along lines across the picture."""
    if kinds.max() < 1:
        return "one plain colour"
    height, width = kinds.shape
    across = max(_changes(kinds[at * (height - 1) // 8]) for at in range(9))
    down = max(_changes(kinds[:, at * (width - 1) // 8]) for at in range(9))
    if across > down:
        return "vertical stripes"
    return "two halves, one above the other" if down <= 1 else "horizontal stripes"


def _changes(line: Whole) -> int:
    """Count how often one ground follows the other, in runs that are not slivers."""
    edges = [0, *(np.flatnonzero(np.diff(line)) + 1).tolist(), len(line)]
    runs = [line[start] for start, end in pairwise(edges) if 40 * (end - start) >= len(line)]
    grounds = [kind for kind in runs if kind >= 0]
    return sum(one != other for one, other in pairwise(grounds))


def _things(
    pixels: Pixels,
    labels: Whole,
    means: Pixels,
    is_ground: Mask,
) -> tuple[list[ColourRegion], Inset | None]:
    """Return the free-standing regions outside of the largest inset, and that inset."""
    from skimage.measure import label, regionprops

    height, width = labels.shape
    colours = lab(means)
    things: list[tuple[Whole, ColourRegion]] = []
    inset: Inset | None = None
    regions = regionprops(label(~is_ground[labels], connectivity=1))
    for region in sorted(regions, key=lambda region: -region.area)[:_MOST]:
        area = int(region.area)
        if area * 100_000 < _SPECK * labels.size:
            break
        top, left, bottom, right = region.bbox
        mask = region.image
        inside = Counter(labels[region.slice][mask].tolist())
        main = max(inside, key=lambda index: (inside[index], -index))
        far = _distance(colours, colours[main]) >= _OTHER**2
        others = sum(count for index, count in inside.items() if far[index])
        mixed = 100 * others >= _LEAST_PART * area and area * 40 > labels.size
        if mixed or mask.size * 100_000 > _INSET * labels.size:
            placed = np.zeros(labels.shape, dtype=np.bool_)
            placed[region.slice] = mask
            quad = quad_around(placed)
            if quad is not None and inset is None:
                centre = (left + right) // 2, (top + bottom) // 2
                inset = Inset(quad, mask, box=region.slice, pixels=pixels, centre=centre)
            continue
        extent = 1000 * max(mask.shape) // max(width, height)
        [colour] = nearest_colours(means[main], THING_COLOURS, light=2)
        thing = ColourRegion(
            shape_of(mask),
            colour,
            size=next((name for name, most in _SIZES.items() if extent <= most), "large"),
            column=3 * (left + right) // (2 * width),
            row=3 * (top + bottom) // (2 * height),
            area=area,
        )
        things.append((np.array([left + right, top + bottom]), thing))
    free = [thing for centre, thing in things if inset is None or not _within(centre, inset.quad)]
    return sorted(free, key=lambda thing: (thing.row, thing.column)), inset


def _within(centre: Whole, quad: Whole) -> bool:
    """Return whether a point is in the upright rectangle around four corners; in half pixels."""
    return bool(((quad.min(axis=0) < centre) & (centre < quad.max(axis=0))).all())
