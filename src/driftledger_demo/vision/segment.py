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
from itertools import groupby, pairwise
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from driftledger.core.media import open_picture
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
    centre = (
        (2 * points.sum(axis=0) + filled) * 1000 // filled
    )  # thousandths of half a pixel
    reach = int(_distance(1000 * hull, centre).max()) // 1000
    solid = 8000 * filled // twice  # a pixel is four of its half ones
    roundness = reach * 2 // twice  # 318 for a circle, 500 for a square
    low = (centre[1] - 1000 * height) // (
        2 * height
    )  # below the middle of the height, in ‰ of it
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
    """Return the convex hull of a region's pixels with their corners, in order from its left.

    Its points are (across, down), n×2, in half pixels, so that the corners are whole numbers too.
    """
    from scipy.spatial import ConvexHull

    rows = np.flatnonzero(mask.any(axis=1))
    left = mask[rows].argmax(axis=1)
    right = mask.shape[1] - mask[rows, ::-1].argmax(axis=1)
    across = np.concatenate([left, left, right, right])
    down = np.concatenate([rows, rows + 1, rows, rows + 1])
    points = 2 * np.stack([across, down], axis=-1)
    hull = points[ConvexHull(points).vertices]
    leftmost = np.lexsort((hull[:, 1], hull[:, 0]))[0]
    return np.roll(hull, -leftmost, axis=0)


def quad_around(mask: Mask) -> Whole | None:
    """Return the corners of the part of ``mask`` that is most like a rectangle, or None.

    They are upper left, upper right, lower right and lower left, 4×2. Thin poles do not count.
    """
    from scipy.ndimage import grey_opening

    side = max(3, max(mask.shape) // 24) | 1
    body = grey_opening(mask.astype(np.uint8), (side, side), mode="constant") > 0
    if not body.any():
        return None
    hull = hull_of(body)
    along = _direction(hull)
    across = np.array([-along[1], along[0]])
    corners = []
    for u, v in ((-1, -1), (1, -1), (1, 1), (-1, 1)):
        reach = hull @ (u * along + v * across)
        furthest = np.lexsort((hull[:, 1], hull[:, 0], reach))[-1]
        corners.append(hull[furthest])
    return np.array(corners)


def _direction(hull: Whole) -> Whole:
    """Return the side nearest to level of the smallest rectangle around ``hull``."""
    sides = np.roll(hull, -1, axis=0) - hull
    along = sides @ hull.T
    across = sides @ np.array([-hull[:, 1], hull[:, 0]])
    extents = np.ptp(along, axis=1) * np.ptp(across, axis=1)
    areas = extents * 1000 // (sides**2).sum(axis=1)
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


@lru_cache(
    maxsize=512
)  # three question sets have several questions about the same images
def look(file: bytes, longest: int) -> Look:
    """Segment an image file; a larger one is scaled to ``longest`` pixels a side."""
    with open_picture(BytesIO(file)) as image:
        small = image.convert("RGB")
    width, height = small.size
    most = max(width, height)
    if most > longest:
        width = max(1, width * longest // most)
        height = max(1, height * longest // most)
        small = small.resize((width, height), Image.Resampling.BOX)
    if min(width, height) < _LEAST_SIDE:
        return Look(
            width, height, "one plain colour", grounds=[], things=[], inset=None
        )
    pixels = np.asarray(small)
    labels, means = _regions(pixels)
    colours = lab(means)
    grounds = _grounds(labels, colours)
    distances = _distance(colours[:, None], colours[grounds])
    is_ground = distances.min(axis=1) < _SAME_GROUND**2
    kinds = np.where(is_ground, distances.argmin(axis=1), -1)[labels]
    _, first_places = np.unique(kinds[kinds >= 0], return_index=True)
    from_above = [grounds[kind] for kind in first_places.argsort()]
    things, inset = _things(pixels, labels, means, is_ground)
    return Look(
        width,
        height,
        pattern=_pattern(kinds),
        grounds=nearest_colours(means[from_above], GROUND_COLOURS, light=2),
        things=things,
        inset=inset,
    )


def _regions(pixels: Pixels) -> tuple[Whole, Pixels]:
    """Return labels 0…n−1 of regions within which colour changes little, and their mean colours."""
    # Here, since every stage checks the selected settings, and only answering needs scikit-image.
    from skimage.measure import label
    from skimage.segmentation import watershed

    calm = median(pixels, 2 if max(pixels.shape) > 200 else 1)
    changes = gradient(calm)
    usual = int(np.sort(changes, axis=None)[changes.size // 2])
    seeds = label(changes < max(_CALM, 3 * usual), connectivity=1)
    is_tiny = np.bincount(seeds.ravel()) < max(4, seeds.size * _SPECK // 500_000)
    seeds[is_tiny[seeds]] = 0
    _, basins = np.unique(watershed(changes, seeds), return_inverse=True)
    return _joined(basins.reshape(changes.shape), calm)


def _joined(labels: Whole, pixels: Pixels) -> tuple[Whole, Pixels]:
    """Join neighbours of like colour, the most alike first; means move along."""
    count = int(labels.max()) + 1
    areas = np.bincount(labels.ravel())[:, None]
    sums = label_sums(labels, pixels, count)
    means = lab(label_means(labels, pixels, count))
    pairs = []
    for a, b in touching(labels, count):
        distance = int(_distance(means[a], means[b]))
        if distance < 4 * _ALIKE**2:
            pairs.append((distance, a, b))
    roots = np.arange(count)
    for _, a, b in sorted(pairs):
        both = sorted(roots[[a, b]])
        keep, drop = both
        now = lab((sums[both] // areas[both]).astype(np.uint8))
        if keep != drop and _distance(now[0], now[1]) < _ALIKE**2:
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
    shares = [(0, 0, 0)]  # of like colour on the border, of its own, and less its index
    for index in np.flatnonzero(unlike & (counts > 0)).tolist():
        alike = unlike & (_distance(colours, colours[index]) < _SAME_GROUND**2)
        shares.append((int(counts[alike].sum()), int(counts[index]), -index))
    share, _, below = max(shares)
    if 100 * share < _GROUND_SHARE * counts.sum():
        return [first]
    return [first, -below]


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
    grounds = []
    for kind, run in groupby(line.tolist()):
        if kind >= 0 and 40 * len(list(run)) >= len(line):
            grounds.append(kind)
    return sum(one != other for one, other in pairwise(grounds))


def _things(
    pixels: Pixels,
    labels: Whole,
    means: Pixels,
    is_ground: Mask,
) -> tuple[list[ColourRegion], Inset | None]:
    """Return the free-standing regions outside of the largest inset, and that inset."""
    from skimage.measure import label, regionprops

    colours = lab(means)
    centres = []
    things = []
    inset: Inset | None = None
    regions = regionprops(label(~is_ground[labels], connectivity=1))
    for region in sorted(regions, key=lambda region: -region.area)[:_MOST]:
        if region.area * 100_000 < _SPECK * labels.size:
            break
        inside = Counter(labels[region.slice][region.image].tolist())
        main = max(inside, key=lambda index: (inside[index], -index))
        is_far = _distance(colours, colours[main]) >= _OTHER**2
        others = sum(area for index, area in inside.items() if is_far[index])
        is_large = region.area * 40 > labels.size
        is_mixed = 100 * others >= _LEAST_PART * region.area and is_large
        top, left, bottom, right = region.bbox
        if is_mixed or region.area_bbox * 100_000 > _INSET * labels.size:
            placed = np.zeros(labels.shape, dtype=np.bool_)
            placed[region.slice] = region.image
            quad = quad_around(placed)
            if quad is not None and inset is None:
                inset = Inset(
                    quad,
                    region.image,
                    box=region.slice,
                    pixels=pixels,
                    centre=((left + right) // 2, (top + bottom) // 2),
                )
        else:
            centres.append(np.array([left + right, top + bottom]))
            things.append(_thing(region, means[main], labels.shape))
    free = []
    for centre, thing in zip(centres, things, strict=True):
        if inset is None or not _within(centre, inset.quad):
            free.append(thing)
    return sorted(free, key=lambda thing: (thing.row, thing.column)), inset


def _thing(region: Any, mean: Pixels, size: tuple[int, ...]) -> ColourRegion:
    """Return what a region of a picture (H, W) with this mean colour is."""
    height, width = size
    top, left, bottom, right = region.bbox
    extent = 1000 * max(region.image.shape) // max(height, width)
    [colour] = nearest_colours(mean, THING_COLOURS, light=2)
    return ColourRegion(
        shape_of(region.image),
        colour,
        size=next((name for name, most in _SIZES.items() if extent <= most), "large"),
        column=3 * (left + right) // (2 * width),
        row=3 * (top + bottom) // (2 * height),
        area=int(region.area),
    )


def _within(centre: Whole, quad: Whole) -> bool:
    """Return whether a point is in the upright rectangle around four corners; in half pixels."""
    is_within = (quad.min(axis=0) < centre) & (centre < quad.max(axis=0))
    return bool(is_within.all())
