"""The correlations of the headlines as a picture: a square matrix, blue for alike and red for opposite."""

from collections.abc import Sequence

from driftledger.charts.matrix import matrix
from driftledger.charts.svg import page, sentence, shortened
from driftledger.reports.correlation.columns import Column
from driftledger.reports.correlation.pairs import Pair

MOST = 48
"""Columns that fit a picture; those that come first are shown."""

_TITLE = "Pearson's r between headlines"


def draw_matrix(columns: Sequence[Column], pairs: Sequence[Pair]) -> str:
    """An SVG of Pearson's r between the columns that correlate with any other; a sentence where there are none."""
    found = {frozenset((id(pair.a), id(pair.b))): pair.found.pearson for pair in pairs}
    related = [any(frozenset((id(a), id(b))) in found for b in columns) for a in columns]
    shown = [column for column, is_related in zip(columns, related, strict=True) if is_related][:MOST]
    if not shown:
        return page(sentence(_TITLE, "No two columns share three models."))
    numbers = [str(number) for number in range(1, len(shown) + 1)]
    rows = [
        f"{shortened(f'{each.title}, {each.of}', 290)} · {number}" for number, each in zip(numbers, shown, strict=True)
    ]
    values = [[None if a is b else found.get(frozenset((id(a), id(b)))) for b in shown] for a in shown]
    note = "Over the models that two columns share; grey where these are fewer than three, or all alike."
    return page(matrix(_TITLE, rows, numbers, values, note=note, digits=2, most=1.0, cell=30.0))
