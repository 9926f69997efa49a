"""CAMScore's lowest level: how far two images are apart pixel by pixel.

Source: Cui et al., "Evaluating Image Caption via Cycle-consistent Text-to-Image Generation", arXiv 2501.03567. Its
other levels are the cosine of an image encoder (:func:`~driftledger.metrics.drift.cosine_similarity` at t = 1) and
objects found by a detector; a network whose weights are not published joins the three. The paper's p and image size
could not be looked up, so this level has p and size of its own.
"""

import math
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels: TypeAlias = NDArray[np.uint8]

SIDE = 64
"""Both images are resized to this many pixels per side."""


def pixels(image: Image.Image, side: int = SIDE) -> Pixels:
    """Return ``image`` as ``side``×``side``×3 of uint8, squeezed if it is not square, by Pillow's BILINEAR filter.

    Raises:
        ValueError: ``side`` is less than 1.

    >>> pixels(Image.new("L", (640, 480), "white")).shape
    (64, 64, 3)
    """
    if side < 1:
        raise ValueError(f"side must be at least 1, but is {side}")
    return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))


def pixel_distance(a: Pixels, b: Pixels, p: int = 1) -> float:
    """Return (mean |a − b|ᵖ)^(1/p) / 255 over all pixels and channels: in [0, 1], lower is more alike.

    Raises:
        ValueError: they are not of uint8 and of one size, nothing is in them, or p is neither 1 nor 2.

    >>> black, white = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)
    >>> pixel_distance(black, white), pixel_distance(black, black), pixel_distance(black, white // 5 * 3, p=2)
    (1.0, 0.0, 0.6)
    """
    if p not in (1, 2):
        raise ValueError(f"p must be 1 or 2, but is {p}")
    for name, image in (("a", a), ("b", b)):
        if image.dtype != np.uint8 or image.size == 0:
            raise ValueError(f"{name} must hold pixels of uint8, but is {image.dtype} of shape {image.shape}")
    if a.shape != b.shape:
        raise ValueError(f"a and b must be of one size, but are {a.shape} and {b.shape}")
    mean = int((np.abs(a.astype(np.int64) - b) ** p).sum()) / a.size  # whole numbers: no rounding before the quotient
    return (mean if p == 1 else math.sqrt(mean)) / 255
