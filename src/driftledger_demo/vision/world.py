"""Knowledge of the world: colours, places, flags, signs, symbols, in words and numbers of its own.

It is common knowledge as a short encyclopedia has it. How anything is drawn in any picture is not
here, and nothing that draws reads this.
"""

from typing import NamedTuple

from driftledger_demo.tables import numbers, rows

Colour = tuple[int, int, int]

THING_COLOURS: dict[str, Colour] = numbers("""
red: 200 35 45
orange: 235 130 35
yellow: 235 205 50
green: 40 140 65
blue: 40 75 185
purple: 120 50 150
pink: 235 140 180
brown: 120 75 45
black: 28 28 28
grey: 125 125 125
white: 240 240 240
""")
"""The basic words for colours, each at its most usual."""

GROUND_COLOURS: dict[str, Colour] = numbers("""
white: 242 242 242
light grey: 195 195 195
beige: 225 210 180
light blue: 160 200 230
light green: 175 215 165
dark blue: 22 32 85
black: 25 25 25
pink: 235 160 190
yellow: 235 215 90
brown: 130 85 50
green: 60 140 70
""")
"""Words for what is behind it all, which is mostly pale or dark."""

SHAPES = ("circle", "square", "triangle", "diamond", "star", "cross", "ring", "heart")
SIZES = ("small", "medium-sized", "large")
PLACES = (
    *("top left", "top centre", "top right"),
    *("middle left", "centre", "middle right"),
    *("bottom left", "bottom centre", "bottom right"),
)


class Flag(NamedTuple):
    """A flag by its ``layout``.

    Bands from the pole ``|`` or from above ``=``, a cross ``+`` that is off the middle, one in the
    middle ``x``, a disc ``o``, a star ``*``, a wedge at the pole ``>``.
    """

    country: str
    capital: str
    layout: str
    colours: tuple[str, ...]


_FLAGS = """
France/Paris/|/blue-white-red
Italy/Rome/|/green-white-red
Ireland/Dublin/|/green-white-orange
Belgium/Brussels/|/black-yellow-red
Romania/Bucharest/|/blue-yellow-red
Nigeria/Abuja/|/green-white-green
Peru/Lima/|/red-white-red
Mali/Bamako/|/green-yellow-red
Guinea/Conakry/|/red-yellow-green
Chad/N'Djamena/|/blue-yellow-red
Germany/Berlin/=/black-red-yellow
Netherlands/Amsterdam/=/red-white-blue
Luxembourg/Luxembourg/=/red-white-light blue
Russia/Moscow/=/white-blue-red
Hungary/Budapest/=/red-white-green
Austria/Vienna/=/red-white-red
Estonia/Tallinn/=/light blue-black-white
Lithuania/Vilnius/=/yellow-green-red
Bulgaria/Sofia/=/white-green-red
Poland/Warsaw/=/white-red
Indonesia/Jakarta/=/red-white
Ukraine/Kyiv/=/blue-yellow
Armenia/Yerevan/=/red-blue-orange
Gabon/Libreville/=/green-yellow-blue
Thailand/Bangkok/=/red-white-blue-blue-white-red
Denmark/Copenhagen/+/red-white
Sweden/Stockholm/+/blue-yellow
Finland/Helsinki/+/white-blue
Norway/Oslo/+/red-white-blue
Iceland/Reykjavik/+/blue-white-red
Switzerland/Bern/x/red-white
Japan/Tokyo/o/white-red
Bangladesh/Dhaka/o/green-red
Vietnam/Hanoi/*/red-yellow
Somalia/Mogadishu/*/light blue-white
Czech Republic/Prague/>/white-red-blue
"""
FLAGS: list[Flag] = []
for _country, _capital, _layout, _colours in rows(_FLAGS, "/"):
    FLAGS.append(Flag(_country, _capital, _layout, tuple(_colours.split("-"))))


class Sign(NamedTuple):
    """A road sign: what it is, and words of which its explanations use some."""

    name: str
    kind: str
    meaning: str
    words: tuple[str, ...]


_SIGNS = """
stop | priority | Stop: halt completely and let others pass first. | halt, stop
give way | priority | Give way: yield, others go first. | go first, give way, yield
priority road | priority | You have priority on this main road. | \
has priority, priority road, main road
no entry | prohibitory | No entry: you must not enter here. | not enter, no entry, one-way
closed | prohibitory | Closed to all vehicles: no vehicle may enter. | no vehicle, closed
no parking | prohibitory | No parking: you must not park here. | not park, no parking
no stopping | prohibitory | No stopping: you must not stop here. | \
not even stop, not stop, no stopping
end |  | The end of earlier restrictions, which no longer hold. | restrictions end, end of
speed limit | prohibitory | The speed limit is {} km/h. | faster than
straight on | mandatory | Go straight ahead only. | straight, ahead only
left | mandatory | You must turn left. | turn left
right | mandatory | You must turn right. | turn right
crossing | warning | A crossroads is ahead: another road crosses yours. | \
crosses, crossroad, intersection
danger | warning | Caution: there is a danger ahead. | danger, hazard, caution
parking | information | You may park here. | may park here, parking place
hospital | information | A hospital is near. | hospital
dead end | information | A dead end: this is no through road. | no further, dead end, through road
"""
SIGNS: dict[str, Sign] = {}
for _name, _kind, _said, _words in rows(_SIGNS):
    SIGNS[_name] = Sign(_name, _kind, _said, tuple(_words.split(", ")))
KINDS = {
    "warning": ("warns", "warning", "danger"),
    "priority": ("go first", "priority", "right of way"),
    "prohibitory": ("forbid", "prohibit", "limits it"),
    "mandatory": ("which way", "mandatory", "command"),
    "information": ("information",),
}
"""Kind of road signs → words in which it is told."""


class Symbol(NamedTuple):
    """A sign of mathematics: what it is called, and words of which its explanations use some."""

    character: str
    name: str
    words: tuple[str, ...]


_SYMBOLS = """
÷ | the division sign | divided
≠ | the not-equal sign | differ, unequal, not equal
≤ | the less-than-or-equal sign | no larger, at most
≥ | the greater-than-or-equal sign | no smaller, at least
± | the plus-minus sign | added or subtracted, plus or minus
≈ | the sign of approximation | nearly the same, approximately, approximation
√ | the radical sign, of the square root | whose square is given, root, radical
∞ | the infinity sign | without any bound, endless, infinity
π | the letter pi | circumference, Greek letter
Σ | the summation sign | added up, sum of, summation
∫ | the integral sign | area under, integral
∅ | the empty-set sign | without any element, no elements, empty
∈ | the sign of membership, is an element of | is an element of, belongs to, membership
∪ | the union sign | at least one of two sets, union
∩ | the intersection sign | in common, intersection
∀ | the universal quantifier: for all | for every, for all, universal
∃ | the existential quantifier: there exists | of some kind, exists, existential
⊥ | the perpendicular sign | right angle, perpendicular
∴ | the therefore sign | conclusion, therefore
∠ | the angle sign | opening between two rays, angle sign
"""
SYMBOLS: list[Symbol] = []
for _character, _name, _words in rows(_SYMBOLS):
    SYMBOLS.append(Symbol(_character, _name, tuple(_words.split(", "))))
