"""Scores and their rows as pandas has them."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import Row, Score

if TYPE_CHECKING:
    import pandas as pd

SCORES = (
    *("benchmark", "on", "model", "generator", "encoder", "description"),
    *("metric", "title", "value", "low", "high", "unit", "higher_is_better", "headline", "coverage"),
)
"""Columns of a table of scores."""


def scores_frame(scores: Iterable[Score]) -> "pd.DataFrame":
    """A row per score and metric, with the columns of :data:`SCORES`.

    ``metric`` is the key in the score file and ``title`` what people call it; ``low`` and ``high`` are the ends of the
    interval, NaN where there is none; ``unit`` is empty or ``%``; ``higher_is_better`` is None where neither is;
    ``headline`` marks the metrics that stand for their benchmark; ``coverage`` is the share of units that are scored.
    """
    import pandas as pd

    rows = [row for score in scores for row in _metrics(benchmark(score.benchmark), score)]
    frame = pd.DataFrame(rows, columns=list(SCORES))
    return frame.astype({"value": float, "low": float, "high": float, "coverage": float})


def _metrics(spec: Benchmark, score: Score) -> Iterable[dict[str, Any]]:
    named, headlines = _named(score), spec.headlines(score)
    for metric in spec.metrics:
        for key in spec.members(metric, score):
            low, high = score.interval(key) or (None, None)
            yield {
                **named,
                "metric": key,
                "title": metric.named(key),
                "value": score.metrics[key],
                "low": low,
                "high": high,
                "unit": metric.unit,
                "higher_is_better": metric.higher_is_better,
                "headline": key in headlines,
                "coverage": score.coverage,
            }


def rows_frame(scored: Sequence[tuple[Score, Sequence[Row]]]) -> "pd.DataFrame":
    """A row per score and sample, question or pair, ``unit``, with what the score is of, its ``group``, ``cluster`` and
    ``outcome``, its values, and what else is told of it, a column each.

    A value over several steps, orders or gradings has a numbered column for each, ``similarity_1`` for instance; NaN is
    where nothing could be had.
    """
    import pandas as pd

    several = {key for _, rows in scored for row in rows for key, values in row.values.items() if len(values) > 1}
    return pd.DataFrame([_row(score, row, several) for score, rows in scored for row in rows])


def _row(score: Score, row: Row, several: set[str]) -> dict[str, Any]:
    told: dict[str, Any] = {
        **_named(score),
        "unit": row.unit,
        "group": row.group,
        "cluster": row.cluster,
        "outcome": str(row.outcome),
    }
    for key, values in row.values.items():
        names = [f"{key}_{number}" if key in several else key for number in range(1, len(values) + 1)]
        told |= {name: float("nan") if value is None else value for name, value in zip(names, values, strict=True)}
    return told | {key: value for key, value in row.extra.items() if key not in told}


def _named(score: Score) -> dict[str, str | None]:
    """What a score is of; None where a benchmark has no such key."""
    keys = score.keys
    return {
        "benchmark": score.benchmark,
        "on": score.on,
        "model": score.model,
        "generator": keys.get("generator"),
        "encoder": keys.get("encoder") or keys.get("text_encoder"),
        "description": keys.get("description"),
    }
