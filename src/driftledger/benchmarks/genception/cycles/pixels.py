"""The distance of two files, pixel by pixel; an original is decoded once for all its redrawings."""

from functools import lru_cache

from driftledger.core.types import ImageFile
from driftledger.metrics import pixel_distance


def pixels_apart(original: ImageFile, redrawn: ImageFile) -> float:
    """See :func:`driftledger.metrics.pixel_distance.pixel_distance`."""
    seen = pixel_distance.pixels(redrawn.open())
    return pixel_distance.pixel_distance(_pixels(original, original.path.stat().st_mtime_ns), seen)


@lru_cache(128)
def _pixels(original: ImageFile, _changed: int) -> pixel_distance.Pixels:
    return pixel_distance.pixels(original.open())
