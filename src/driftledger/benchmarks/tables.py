"""What the tables of all benchmarks share: who is best, how a value is written, what a reader must know."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.score import STD, Score, base_key, interval_of
from driftledger.core.escaping import csv_text, for_csv
from driftledger.metrics.ranks import competition_ranks

NOTHING = "–"
"""Stands where there is no value."""

T = TypeVar("T")
K = TypeVar("K", bound=Hashable)


def grouped(things: Iterable[T], key: Callable[[T], K]) -> dict[K, list[T]]:
    """Things by key; keys and things stay in the order in which they came."""
    groups: dict[K, list[T]] = {}
    for thing in things:
        groups.setdefault(key(thing), []).append(thing)
    return groups


def ranks_of(values: Sequence[float | None], higher_is_better: bool = True) -> tuple[int | None, ...]:
    """Competition ranks among those that have a value.

    >>> ranks_of([0.3, None, 0.5, 0.5])
    (3, None, 1, 1)
    """
    there = [value for value in values if value is not None]
    ranks = iter(competition_ranks(there, higher_is_better) if there else [])
    return tuple(None if value is None else next(ranks) for value in values)


def telling_ranks(values: Sequence[float | None]) -> tuple[int | None, ...]:
    """Ranks, but none where all values are equal: nothing is the best of them.

    >>> telling_ranks([0.3, 0.5]), telling_ranks([0.5, 0.5])
    ((2, 1), (None, None))
    """
    return ranks_of(values) if len(set(values)) > 1 else (None,) * len(values)


def best_first(values: dict[str, float | None]) -> tuple[str, ...]:
    """Names from the highest value to the lowest, then those without one; equal ones by name."""

    def order(name: str) -> tuple[bool, float, str]:
        value = values[name]
        return value is None, -(value or 0.0), name

    return tuple(sorted(values, key=order))


def cell(
    value: float | None, rank: int | None = None, digits: int = 2, more: str = "", of: Origin | None = None
) -> Cell:
    """A value, bold where it is the best, and ``more`` after it in brackets.

    >>> print(cell(27.204, 1, more="24.1–30.3"), cell(27.204, digits=1), cell(None))
    27.20 (24.1–30.3) 27.2 –
    """
    if value is None:
        return Cell(NOTHING)
    return Cell(f"{value:.{digits}f}", rank == 1, more=more, value=value, of=of)


def interval(metrics: dict[str, float], key: str, digits: int = 1) -> str:
    """The interval of a metric, where it has one.

    >>> interval({"ssim": 28.2, "ssim_low": 27.14, "ssim_high": 29.5}, "ssim")
    '27.1–29.5'
    """
    ends = interval_of(metrics, key)
    return "" if ends is None else "–".join(f"{end:.{digits}f}" for end in ends)


def title_of(key: str, metric: Metric) -> str:
    """The head of a metric's column."""
    return metric.named(key) + (f" ({metric.unit})" if metric.unit else "") + direction(metric)


def column(scores: Sequence[Score], key: str, metric: Metric) -> list[Cell]:
    """The values of a metric with their intervals, the best in bold."""
    values = [score.metrics.get(key) for score in scores]
    return [
        cell(value, rank, metric.digits, interval(score.metrics, key), Origin(score, key))
        for score, value, rank in zip(scores, values, ranked(values, metric), strict=True)
    ]


def metrics_in(spec: Benchmark, scores: Iterable[Score]) -> dict[str, Metric]:
    """The metrics of the benchmark's table that some score has, by their keys in scores."""
    there = sorted({base_key(key) for score in scores for key in score.metrics})
    return {key: metric for key in there if (metric := spec.metric(key)) is not None}


def model_table(spec: Benchmark, block: SideBySide, every_step: Collection[str] = ()) -> Table:
    """A row per model, best first; a column per metric of the table that some model has, with its interval.

    Args:
        every_step: keys of the families over t of which every t has a column; of the others the last that each has.
    """
    first = next((key for metric in spec.metrics if (key := shown_key(spec, metric, block.scores)) is not None), "")
    by_model = {score.model: score for score in block.scores}
    models = [by_model[name] for name in best_first({m: spec.ranked(score, first) for m, score in by_model.items()})]
    head, columns = [""], [[Cell(score.model) for score in models]]
    for metric in spec.metrics:
        members = [spec.members(metric, score) for score in models]
        steps = "{t}" in metric.key
        last = {key for some in members for key in (some[-1:] if steps else some)}
        for key in dict.fromkeys(key for some in members for key in some if key in last or metric.key in every_step):
            head.append(metric.named(key) + direction(metric))
            values = [spec.ranked(score, key) for score in models]
            shown = [interval(score.metrics, key, metric.digits) if key in last else "" for score in models]
            columns.append(
                [
                    cell(value, rank, metric.digits, more, Origin(score, key))
                    for score, value, rank, more in zip(models, values, ranked(values, metric), shown, strict=True)
                ]
            )
    rows = list(zip(*columns, strict=True))
    return Table(f"{spec.title}; in brackets the interval", head, rows, coverages=[each.coverage for each in models])


def keys_of(spec: Benchmark, metric: Metric, scores: Sequence[Score]) -> list[str]:
    """The members of a row of the table that some score has, by t."""
    there = {key for score in scores for key in spec.members(metric, score)}
    return sorted(there, key=lambda key: (int((metric.match(key) or {}).get("t", 0)), key))


def shown_key(spec: Benchmark, metric: Metric, scores: Sequence[Score]) -> str | None:
    """The one that stands for a row of the table: the last that some score is ranked by, else the last; None where
    there is none."""
    keys = keys_of(spec, metric, scores)[::-1]
    ranked_by = (key for key in keys if any(spec.ranked(score, key) is not None for score in scores))
    return next(ranked_by, next(iter(keys), None))


def ranked(values: Sequence[float | None], metric: Metric) -> tuple[int | None, ...]:
    """Ranks by a metric; none where neither direction is better."""
    better = metric.higher_is_better
    return (None,) * len(values) if better is None else ranks_of(values, better)


def direction(metric: Metric) -> str:
    """What the head of its column says where a reader could be mistaken."""
    return " (lower is better)" if metric.higher_is_better is False else ""


def group_tables(spec: Benchmark, scores: Sequence[Score], but: Collection[str] = ()) -> Iterator[Table]:
    """A table per kind of groups and metric: a row per group, a column per model; nothing is the best of equal values.

    Args:
        scores: the best first.
        but: kinds of groups that stand elsewhere.
    """
    kinds = dict.fromkeys(kind for score in scores for kind in score.groups if kind not in but)
    for kind in kinds:
        there = [score.groups.get(kind, {}) for score in scores]
        names = dict.fromkeys(name for groups in there for name in groups)
        keys = sorted({key for groups in there for values in groups.values() for key in values})
        published = spec.published_groups.get(kind, "")
        for key, metric in ((key, metric) for metric in spec.metrics for key in keys if metric.match(key) is not None):
            rows: list[Cells] = []
            for name in names:
                told = [groups.get(name, {}) for groups in there]
                values = [each.get(key) for each in told]
                ranks = ranked(values, metric) if len(set(values)) > 1 else (None,) * len(values)
                cells = [
                    cell(value, rank, metric.digits, of=Origin(score, f"{kind}/{name}/{key}"))._replace(
                        deviation=deviation(each, key, metric.digits)
                    )
                    for score, each, value, rank in zip(scores, told, values, ranks, strict=True)
                ]
                rows.append([name, *cells])
            title, published = f"{title_of(key, metric)} by {kind}{published}", ""
            head, coverages = ["", *(score.model for score in scores)], [score.coverage for score in scores]
            yield Table(title, head, rows, (), coverages, across=True, name=f"{kind}_{key}", detail=True)


def deviation(values: Mapping[str, float], key: str, digits: int) -> str:
    """The deviation of a metric over orders or gradings, where it has one."""
    return "" if key + STD not in values else f"{values[key + STD]:.{digits}f}"


def csv_table(head: Sequence[str], rows: Iterable[Sequence[str | float | None]]) -> bytes:
    """A CSV file: texts that no spreadsheet takes for a formula, fractions with six decimals, nothing for None.

    >>> csv_table(["name", "value", "more"], [["=a", 0.5, 3], ["b", None, 1]]).decode().splitlines()
    ['name,value,more', "'=a,0.500000,3", 'b,,1']
    """
    return csv_text(head, (map(_csv_cell, row) for row in rows)).encode()


def _csv_cell(value: str | float | None) -> str:
    if isinstance(value, str):
        return for_csv(value)
    return "" if value is None else f"{value:.6f}" if isinstance(value, float) else str(value)


def groups_csv(what: str, groups: Mapping[str, Mapping[str, float]]) -> bytes:
    """A CSV file with a row per class or category and a column per metric."""
    columns = sorted({metric for metrics in groups.values() for metric in metrics})
    return csv_table([what, *columns], ([name, *map(metrics.get, columns)] for name, metrics in groups.items()))
