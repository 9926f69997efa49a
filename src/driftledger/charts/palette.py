"""How a model looks in every chart: a colour, a shape and a dash by its place in the selection."""

from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

COLOURS = (
    *("#0072b2", "#c24e00", "#007d5b", "#b3478c", "#8c6d00", "#6a51c4"),
    *("#00757f", "#d0342c", "#4f7300", "#9b3fb0", "#2b6cb0", "#8a5a2b"),
)
"""In the order of Okabe and Ito's, which people who see few colours tell apart, and as dark as text on white must be;
on a dark page they are light enough for lines and marks."""

GREY = "#6e7781"
"""Of controls."""

SHAPES = ("circle", "square", "triangle", "diamond", "wedge", "hexagon")
_DASHES = ("", "7 3")
_CONTROL_DASHES = ("2 3", "6 3", "8 3 2 3")


class Series(NamedTuple):
    """What tells one model's marks from another's."""

    colour: str = COLOURS[0]
    """``#rrggbb``."""
    shape: str = SHAPES[0]
    """One of :data:`SHAPES`."""
    dash: str = ""
    """``stroke-dasharray`` of its lines; empty for a solid one."""
    hollow: bool = False
    """Whether marks are outlines, as controls' are."""


def colour_of(models: Sequence[str], controls: Collection[str] = ()) -> Mapping[str, Series]:
    """Model → its series. Controls are grey and hollow, and take no colour from the others.

    >>> colour_of(["a", "blind", "b"], {"blind"})["b"].colour == COLOURS[1]
    True
    """
    of_controls = [name for name in models if name in controls]
    others = [name for name in models if name not in controls]
    return {name: nth(place) for place, name in enumerate(others)} | {
        name: Series(GREY, SHAPES[place % len(SHAPES)], _CONTROL_DASHES[place % len(_CONTROL_DASHES)], hollow=True)
        for place, name in enumerate(of_controls)
    }


def nth(place: int) -> Series:
    """The series at a place of the selection; shapes go round otherwise than colours do."""
    rounds = place // len(COLOURS)
    shape = SHAPES[(place + rounds) % len(SHAPES)]
    return Series(COLOURS[place % len(COLOURS)], shape, _DASHES[place // len(SHAPES) % len(_DASHES)])
