"""What tells the species of beetles apart: the answer key of the dataset ``beetles``.

A description is distinctive when it tells one class from the next, so the next must be near: every species has a twin
from which it differs in one attribute alone. Most twins are near in colour (scarlet and crimson, brown and tan); others
have two spots more, another head, or the other shape. The names are made up, and say nothing about what they stand for.
"""

from dataclasses import dataclass, fields
from typing import Literal

Colour = Literal["amber", "black", "blue", "brown", "cream", "crimson", "green", "orange", "scarlet", "tan", "teal"]

COLOURS: dict[Colour, tuple[int, int, int]] = {
    "amber": (236, 178, 30),
    "black": (34, 32, 36),
    "blue": (44, 78, 190),
    "brown": (104, 58, 28),
    "cream": (246, 236, 206),
    "crimson": (142, 16, 44),
    "green": (36, 122, 44),
    "orange": (232, 112, 16),
    "scarlet": (208, 40, 28),
    "tan": (172, 118, 66),
    "teal": (14, 122, 122),
}
"""8-bit sRGB, before an individual's own shade."""


@dataclass(frozen=True, slots=True)
class Species:
    """A class: what all of its individuals share."""

    name: str
    body: Literal["round", "long"]
    wings: Colour
    """Of the wing cases."""
    head: Colour
    spots: Literal[0, 2, 4, 6]
    """Half of them on each wing case."""
    band: bool
    """Whether a broad band runs across both wing cases."""
    marks: Colour | None
    """Of spots and band; None exactly where there are neither."""

    def differs(self, other: "Species") -> tuple[str, ...]:
        """The attributes in which two species differ, their names aside.

        >>> SPECIES[0].differs(SPECIES[1])
        ('spots',)
        """
        names = (field.name for field in fields(self) if field.name != "name")
        return tuple(name for name in names if getattr(self, name) != getattr(other, name))


SPECIES: tuple[Species, ...] = (
    Species("Taruvia", "round", "scarlet", "black", 2, False, "black"),
    Species("Quelmora", "round", "scarlet", "black", 4, False, "black"),
    Species("Bessicta", "round", "crimson", "black", 4, False, "black"),
    Species("Ondrilla", "round", "crimson", "black", 6, False, "black"),
    Species("Pelucara", "round", "crimson", "cream", 6, False, "black"),
    Species("Vastorix", "round", "orange", "black", 4, False, "cream"),
    Species("Zemirra", "round", "orange", "black", 4, False, "black"),
    Species("Hadrune", "round", "amber", "black", 4, False, "black"),
    Species("Jovelka", "long", "amber", "black", 4, False, "black"),
    Species("Lometta", "long", "amber", "scarlet", 4, False, "black"),
    Species("Mirbolta", "round", "orange", "black", 2, True, "black"),
    Species("Nestovia", "round", "amber", "black", 2, True, "black"),
    Species("Opradin", "round", "black", "black", 2, False, "scarlet"),
    Species("Rhusela", "round", "black", "black", 2, False, "orange"),
    Species("Sigrolta", "round", "black", "black", 2, False, "amber"),
    Species("Tolvenda", "round", "black", "black", 4, False, "amber"),
    Species("Ulmisca", "long", "green", "green", 0, False, None),
    Species("Wendrika", "long", "green", "scarlet", 0, False, None),
    Species("Xandoria", "long", "teal", "scarlet", 0, False, None),
    Species("Yltrima", "long", "blue", "black", 0, True, "amber"),
    Species("Zovanta", "long", "blue", "black", 0, True, "cream"),
    Species("Draseno", "round", "blue", "black", 0, True, "cream"),
    Species("Fendulia", "long", "brown", "black", 6, False, "cream"),
    Species("Gavrosta", "long", "tan", "black", 6, False, "cream"),
)
