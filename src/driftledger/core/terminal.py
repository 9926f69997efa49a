"""Where commands print: one console, and the looks that tables and sentences share.

Never wider than the terminal, 80 columns where there is none; plain in pipes and files, and where NO_COLOR is set. Text
from files, models and users goes through :func:`line`, which no markup and no control character gets past.
"""

import os
import shutil
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from driftledger.core.escaping import for_line

_UNKNOWN = (80, 24)
"""Columns and lines of no terminal."""

HEAD, QUIET, GOOD, BAD, DOUBT = "bold", "dim", "green", "red", "yellow"
"""Styles."""


def console(file: TextIO | None = None, width: int | None = None) -> Console:
    """A console on standard output as it is now.

    Args:
        width: in columns; without it ``COLUMNS`` or else the terminal's.
    """
    return Console(
        file=file,
        width=width or shutil.get_terminal_size(_UNKNOWN).columns,
        color_system=None if os.environ.get("NO_COLOR") else "auto",
        highlight=False,
        markup=False,
        emoji=False,
    )


def show(shown: RenderableType, out: Console | None = None) -> None:
    """Print it, without blanks at the ends of lines; a plain text, such as JSON, as it stands."""
    out = out or console()
    with out.capture() as drawn:
        if isinstance(shown, str):
            out.out(shown, highlight=False)
        else:
            out.print(shown)
    out.file.write("".join(f"{each.rstrip(' ')}\n" for each in drawn.get().removesuffix("\n").split("\n")))
    out.file.flush()  # a pipe that is closed by now is told of here


def line(text: str, style: str = "") -> Text:
    """One line, in which no markup and no control character does anything, and half a character stands as its code."""
    return Text(for_line(text).encode(errors="backslashreplace").decode(), style)


def lines(texts: Iterable[str]) -> Group:
    """Several, each indented as it begins, where it wraps too."""
    return Group(*(Padding(line(text), (0, 0, 0, len(text) - len(text.lstrip(" ")))) for text in texts))


def table(*columns: str, numbers: Sequence[str] = ()) -> Table:
    """Without borders; what is too wide folds, the widest column first, so that nothing is cut.

    Args:
        numbers: the columns that stand at the right.
    """
    made = Table(box=None, pad_edge=False, header_style=HEAD)
    for column in columns:
        made.add_column(line(column), justify="right" if column in numbers else "left", overflow="fold")
    return made


def facts(told: Iterable[tuple[str, str]]) -> Table:
    """A name and what is known of it, a line each."""
    made = Table.grid(padding=(0, 2, 0, 0))
    made.add_column(style=QUIET, no_wrap=True)
    made.add_column(overflow="fold")
    for name, text in told:
        made.add_row(line(name), line(text))
    return made


def as_many(texts: Sequence[str], letters: int, joint: str = ", ") -> str:
    """As many of the texts as ``letters`` hold, and how many more there are; the first is cut rather than left out.

    >>> as_many(["photos", "digits", "scenes"], 21), as_many(["photographs"], 8)
    ('photos and 2 more', 'photogr…')
    """
    shown: list[str] = []
    for text in map(for_line, texts):
        left = len(texts) - len(shown) - 1
        rest = f" and {left} more" if left else ""
        if not shown:
            shown.append(text if len(text) <= letters else f"{text[: letters - 1]}…")
        elif len(joint.join([*shown, text])) + len(rest) <= letters:
            shown.append(text)
        else:
            return f"{joint.join(shown)} and {left + 1} more"
    return joint.join(shown)


def figure(value: float, digits: int, ends: tuple[float, float] | None = None) -> str:
    """A value with as many decimals, and its interval in brackets.

    >>> figure(0.7432, 3, (0.7198, 0.7661)), figure(-0.01, 1)
    ('0.743 [0.720, 0.766]', '0.0')
    """
    told = f"{value:z.{digits}f}"
    return told if ends is None else f"{told} [{', '.join(f'{end:z.{digits}f}' for end in ends)}]"
