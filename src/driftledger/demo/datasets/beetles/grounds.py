"""What the beetles sit on: leaf, bark, sand or snow, pale enough for every beetle to stand out."""

from functools import cache
from hashlib import shake_256

import numpy as np
from numpy.typing import NDArray

from driftledger.demo.choices import Key, between, roll

SIDE = 128
"""Pixels per side of an image; textures repeat after as many."""

Pixels = NDArray[np.uint8]
RGB = tuple[int, int, int]

_COLOURS: dict[str, tuple[RGB, RGB]] = {  # of the surface, and of what is on it
    "leaf": ((172, 204, 128), (180, 211, 138)),
    "bark": ((158, 144, 130), (151, 137, 123)),
    "sand": ((222, 206, 174), (215, 199, 166)),
    "snow": ((238, 242, 247), (232, 238, 245)),
}


def ground(key: Key) -> Pixels:
    """One individual's ground without the individual, H×W×3."""
    kinds = list(_COLOURS)
    texture = _texture(kinds[roll(len(kinds), *key, "ground")])
    if roll(2, *key, "ground lies across"):
        texture = texture.transpose(1, 0, 2)
    shifts = (roll(SIDE, *key, "ground down"), roll(SIDE, *key, "ground across"))
    light = np.int16(between(-10, 5, *key, "light"))
    lit: Pixels = np.clip(np.roll(texture, shifts, (0, 1)) + light, 0, 255).astype(np.uint8)
    return lit


@cache
def _texture(kind: str) -> NDArray[np.int16]:
    marked = {"leaf": _veins, "bark": _streaks, "sand": _grains, "snow": _dents}[kind]()
    surface, other = _COLOURS[kind]
    return np.where(marked[..., None], np.array(other, np.int16), np.array(surface, np.int16))


def _veins() -> NDArray[np.bool_]:
    """A middle vein, and others that leave it at half a right angle."""
    down, across = np.indices((SIDE, SIDE))
    aside = abs(across - SIDE // 2)
    marked: NDArray[np.bool_] = (aside < 2) | ((down + aside) % 32 < 2)
    return marked


def _streaks() -> NDArray[np.bool_]:
    """Cracks along one direction."""
    return np.repeat(np.repeat(_noise("bark", 8, 64) < 90, 16, axis=0), 2, axis=1)


def _grains() -> NDArray[np.bool_]:
    return np.repeat(np.repeat(_noise("sand", 64, 64) < 26, 2, axis=0), 2, axis=1)


def _dents() -> NDArray[np.bool_]:
    """Shallow round hollows."""
    down, across = np.indices((SIDE, SIDE))
    marked = np.zeros((SIDE, SIDE), dtype=np.bool_)
    for y, x, size in (_noise("snow", 14, 3).astype(np.int64) * (SIDE, SIDE, 12) // 256).tolist():
        dy, dx = ((here - there + SIDE // 2) % SIDE - SIDE // 2 for here, there in ((down, y), (across, x)))
        marked |= 4 * dy * dy + dx * dx < (6 + size) ** 2
    return marked


def _noise(name: str, height: int, width: int) -> Pixels:
    """Bytes that look random and are the same in every version of every library."""
    return np.frombuffer(shake_256(name.encode()).digest(height * width), np.uint8).reshape(height, width)
