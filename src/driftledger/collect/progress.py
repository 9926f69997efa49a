"""The progress bar of calls, and their counts for other processes."""

import math
import sys
from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TypeAlias

from tqdm import tqdm

from driftledger.core.files import load_json, read_regular, write_json
from driftledger.core.types import Outcome, Result, Usage

COUNTS = "counts.json"
"""In the folder of the checkout's state: what ``driftledger run`` has counted so far."""
Counts: TypeAlias = dict[str, dict[str, float]]
"""Component → calls and failures; tokens and dollars where any are known."""


def read_counts(file: Path) -> Counts:
    """Read counts that another process may be writing; empty if it has not begun."""
    with suppress(OSError, ValueError):
        counts: Counts = load_json(read_regular(file))
        return counts
    return {}


def _write_line(text: str) -> None:
    """Write what tqdm would draw over the line before as a line of its own."""
    if line := text.strip():
        sys.stderr.write(f"{line}\n")


class Progress(tqdm):  # type: ignore[type-arg]  # tqdm is generic in its stubs only
    """tqdm over the calls that are made at most, and how many each component has made; for no calls
    nothing.

    In a file or a log it prints a whole line for each tenth.
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
            counts: the file to which :meth:`note` adds.
        """
        self._file = counts
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

    def note(self, fingerprint: str, results: Iterable[Result]) -> None:
        """Add calls to a component to the file of counts at once; on a full disk, not at all."""
        if self._file is None:
            return
        counts = read_counts(self._file)
        sums = Counter[str](calls=0, failures=0)
        sums.update(counts.get(fingerprint))
        for result in results:
            usage = result.usage or Usage()
            tokens = (usage.input_tokens or 0) + (usage.output_tokens or 0)
            sums["calls"] += 1
            sums["failures"] += result.outcome is Outcome.FAILED
            if tokens:
                sums["tokens"] += tokens
            if usage.cost:
                sums["usd"] += usage.cost  # type: ignore[assignment]  # a fraction, as above
        counts[fingerprint] = {**sums}
        with suppress(OSError):
            write_json(self._file, counts)
