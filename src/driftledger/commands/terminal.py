"""The console, and the looks of tables and sentences.

Never wider than the terminal; plain and never wrapped in pipes and files. Text from files, models
and users goes through :func:`line`, which lets no markup and no control character through.
"""

import shutil
from collections.abc import Iterable, Sequence

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from driftledger.core.text import for_line

HEAD = "bold"
QUIET = "dim"
GOOD = "green"
BAD = "red"
"""Styles of text."""
_WIDEST = 10_000
"""Columns of output that is not a terminal."""


def show(content: RenderableType) -> None:
    """Print something, as wide as ``COLUMNS`` or the terminal allows.

    Lines end without blanks. Plain text, such as JSON, is printed unchanged. In a pipe or a file,
    nothing wraps.
    """
    width = shutil.get_terminal_size((_WIDEST, 24)).columns
    out = Console(width=width, highlight=False, markup=False, emoji=False)
    with out.capture() as drawn:
        if isinstance(content, str):
            out.out(content, highlight=False)
        else:
            out.print(content)
    out.file.write(
        "".join(
            f"{row.rstrip(' ')}\n" for row in drawn.get().removesuffix("\n").split("\n")
        )
    )
    out.file.flush()  # raises here if the pipe is closed by now


def line(text: str, style: str = "") -> Text:
    """Return one line of text in which markup and control characters have no effect.

    Half a character becomes its code.
    """
    return Text(for_line(text).encode(errors="backslashreplace").decode(), style)


def lines(texts: Iterable[str]) -> Group:
    """Return several lines; a line that wraps keeps its indentation."""
    return Group(
        *(
            Padding(line(text), (0, 0, 0, len(text) - len(text.lstrip(" "))))
            for text in texts
        )
    )


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Return a table without borders; what is too wide folds, the widest column first.

    Args:
        numbers: the columns that are right-justified.
    """
    grid = Table(box=None, pad_edge=False, header_style=HEAD)
    for column in columns:
        grid.add_column(
            line(column),
            justify="right" if column in numbers else "left",
            overflow="fold",
        )
    return grid


def facts(pairs: Iterable[tuple[str, str]]) -> Table:
    """Return a table of names and their values."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(style=QUIET, no_wrap=True)
    grid.add_column(overflow="fold")
    for name, text in pairs:
        grid.add_row(line(name), line(text))
    return grid
