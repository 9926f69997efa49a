"""What commands show, as text."""

import io
import os
import unicodedata
from collections import Counter
from contextlib import redirect_stdout
from unittest.mock import patch

from rich.cells import cell_len
from rich.console import RenderableType

from driftledger.commands.terminal import show

WIDTHS = (60, 80, 120)
"""Of terminals, in columns."""


def printed(shown: RenderableType, width: int = 100_000) -> str:
    """Return a text as printed to a file, or to a terminal of so many columns."""
    with (
        patch.dict(os.environ, COLUMNS=str(width)),
        redirect_stdout(io.StringIO()) as file,
    ):
        show(shown)
    return file.getvalue().removesuffix("\n")


def fitting(shown: RenderableType) -> str:
    """It fits terminals of all widths, with nothing in it that a terminal obeys, and nothing is
    left out in a narrow one; as it stands in 80 columns."""
    whole = "".join(printed(shown).split())
    for width in WIDTHS:
        text = printed(shown, width)
        assert max(map(cell_len, text.split("\n"))) <= width
        assert {
            letter
            for letter in text
            if unicodedata.category(letter) in ("Cc", "Zl", "Zp")
        } <= {"\n"}
        # a tree repeats its lines
        assert (
            Counter(text) - Counter(" \n" * len(text)) == Counter(whole) or "─" in text
        )
    return printed(shown, 80)
