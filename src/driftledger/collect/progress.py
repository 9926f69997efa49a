"""The progress bar of calls, and their counts for other processes."""

import math
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from threading import Lock
from time import monotonic
from types import SimpleNamespace
from typing import Any

from tqdm import tqdm

from driftledger.components.base import Component
from driftledger.core.files import load_json, read_regular, write_json
from driftledger.core.types import Outcome, Result, Usage

COUNTS = "counts.json"
"""In the folder of the checkout's state: what ``driftledger run`` has counted so far."""

_WRITING = Lock()
"""Held to add to counts, since bars of several threads have one file."""


def read_counts(file: Path) -> Counter[str]:
    """Read counts by their names, such as ``calls/models.gpt``.

    Without a file there are none.
    """
    with suppress(OSError, ValueError):
        return Counter(load_json(read_regular(file)))
    return Counter()


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

    def __init__(
        self,
        description: str,
        total: int,
        unit: str = "call",
        *,
        counts: Path | None = None,
    ) -> None:
        """Set up a bar.

        Args:
            counts: a file of counts to add to once a second, and at the end, for other processes.
        """
        self._counts = counts
        self._new = Counter[str]()
        self._written = -math.inf
        self._sums = defaultdict[str, Counter[str]](Counter)
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
        new = Counter[str]()
        for result in results:
            usage = result.usage or Usage()
            new["calls"] += 1
            new["failures"] += result.outcome is Outcome.FAILED
            new["tokens"] += (usage.input_tokens or 0) + (usage.output_tokens or 0)
            # a Counter of fractions works as well
            new["usd"] += usage.most_cost or 0  # type: ignore[assignment]
        self._sums[entry].update(new)
        texts = []
        for name, sums in self._sums.items():
            cost = f", cost at most {sums['usd']:.2f}" if sums["usd"] else ""
            texts.append(f"{name}: {sums['calls']}{cost}")
        self.set_postfix_str("; ".join(texts), refresh=False)
        for name, value in new.items():
            self._new[f"{name}/{entry}"] += value
        # of a closed bar, this may be the last one
        if self.disable or monotonic() - self._written >= 1:
            self._add_counts()

    def close(self) -> None:
        """End the bar, and write all counts into the file."""
        super().close()
        self._add_counts()

    def _add_counts(self) -> None:
        self._written = monotonic()
        if self._counts and self._new:
            with _WRITING, suppress(OSError):  # a full disk
                write_json(self._counts, read_counts(self._counts) + self._new)
                self._new.clear()
