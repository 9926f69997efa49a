"""Every number of a score and its rows beside the one that the records give."""

from collections.abc import Iterator, Mapping
from typing import Any

from driftledger_check import compute
from driftledger_check.bundle import Bundle
from driftledger_check.lines import Line


def check_numbers(bundle: Bundle, lineage: Mapping[str, Any]) -> Iterator[Line]:
    """A line per number of a score, and per fact that its rows tell.

    Raises:
        KeyError, TypeError, ValueError: the records make no score.
    """
    where = lineage["score_file"]["path"]
    files = bundle.score_files(lineage)
    made, stored = compute.recompute(files), compute.stored(files)
    told = made.not_checkable
    for place in dict.fromkeys((*stored, *made.numbers, *told)):
        line = f"{where}: {'.'.join(place)}"
        if why := next((why for prefix, why in told.items() if place[: len(prefix)] == prefix), ""):
            yield Line(line, "not checkable", why)
        elif place not in made.numbers:
            yield Line(line, "differs", f"{stored[place]!r:.80} is stored, and the records give no such value")
        elif made.agrees(place, value := stored.get(place)):
            yield Line(line, "reproduced")
        else:
            yield Line(line, "differs", _difference(value, made.numbers[place]))


def _difference(stored: compute.Value, made: compute.Value) -> str:
    numbers = isinstance(stored, float) and isinstance(made, float)
    by = f": off by {abs(stored - made):.3g}" if numbers else ""  # type: ignore[operator]
    return f"{stored!r:.80} is stored, and the records give {made!r:.80}{by}"
