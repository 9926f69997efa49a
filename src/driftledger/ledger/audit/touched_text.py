"""The scores that a version touched, as a table and as JSON."""

from typing import Any

from rich.table import Table

from driftledger.benchmarks.base import SCORES
from driftledger.benchmarks.score import SCORE
from driftledger.core.escaping import for_line
from driftledger.ledger.audit.branches import inert_json, line, rendered
from driftledger.ledger.audit.touched import Answer, ScoreUse

_COLUMNS = ("score", "metric", "value", "made with", "runs", "came with", "stood until", "known from")
_SHORT = 8


def as_table(answer: Answer) -> str:
    """One line per score, the oldest first, and on what the answer stands."""
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    table.columns[2].justify = "right"
    for row in answer.rows:
        table.add_row(*map(line, _cells(row)))
    several = "" if len(answer.rows) == 1 else "s"
    return "\n".join([rendered(table), f"{len(answer.rows)} score{several}", *map(for_line, answer.said)])


def as_json(answer: Answer) -> str:
    """Everything that is known of each score."""
    return inert_json({"scores": [_row_json(row) for row in answer.rows], "said": answer.said})


def _cells(row: ScoreUse) -> tuple[str, ...]:
    facts = row.facts
    more = f" and {len(row.runs) - 1} more" if len(row.runs) > 1 else ""
    return (
        row.path.removeprefix(f"{SCORES}/").removesuffix(f"/{SCORE}"),
        f"{facts.benchmark} {facts.headline}",
        "–" if facts.value is None else f"{facts.value:.4f}",
        ", ".join(f"{each.name}@{each.fingerprint[:_SHORT]}" for each in facts.versions),
        row.runs[0][:_SHORT] + more if row.runs else "–",
        _when(row.first_commit, row.first_date),
        "now" if row.current else _when(row.last_commit, row.last_date),
        ", ".join(row.known_from),
    )


def _when(commit: str | None, date: str | None) -> str:
    said = [commit[:_SHORT] if commit else "", date[:10] if date else ""]
    return " ".join(each for each in said if each) or "–"


def _row_json(row: ScoreUse) -> dict[str, Any]:
    said = row.model_dump(mode="json", exclude={"facts"})
    return said | row.facts.model_dump(mode="json")
