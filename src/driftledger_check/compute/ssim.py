"""SSIM (Wang et al. 2004): Gaussian windows of 11×11 with σ = 1.5, K1 = 0.01, K2 = 0.03, L = 255, to 6 decimals."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check.compute.encoders import Picture
from driftledger_check.compute.given import MissingError
from driftledger_check.compute.means import Array

PRECISION = 1e-6
"""The last decimal: further ones vary with the processor."""
MOST_PIXELS = 1024
"""Of a side."""
_WEIGHTS = np.exp(-(np.arange(-5, 6) ** 2) / (2 * 1.5**2))


@lru_cache(maxsize=512)
def luma(picture: Picture, side: int) -> NDArray[np.uint8]:
    """Squeezed to ``side`` × ``side``."""
    if side > MOST_PIXELS:
        raise MissingError(f"images of {side} × {side} pixels are more than the checker compares")
    grey = picture.open().convert("L").resize((side, side), Image.Resampling.BILINEAR)
    return np.asarray(grey)


def ssim(a: NDArray[np.uint8], b: NDArray[np.uint8]) -> float:
    """The mean over all windows that lie within the images: in [−1, 1], 1 where they are equal."""
    x, y = a.astype(np.float64), b.astype(np.float64)
    mx, my, squares, products = (_blurred(each) for each in (x, y, x * x + y * y, x * y))
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    means = mx * mx + my * my
    above = (2 * mx * my + c1) * (2 * (products - mx * my) + c2)
    below = (means + c1) * (squares - means + c2)
    return round(float((above / below).mean()), 6) + 0.0


def _blurred(image: Array) -> Array:
    """Weighed sums over every window, first of rows, then of columns."""
    for _ in range(2):
        size = len(image) - len(_WEIGHTS) + 1
        windows = (weight * image[at : at + size] for at, weight in enumerate(_WEIGHTS / _WEIGHTS.sum()))
        total = next(windows)
        for each in windows:
            total += each
        image = np.ascontiguousarray(total.T)
    return image
