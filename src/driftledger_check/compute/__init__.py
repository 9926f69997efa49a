"""Every number of a score, computed again from records, images and features by code that driftledger does not share.

How the answers of a model were read, and what a judge gave, is taken from the rows, unless the rule of a published
script reads them.
"""

from collections import Counter
from collections.abc import Callable, Mapping

from driftledger_check.bundle import ScoreFiles
from driftledger_check.compute import chains, questions, trac
from driftledger_check.compute.values import Found, Key, MissingError, Value

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


def recompute(files: ScoreFiles) -> Found:
    """Compute all numbers of a score; any exception says that something is missing or not what it must be."""
    found, benchmark = Found(), files.score["benchmark"]
    try:
        if benchmark not in _BENCHMARKS:
            raise MissingError(f"the checker does not know the benchmark {benchmark!r:.60}")
        _BENCHMARKS[benchmark](files, found)
    except MissingError as why:
        found.withhold([".*"], str(why))
    found.finish(stored(files))
    literal = files.score["inputs"]["settings"].get("read") == "literal"
    if benchmark in _AS_RECORDED and not literal:
        what, reason = _AS_RECORDED[benchmark]
        found.not_checkable[what,] = reason
    return found


def stored(files: ScoreFiles) -> dict[Key, Value]:
    """What ``score.json`` and ``rows.jsonl`` hold, by the same places; exceptions as in :func:`recompute`."""
    found, score = Found(), files.score
    found.put(["counts"], {name: score[name] for name in ("scored", "counted", "total", "coverage")})
    found.put([], {name: score[name] for name in ("metrics", "groups", "outcomes", "served", "details")})
    for name, points in score["curves"].items():
        steps = {str(point["step"]): point["value"] for point in points}
        if len(steps) < len(points):
            raise ValueError(f"the curve {name!r:.60} has two points at one step")
        found.put(["curves", name], steps)
    for unit, times in Counter(row["unit"] for row in files.rows).items():
        if times > 1:
            raise ValueError(f"there are {times} rows of {unit!r:.60}")
    for row in files.rows:
        repeats = [(one["outcome"], one["values"]) for one in row.get("repeats", [])]
        if len(repeats) == 1:
            raise ValueError(f"the row of {row['unit']!r:.60} holds a single repeat")
        names = [row[name] for name in ("group", "cluster", "outcome")]
        found.row(row["unit"], names, row["extra"], row["values"], repeats)
    return found.numbers
