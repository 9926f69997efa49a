"""CAMScore's lowest level: how far two images are apart pixel by pixel.

Source: Cui et al., "Evaluating Image Caption via Cycle-consistent Text-to-Image Generation", arXiv 2501.03567. The
paper's p and image size could not be looked up, so the L1 norm and the size are our own.
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels: TypeAlias = NDArray[np.uint8]

SIDE = 64
"""Both images are resized to this many pixels per side."""


def pixels(image: Image.Image, side: int = SIDE) -> Pixels:
    """Return ``image`` as ``side``×``side``×3 of uint8, squeezed if it is not square, by Pillow's BILINEAR filter.

    >>> pixels(Image.new("L", (640, 480), "white")).shape
    (64, 64, 3)
    """
    return np.asarray(image.convert("RGB").resize((side, side), Image.Resampling.BILINEAR))


def pixel_distance(a: Pixels, b: Pixels) -> float:
    """Return mean |a − b| / 255 over all pixels and channels: in [0, 1], lower is more alike.

    Raises:
        ValueError: they are not of uint8 and of one size, or nothing is in them.

    >>> black, white = np.zeros((2, 2, 3), np.uint8), np.full((2, 2, 3), 255, np.uint8)
    >>> pixel_distance(black, white), pixel_distance(black, black)
    (1.0, 0.0)
    """
    for name, image in (("a", a), ("b", b)):
        if image.dtype != np.uint8 or image.size == 0:
            raise ValueError(f"{name} must hold pixels of uint8, but is {image.dtype} of shape {image.shape}")
    if a.shape != b.shape:
        raise ValueError(f"a and b must be of one size, but are {a.shape} and {b.shape}")
    return int(np.abs(a.astype(np.int64) - b).sum()) / a.size / 255
