"""SSIM: how much of an image's structure is in its redrawing.

Source: Wang et al. 2004, "Image quality assessment: from error visibility to structural
similarity".
"""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.core.types import Float64

Luma: TypeAlias = NDArray[np.uint8]

WINDOW = 11  # pixels per side
C1 = (0.01 * 255) ** 2
C2 = (0.03 * 255) ** 2


def comparable(image: Image.Image, side: int) -> Luma:
    """Return ``image`` as ``side``×``side`` luma (ITU-R 601): SSIM depends on size.

    What is not square is squeezed. Pillow's BILINEAR averages over all pixels when it shrinks, as
    Wang et al. advise; with BOX, the last bit of a coordinate would decide the weight of a pixel at
    the edge of the averaged window.

    Raises:
        ValueError: ``side`` is smaller than the window of 11 pixels.

    >>> comparable(Image.new("RGB", (640, 480), "white"), 16).shape
    (16, 16)
    """
    if side < WINDOW:
        raise ValueError(
            f"side must be at least {WINDOW}, the window of SSIM, but is {side}"
        )
    return np.asarray(
        image.convert("L").resize((side, side), Image.Resampling.BILINEAR)
    )


def structural_similarity(a: Luma, b: Luma) -> float:
    """Return the mean SSIM of two images, H×W of uint8.

    It is in [−1, 1], higher is more alike, and equal images give 1.

    With the constants of Wang et al.: Gaussian weights with σ = 1.5 in windows of 11×11 within the
    image, covariances of the population, K1 = 0.01, K2 = 0.03 and L = 255. Rounded to 6 decimals.

    Raises:
        ValueError: an image has fewer than 11 pixels per side, or the sizes differ.

    >>> image = np.arange(256, dtype=np.uint8).reshape(16, 16)
    >>> structural_similarity(image, image)
    1.0
    >>> structural_similarity(image, image[::-1]) < 0.1
    True
    """
    if a.shape != b.shape or min(a.shape) < WINDOW:
        raise ValueError(
            f"images must have one size and at least {WINDOW} pixels per side, but have the "
            f"shapes {a.shape} and {b.shape}"
        )
    x = a.astype(np.float64)
    y = b.astype(np.float64)
    windows = _windows(a.shape[0]) @ np.stack([x, y, x * x, y * y, x * y])
    mean_x, mean_y, xx, yy, xy = windows @ _windows(a.shape[1]).T
    product = mean_x * mean_y
    squares = mean_x**2 + mean_y**2
    luminance = (2 * product + C1) / (squares + C1)
    structure = (2 * (xy - product) + C2) / (xx + yy - squares + C2)
    value = float((luminance * structure).mean())
    return round(value, 6) + 0.0  # the last bits vary with the processor; no −0


def _windows(pixels: int) -> Float64:
    """Return the Gaussian weights of each window along a side: windows × pixels."""
    first = np.arange(pixels - WINDOW + 1)[:, None]
    distances = np.arange(pixels) - first - WINDOW // 2
    weights = np.exp(-((distances / 1.5) ** 2) / 2) * (abs(distances) <= WINDOW // 2)
    table: Float64 = weights / weights.sum(axis=1, keepdims=True)
    return table
