"""SVG as text: the one place where names become markup and numbers become digits.

Presentation attributes alone say how things look, so that a page may recolour them by class in the dark: the fill of
``ground``, of texts ``ink`` and ``muted``, of marks ``hollow`` and of the matrix's ``empty``; the stroke of ``grid``,
``ink-line``, ``muted-line``, ``edge`` and of marks ``solid``. What has no class keeps its colour, which stands out on
white and on black, or is a text on a shade.
"""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.core.text import for_line

GROUND, INK, MUTED, GRID = "#ffffff", "#1f2328", "#57606a", "#d8dee4"
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"

EDGE = 16
"""Left and right of everything, in pixels."""
TITLE, TEXT, SMALL = 16, 12, 11
"""Sizes of letters, in pixels."""

_WIDTHS = {"iljI.,:;|'! ": 0.33, "tfr()[]{}-·–": 0.42, "mwMW@%—": 0.95}
"""Parts of a letter's size; 0.62 for others, more for capitals and for scripts with wide letters."""
_BOLD = 1.1


class Svg(str):
    """Markup, safe as it stands."""


class Drawing(NamedTuple):
    """A chart before it is a file; several can stand in one."""

    title: str
    note: str
    """Beneath the title: what the marks are, and on what data."""
    width: float
    height: float
    body: Svg
    told: str = ""
    """All of it in words, for who cannot see it."""


def page(drawing: Drawing) -> str:
    """The file: text as text, on a white ground, as wide as its place and never narrower than can be read."""
    width, height = number(drawing.width), number(drawing.height)
    inside = (
        element("title", drawing.title),
        element("desc", " ".join(filter(None, (drawing.note, drawing.told)))),
        element("rect", width=width, height=height, fill=GROUND, class_="ground"),
        drawing.body,
    )
    of_file = {"xmlns": "http://www.w3.org/2000/svg", "viewBox": f"0 0 {width} {height}", "role": "img"}
    return element("svg", *inside, width=width, height=height, font_family=FONT, **of_file) + "\n"


def attribute_of_font() -> str:
    """As every file has it."""
    return f'font-family="{_inert(FONT)}"'


def element(name: str, *inside: str, **attributes: str | float | None) -> Svg:
    """An element. What is inside is made inert unless it is :class:`Svg`; ``font_size`` is ``font-size``, ``class_``
    is ``class``, and what is None is left out.

    >>> element("text", "<b>", x=1.25, class_="ink")
    '<text x="1.3" class="ink">&lt;b&gt;</text>'
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{_inert(each) if isinstance(each, str) else number(each)}"'
        for key, each in attributes.items()
        if each is not None
    )
    body = "".join(each if isinstance(each, Svg) else _inert(each) for each in inside)
    return Svg(f"<{name}{given}>{body}</{name}>" if body else f"<{name}{given}/>")


def joined(*parts: Svg) -> Svg:
    return Svg("".join(parts))


def moved(drawing: Svg, x: float, y: float) -> Svg:
    return element("g", drawing, transform=f"translate({number(x)} {number(y)})")


def text(
    x: float,
    y: float,
    content: str,
    *,
    size: int = TEXT,
    anchor: str = "start",
    fill: str = INK,
    bold: bool = False,
    full: str = "",
) -> Svg:
    """A line of text whose middle is at ``y``; where it was cut, ``full`` is what a pointer over it is shown."""
    names = {INK: "ink", MUTED: "muted"}
    return element(
        "text",
        *([element("title", full)] if full not in ("", content) else []),
        content,
        x=x,
        y=y + 0.35 * size,
        font_size=size,
        text_anchor=None if anchor == "start" else anchor,
        font_weight="bold" if bold else None,
        fill=fill,
        class_=names.get(fill),
    )


def number(value: float) -> str:
    """One decimal, so that the last bits of a value move nothing.

    >>> number(2.04), number(-0.01), number(1e6)
    ('2', '0', '1000000')
    """
    digits = f"{round(value, 6):.1f}".removesuffix(".0")
    return "0" if digits == "-0" else digits


def width_of(content: str, size: float = TEXT, bold: bool = False) -> float:
    """About how many pixels wide a line is, in the widest of the usual fonts."""
    return size * (_BOLD if bold else 1.0) * sum(map(_width, content))


def _width(letter: str) -> float:
    rare = 1.05 if ord(letter) > 0x2E00 else 0.7 if letter.isupper() else 0.62
    return next((width for letters, width in _WIDTHS.items() if letter in letters), rare)


def shortened(content: str, most: float, size: float = TEXT) -> str:
    """One line that is no wider than ``most`` pixels."""
    line = for_line(content)
    if width_of(line, size) <= most:
        return line
    while line and width_of(f"{line}…", size) > most:
        line = line[:-1]
    return f"{line.rstrip()}…"


def wrapped(content: str, most: float, size: float = TEXT) -> Sequence[str]:
    """Lines no wider than ``most`` pixels, broken at blanks, and a long word at ``_``; none where there is nothing to
    say."""
    lines: list[str] = []
    for word in for_line(content).split():
        gap = " "
        for part in [word] if width_of(word, size) <= most else re.split("(?<=_)", word):
            if lines and width_of(f"{lines[-1]}{gap}{part}", size) <= most:
                lines[-1] += f"{gap}{part}"
            else:
                lines.append(shortened(part, most, size))
            gap = ""
    return lines


def row(title: str, note: str, drawings: Sequence[Drawing]) -> Drawing:
    """Charts beside each other, under one title."""
    width = sum(each.width for each in drawings)
    above, x, drawn = head(title, note, width), 0.0, []
    for each in drawings:
        drawn.append(moved(each.body, x, above.height))
        x += each.width
    told = " ".join(f"{each.title}: {each.told}." for each in drawings)
    return Drawing(title, note, width, above.height + max(d.height for d in drawings), joined(above.body, *drawn), told)


def sentence(title: str, said: str, width: float = 600) -> Drawing:
    """What stands where there is nothing to see."""
    above = head(title, said, width)
    return Drawing(title, said, width, above.height + 6, above.body)


class Head(NamedTuple):
    """Title and note, and how much room they take."""

    body: Svg
    height: float


def head(title: str, note: str, width: float) -> Head:
    rows = [(each, TITLE, INK) for each in wrapped(title, width - 2 * EDGE, TITLE * _BOLD)]
    rows += [(each, TEXT, MUTED) for each in wrapped(note, width - 2 * EDGE)]
    y, drawn = 10.0, []
    for content, size, fill in rows:
        drawn.append(text(EDGE, y + 0.75 * size, content, size=size, fill=fill, bold=size == TITLE))
        y += 1.42 * size
    return Head(joined(*drawn), y + 10)


def _inert(content: str) -> str:
    """Text for the inside of an element or an attribute: no markup, and nothing that is no XML at all."""
    valid = for_line(content).encode("utf-8", "backslashreplace").decode()
    return html.escape("".join("\\x" if ord(letter) & 0xFFFE == 0xFFFE else letter for letter in valid))
