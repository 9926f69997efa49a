"""Numbers in a grid, as shades with the numbers in them."""

from collections.abc import Sequence

from driftledger.charts.palette import luminance
from driftledger.charts.svg import (
    EDGE,
    GROUND,
    MUTED,
    SMALL,
    Drawing,
    Svg,
    element,
    head,
    joined,
    shortened,
    text,
    width_of,
)

_FULL, _BELOW = (0, 90, 140), (176, 42, 30)
"""Of the largest value, and of the smallest where that is below zero; 0 is white."""
_BLACK = "#000000"
_READ_ON = 0.179
"""Above this luminance black is read better than white."""
_NOTHING = "#f3f4f6"
_MOST_LABEL = 330


def matrix(
    title: str,
    rows: Sequence[str],
    columns: Sequence[str],
    values: Sequence[Sequence[float | None]],
    *,
    note: str = "",
    across: str = "",
    down: str = "",
    digits: int = 0,
    most: float = 100.0,
    width: float = 720,
    cell: float = 0,
) -> Drawing:
    """A heat map; a cell without a value is empty.

    Args:
        across: what columns are; ``down`` is what rows are.
        most: the value of the darkest shade, and below zero its opposite.
        width: at least; cells are as wide as it lets them be, or ``cell`` where that is given.
    """
    labels = [shortened(name, _MOST_LABEL) for name in rows]
    left = EDGE + 12 + max(map(width_of, [*labels, down]), default=0)
    needed = max(
        (width_of(_short(each, digits, most), SMALL) + 8 for row in values for each in row if each is not None),
        default=20,
    )
    wide = cell or max(needed, min(84.0, (width - left - EDGE) / max(1, len(columns))))
    width = max(width, left + wide * len(columns) + EDGE)
    high = max(22.0, min(wide, 30.0))
    heads = [shortened(name, 150, SMALL) for name in columns]
    slanted = any(width_of(name, SMALL) > wide - 4 for name in heads)
    slant = 0.72 * max(width_of(name, SMALL) for name in heads) if slanted else 0.0
    width, room = max(width, left + wide * len(columns) + slant), 18 + slant
    above = head(title, note, width)
    top = above.height + (20 if across else 0) + room
    size = {"width": wide * len(columns), "height": high * len(rows)}
    drawn = [above.body, element("rect", x=left, y=top, **size, fill=_NOTHING, class_="empty")]
    drawn += [text(left, above.height + 6, across, size=SMALL, fill=MUTED)] if across else []
    drawn += [text(EDGE, top - 10, down, size=SMALL, fill=MUTED)] if down else []
    for place, (name, full) in enumerate(zip(heads, columns, strict=True)):
        drawn.append(_column(left + wide * (place + 0.5), top - 10, name, full, slanted))
    for number, (name, full, row) in enumerate(zip(labels, rows, values, strict=True)):
        y = top + high * number
        drawn.append(text(left - 10, y + high / 2, name, anchor="end", full=full))
        drawn += [
            _cell(left + wide * place, y, wide, high, value, digits, most, f"{full} · {columns[place]}")
            for place, value in enumerate(row)
            if value is not None
        ]
    told = "; ".join(
        f"{name}: {', '.join('–' if each is None else f'{each:.{digits}f}' for each in row)}"
        for name, row in zip(rows, values, strict=True)
    )
    return Drawing(title, note, width, top + high * len(rows) + 18, joined(*drawn), told)


def _column(x: float, y: float, name: str, full: str, slanted: bool) -> Svg:
    if not slanted:
        return text(x, y, name, size=SMALL, anchor="middle", full=full)
    return element("g", text(0, 0, name, size=SMALL, full=full), transform=f"translate({x:.1f} {y:.1f}) rotate(-45)")


def _cell(x: float, y: float, wide: float, high: float, value: float, digits: int, most: float, of: str) -> Svg:
    share = min(1.0, abs(round(value, 6)) / most)
    full = _FULL if value >= 0 else _BELOW
    shade = [round(255 - (255 - channel) * round(100 * share) / 100) for channel in full]
    fill = "#" + "".join(f"{channel:02x}" for channel in shade)
    box = element(
        "rect",
        element("title", f"{of}: {value:.{digits}f}"),
        x=x,
        y=y,
        width=wide,
        height=high,
        fill=fill,
        stroke=GROUND,
        stroke_width=1.5,
    )
    ink = GROUND if luminance(fill) < _READ_ON else _BLACK
    inside = text(x + wide / 2, y + high / 2, _short(value, digits, most), size=SMALL, anchor="middle", fill=ink)
    return joined(box, inside)


def _short(value: float, digits: int, most: float) -> str:
    """In little room: ``.93``, ``−.50``, and 1 is ``1`` where there are digits."""
    told = f"{value:.{digits}f}"
    if most == 1 and abs(value) <= 1:
        told = {"1." + "0" * digits: "1", "-1." + "0" * digits: "−1"}.get(told, told.replace("0.", ".", 1))
        told = told.removeprefix("-") if not float(f"{value:.{digits}f}") else told
    return told.replace("-", "−")
