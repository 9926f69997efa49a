"""The cost of a score per sample, as tables, charts, MLflow and ``compare`` show it."""

from collections.abc import Mapping

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.usage import ScoreUsage

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
        higher_is_better=None,
        digits=digits,
    )
    for key, title, formula, digits in _TABLE
}
"""Key of :attr:`ScoreUsage.costs` → how it is shown. No rank goes by a cost: it is read with
the headlines."""
NOTE = (
    "Cost, of which less is better, is that of all calls that a sample needs, by every component, "
    "whoever made them first. It is empty where that of some calls is not known."
)


def with_costs(score: Score, usage: ScoreUsage | None) -> Score:
    """Return a score that knows its costs, which stand in a file beside it."""
    costs = usage.costs if usage else {}
    return score.model_copy(update={"costs": costs})
