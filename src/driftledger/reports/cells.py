"""Cells and tables of the report, without markup. Text in them may come from models and files; it
is escaped where it is written."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from driftledger.benchmarks.base import NOTHING, BenchmarkTable, ShownValue
from driftledger.core.text import for_cell
from driftledger.scoring.metric import COVERAGE
from driftledger.scoring.score import Score, interval_of


class Cell(NamedTuple):
    """A cell of a table: a text, and for a number where it comes from and how it compares."""

    text: str = NOTHING
    """As people read it; may be hostile."""
    value: float | None = None
    """All digits, for programs."""
    score: Score | None = None
    """The score that has the number; None where several went in, and without a value."""
    number: str = ""
    """The name of the number that it shows; of a rank, of the number that is ranked."""
    rank: int | None = None
    """1 + how many models are shown to be better; without a test, 1 + how many have a better value.
    None for controls, and where neither direction is better."""
    bold: bool = False
    """It is of the best group, or sums up rows."""
    letters: str = ""
    """Models that share one cannot be told apart; empty without a test."""
    deviation: str = ""
    more: str = ""
    """Behind a value in brackets: its interval, its coverage."""

    @property
    def shade(self) -> int:
        """The rank, where a test sets some models apart; else 0."""
        if not self.rank or not self.letters:
            return 0
        return self.rank if self.bold or self.rank > 1 else 0

    def __str__(self) -> str:
        text = self.text
        if self.letters:
            text += f" {self.letters}"
        if self.deviation:
            text += f" ± {self.deviation}"
        return f"{text} ({self.more})" if self.more else text


def cell(
    value: float | None,
    score: Score | None = None,
    number: str = "",
    digits: int = 2,
    more: str = "",
    signed: bool = False,
) -> Cell:
    """Write a number; the arguments are the fields of a :class:`ShownValue`.

    >>> print(cell(27.204, more="24.1–30.3"), cell(27.204, digits=1), cell(None))
    27.20 (24.1–30.3) 27.2 –
    >>> print(cell(10154, digits=0))
    10,154
    """
    if value is None:
        return Cell()
    thousands = "," if abs(value) >= 10_000 else ""
    sign = "+" if signed and value > 0 else ""
    return Cell(
        f"{sign}{value:{thousands}.{digits}f}",
        value,
        score=score,
        number=number,
        more=more,
    )


def coverage_cell(score: Score, more: str = "") -> Cell:
    """Return the coverage of a score."""
    return cell(
        score.coverage, score, number=COVERAGE.key, digits=COVERAGE.digits, more=more
    )


def name_cell(score: Score) -> Cell:
    """Return a model's name, marked if it is a control."""
    return Cell(score.model, more="control" if score.is_control else "")


def interval(values: dict[str, float], key: str, digits: int) -> str:
    """Write a number's interval; empty without one.

    >>> interval({"ssim": 28.2, "ssim_low": 27.14, "ssim_high": 29.5}, "ssim", 1)
    '27.1–29.5'
    """
    ends = interval_of(values, key)
    return f"{ends.low:.{digits}f}–{ends.high:.{digits}f}" if ends else ""


Cells: TypeAlias = Sequence[Cell | str]
"""A row."""


class ReportTable(NamedTuple):
    """A table of the report, which each format makes inert. The first column names the rows."""

    title: str
    head: Sequence[str]
    rows: Sequence[Cells]
    notes: Sequence[str] = ()
    across: bool = False
    """Scores are columns, from the second on, instead of rows."""
    name: str = "models"
    """Its place on the site; no other table of the same data and components has it."""
    detail: bool = False
    """It is last in its section and folded on the site, since few readers want it."""


def report_table(table: BenchmarkTable) -> ReportTable:
    """Make the cells of a table that only one benchmark has."""
    rows = list[Cells]()
    for name, *values in table.rows:
        row: list[Cell | str] = [Cell(str(name), bold=name in table.sums)]
        for value in values:
            row.append(cell(*value) if isinstance(value, ShownValue) else value)
        rows.append(row)
    return ReportTable(
        table.title, table.head, rows=rows, notes=table.notes, name=table.name
    )


def markdown(table: ReportTable) -> Iterator[str]:
    """Write a title, the table and its notes as lines, with an empty one after each."""
    head = " | ".join(map(for_cell, table.head))
    yield f"**{for_cell(table.title)}**"
    yield ""
    yield f"| {head.lstrip()} |"
    yield f"|---|{'---:|' * (len(table.head) - 1)}"
    for row in table.rows:
        yield f"| {' | '.join(map(_in_markdown, row))} |"
    yield ""
    for note in table.notes:
        yield for_cell(note)
        yield ""


def _in_markdown(value: Cell | str) -> str:
    if isinstance(value, str):
        return for_cell(value)
    text = for_cell(value.text)
    if value.bold:
        text = f"**{text}**"
    more = for_cell(str(value._replace(text="")))
    return f"{text} {more}" if more else text
