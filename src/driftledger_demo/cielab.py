"""sRGB → CIELAB in whole numbers, and the nearest word for a colour.

Floating-point powers differ in their last bits from one processor's maths library to another's, and
a colour on the border between two names would then change the text. So both powers are read from
tables of whole numbers. Before it is rounded down, each entry is whole or 1/10,000 away from that.
"""

import numpy as np
from numpy.typing import ArrayLike

from driftledger_demo.filters import Pixels, Whole
from driftledger_demo.vocabulary import RGB

SCALE = 10
"""Units per L*, a* or b*."""

_ONE = 4095
"""1.0 in linear light: the size of the table, and small enough for exact int64 products."""
_CUBE = 1 << 12
"""1.0 of the cube root."""
# IEC 61966-2-1, D65; rows divided by the white point, in 1/10,000, each row adding up to one
_MATRIX = np.array(
    [
        [4339, 3762, 1899],
        [2126, 7152, 722],
        [177, 1095, 8728],
    ],
    dtype=np.int64,
)

_code = np.arange(256) / 255
_curved = ((_code + 0.055) / 1.055) ** 2.4
_linear = np.where(
    _code <= 0.04045,
    _code / 12.92,
    _curved,
)
_linear *= _ONE
_LINEAR = _linear.astype(np.int64)
"""Linear light of each 8-bit sRGB code."""
_light = np.arange(_ONE + 1) / _ONE
_straight = (24389 / 27 * _light + 16) / 116
_root = np.where(
    _light > 216 / 24389,
    _light ** (1 / 3),
    _straight,
)
_root *= _CUBE
_ROOT = _root.astype(np.int64)
"""CIE f(t) of each level of light."""


def lab(rgb: Pixels) -> Whole:
    """Return CIELAB of sRGB colours (…×3), in units of 1/:data:`SCALE`, rounded down."""
    light = _LINEAR[rgb] @ _MATRIX.T // 10_000
    roots = _ROOT[light]
    x = roots[..., 0]
    y = roots[..., 1]
    z = roots[..., 2]
    lightness = 116 * y - 16 * _CUBE
    from_green_to_red = 500 * (x - y)
    from_blue_to_yellow = 200 * (y - z)
    channels = np.stack(
        [
            lightness,
            from_green_to_red,
            from_blue_to_yellow,
        ],
        axis=-1,
    )
    return channels * SCALE // _CUBE


def nearest_colours(colours: ArrayLike, words: dict[str, RGB]) -> list[str]:
    """Return the word for each colour (n×3) that is nearest in CIELAB; on a tie, the first."""
    names = list(words)
    pixels = np.asarray(colours, dtype=np.uint8)
    named = np.array([*words.values()], dtype=np.uint8)
    seen = lab(pixels.reshape(-1, 3))
    known = lab(named)
    difference = seen[:, None] - known
    squared = (difference**2).sum(axis=-1)
    nearest = squared.argmin(axis=1)
    return [names[index] for index in nearest.tolist()]
