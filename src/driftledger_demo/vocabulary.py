"""The words that the embedded describer and the embedded painter share.

Both look a word up here and nowhere else, so that writing and reading cannot drift apart.
Everything is an integer: fractions are in percent of the picture, colours are 8-bit sRGB.
"""

from typing import NamedTuple

from driftledger_demo.tables import numbers

RGB = tuple[int, int, int]

BACKGROUND = "background"
"""The noun behind the colour that fills the canvas before anything else is painted."""

_HUES: dict[str, RGB] = numbers("""
red: 100 5 5
orange: 100 50 0
yellow: 100 90 0
lime: 60 100 0
green: 5 90 10
teal: 0 95 70
cyan: 0 90 100
azure: 0 55 100
blue: 5 15 100
violet: 58 0 100
magenta: 95 0 95
rose: 100 0 50
""")
"""Fully saturated, channels in percent."""

_TONES: dict[str, tuple[int, int]] = numbers("""
vivid: 100 100
: 88 85
deep: 65 85
dark: 45 65
very dark: 25 65
light: 95 45
pale: 92 22
soft: 70 45
greyish: 55 28
light greyish: 75 22
dark greyish: 38 30
very dark greyish: 20 30
""")
"""Value and saturation in percent."""

_GREYS: dict[str, tuple[int]] = numbers("""
black: 2
nearly black: 9
very dark grey: 16
dark grey: 24
medium dark grey: 33
medium grey: 41
grey: 50
medium light grey: 59
light grey: 68
very light grey: 78
nearly white: 89
white: 99
""")
"""Percent of white."""

_BROWNS: dict[str, RGB] = numbers("""
light brown: 181 137 99
brown: 128 78 42
dark brown: 74 43 24
beige: 222 198 164
pink: 240 160 175
purple: 120 45 140
""")
"""8-bit."""


def _shade(hue: RGB, value: int, saturation: int) -> RGB:
    parts = [10_000 - saturation * (100 - part) for part in hue]
    red, green, blue = (255 * value * part // 1_000_000 for part in parts)
    return red, green, blue


def _all_colours() -> dict[str, RGB]:
    colours: dict[str, RGB] = {}
    for name, (level,) in _GREYS.items():
        grey = level * 255 // 100
        colours[name] = (grey, grey, grey)
    for tone, (value, saturation) in _TONES.items():
        for name, hue in _HUES.items():
            colours[f"{tone} {name}".strip()] = _shade(hue, value, saturation)
    return colours | _BROWNS


COLOURS: dict[str, RGB] = _all_colours()
"""Every colour name that exists; a shorter vocabulary is a selection of these."""


def named(names: str) -> dict[str, RGB]:
    """Return the colours of comma-separated names."""
    return {name: COLOURS[name] for name in names.split(", ")}


BASIC_COLOURS = named(
    "black, grey, white, red, orange, yellow, green, blue, brown, pink, purple"
)

_COMMON_TONES = ("", "vivid ", "dark ", "light ")

COMMON_COLOURS: dict[str, RGB] = {
    **named(
        "black, very dark grey, medium dark grey, grey, light grey, very light grey, white",
    ),
    **named(", ".join(tone + hue for tone in _COMMON_TONES for hue in _HUES)),
    **_BROWNS,
}


class Place(NamedTuple):
    """The centre of a place, in percent of the picture's width and height."""

    across: int
    down: int


def _places(columns: dict[str, int], rows: dict[str, int]) -> dict[str, Place]:
    places = {}
    for row, down in rows.items():
        for column, across in columns.items():
            places[f"{row} {column}".strip() or "centre"] = Place(across, down)
    return places


COARSE_PLACES = _places(
    {"left": 18, "": 50, "right": 82}, {"top": 18, "": 50, "bottom": 82}
)
MEDIUM_PLACES = _places(
    {"far left": 10, "left": 30, "centre": 50, "right": 70, "far right": 90},
    {"very top": 10, "upper": 30, "middle": 50, "lower": 70, "very bottom": 90},
)
PLACES: dict[str, Place] = COARSE_PLACES | MEDIUM_PLACES
"""3×3 words such as "top left" and 5×5 words such as "upper far left"."""

SIZES: dict[str, int] = {
    "tiny": 6,
    "small": 11,
    "medium-sized": 19,
    "large": 32,
    "huge": 55,
    "enormous": 85,
}
"""Side, in percent of the picture's, of a square that covers as much; so area is this squared."""
COARSE_SIZES: tuple[str, ...] = ("small", "large", "huge")


class Stretch(NamedTuple):
    """Length to breadth in percent, and the direction of the length in tilt steps."""

    ratio: int
    tilt: int


STRETCHES: dict[str, Stretch] = {
    "": Stretch(100, 0),
    "wide": Stretch(200, 0),
    "tall": Stretch(200, 6),
    "very wide": Stretch(450, 0),
    "very tall": Stretch(450, 6),
    "falling": Stretch(240, 3),
    "rising": Stretch(240, 9),
}
COARSE_STRETCHES: tuple[str, ...] = ("", "wide", "tall")

FORMATS: dict[str, int] = {
    "tall": 40,
    "portrait": 72,
    "square": 100,
    "landscape": 138,
    "panoramic": 250,
}
"""Width to height of the whole picture in percent."""

ROUND = "ellipse"
BOXY = "rectangle"
SHAPES: dict[str, str] = {
    "ellipse": ROUND,
    "oval": ROUND,
    "circle": ROUND,
    "disc": ROUND,
    "patch": ROUND,
    "rectangle": BOXY,
    "square": BOXY,
    "stripe": BOXY,
    "bar": BOXY,
}
"""Noun → which of the two forms is painted."""

TILT_STEP = 15
"""Degrees between two tilts that have different words; clockwise from level, below 180."""

UNIT = 10_000
_QUARTER = (10_000, 9_659, 8_660, 7_071, 5_000, 2_588, 0)
"""Cosines of 0, 15, … 90 degrees, times :data:`UNIT`."""


def cosine(steps: int) -> int:
    """Return the cosine of ``steps`` · 15°, times :data:`UNIT`."""
    away = abs((steps + 12) % 24 - 12)  # from level, on either side: 0…12
    return _QUARTER[away] if away <= 6 else -_QUARTER[12 - away]


def sine(steps: int) -> int:
    """Return the sine of ``steps`` · 15°, times :data:`UNIT`."""
    return cosine(steps - 6)
