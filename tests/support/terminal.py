"""What commands show, as text."""

import io

from rich.console import RenderableType

from driftledger.core.terminal import console, show

WIDTHS = (60, 80, 120)
"""Of terminals, in columns."""


def printed(shown: RenderableType, width: int = 100_000) -> str:
    """As it stands in a file, however long its lines, or in so many columns."""
    out = console(io.StringIO(), width)
    show(shown, out)
    text: str = out.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return text.removesuffix("\n")
