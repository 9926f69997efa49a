"""The correlations of the headlines as a picture: a square matrix, blue for alike and red for opposite."""

from collections.abc import Sequence

from PIL import Image, ImageDraw, ImageFont

from driftledger.core.escaping import for_line
from driftledger.core.images import png_bytes
from driftledger.reports.correlation.columns import Column
from driftledger.reports.correlation.pairs import Pair

MOST = 48
"""Columns that fit a picture; those that come first are shown."""

_CELL, _EDGE, _HEAD, _LABEL = 26, 10, 44, 400
_LONGEST = 62  # characters of a label
_ALIKE, _OPPOSITE, _NOTHING = (33, 102, 172), (178, 24, 43), (236, 236, 236)


def draw_matrix(columns: Sequence[Column], pairs: Sequence[Pair]) -> bytes:
    """A PNG of Pearson's r between the columns that correlate with any other; a sentence where there are none."""
    found = {frozenset((id(pair.a), id(pair.b))): pair.found.pearson for pair in pairs}
    related = [any(frozenset((id(a), id(b))) in found for b in columns) for a in columns]
    shown = [column for column, is_related in zip(columns, related, strict=True) if is_related][:MOST]
    font, small = ImageFont.load_default(12), ImageFont.load_default(9)
    side = _CELL * len(shown)
    sheet = Image.new("RGB", (2 * _EDGE + _LABEL + max(side, 200), 2 * _EDGE + _HEAD + side), "white")
    pen = ImageDraw.Draw(sheet)
    title = "Pearson's r between headlines, over the models that two columns share"
    pen.text((_EDGE, _EDGE), title if shown else "No two columns share three models.", fill="black", font=font)
    for row, a in enumerate(shown):
        top = _EDGE + _HEAD + row * _CELL
        pen.text((_EDGE, top + 6), _label(row + 1, a), fill="black", font=font)
        pen.text((_left(row) + _CELL // 2, _EDGE + _HEAD - 10), str(row + 1), fill="black", font=font, anchor="mm")
        for place, b in enumerate(shown):
            r = 1.0 if a is b else found.get(frozenset((id(a), id(b))))
            left = _left(place)
            pen.rectangle((left, top, left + _CELL - 2, top + _CELL - 2), fill=_colour(r))
            if r is not None and a is not b:
                ink = "white" if abs(r) > 0.6 else "black"
                middle = (left + _CELL // 2 - 1, top + _CELL // 2 - 1)
                pen.text(middle, _short(r), fill=ink, font=small, anchor="mm")
    return png_bytes(sheet)


def _left(place: int) -> int:
    return _EDGE + _LABEL + place * _CELL


def _label(number: int, column: Column) -> str:
    text = for_line(f"{number}  {column.title}, {column.of}")
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _colour(r: float | None) -> tuple[int, int, int]:
    """White at 0; in steps of a hundredth, so that a last bit colours nothing."""
    if r is None:
        return _NOTHING
    share = round(abs(r) * 100)
    red, green, blue = (255 - (255 - full) * share // 100 for full in (_ALIKE if r > 0 else _OPPOSITE))
    return red, green, blue


def _short(r: float) -> str:
    """Two decimals in little room: ``.93``, ``-.5`` is ``-.50``, 1 is ``1``."""
    text = f"{r:.2f}"
    return {"1.00": "1", "-1.00": "-1", "-0.00": ".00"}.get(text, text.replace("0.", ".", 1))
