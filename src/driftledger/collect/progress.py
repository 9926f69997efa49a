"""The progress bar of calls."""

import math
import sys
from collections import Counter
from types import SimpleNamespace

from tqdm import tqdm


def _write_line(text: str) -> None:
    """Write what tqdm would draw over the line before as a line of its own."""
    if line := text.strip():
        sys.stderr.write(f"{line}\n")


class Progress(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs only
    """tqdm over the calls that are made at most, and how many each component has made; for no calls
    nothing.

    In a file or a log it prints a whole line for each tenth.
    """

    def __init__(self, description: str, total: int, unit: str = "call") -> None:
        watched = sys.stderr.isatty()
        lines = SimpleNamespace(write=_write_line, flush=sys.stderr.flush)
        self._made = Counter[str]()
        self._costs = Counter[str]()
        super().__init__(
            desc=description,
            total=total,
            unit=unit,
            file=sys.stderr if watched else lines,
            dynamic_ncols=watched,
            miniters=None if watched else total // 10 + 1,
            mininterval=0.1 if watched else 0.0,
            maxinterval=10.0 if watched else math.inf,
            position=None
            if watched
            else 0,  # another one is a line that the cursor has to move to
            ascii=not watched,
            disable=not total,
        )

    def count(self, name: str, calls: int, cost: float = 0.0) -> None:
        """Add to the calls that a component has made, and to what they have cost."""
        self._made[name] += calls
        # a Counter of fractions works as well
        self._costs[name] += cost  # type: ignore[assignment]
        costs = {
            each: f", cost {cost:.2f}" for each, cost in self._costs.items() if cost
        }
        counts = (
            f"{each}: {calls}{costs.get(each, '')}"
            for each, calls in self._made.items()
        )
        self.set_postfix_str("; ".join(counts), refresh=False)
