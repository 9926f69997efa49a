"""Models side by side, as in the paper's Tables 1 and 2: how true descriptions are, and what is drawn of them."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Benchmark, Metric, Table
from driftledger.benchmarks.score import Score, base_key
from driftledger.benchmarks.tables import best_first, cell, interval, ranks_of

_FIRST = ("clip_s", "clip_s_i", "image_similarity", "ssim")
"""The first of these that a model has decides where it stands."""

_COLUMNS = ("clip_s", "ssim", "fid", "frechet_{name}", "clip_s_i", "image_similarity", "human")
"""Rows of the table of metrics, in the order of the paper's columns."""


def tables(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """A row per model, and how each metric goes with what people say."""
    keys = _metrics(spec, scores)
    decides = next((key for key in _FIRST if key in keys), "")
    by_model = {score.model: score for score in scores}
    ordered = [by_model[name] for name in best_first({score.model: score.metrics.get(decides) for score in scores})]
    yield _values(spec, ordered, keys)
    yield from _agreement(spec, ordered, keys)


def _metrics(spec: Benchmark, scores: Sequence[Score]) -> dict[str, Metric]:
    """The metrics that some model has, by their keys in scores, in the order of the columns."""
    there = sorted({base_key(key) for score in scores for key in score.metrics})
    rows = {key: metric for key in there if (metric := spec.metric(key)) is not None}
    return {key: metric for column in _COLUMNS for key, metric in rows.items() if metric.key == column}


def _values(spec: Benchmark, scores: Sequence[Score], keys: dict[str, Metric]) -> Table:
    columns = keys if "clip_s" in keys else {"clip_s": spec.metrics[1], **keys}
    ranks = {
        key: ranks_of([score.metrics.get(key) for score in scores], metric.higher_is_better is not False)
        for key, metric in columns.items()
    }

    def row(place: int, score: Score) -> Iterator[str]:
        yield score.model
        for key, metric in columns.items():
            more = interval(score.metrics, key)
            yield cell(score.metrics.get(key), ranks[key][place], metric.digits, more)

    return Table(
        "as in the paper's Tables 1 and 2; in brackets the interval",
        ["", *(_title(key, metric) for key, metric in columns.items())],
        [list(row(place, score)) for place, score in enumerate(scores)],
        _rated(scores),
    )


def _title(key: str, metric: Metric) -> str:
    unit = f" ({metric.unit})" if metric.unit else ""
    return metric.named(key) + unit + (" (lower is better)" if metric.higher_is_better is False else "")


def _rated(scores: Sequence[Score]) -> list[str]:
    """How many ratings stand behind the column of people's."""
    counts = (
        f"{score.model} {score.details['ratings']['used']} by {score.details['ratings']['raters']}"
        for score in scores
        if "human" in score.metrics
    )
    return [f"Human ratings and raters: {listed}."] if (listed := ", ".join(counts)) else []


def _agreement(spec: Benchmark, scores: Sequence[Score], keys: dict[str, Metric]) -> Iterator[Table]:
    """How each metric goes with what people say, over samples."""
    columns = ("spearman", "kendall", "pearson")
    rows = [
        [
            f"{metric.named(key)}: {score.model}",
            *(cell(values.get(name), digits=3) for name in columns),
            f"{values['n']:.0f}",
        ]
        for key, metric in keys.items()
        for score in scores
        if (values := score.groups["agreement"].get(key)) is not None
    ]
    if rows:
        yield Table("agreement with human ratings, over samples", ["", *columns, "samples"], rows)
