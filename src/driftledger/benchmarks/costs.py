"""The cost of a score per sample, as tables, charts, MLflow and ``compare`` show it."""

from collections.abc import Mapping, Sequence

from driftledger.benchmarks.usage import ScoreUsage
from driftledger.scoring.metric import Metric
from driftledger.scoring.score import Score

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


def with_costs(score: Score, usage: ScoreUsage | None) -> Score:
    """Return a score that knows its costs, which stand in a file beside it."""
    known = {"costs": usage.costs, "uncounted": usage.uncounted} if usage else {}
    return score.model_copy(update={"costs": {}, "uncounted": ""} | known)


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
