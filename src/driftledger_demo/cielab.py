"""sRGB → CIELAB in whole numbers, and the nearest colour name.

Floating-point powers differ in their last bits from one processor's maths library to another's, and a colour on the
border between two names would then change the text. Here every table entry is an exact integer root.
"""

from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from numpy.typing import NDArray

from driftledger_demo.vocabulary import COLOURS, RGB

SCALE = 10
"""Units per L*, a* or b*."""

_ONE = 4095
"""1.0 in linear light: the size of the tables, and small enough for exact int64 products."""
_CUBE = 1 << 12
"""1.0 of the cube root."""
# IEC 61966-2-1, D65; rows divided by the white point, in 1/10,000, each row adding up to one
_MATRIX = np.array([[4339, 3762, 1899], [2126, 7152, 722], [177, 1095, 8728]], dtype=np.int64)


def integer_root(value: int, degree: int) -> int:
    """The largest whole number whose ``degree``-th power is at most ``value``."""
    low, high = 0, 1 << (value.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= value else (low, middle)
    return low


def _linear(code: int) -> int:
    """Linear light of an 8-bit sRGB code: ((c + 0.055) / 1.055)^(12/5), rounded down."""
    if code <= 10:
        return code * _ONE * 100 // (255 * 1292)
    above, below = 1000 * code + 14_025, 269_025
    return integer_root(_ONE**5 * above**12 // below**12, 5)


def _lightness(level: int) -> int:
    """CIE f(t) of ``level`` / _ONE, times _CUBE, rounded down."""
    if level * 24389 > 216 * _ONE:
        return integer_root(_CUBE**3 * level // _ONE, 3)
    return _CUBE * (24389 * level + 27 * 16 * _ONE) // (27 * 116 * _ONE)


@cache
def _tables() -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    linear = np.array([_linear(code) for code in range(256)], dtype=np.int64)
    return linear, np.array([_lightness(level) for level in range(_ONE + 1)], dtype=np.int64)


def lab(rgb: NDArray[np.uint8]) -> NDArray[np.int64]:
    """CIELAB of sRGB colours (…×3), in units of 1/:data:`SCALE`, rounded down."""
    linear, cube = _tables()
    light = linear[rgb]
    x, y, z = (cube[light @ row // 10_000] for row in _MATRIX)
    return np.stack([116 * y - 16 * _CUBE, 500 * (x - y), 200 * (y - z)], axis=-1) * SCALE // _CUBE


def name_colours(colours: Sequence[RGB], names: Iterable[str]) -> list[str]:
    """The name out of ``names`` that is nearest in CIELAB to each colour; on a tie the first."""
    choice = tuple(names)
    seen = lab(np.array(colours, dtype=np.uint8).reshape(-1, 3))
    known = lab(np.array([COLOURS[name] for name in choice], dtype=np.uint8))
    distance = ((seen[:, None, :] - known[None]) ** 2).sum(axis=-1)
    return [choice[index] for index in distance.argmin(axis=1).tolist()]
