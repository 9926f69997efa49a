"""Whether time grows as a text does and no faster: a function is its own measure, so no machine is
too slow or busy."""

import time
from collections.abc import Callable

_TIMES = 3
_UNSEEN = 0.05
"""Seconds; what takes less, at any growth, keeps nobody waiting."""


def grows_linearly(read: Callable[[str], object], text: str) -> bool:
    """Whether a text takes less than 8 × its first quarter: 4 × is in proportion, 16 × grows with
    the square.

    Of several attempts the quickest count: another process may have had the processor's caches.
    """
    quarter, whole = float("inf"), float("inf")
    for _ in range(_TIMES):
        whole = min(whole, _seconds(read, text))
        if whole < _UNSEEN:
            return True
        quarter = min(quarter, _seconds(read, text[: len(text) // 4]))
        if whole < 8 * quarter:
            return True
    return False


def _seconds(read: Callable[[str], object], text: str) -> float:
    started = time.process_time()
    read(text)
    return time.process_time() - started
