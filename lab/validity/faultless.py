"""The ceiling of tables about ``arrangements``: a describer that makes no mistakes, since it
measures what was drawn.

What is lost in its chains, the generator has lost.
"""

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger.components.base import Model
from driftledger.core.types import Conversation, Outcome, Result
from driftledger_demo.datasets.arrangements.grammar import (
    GROUNDS,
    INKS,
    PLACES,
    SHAPES,
    SIDE,
    SIZES,
    Arrangement,
    Thing,
    silhouette,
)
from driftledger_demo.filters import Mask
from driftledger_demo.models.controls import at_most
from driftledger_demo.vocabulary import RGB

Values = NDArray[np.float64]

_BORDERS = 0, 22, 43, SIDE
"""Between the columns, and between the rows, in pixels."""
_SEEN = 40
"""Least Euclidean distance, in 8-bit sRGB, of a shape's pixel from its ground; inks are at least 95
away."""
_LEAST = 24
"""Pixels of a shape; fewer are noise. The smallest figure, a small ring, has 68."""
_INNERMOST = 0.75
"""Of a shape's pixels the share that may be mixed with the ground: a small ring is two pixels wide.
"""


def measure(pixels: NDArray[np.uint8]) -> Arrangement:
    """The arrangement that a 64×64×3 image is nearest to; ``things`` may be none, or one in every
    cell.

    The ground is the named colour nearest to the median of the pixels. In each cell, what stands
    out from it is a
    thing: its colour is the nearest to the median of those pixels that stand out most, and its
    shape and size are those whose silhouette overlaps best (intersection over union) with the
    pixels that are nearer to that colour than to the ground.

    Raises:
        ValueError: another size.
    """
    if pixels.shape != (SIDE, SIDE, 3):
        raise ValueError(f"an image of {pixels.shape}; {SIDE}×{SIDE}×3 is measured")
    values = pixels.astype(np.float64)
    ground = np.median(values.reshape(-1, 3), axis=0)
    things = (_thing(cell, values, ground) for cell in range(len(PLACES)))
    return Arrangement(
        _nearest(ground, GROUNDS), tuple(thing for thing in things if thing is not None)
    )


def _thing(cell: int, values: Values, ground: Values) -> Thing | None:
    row, column = divmod(cell, 3)
    inside = np.zeros(values.shape[:2], dtype=np.bool_)
    inside[
        _BORDERS[row] : _BORDERS[row + 1], _BORDERS[column] : _BORDERS[column + 1]
    ] = True
    away = _distances(values, ground)
    seen = inside & (away > _SEEN)
    if np.count_nonzero(seen) < _LEAST:
        return None
    farthest = away >= np.quantile(away[seen], _INNERMOST, method="lower")
    ink = np.median(values[seen & farthest], axis=0)
    covered = inside & (_distances(values, ink) < away)
    kinds = [(size, shape) for size in SIZES for shape in SHAPES]
    size, shape = max(
        kinds, key=lambda kind: _overlap(covered, silhouette(kind[1], kind[0], cell))
    )
    return Thing(cell, size, _nearest(ink, INKS), shape)


def _distances(values: Values, colour: Values) -> Values:
    distances: Values = np.sqrt(((values - colour) ** 2).sum(axis=2))
    return distances


def _overlap(one: Mask, other: Mask) -> float:
    return float(np.count_nonzero(one & other) / np.count_nonzero(one | other))


def _nearest(colour: Values, named: dict[str, RGB]) -> str:
    return min(named, key=lambda name: float(((colour - named[name]) ** 2).sum()))


class Faultless(Model):
    """Says the caption of what an arrangement measures as, whatever it is asked; of any other image
    it says nothing."""

    provider: ClassVar[str] = "faultless"
    version: ClassVar[str] = "1"

    @property
    def mark(self) -> str:
        return self.knows or (
            "measures arrangements by the grammar that they are drawn by: a ceiling, and no model"
        )

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return [_reply(conversation) for conversation in conversations]


def _reply(conversation: Conversation) -> Result:
    shown = (
        None if conversation.last_medium is None else conversation.last_medium.open()
    )
    if shown is None or shown.size != (SIDE, SIDE):
        return Result(
            f"This is no arrangement of {SIDE} × {SIDE} pixels.", Outcome.REFUSED
        )
    return at_most(shown_in(shown).caption, conversation.max_tokens)


def shown_in(image: Image.Image) -> Arrangement:
    """What an image measures as; errors as in :func:`~lab.validity.faultless.measure`."""
    return measure(np.asarray(image.convert("RGB")))
