"""The progress bar of calls."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

from tqdm import tqdm

from driftledger.components.base import Component
from driftledger.core.types import Result, Usage


def _write_line(text: str) -> None:
    """Write a state of the bar as a line of its own.

    A closed pipe raises nothing: tqdm would keep its lock, and all other threads would wait.
    """
    if line := text.strip():
        with suppress(OSError):
            print(line, file=sys.stderr, flush=True)


class Progress(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs only
    """A bar of the most calls that are made, with the calls of each entry so far.

    In a file or a log it prints a line for each tenth; without calls it prints nothing.
    """

    def __init__(self, description: str, total: int, unit: str = "call") -> None:
        self._calls = Counter[str]()
        self._costs = defaultdict[str, float](float)
        options: dict[str, Any] = {"dynamic_ncols": True, "ascii": False}
        if not sys.stderr.isatty():
            options = {
                "file": SimpleNamespace(write=_write_line, flush=lambda: None),
                "ascii": True,
                "miniters": total // 10 + 1,
                "mininterval": 0.0,
                "maxinterval": math.inf,
                "position": 0,  # another one is a line that the cursor has to move to
            }
        super().__init__(
            desc=description, total=total, unit=unit, disable=not total, **options
        )

    def count(self, component: Component, results: Iterable[Result]) -> None:
        """Count the calls that a component has made, and the most that they have cost."""
        entry = component.entry_name or component.provider
        for result in results:
            usage = result.usage or Usage()
            self._calls[entry] += 1
            self._costs[entry] += usage.most_cost or 0.0
        texts = []
        for name, calls in self._calls.items():
            cost = self._costs[name]
            spent = f", cost at most {cost:.2f}" if cost else ""
            texts.append(f"{name}: {calls}{spent}")
        self.set_postfix_str("; ".join(texts), refresh=False)
