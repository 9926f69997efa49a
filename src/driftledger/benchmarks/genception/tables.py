"""Models side by side, as in the paper's Table 2: per category, group means, ranks with ties."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.base import Benchmark, Metric, Table
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.tables import NOTHING, best_first, cell, metrics_in, ranks_of
from driftledger.core.escaping import for_markdown


def tables(spec: Benchmark, scores: Sequence[Score]) -> Iterator[Table]:
    """A table per metric at T, with a column per model, the best first."""
    t = max(score.inputs.protocol["iterations"] for score in scores)
    gc, similarity = f"gc_at_{t}", f"similarity_at_{t}"
    by_model = {score.model: score for score in scores}
    order = [by_model[name] for name in best_first({score.model: spec.ranked(score, gc) for score in scores})]
    beside = [key for key in metrics_in(spec, scores) if key.endswith(f"_at_{t}") or key == "cross_check"]
    for key in (gc, *(key for key in beside if key not in (gc, similarity)), similarity):
        metric = spec.metric(key)
        if metric is not None:
            yield _table(spec, order, key, metric)


def _table(spec: Benchmark, scores: Sequence[Score], key: str, metric: Metric) -> Table:
    def row(label: str, kind: str, name: str) -> Iterator[list[str]]:
        values = [_value(spec, score, key, kind, name) for score in scores]
        ranks = ranks_of(values, metric.higher_is_better is not False)
        mean = label if kind == "category" else f"**{label} mean**"
        yield [mean, *(cell(value, rank, metric.digits) for value, rank in zip(values, ranks, strict=True))]
        if kind != "category":
            yield [f"**{label} rank**", *(NOTHING if rank is None else str(rank) for rank in ranks)]

    rows: list[list[str]] = []
    groups: dict[str, list[str]] = scores[0].details["groups"]
    for group, members in groups.items():
        for name in members:
            rows += row(for_markdown(name), "category", name)
        rows += row(for_markdown(group), "group", group)
    grouped = {category for members in groups.values() for category in members}
    for name in sorted({name for score in scores for name in score.groups["category"]} - grouped):
        rows += row(for_markdown(name), "category", name)
    rows += row("overall", "overall", "")
    direction = "higher" if metric.higher_is_better else "lower"
    title, head = f"{metric.named(key)}; {direction} is better", ["", *(score.model for score in scores)]
    return Table(title, head, rows, coverages=[score.coverage for score in scores], across=True)


def _value(spec: Benchmark, score: Score, key: str, kind: str, name: str) -> float | None:
    if kind == "overall":
        return spec.ranked(score, key)
    return score.groups.get(kind, {}).get(name, {}).get(key)
