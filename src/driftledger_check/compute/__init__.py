"""Every number of a score, computed again from records, images and features by code that driftledger does not share.

How the answers of a model were read, and what a judge gave, is taken from the records.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from typing import NamedTuple

from driftledger_check.compute import fidelity, genception, given, mm_sap, mm_vet, mme, trac
from driftledger_check.compute.found import Found, Key, Value
from driftledger_check.files import ScoreFiles

__all__ = ["Key", "Recomputed", "Value", "recompute", "stored"]

_BENCHMARKS: Mapping[str, Callable[[ScoreFiles, Found], None]] = {
    "genception": genception.recompute,
    "trac": trac.recompute,
    "fidelity": fidelity.recompute,
    "mm_sap": mm_sap.recompute,
    "mm_vet": mm_vet.recompute,
    "mme": mme.recompute,
}
_AS_RECORDED = {
    "mm_sap": ("reading", "the parser is no part of the checker; driftledger verify reads the answers again"),
    "mme": ("reading", "the parser is no part of the checker; driftledger verify reads the answers again"),
    "mm_vet": ("grading", "the judge is no part of the checker; driftledger verify reads its replies again"),
}


class Recomputed(NamedTuple):
    """A score as it follows from what is behind it."""

    numbers: Mapping[Key, Value]
    """And what else a row and the details tell, texts too, by their place."""
    tolerance: float
    """The largest of the tolerances; 0 where all is exact."""
    not_checkable: Mapping[Key, str]
    """Place, or the beginning of places → why. Beside numbers, what they are taken from as it stands: ``("features",
    fingerprint)``, ``("reading",)``, ``("grading",)``."""
    tolerances: Mapping[Key, float]
    """How far a number may be off that is stored rounded, since its last bits vary with the processor; all others are
    exact."""

    def agrees(self, place: Key, value: Value) -> bool:
        """Whether a stored value is the one that was found."""
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
    """All numbers of a score.

    Raises:
        KeyError, TypeError, ValueError: something is missing, or is not what it must be; the text says what.
    """
    found = Found()
    benchmark = given.text(files.score, "benchmark")
    if benchmark not in _BENCHMARKS:
        raise ValueError(f"the checker does not know the benchmark {benchmark!r:.60}")
    try:
        _BENCHMARKS[benchmark](files, found)
    except given.MissingError as why:
        found.withhold([".*"], str(why))
    except (ArithmeticError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"the records make no score: {error}") from error
    for place in [*found.numbers, *stored(files)]:
        if (reason := found.why_not(place)) is not None:
            found.numbers.pop(place, None)
            found.not_checkable[place] = reason
    if benchmark in _AS_RECORDED:
        what, reason = _AS_RECORDED[benchmark]
        found.not_checkable[what,] = reason
    return Recomputed(found.numbers, max(found.tolerances.values(), default=0.0), found.not_checkable, found.tolerances)


def stored(files: ScoreFiles) -> dict[Key, Value]:
    """What stands in ``score.json`` and ``rows.jsonl``, by the same places.

    Raises:
        KeyError, TypeError, ValueError: one of the two is not what it must be.
    """
    found, score = Found(), files.score
    found.put(["counts"], {name: score[name] for name in ("scored", "counted", "total", "coverage")})
    found.put([], {name: given.mapping(score[name]) for name in ("metrics", "groups", "outcomes", "served", "details")})
    for name, points in given.mapping(score["curves"]).items():
        steps = {str(point["step"]): given.number(point["value"]) for point in given.sequence(points)}
        if len(steps) < len(points):
            raise ValueError(f"the curve {name!r:.60} has two points at one step")
        found.put(["curves", name], steps)
    units = Counter(given.text(row, "unit") for row in files.rows)
    if len(units) < len(files.rows):
        raise ValueError(f"there are {max(units.values())} rows of {max(units, key=units.__getitem__)!r:.60}")
    for row in files.rows:
        unit, group, cluster, outcome = (given.text(row, name) for name in ("unit", "group", "cluster", "outcome"))
        each = (given.mapping(one) for one in given.sequence(row.get("repeats", [])))
        repeats = [(given.text(one, "outcome"), given.mapping(one["values"])) for one in each]
        if len(repeats) == 1:
            raise ValueError(f"the row of {unit!r:.60} tells of one repeat by itself")
        found.row(unit, group, cluster, outcome, given.mapping(row["extra"]), given.mapping(row["values"]), repeats)
    return found.numbers
