"""SSIM of two files; an original is decoded once for all its redrawings."""

from functools import lru_cache

from driftledger.core.types import ImageFile
from driftledger.metrics import structural


def structural_similarity(original: ImageFile, redrawn: ImageFile, side: int) -> float:
    """At ``side``×``side``; see :func:`driftledger.metrics.structural.structural_similarity`."""
    seen = structural.comparable(redrawn.open(), side)
    return structural.structural_similarity(_luma(original, original.path.stat().st_mtime_ns, side), seen)


@lru_cache(128)
def _luma(original: ImageFile, _changed: int, side: int) -> structural.Luma:
    return structural.comparable(original.open(), side)
