"""The cost of a score per sample, as tables, charts, MLflow and ``compare`` show it."""

from collections.abc import Mapping

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.usage import ScoreUsage


def _cost(key: str, title: str, formula: str, digits: int) -> Metric:
    return Metric(
        key,
        title,
        formula,
        source="",
        needs=frozenset(),
        higher_is_better=None,
        digits=digits,
    )


COSTS: Mapping[str, Metric] = {
    metric.key: metric
    for metric in (
        _cost("usd_per_1000", "$ / 1,000 samples", "1,000 · money / samples", digits=3),
        _cost("seconds_per_sample", "s / sample", "seconds / samples", digits=2),
        _cost("tokens_per_sample", "tokens / sample", "tokens / samples", digits=0),
    )
}
"""Key, a property of :class:`ScoreUsage` → how it is shown. No rank goes by a cost: it is read with
the headlines."""
NOTE = (
    "Cost is that of all calls that a sample needs, by every component, whichever model or "
    "benchmark made them first. It is empty where that of some calls is not known."
)


def costs_of(usage: ScoreUsage | None) -> dict[str, float]:
    """Return the known costs of a score by their keys."""
    costs = {}
    for key in COSTS:
        value = getattr(usage, key, None)
        if value is not None:
            costs[key] = value
    return costs
