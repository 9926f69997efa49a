"""How answers are shown: as plain text where a terminal is, as inert HTML in a notebook."""

import io
from abc import ABC, abstractmethod

from rich.console import Console, RenderableType

from driftledger.core.terminal import show
from driftledger.core.text import for_html

WIDTH = 100
"""Columns of an answer's text."""


class Told(ABC):
    """An answer whose text is what the command of the same name prints."""

    @property
    @abstractmethod
    def shown(self) -> RenderableType:
        """What its text is drawn from."""

    def __repr__(self) -> str:
        return plain(self.shown)

    def _repr_html_(self) -> str:
        return f"<pre>{for_html(repr(self))}</pre>"


def plain(shown: RenderableType, width: int = WIDTH) -> str:
    """What a console prints, without colours; the same inside Jupyter, where rich would otherwise draw by itself."""
    text = io.StringIO()
    show(shown, Console(file=text, width=width, color_system=None, force_jupyter=False, markup=False, emoji=False))
    return text.getvalue().rstrip("\n")
