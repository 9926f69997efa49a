"""SSIM of two files; an original is decoded once, however many models redraw it."""

from functools import lru_cache

from driftledger.benchmarks._chains.file_now import MOST_ORIGINALS, MOST_PAIRS, FileNow
from driftledger.core.types import ImageFile
from driftledger.metrics import structural


def structural_similarity(original: ImageFile, redrawn: ImageFile, side: int) -> float:
    """At ``side``×``side``; see :func:`driftledger.metrics.structural.structural_similarity`."""
    return _similarity(FileNow.of(original), FileNow.of(redrawn), side)


@lru_cache(MOST_PAIRS)
def _similarity(original: FileNow, redrawn: FileNow, side: int) -> float:
    return structural.structural_similarity(_luma(original, side), structural.comparable(redrawn.image.open(), side))


@lru_cache(MOST_ORIGINALS)
def _luma(original: FileNow, side: int) -> structural.Luma:
    return structural.comparable(original.image.open(), side)
