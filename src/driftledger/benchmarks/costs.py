"""The cost of a score per sample, as tables, charts, MLflow and ``compare`` show it."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from driftledger.benchmarks.usage import USAGE, ScoreUsage
from driftledger.core.files import parse_json, read_bytes
from driftledger.scoring.metric import Metric
from driftledger.scoring.score import SCORE, Score

_TABLE = (
    ("usd_per_1000", "$ / 1,000 samples", "price", 3),
    ("seconds_per_sample", "s / sample", "seconds", 2),
    ("tokens_per_sample", "tokens / sample", "tokens", 0),
)
COSTS: Mapping[str, Metric] = {
    key: Metric(
        key,
        title,
        formula,
        source="",
        needs=frozenset(),
        direction="neither",
        digits=digits,
    )
    for key, title, formula, digits in _TABLE
}
"""Key of :attr:`ScoreUsage.costs` → how it is shown. No rank goes by a cost: it is read with
the headlines."""
_NOTE = (
    "Cost, of which less is better, is that of all answers that a sample needs, by every "
    "component, whoever asked first; failed attempts and a judge's checks of itself are not in "
    "it. It is empty where services have not counted all."
)


def read_score(folder: Path) -> Score:
    """Read the score in a folder with its costs.

    Raises:
        StoreError: the score is missing, or a file cannot be read.
    """
    usage = folder / USAGE
    totals = read_bytes(usage) if usage.is_file() else None
    return parse_score(read_bytes(folder / SCORE), totals, str(folder))


def parse_score(content: bytes, usage: bytes | None, folder: str) -> Score:
    """Return the score in a folder with its costs, by the bytes of its files.

    Args:
        usage: of the file beside the score, if there is one.

    Raises:
        StoreError: a file cannot be read.
    """
    score = parse_json(content, Score, f"{folder}/{SCORE}")
    if usage is None:
        return score
    totals = parse_json(usage, ScoreUsage, f"{folder}/{USAGE}")
    known = {"costs": totals.costs, "uncounted": totals.uncounted}
    return score.model_copy(update=known)


def notes_on_costs(scores: Sequence[Score]) -> list[str]:
    """Return what to know of costs that are shown, and what was not counted; empty without
    costs."""
    notes = [
        f"{score.model}: {score.uncounted} were counted."
        for score in scores
        if score.uncounted
    ]
    if notes or any(score.costs for score in scores):
        notes.insert(0, _NOTE)
    return notes
