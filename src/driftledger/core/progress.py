"""A progress bar with rate and time left; a line every ten seconds where nobody can watch a bar."""

import sys
from typing import Any, TextIO

from tqdm import tqdm


class _WholeLines:
    """A stream on which what tqdm draws over itself becomes one line after the other."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str) -> None:
        if line := text.strip():
            self._stream.write(f"{line}\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class Progress(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs only
    """tqdm over component calls; nothing for no calls. Piped into a file or a log, it prints whole lines and
    few of them."""

    def __init__(self, description: str, total: int, unit: str = "call") -> None:
        watched = sys.stderr.isatty()
        super().__init__(
            desc=description,
            total=total,
            unit=unit,
            file=sys.stderr if watched else _WholeLines(sys.stderr),
            dynamic_ncols=watched,
            ncols=None if watched else 100,
            mininterval=0.1 if watched else 10.0,
            maxinterval=10.0,
            ascii=not watched,
            disable=not total,
        )

    def skip(self, calls: int) -> None:
        """Take calls off the total that will not be made after all."""
        self.total = (self.total or 0) - calls
