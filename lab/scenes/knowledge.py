"""What there is to know about the world that scenes are drawn from: colours, shapes, flags, signs, symbols.

No fact about any one scene is here, so a model that is to have a little knowledge of the world may read these tables;
what a scene holds it must see in the pixels.
"""

from typing import Literal, NamedTuple

from driftledger_demo.vocabulary import RGB

COLOURS: dict[str, RGB] = {
    "red": (215, 30, 40),
    "orange": (245, 135, 20),
    "yellow": (250, 215, 30),
    "green": (25, 140, 60),
    "blue": (30, 70, 200),
    "purple": (125, 45, 160),
    "pink": (245, 130, 180),
    "brown": (125, 75, 35),
    "black": (20, 20, 20),
    "grey": (128, 128, 128),
    "white": (252, 252, 252),
}
"""Colours of shapes, flags, signs and writing."""

GROUNDS: dict[str, RGB] = {
    "white": (252, 252, 252),
    "light grey": (205, 205, 205),
    "beige": (240, 228, 196),
    "light blue": (165, 212, 245),
    "light green": (185, 228, 170),
    "dark blue": (18, 28, 84),
    "black": (20, 20, 20),
}
"""Colours of backgrounds; the light blue of flags is here too."""

SHAPES: tuple[str, ...] = ("circle", "square", "triangle", "diamond", "star", "cross", "ring", "heart")
LOOKALIKES: dict[str, str] = {"circle": "ring", "ring": "circle", "square": "diamond", "diamond": "square"}
"""Shapes that somebody may well call by the other's name: no question turns on the difference."""

SIZES: dict[str, int] = {"small": 28, "medium-sized": 44, "large": 66}
"""Width and height of a shape in pixels."""

PLACES: tuple[str, ...] = (
    *("top left", "top centre", "top right"),
    *("middle left", "centre", "middle right"),
    *("bottom left", "bottom centre", "bottom right"),
)
"""The cells of the 3×3 grid in reading order."""

Layout = Literal["vertical", "horizontal", "nordic", "cross", "disc", "star", "triangle"]


class Flag(NamedTuple):
    """A national flag, without arms and emblems.

    ``vertical`` and ``horizontal``: the bands from the pole, or from above, in equal parts. ``nordic`` and ``cross``:
    the field, the cross, and a thinner cross within it, if any. ``disc``, ``star``: the field and what is on it.
    ``triangle``: the upper band, the lower band, and the triangle at the pole.
    """

    country: str
    capital: str
    layout: Layout
    colours: tuple[str, ...]


FLAGS: tuple[Flag, ...] = (
    Flag("France", "Paris", "vertical", ("blue", "white", "red")),
    Flag("Italy", "Rome", "vertical", ("green", "white", "red")),
    Flag("Ireland", "Dublin", "vertical", ("green", "white", "orange")),
    Flag("Belgium", "Brussels", "vertical", ("black", "yellow", "red")),
    Flag("Nigeria", "Abuja", "vertical", ("green", "white", "green")),
    Flag("Peru", "Lima", "vertical", ("red", "white", "red")),
    Flag("Mali", "Bamako", "vertical", ("green", "yellow", "red")),
    Flag("Guinea", "Conakry", "vertical", ("red", "yellow", "green")),
    Flag("Germany", "Berlin", "horizontal", ("black", "red", "yellow")),
    Flag("the Netherlands", "Amsterdam", "horizontal", ("red", "white", "blue")),
    Flag("Russia", "Moscow", "horizontal", ("white", "blue", "red")),
    Flag("Hungary", "Budapest", "horizontal", ("red", "white", "green")),
    Flag("Austria", "Vienna", "horizontal", ("red", "white", "red")),
    Flag("Estonia", "Tallinn", "horizontal", ("blue", "black", "white")),
    Flag("Lithuania", "Vilnius", "horizontal", ("yellow", "green", "red")),
    Flag("Bulgaria", "Sofia", "horizontal", ("white", "green", "red")),
    Flag("Poland", "Warsaw", "horizontal", ("white", "red")),
    Flag("Ukraine", "Kyiv", "horizontal", ("blue", "yellow")),
    Flag("Armenia", "Yerevan", "horizontal", ("red", "blue", "orange")),
    Flag("Gabon", "Libreville", "horizontal", ("green", "yellow", "blue")),
    Flag("Thailand", "Bangkok", "horizontal", ("red", "white", "blue", "blue", "white", "red")),
    Flag("Denmark", "Copenhagen", "nordic", ("red", "white")),
    Flag("Sweden", "Stockholm", "nordic", ("blue", "yellow")),
    Flag("Finland", "Helsinki", "nordic", ("white", "blue")),
    Flag("Norway", "Oslo", "nordic", ("red", "white", "blue")),
    Flag("Iceland", "Reykjavik", "nordic", ("blue", "white", "red")),
    Flag("Switzerland", "Bern", "cross", ("red", "white")),
    Flag("Japan", "Tokyo", "disc", ("white", "red")),
    Flag("Bangladesh", "Dhaka", "disc", ("green", "red")),
    Flag("Vietnam", "Hanoi", "star", ("red", "yellow")),
    Flag("Somalia", "Mogadishu", "star", ("light blue", "white")),
    Flag("the Czech Republic", "Prague", "triangle", ("white", "red", "blue")),
)

ALSO_CALLED: dict[str, str] = {"the Netherlands": "Holland", "the Czech Republic": "Czechia", "Kyiv": "Kiev"}
"""Country or capital → another name that a free answer may give it."""

Plate = Literal["disc", "octagon", "triangle", "inverted triangle", "diamond", "square"]
SignClass = Literal["warning", "priority", "prohibitory", "mandatory", "information"]
Mark = Literal["", "bar", "falling bar", "rising bar", "saltire", "up", "left", "right", "dead end"]


class Sign(NamedTuple):
    """A road sign of the Vienna Convention: a plate with a rim and a face, and a mark or writing on it."""

    name: str
    meaning: str
    kind: SignClass | None
    plate: Plate
    rim: str
    face: str
    mark: Mark = ""
    ink: str = "black"
    writing: str = ""
    """Capitals or digits on the face."""


def _speed_limit(speed: int) -> Sign:
    meaning = f"Do not drive faster than {speed} km/h."
    return Sign(f"speed limit {speed}", meaning, "prohibitory", "disc", "red", "white", writing=str(speed))


SIGNS: tuple[Sign, ...] = (
    Sign(
        "stop", "Come to a full halt and let others pass.", "priority", "octagon", "white", "red", "", "white", "STOP"
    ),
    Sign("give way", "Let vehicles on the road ahead go first.", "priority", "inverted triangle", "red", "white"),
    Sign("priority road", "You are on the road that has priority.", "priority", "diamond", "white", "yellow"),
    Sign("no entry", "Vehicles must not enter from this side.", "prohibitory", "disc", "red", "red", "bar", "white"),
    Sign("closed to vehicles", "No vehicle may go in, from either side.", "prohibitory", "disc", "red", "white"),
    Sign("no parking", "You must not park here.", "prohibitory", "disc", "red", "blue", "falling bar", "red"),
    Sign("no stopping", "You must not even stop here.", "prohibitory", "disc", "red", "blue", "saltire", "red"),
    Sign("end of restrictions", "Earlier restrictions end here.", None, "disc", "black", "white", "rising bar"),
    _speed_limit(30),
    _speed_limit(50),
    _speed_limit(80),
    Sign("ahead only", "You must drive straight on.", "mandatory", "disc", "white", "blue", "up", "white"),
    Sign("turn left", "You must turn left.", "mandatory", "disc", "white", "blue", "left", "white"),
    Sign("turn right", "You must turn right.", "mandatory", "disc", "white", "blue", "right", "white"),
    Sign("crossroads", "Another road crosses ahead.", "warning", "triangle", "red", "white", "saltire"),
    Sign("other danger", "Beware of a danger ahead.", "warning", "triangle", "red", "white", writing="!"),
    Sign("parking", "You may park here.", "information", "square", "white", "blue", "", "white", "P"),
    Sign("hospital", "There is a hospital nearby.", "information", "square", "white", "blue", "", "white", "H"),
    Sign("dead end", "This road leads no further.", "information", "square", "white", "blue", "dead end", "white"),
)

KINDRED_SIGNS: tuple[frozenset[str], ...] = (
    frozenset({"stop", "give way"}),
    frozenset({"no parking", "no stopping"}),
    frozenset({"no entry", "closed to vehicles"}),
    frozenset({"crossroads", "other danger"}),
)
"""Signs of which one says, in part, what the other says: neither is a wrong answer about the other."""


class Symbol(NamedTuple):
    """A mathematical symbol; ``character`` is also its key in :data:`~.lettering.SYMBOLS`, where its bitmap is."""

    character: str
    name: str
    meaning: str


SYMBOLS: tuple[Symbol, ...] = (
    Symbol("÷", "the division sign", "one number is divided by another"),
    Symbol("≠", "the not-equal sign", "two values differ"),
    Symbol("≤", "the less-than-or-equal sign", "the left value is no larger than the right one"),
    Symbol("≥", "the greater-than-or-equal sign", "the left value is no smaller than the right one"),
    Symbol("±", "the plus-minus sign", "a value may be added or subtracted"),
    Symbol("≈", "the approximation sign", "two values are nearly the same"),
    Symbol("√", "the radical sign", "the number whose square is given"),
    Symbol("∞", "the infinity sign", "something without any bound"),
    Symbol("π", "the Greek letter pi", "the ratio of a circle's circumference to its diameter"),
    Symbol("Σ", "the summation sign", "all terms of a sequence are added up"),
    Symbol("∫", "the integral sign", "the area under a curve"),
    Symbol("∅", "the empty-set sign", "a set without any element"),
    Symbol("∈", "the membership sign", "something is an element of a set"),
    Symbol("∪", "the union sign", "everything that is in at least one of two sets"),
    Symbol("∩", "the intersection sign", "what two sets have in common"),
    Symbol("∀", "the universal quantifier", "a statement holds for every object"),
    Symbol("∃", "the existential quantifier", "there is at least one object of some kind"),
    Symbol("⊥", "the perpendicular sign", "two lines meet at a right angle"),
    Symbol("∴", "the therefore sign", "a conclusion follows"),
    Symbol("∠", "the angle sign", "the opening between two rays"),
)

SAID: dict[str, tuple[str, ...]] = {
    "stop": ("stop", "halt"),
    "give way": ("give way", "yield", "go first", "right of way"),
    "priority road": ("priority", "right of way", "main road"),
    "no entry": ("no entry", "not enter", "entry is forbidden", "entry is prohibited", "one-way"),
    "closed to vehicles": ("closed", "no vehicle", "no vehicles", "no traffic", "all vehicles"),
    "no parking": ("no parking", "not park", "parking is forbidden", "parking is prohibited"),
    "no stopping": ("no stopping", "not stop", "not even stop", "stopping is forbidden", "stopping is prohibited"),
    "end of restrictions": ("end", "ends", "no longer"),
    "ahead only": ("ahead", "straight"),
    "turn left": ("left",),
    "turn right": ("right",),
    "crossroads": ("crossroads", "crossroad", "intersection", "crosses", "crossing"),
    "other danger": ("danger", "hazard", "caution", "beware"),
    "parking": ("park", "parking"),
    "hospital": ("hospital",),
    "dead end": ("dead end", "no through road", "cul-de-sac", "no further"),
    "÷": ("division", "divided", "divide", "dividing"),
    "≠": ("not equal", "unequal", "inequality", "differ", "different"),
    "≤": ("less than or equal", "at most", "no larger", "not greater"),
    "≥": ("greater than or equal", "at least", "no smaller", "not less"),
    "±": ("plus-minus", "plus or minus", "plus/minus"),
    "≈": ("approximately", "approximation", "nearly"),
    "√": ("square root", "radical", "root"),
    "∞": ("infinity", "infinite", "without any bound", "unbounded", "endless"),
    "π": ("pi", "3.14"),
    "Σ": ("sum", "summation", "sigma", "added up"),
    "∫": ("integral", "integration", "area under"),
    "∅": ("empty set", "null set", "without any element", "no elements"),
    "∈": ("element of", "member of", "membership", "belongs to"),
    "∪": ("union",),
    "∩": ("intersection", "in common"),
    "∀": ("for all", "for every", "for each", "universal"),
    "∃": ("there exists", "existential", "at least one"),
    "⊥": ("perpendicular", "right angle", "orthogonal"),
    "∴": ("therefore", "conclusion", "hence", "consequently"),
    "∠": ("angle",),
}
"""Sign's name, or symbol's character → words of which a free answer about its meaning holds one.

A speed limit is not here: an answer about it holds its number.
"""
