"""Image → regions: what the describer sees, before it has words for it.

Works on a small copy of the picture with integer filters, so that the same picture gives the same regions on every
processor.
"""

# mypy: untyped-calls-exclude=skimage

from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.types import ImageFile
from driftledger_demo.cielab import lab
from driftledger_demo.filters import cross_gradient, cross_median
from driftledger_demo.models.regions.geometry import Outline, outlines
from driftledger_demo.models.regions.merging import merge, merges
from driftledger_demo.vocabulary import RGB

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
    total = np.zeros((count, 3), dtype=np.int64)
    np.add.at(total, labels.ravel(), rgb.reshape(-1, 3))
    areas = np.bincount(labels.ravel(), minlength=count)[:, None]
    return [(red, green, blue) for red, green, blue in ((2 * total + areas) // (2 * areas)).tolist()]
