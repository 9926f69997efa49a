"""What people think of a model's texts: ratings and grades, in sheets that they fill in.

The text in a sheet is a model's, and hostile; what people wrote beside it is dear. So no cell is a formula, and what
is in a sheet stays there.
"""

import re
from pathlib import Path
from typing import NamedTuple

from driftledger.core.errors import ConfigError
from driftledger.core.sheets import cleaned, read_table
from driftledger.core.text import for_line, for_terminal

Place = tuple[str, ...]
"""What a text is about: a dataset, a sample and a model, for instance."""


class SheetKind(NamedTuple):
    """The form of a sheet."""

    name: str
    """``ratings``."""
    columns: tuple[str, ...]
    """The three of a :data:`Place`, others; the text, the person, the number."""
    numbers: str
    """A regular expression of the numbers that may be given."""
    must: str
    """For people: what a number must be."""

    @property
    def command(self) -> str:
        """The command that writes such a sheet."""
        return f"driftledger people {self.name}"


class Opinion(NamedTuple):
    """What one person thinks of one text."""

    line: int
    place: Place
    text: str
    """As :func:`shown` writes it, but for blanks, which spreadsheets change."""
    rater: str
    number: float


def shown(text: str) -> str:
    """Return what a sheet shows of a text: no control characters, direction marks written out."""
    return for_terminal(cleaned(text))


def compared(shown: str) -> str:
    """Return what spreadsheets and people leave as it is when they save a text."""
    return " ".join(shown.split())


def read_opinions(path: Path, kind: SheetKind) -> list[Opinion]:
    """Read a sheet as spreadsheets save it; rows without a number are skipped, other columns ignored.

    Raises:
        ConfigError: it is missing or is not such a sheet, a number is not one that may be given or does not say of what
            or by whom it is, or one person has judged one text twice.
    """
    opinions: list[Opinion] = []
    lines: dict[tuple[Place, str, str], int] = {}
    *places, about, by, number = (*kind.columns[:3], *kind.columns[-3:])
    for line, cells in read_table(path, kind.columns, kind.name, kind.command).entries():
        given, where = cells[number], f"{kind.name}: {path}, line {line}"
        if not given:
            continue
        for column in (*places, by):
            if not cells[column]:
                raise ConfigError(f"{where}: there is a {number}, and {column!r} is empty; fill it in")
        if not re.fullmatch(kind.numbers, given):
            raise ConfigError(f"{where}: the {number} is {for_line(given)!r:.100}; it must be {kind.must}, or empty")
        place, text = tuple(cells[column] for column in places), compared(cells[about])
        before = lines.setdefault((place, text, cells[by]), line)
        if before != line:
            of = for_line(" · ".join(place))
            raise ConfigError(
                f"{where}: {for_line(cells[by])!r:.100} has a {number} of {of!r:.200} in line {before} already; "
                "remove one of the two"
            )
        opinions.append(Opinion(line, place, text, cells[by], float(given)))
    return opinions
