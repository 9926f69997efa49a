"""Every number of a score, computed again from records, images and features by code that driftledger does not share.

How the answers of a model were read, and what a judge gave, is taken from the records.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from driftledger_check.bundle import ScoreFiles
from driftledger_check.compute import chains, questions, trac, values
from driftledger_check.compute.values import DIGITS, Found, Key, MissingError, Value

_BENCHMARKS: Mapping[str, Callable[[ScoreFiles, Found], None]] = {
    "genception": chains.genception,
    "trac": trac.trac,
    "fidelity": chains.fidelity,
    "mm_sap": questions.mm_sap,
    "mm_vet": questions.mm_vet,
    "mme": questions.mme,
}
_PARSER = ("reading", "the parser is no part of the checker; driftledger verify reads the answers again")
_AS_RECORDED = {
    "mm_sap": _PARSER,
    "mme": _PARSER,
    "mm_vet": ("grading", "the judge is no part of the checker; driftledger verify reads its replies again"),
}


class Recomputed(NamedTuple):
    """A score as it follows from what is behind it."""

    numbers: Mapping[Key, Value]
    """Also texts of a row and the details, by their place."""
    not_checkable: Mapping[Key, str]
    """Place, or the beginning of places → why. Beside numbers, what they are taken from as it is: ``("features",
    fingerprint)``, ``("reading",)``, ``("grading",)``."""
    tolerances: Mapping[Key, float]
    """How far a number may be off that is stored rounded; all others are exact."""

    def agrees(self, place: Key, value: Value) -> bool:
        """Return True if a stored value is the one that was found."""
        found = self.numbers.get(place, ...)
        if isinstance(found, float) and isinstance(value, float):
            if any(part.endswith(("_low", "_high")) for part in place) and value == float(f"{value:.9g}"):
                return abs(found - value) <= max(self.tolerances.get(place, 0.0), _half_a_unit(value))
            return abs(found - value) <= self.tolerances.get(place, 0.0)
        return type(found) is type(value) and found == value


def _half_a_unit(value: float) -> float:
    """Return half a unit of the ninth digit, to which interval ends are rounded, and a little for their quantile."""
    return 0.500001 * 10.0 ** (math.floor(math.log10(abs(value))) - 8) if value else 0.0


def recompute(files: ScoreFiles) -> Recomputed:
    """Compute all numbers of a score.

    Raises:
        KeyError, TypeError, ValueError: something is missing, or is not what it must be; the text says what.
    """
    found = Found()
    benchmark = values.text(files.score, "benchmark")
    if benchmark not in _BENCHMARKS:
        raise ValueError(f"the checker does not know the benchmark {benchmark!r:.60}")
    try:
        _BENCHMARKS[benchmark](files, found)
    except MissingError as why:
        found.withhold([".*"], str(why))
    except (ArithmeticError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"the records make no score: {error}") from error
    for place in [*found.numbers, *stored(files)]:
        if (reason := found.why_not(place)) is not None:
            found.numbers.pop(place, None)
            found.not_checkable[place] = reason
    for place, value in found.numbers.items():
        if isinstance(value, float) and any(part.endswith(("_low", "_high")) for part in place):
            found.tolerances[place] = max(found.tolerances.get(place, 0.0), DIGITS * max(abs(value), 1e-3))
    if benchmark in _AS_RECORDED:
        what, reason = _AS_RECORDED[benchmark]
        found.not_checkable[what,] = reason
    return Recomputed(found.numbers, found.not_checkable, found.tolerances)


def stored(files: ScoreFiles) -> dict[Key, Value]:
    """What ``score.json`` and ``rows.jsonl`` hold, by the same places.

    Raises:
        KeyError, TypeError, ValueError: one of the two is not what it must be.
    """
    found, score = Found(), files.score
    found.put(["counts"], {name: score[name] for name in ("scored", "counted", "total", "coverage")})
    kinds = ("metrics", "groups", "outcomes", "served", "details")
    found.put([], {name: values.mapping(score[name]) for name in kinds})
    for name, points in values.mapping(score["curves"]).items():
        steps = {str(point["step"]): values.number(point["value"]) for point in values.sequence(points)}
        if len(steps) < len(points):
            raise ValueError(f"the curve {name!r:.60} has two points at one step")
        found.put(["curves", name], steps)
    units = Counter(values.text(row, "unit") for row in files.rows)
    if len(units) < len(files.rows):
        raise ValueError(f"there are {max(units.values())} rows of {max(units, key=units.__getitem__)!r:.60}")
    for row in files.rows:
        each = (values.mapping(one) for one in values.sequence(row.get("repeats", [])))
        repeats = [(values.text(one, "outcome"), values.mapping(one["values"])) for one in each]
        if len(repeats) == 1:
            raise ValueError(f"the row of {row['unit']!r:.60} holds a single repeat")
        names = [values.text(row, name) for name in ("group", "cluster", "outcome")]
        found.row(row["unit"], names, values.mapping(row["extra"]), values.mapping(row["values"]), repeats)
    return found.numbers
