"""Runs to compare: evidence whose rows really lie in a folder, each below its run's name."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.files import write_jsonl
from driftledger.core.types import Outcome
from driftledger.ledger.lineage import CodeVersion, Evidence, Folder, Lineage
from driftledger.ledger.objects.files import Workspace, listing_md5
from tests.support.description_ledgers import fidelity_score, trac_row, trac_score, values_of
from tests.support.ledgers import COMBINATION, component, genception_score
from tests.support.question_ledgers import question_score

OTHER = component("oracle")
"""Another model than the ledgers' own."""


def run(*lineages: Lineage, **changes: Any) -> Evidence:
    plain: dict[str, Any] = {
        "name": str(COMBINATION),
        "combination": COMBINATION,
        "fingerprint": "f" * 64,
        "lineages": list(lineages),
        "code": CodeVersion(commit="c" * 40, dirty=False),
    }
    return Evidence(**plain | changes)


def chains(
    root: Path, name: str, values: Mapping[str, Sequence[float | None]], score: Score | None = None, **changes: Any
) -> Lineage:
    """GenCeption: sample → its similarities; samples whose name ends alike share a category."""
    rows = [
        Row(
            unit=sample,
            group=sample[-1],
            cluster=sample,
            outcome=Outcome.OK if None not in some else Outcome.REFUSED,
            values={
                "similarity": list(some),
                "gc": list(some),
                "text_similarity": list(some),
                "cross_check": [some[0]],
            },
        )
        for sample, some in values.items()
    ]
    return lineage(root, name, score or genception_score(**changes), rows)


def retrieved(
    root: Path, name: str, hits: dict[str, bool | None], score: Score | None = None, **changes: Any
) -> Lineage:
    """TRAC: sample → whether its class was found; None where there was no description."""
    found = {True: "seven", False: "=one", None: None}
    rows = [trac_row(sample, "seven", found[hit]) for sample, hit in hits.items()]
    return lineage(root, name, score or trac_score(**changes), rows)


def redrawn(
    root: Path, name: str, values: dict[str, dict[str, float]], score: Score | None = None, **changes: Any
) -> Lineage:
    """Fidelity: sample → metric → value."""
    rows = [
        Row(
            unit=sample,
            group="all",
            cluster=sample,
            outcome=Outcome.OK,
            values=values_of("fidelity", {key: [value] for key, value in metrics.items()}),
        )
        for sample, metrics in values.items()
    ]
    return lineage(root, name, score or fidelity_score(**changes), rows)


def answered(
    root: Path,
    name: str,
    values: dict[str, Sequence[float | None]],
    benchmark: str = "mm_sap",
    score: Score | None = None,
    groups: Mapping[str, str] | None = None,
    **changes: Any,
) -> Lineage:
    """Questions, or MME's pairs: id → value per order or grading; ids that begin alike, up to a dash, are about one
    image.

    Args:
        groups: id → within which it is averaged; one for all where it is None.
    """
    metric = "total" if benchmark == "mm_vet" else "score"
    rows = [
        Row(
            unit=unit,
            group=(groups or {}).get(unit, "all"),
            cluster=unit.partition("-")[0],
            outcome=Outcome.OK,
            values=values_of(benchmark, {metric: list(some)}),
        )
        for unit, some in values.items()
    ]
    return lineage(root, name, score or question_score(benchmark, **{"metrics": {metric: 50.0}} | changes), rows)


def lineage(root: Path, name: str, score: Score, rows: Sequence[Row]) -> Lineage:
    """What stands behind a score of the run ``name``, as far as comparing looks at it."""
    out = f"{name}/{score.benchmark}"
    write_jsonl(root / out / score.on / ROWS, rows)
    md5 = listing_md5(Workspace(root).listing(out))
    data = Folder(path=f"{name}/data", out=f"{name}/data", md5="6" * 32 + ".dir")
    folder = Folder(path=f"{out}/{score.on}", out=out, md5=md5)
    return Lineage(score=score, folder=folder, data=data, collected={}, stages={})
