"""Tables of text and numbers, and their Markdown."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score

NOTHING = "–"
"""The text of a cell without a value."""


MODELS = "models"
NOT_RANKED = "not ranked"
CONTROLS = "controls"
RANGE = "range"
"""Kinds of rows, in the order in which they are shown."""


class Cell(NamedTuple):
    """A cell of a table: a text; for a number also its source and its rank."""

    text: str = NOTHING
    """As people read it; may be hostile."""
    mark: str = ""
    """The sign behind it that refers to a note below the table."""
    value: float | None = None
    """All digits, for programs."""
    score: Score | None = None
    """The score that has the number; None where several went in, and without a value."""
    place: Place | None = None
    """The number in the score; of a rank, the number that is ranked."""
    rank: int | None = None
    """1 + how many models are shown to be better; without a test, 1 + how many have a better value.
    None for controls, and where neither direction is better."""
    bold: bool = False
    """Whether it belongs to the best group or sums up rows."""
    letters: str = ""
    """Models that share one cannot be told apart; empty without a test."""
    deviation: str = ""
    more: str = ""
    """Behind a value in brackets: its interval, its coverage, its share of the range."""
    share: str = ""
    """The last of them by itself: ``70%``."""
    kind: str = MODELS
    """Of the row that it names."""

    @property
    def shade(self) -> int:
        """The rank, if a test tells some models apart; else 0."""
        if not self.rank or not self.letters:
            return 0
        return self.rank if self.bold or self.rank > 1 else 0

    def __str__(self) -> str:
        text = self.text + self.mark
        if self.letters:
            text += f" {self.letters}"
        if self.deviation:
            text += f" ± {self.deviation}"
        return f"{text} ({self.more})" if self.more else text


Cells = Sequence[Cell | str]
"""A row."""


class Table(NamedTuple):
    """A table; the first column names the rows. Each format escapes its texts."""

    title: str
    """The title, with the table or figure of a paper that it follows."""
    head: Sequence[str]
    rows: Sequence[Cells]
    notes: Sequence[str] = ()
    across: bool = False
    """Scores are columns, from the second on, instead of rows."""
    name: str = "models"
    """Its place on the site; no other table of the same data and components has it."""
    detail: bool = False
    """Whether it comes last in its section and is folded on the site."""

    @property
    def by_kind(self) -> dict[str, list[Cells]]:
        """The rows of each kind that has some."""

        def kind_of(row: Cells) -> str:
            return MODELS if isinstance(row[0], str) else row[0].kind

        rows = grouped(self.rows, kind_of)
        kinds = (MODELS, NOT_RANKED, CONTROLS, RANGE)
        return {kind: rows[kind] for kind in kinds if kind in rows}


def number_cell(
    value: float | None,
    digits: int = 2,
    *,
    signed: bool = False,
    more: str = "",
    score: Score | None = None,
    place: Place | None = None,
) -> Cell:
    """Write a number.

    >>> print(number_cell(27.204, more="24.1–30.3"), number_cell(27.204, 1), number_cell(None))
    27.20 (24.1–30.3) 27.2 –
    >>> print(number_cell(10154, 0), number_cell(1.25, 1, signed=True))
    10,154 +1.2
    """
    if value is None:
        return Cell()
    thousands = "," if abs(value) >= 10_000 else ""
    sign = "+" if signed and value > 0 else ""
    text = f"{sign}{value:{thousands}.{digits}f}"
    return Cell(text, value=value, score=score, place=place, more=more)


def markdown(table: Table) -> Iterator[str]:
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
    text += for_cell(value.mark)
    more = for_cell(str(value._replace(text="", mark="")))
    return f"{text} {more}" if more else text
