"""Tables as templates read them: where each number links to, and how wide its interval is beside the others."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from driftledger.benchmarks.base import Cell, Cells, Table
from driftledger.benchmarks.score import Interval, Score
from driftledger.charts.marks import mark
from driftledger.charts.palette import Series
from driftledger.charts.svg import element
from driftledger.reports.site.provenance import href
from driftledger.reports.tables import csv, latex, markdown

_NOBODY: Mapping[str, Series] = {}

CONTROLS = "Controls, which do not look at the image"
SHADES = 4
"""So many ranks have a shade of their own; those behind them have none."""


class IntervalBar(NamedTuple):
    """An interval on the scale of its column, in percent of its width."""

    left: str
    width: str
    at: str


class CellView(NamedTuple):
    """What a cell shows."""

    text: str
    bold: bool = False
    deviation: str = ""
    more: str = ""
    value: str = ""
    """All digits; empty where there is no number."""
    href: str = ""
    """Where the number comes from, relative to the top of the site."""
    bar: IntervalBar | None = None
    letters: str = ""
    """Models that share one cannot be told apart."""
    shade: int = 0
    """1 for the best group, then the next ones; 0 for none."""


class RowView(NamedTuple):
    """A row; the first cell is its name."""

    cells: Sequence[CellView]
    control: bool = False
    """Whether it is of a model that does not look."""
    mark: str = ""
    """The model's mark in figures, as SVG of our own."""
    better: str = ""
    """``high`` or ``low``, where all its numbers are of one metric; empty where neither direction is better."""


class BodyView(NamedTuple):
    """Rows that are sorted among each other."""

    title: str
    rows: Sequence[RowView]


class HeadView(NamedTuple):
    """The head of a column."""

    text: str
    of: str = ""
    """What data and components it is of, where the table does not say."""
    shaded: bool = False


class Copy(NamedTuple):
    """The table in another format, to be copied."""

    name: str
    text: str


class TableView(NamedTuple):
    """A table."""

    id: str
    title: str
    head: Sequence[HeadView]
    bodies: Sequence[BodyView]
    notes: Sequence[str] = ()
    copies: Sequence[Copy] = ()
    sortable: bool = False


def table_view(table: Table, name: str, series: Mapping[str, Series] = _NOBODY) -> TableView:
    """A table of the report.

    Args:
        name: of the section that it stands in, a part of its id.
        series: how models look in figures.
    """
    rows = row_views(table, series)
    copies = () if table.detail else copies_of(table)
    head = [HeadView(text) for text in table.head]
    sortable = not table.across and len(rows) > 1
    kinds = (("", [row for row in rows if not row.control]), (CONTROLS, [row for row in rows if row.control]))
    bodies = [BodyView(title, some) for title, some in kinds if some or not (rows or title)]
    return TableView(f"{name}-{table.name}", table.title, head, bodies, table.notes, copies, sortable)


def copies_of(table: Table) -> list[Copy]:
    """As the files of the report have it."""
    return [
        Copy("CSV", csv(table).decode()),
        Copy("Markdown", "\n".join(markdown(table))),
        Copy("LaTeX", latex(table)),
    ]


def mark_of(series: Series) -> str:
    """A model's mark, as SVG that stands in a line of text."""
    return element("svg", mark(6, 6, series), viewBox="0 0 12 12", class_="mark", aria_hidden="true")


def row_views(table: Table, series: Mapping[str, Series] = _NOBODY) -> list[RowView]:
    """Its rows; a number in a column of which some number has an interval has a bar."""
    columns = list(zip(*table.rows, strict=True))
    bars = [[None] * len(table.rows) if table.across else _bars(column) for column in columns]
    by_row = [shades_of(row) for row in table.rows] if table.across else []
    shades = list(zip(*by_row, strict=True)) if table.across else [shades_of(column) for column in columns]
    return [
        RowView(
            [
                cell_view(cell, bars[column][place])._replace(shade=shades[column][place])
                for column, cell in enumerate(row)
            ],
            not table.across and _control(row),
            mark_of(series[name]) if not table.across and (name := name_of(row[0])) in series else "",
        )
        for place, row in enumerate(table.rows)
    ]


def name_of(cell: Cell | str) -> str:
    """What a row is called, without what stands in brackets."""
    return cell if isinstance(cell, str) else cell.text


def shades_of(cells: Iterable[Cell | str]) -> list[int]:
    """Of numbers that are ranked among each other: 1 for those of the best rank, 2 for the next; 0 where only one rank
    is there, or none, and for those behind :data:`SHADES`."""
    ranks = [None if isinstance(cell, str) else cell.rank for cell in cells]
    there = sorted({rank for rank in ranks if rank is not None})
    places = {rank: place for place, rank in enumerate(there, 1) if place <= SHADES and len(there) > 1}
    return [0 if rank is None else places.get(rank, 0) for rank in ranks]


def scores_in(row: Cells) -> Iterable[Score]:
    """The scores that a row's numbers are of."""
    return (cell.of.score for cell in row if isinstance(cell, Cell) and cell.of is not None)


def _control(row: Cells) -> bool:
    return any(score.components["model"].is_control for score in scores_in(row))


def cell_view(cell: Cell | str, bar: IntervalBar | None = None) -> CellView:
    """A cell, and where its number links to."""
    if isinstance(cell, str):
        return CellView(cell)
    link = href(cell.of) if cell.of is not None and cell.value is not None else ""
    value = "" if cell.value is None else repr(float(cell.value))
    return CellView(cell.text, cell.bold, cell.deviation, cell.more, value, link, bar, cell.letters)


def _bars(column: Iterable[Cell | str]) -> list[IntervalBar | None]:
    """From 0, or the least end where that is below, to the greatest."""
    intervals = [_interval(cell) for cell in column]
    known = [ends for ends in intervals if ends is not None]
    low = min([0.0, *(ends.low for _, ends in known)])
    high = max([0.0, *(end for value, ends in known for end in (value, ends.high))])
    scale = 100 / (high - low) if high > low else 0.0
    found: list[IntervalBar | None] = []
    for each in intervals:
        if each is None or not scale:
            found.append(None)
        else:
            value, ends = each
            parts = (scale * (ends.low - low), scale * (ends.high - ends.low), scale * (value - low))
            found.append(IntervalBar(*(f"{part:.1f}" for part in parts)))
    return found


def _interval(cell: Cell | str) -> tuple[float, Interval] | None:
    """The value of a metric as a whole, and its interval; None for a rank of it, or one without."""
    if isinstance(cell, str) or cell.of is None or cell.value is None:
        return None
    score, number = cell.of
    ends = score.interval(number)
    return None if ends is None or cell.value != score.metrics.get(number) else (cell.value, ends)
