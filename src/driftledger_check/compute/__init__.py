"""All numbers of a score, computed from records, images and features.

The code shares nothing with driftledger. The reading of answers and the grades of a judge
are taken from the rows, unless the rule of a published script reads them.
"""

from collections import Counter

from driftledger_check.bundle import ScoreFiles
from driftledger_check.compute import chains, questions, trac
from driftledger_check.compute.values import Computed, Key, MissingError, Value

_BENCHMARKS = {
    "genception": chains.genception,
    "trac": trac.trac,
    "fidelity": chains.fidelity,
    "mm_sap": questions.mm_sap,
    "mm_vet": questions.mm_vet,
    "mme": questions.mme,
}
_PARSER = (
    "the parser is no part of the checker; driftledger verify reads the answers again"
)
_JUDGE = (
    "the judge is no part of the checker; driftledger verify reads its replies again"
)
_AS_RECORDED = {
    "mm_sap": ("reading", _PARSER),
    "mme": ("reading", _PARSER),
    "mm_vet": ("grading", _JUDGE),
}


def recompute(files: ScoreFiles) -> Computed:
    """Compute all numbers of a score.

    Any exception means that something is missing or is not what it must be.
    """
    computed = Computed()
    benchmark = files.score["benchmark"]
    try:
        if benchmark not in _BENCHMARKS:
            raise MissingError(
                f"the checker does not know the benchmark {benchmark!r:.60}"
            )
        _BENCHMARKS[benchmark](files, computed)
    except MissingError as why:
        computed.withhold([".*"], str(why))
    computed.finish(stored(files))
    is_read_again = files.score["inputs"]["settings"].get("read") == "literal"
    if benchmark in _AS_RECORDED and not is_read_again:
        step, reason = _AS_RECORDED[benchmark]
        computed.not_checkable[step,] = reason
    return computed


def stored(files: ScoreFiles) -> dict[Key, Value]:
    """List the numbers of ``score.json`` and ``rows.jsonl`` by the same places.

    Any exception has the same meaning as in :func:`recompute`.
    """
    content = Computed()
    score = files.score
    for name in ("scored", "counted", "total", "coverage"):
        content.put(score[name], "counts", name)
    for name in ("metrics", "groups", "outcomes", "served", "details"):
        content.put(score[name], name)
    for name, points in score["curves"].items():
        steps = {str(point["step"]): point["value"] for point in points}
        if len(steps) < len(points):
            raise ValueError(f"the curve {name!r:.60} has two points at one step")
        content.put(steps, "curves", name)
    for unit, times in Counter(row["unit"] for row in files.rows).items():
        if times > 1:
            raise ValueError(f"there are {times} rows of {unit!r:.60}")
    for row in files.rows:
        of_unit = {name: row[name] for name in ("group", "cluster", "outcome", "extra")}
        repeats = []
        for repeat in row.get("repeats", []):
            repeats.append(
                {
                    "outcome": repeat["outcome"],
                    **repeat["values"],
                }
            )
        if len(repeats) == 1:
            raise ValueError(f"the row of {row['unit']!r:.60} holds a single repeat")
        content.put(
            {
                **of_unit,
                **row["values"],
                "repeats": repeats,
            },
            "rows",
            row["unit"],
        )
    return content.numbers
