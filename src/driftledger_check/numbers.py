"""Every number of a score and its rows beside the one that the records give."""

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any

from driftledger_check.bundle import Bundle
from driftledger_check.lines import Line

_BECAUSE = "not checkable here, because "


def check_numbers(bundle: Bundle, lineage: Mapping[str, Any]) -> Iterator[Line]:
    """A line per number of a score.

    Raises:
        KeyError, TypeError, ValueError: the records make no score.
    """
    where = lineage["score_file"]["path"]
    try:
        compute: Any = import_module("driftledger_check.compute")
    except ImportError:
        yield Line(where, "not checkable", "this checker computes no numbers")
        return
    files = bundle.score_files(lineage)
    made, stored = compute.recompute(files), compute.stored(files)
    told = {place: why.removeprefix(_BECAUSE) for place, why in made.not_checkable.items()}
    for place in dict.fromkeys((*stored, *made.numbers, *told)):
        line = f"{where}: {'.'.join(place)}"
        if why := next((why for prefix, why in told.items() if place[: len(prefix)] == prefix), ""):
            yield Line(line, "not checkable", why)
        elif place not in made.numbers:
            yield Line(line, "not checkable", f"the checker has no rule for {place[0]} of this name")
        else:
            yield _compared(line, stored.get(place), made.numbers[place], made.tolerances.get(place, 0.0))


def _compared(where: str, stored: float | None, made: float | None, tolerance: float) -> Line:
    if stored is None or made is None:
        differs, by = stored is not made, ""
    else:
        differs, by = not abs(stored - made) <= tolerance, f": off by {abs(stored - made):.3g}"
    said = f"{stored!r} is stored, and the records give {made!r}{by}"
    return Line(where, "differs", said) if differs else Line(where, "reproduced")
