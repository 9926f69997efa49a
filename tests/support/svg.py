"""An SVG as who looks at it has it: texts on their grounds, shapes with their colours, and where they stand."""

import re
from collections.abc import Iterator
from typing import NamedTuple
from xml.etree import ElementTree

NAMESPACE = "{http://www.w3.org/2000/svg}"
WHITE = "#ffffff"


class Seen(NamedTuple):
    """An element, with where it stands in the file."""

    kind: str
    at: dict[str, str]
    x: float
    y: float
    text: str
    told: str
    """What a pointer over it is shown."""
    ground: str
    """The colour behind it."""

    def number(self, name: str) -> float:
        return float(self.at[name])


def seen(svg: str) -> list[Seen]:
    """Every element, in the order in which they are drawn."""
    rects: list[tuple[float, float, float, float, str]] = []
    return list(_walk(ElementTree.fromstring(svg), 0.0, 0.0, rects))


def _walk(
    node: ElementTree.Element, dx: float, dy: float, rects: list[tuple[float, float, float, float, str]]
) -> Iterator[Seen]:
    for child in node:
        kind, at = child.tag.removeprefix(NAMESPACE), dict(child.attrib)
        shift = re.match(r"translate\(([-\d.]+) ([-\d.]+)\)", at.get("transform", ""))
        x, y = dx + (float(shift[1]) if shift else 0.0), dy + (float(shift[2]) if shift else 0.0)
        left = x + float(at.get("x", at.get("cx", at.get("x1", 0))))
        top = y + float(at.get("y", at.get("cy", at.get("y1", 0))))
        titles = [each.text or "" for each in child if each.tag == f"{NAMESPACE}title"]
        middle = top - 0.35 * float(at.get("font-size", 0))
        behind = [fill for a, b, c, d, fill in rects if a <= left <= c and b <= middle <= d]
        words = "".join(part for part in (child.text, *(each.tail for each in child)) if part)
        yield Seen(kind, at, left, top, words, titles[0] if titles else "", behind[-1] if behind else WHITE)
        if kind == "rect" and at["fill"] != "none":
            rects.append((left, top, left + float(at["width"]), top + float(at["height"]), at["fill"]))
        yield from _walk(child, x, y, rects)


def texts(svg: str) -> list[str]:
    return [each.text for each in seen(svg) if each.kind == "text"]


def contrast(one: str, other: str) -> float:
    """Of two colours, as the Web Content Accessibility Guidelines 2.2 define it; 1 to 21.

    >>> round(contrast("#000000", "#ffffff"), 1), round(contrast("#777777", "#ffffff"), 2)
    (21.0, 4.48)
    """
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def pale(svg: str) -> list[str]:
    """Texts below 4.5 against what is behind them, and marks below 3; grids and bands are neither."""
    found = []
    for each in seen(svg):
        if each.kind == "text" and contrast(each.at["fill"], each.ground) < 4.5:
            found.append(f"{each.text!r}: {each.at['fill']} on {each.ground}")
        if each.at.get("class") in ("solid", "hollow"):
            ink = each.at["stroke" if each.at["class"] == "hollow" else "fill"]
            if contrast(ink, WHITE) < 3:
                found.append(f"{each.kind}: {ink}")
        if (
            each.kind == "line"
            and each.at.get("class") not in ("grid", "edge")
            and contrast(each.at["stroke"], WHITE) < 3
        ):
            found.append(f"line: {each.at['stroke']}")
    return found
