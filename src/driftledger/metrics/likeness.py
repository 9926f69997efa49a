"""How alike two answers of a component are, without any model that would have to be trusted in turn."""

import re
from collections import Counter
from typing import TypeAlias

import numpy as np
from PIL import Image

from driftledger.core.types import Float64

SIDE = 16
"""Pixels: images are compared by how light and how coloured they are where, as small as this."""

Answer: TypeAlias = str | Float64
"""A text, or a :func:`thumbnail`."""


def likeness(one: Answer, other: Answer) -> float:
    """In [0, 1], 1 is the same: of texts the share of words that both have, of images 1 less the mean difference of
    pixels. A text and an image have nothing in common.

    Source: of texts Dice 1945, "Measures of the Amount of Ecologic Association Between Species", over words as often as
    they stand.

    >>> likeness("A red boat.", "a RED boat"), likeness("B", "A"), likeness("", "")
    (1.0, 0.0, 1.0)
    >>> likeness(np.zeros((16, 16, 3)), np.full((16, 16, 3), 0.25))
    0.75
    """
    if isinstance(one, str) and isinstance(other, str):
        words, others = (Counter(re.findall(r"\w+", text.casefold())) for text in (one, other))
        size = words.total() + others.total()
        return 2 * (words & others).total() / size if size else 1.0
    if isinstance(one, str) or isinstance(other, str):
        return 0.0
    return 1 - float(np.abs(one - other).mean())


def thumbnail(image: Image.Image) -> Float64:
    """An image as small as it is compared: 16×16×3 in [0, 1]."""
    return np.asarray(image.convert("RGB").resize((SIDE, SIDE)), dtype=np.float64) / 255
