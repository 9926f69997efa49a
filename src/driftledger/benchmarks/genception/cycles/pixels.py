"""The distance of two files, pixel by pixel; an original is decoded once, however many models redraw it."""

from functools import lru_cache

from driftledger.benchmarks._chains.file_now import MOST_ORIGINALS, MOST_PAIRS, FileNow
from driftledger.core.types import ImageFile
from driftledger.metrics import pixel_distance


def pixels_apart(original: ImageFile, redrawn: ImageFile) -> float:
    """See :func:`driftledger.metrics.pixel_distance.pixel_distance`."""
    return _distance(FileNow.of(original), FileNow.of(redrawn))


@lru_cache(MOST_PAIRS)
def _distance(original: FileNow, redrawn: FileNow) -> float:
    return pixel_distance.pixel_distance(_pixels(original), pixel_distance.pixels(redrawn.image.open()))


@lru_cache(MOST_ORIGINALS)
def _pixels(original: FileNow) -> pixel_distance.Pixels:
    return pixel_distance.pixels(original.image.open())
