"""CAMScore's lowest level: how far two images are apart pixel by pixel.

Source: Cui et al., "Evaluating Image Caption via Cycle-consistent Text-to-Image Generation", arXiv 2501.03567. Of its
three levels, pixels are compared by an Lp norm, meaning by the cosine of an image encoder's features
(:func:`~driftledger.metrics.drift.cosine_similarity` at t = 1), and objects by a detector, a depth estimator and CIoU;
a network trained on people's judgements makes one score of them. Which p and which size the paper takes could not be
looked up, nor are that network's weights published: this is one level of its three, with p and size said.
"""

import math
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels: TypeAlias = NDArray[np.uint8]

SIDE = 64
"""Both images are brought to this many pixels per side, whatever they were."""


def pixels(image: Image.Image, side: int = SIDE) -> Pixels:
    """``image`` as ``side``×``side``×3 of uint8, squeezed where it is not square, by Pillow's BILINEAR filter, which
    averages over all pixels when it shrinks.

    Raises:
        ValueError: ``side`` is less than 1.

    >>> pixels(Image.new("L", (640, 480), "white")).shape
    (64, 64, 3)
    """
    if side < 1:
        raise ValueError(f"side must be at least 1, but is {side}")
    return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))


def pixel_distance(a: Pixels, b: Pixels, p: int = 1) -> float:
    """(mean |a − b|ᵖ)^(1/p) / 255 over all pixels and channels: in [0, 1], lower is more alike, equal ones give 0.

    Differences are whole numbers and so are their sums; with p = 1 and 2, which are one quotient or its root, the bits
    are the same on every machine.

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
    apart: NDArray[Any] = np.abs(a.astype(np.int64) - b)
    mean = int((apart**p).sum()) / a.size
    return (mean if p == 1 else math.sqrt(mean)) / 255
