"""Every number of a score, computed again from records, images and features by code that driftledger does not share.

How the answers of a model were read, and what a judge gave, is taken from the records.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from driftledger_check.compute import fidelity, genception, mm_sap, mm_vet, mme, trac
from driftledger_check.compute.found import Found, Key, mapping, number, sequence, text
from driftledger_check.files import ScoreFiles

__all__ = ["Key", "Recomputed", "recompute", "stored"]

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

    numbers: Mapping[Key, float | None]
    """By their place; None stands in a row where nothing could be had."""
    tolerance: float
    """The largest of the tolerances; 0 where all is exact."""
    not_checkable: Mapping[Key, str]
    """Place, or the beginning of places → why. Beside numbers, what they are taken from as it stands: ``("features",
    fingerprint)``, ``("reading",)``, ``("grading",)``."""
    tolerances: Mapping[Key, float]
    """How far a number may be off that is stored rounded, since its last bits vary with the processor; all others are
    exact."""

    def agrees(self, place: Key, value: float | None) -> bool:
        """Whether a stored value is the one that was found."""
        if place not in self.numbers:
            return False
        found = self.numbers[place]
        if found is None or value is None:
            return found is value
        return abs(found - value) <= self.tolerances.get(place, 0.0)


def recompute(files: ScoreFiles) -> Recomputed:
    """All numbers of a score.

    Raises:
        KeyError, TypeError, ValueError: something is missing, or is not what it must be; the text says what.
    """
    found = Found()
    benchmark = text(files.score, "benchmark")
    if benchmark not in _BENCHMARKS:
        raise ValueError(f"the checker does not know the benchmark {benchmark!r:.60}")
    try:
        _BENCHMARKS[benchmark](files, found)
    except (ArithmeticError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"the records make no score: {error}") from error
    for place in [*found.numbers, *stored(files)]:
        if (why := found.why_not(place)) is not None:
            found.numbers.pop(place, None)
            found.not_checkable[place] = f"not checkable here, because {why}"
    if benchmark in _AS_RECORDED:
        what, why = _AS_RECORDED[benchmark]
        found.not_checkable[what,] = f"not checkable here, because {why}"
    return Recomputed(found.numbers, max(found.tolerances.values(), default=0.0), found.not_checkable, found.tolerances)


def stored(files: ScoreFiles) -> dict[Key, float | None]:
    """The numbers of ``score.json`` and ``rows.jsonl``, by the same places.

    Raises:
        KeyError, TypeError, ValueError: one of the two is not what it must be.
    """
    numbers: dict[Key, float | None] = {}
    for place, value in _stored(files):
        if place in numbers:
            raise ValueError(f"{'.'.join(place):.200} is there twice")
        numbers[place] = value
    return numbers


def _stored(files: ScoreFiles) -> Iterator[tuple[Key, float | None]]:
    score = files.score
    for name in ("scored", "counted", "total", "coverage"):
        yield ("counts", name), number(score[name])
    for kind in ("metrics", "outcomes"):
        for name, value in mapping(score[kind]).items():
            yield (kind, name), number(value)
    for kind, groups in mapping(score["groups"]).items():
        for group, row in mapping(groups).items():
            for name, value in mapping(row).items():
                yield ("groups", kind, group, name), number(value)
    for name, points in mapping(score["curves"]).items():
        for point in sequence(points):
            yield ("curves", name, str(point["step"])), number(point["value"])
    for row in files.rows:
        for name, values in mapping(row["values"]).items():
            for index, value in enumerate(sequence(values)):
                yield ("rows", text(row, "unit"), name, str(index)), None if value is None else number(value)
