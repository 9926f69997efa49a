"""What the tables of all benchmarks share: who is best, how a value is written, what a reader must know."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from driftledger.benchmarks.score import Score, base_key, interval_of
from driftledger.core.escaping import csv_text, for_csv, for_markdown
from driftledger.metrics.ranks import competition_ranks

if TYPE_CHECKING:
    from driftledger.benchmarks.base import Benchmark, Metric

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


def cell(value: float | None, rank: int | None = None, digits: int = 2, more: str = "") -> str:
    """A value, bold where it is the best, and ``more`` after it in brackets.

    >>> cell(27.204, 1, more="24.1–30.3"), cell(27.204, digits=1), cell(None)
    ('**27.20** (24.1–30.3)', '27.2', '–')
    """
    if value is None:
        return NOTHING
    text = f"{value:.{digits}f}"
    return (f"**{text}**" if rank == 1 else text) + (f" ({more})" if more else "")


def interval(metrics: dict[str, float], key: str, digits: int = 1) -> str:
    """The interval of a metric, where it has one.

    >>> interval({"ssim": 28.2, "ssim_low": 27.14, "ssim_high": 29.5}, "ssim")
    '27.1–29.5'
    """
    ends = interval_of(metrics, key)
    return "" if ends is None else "–".join(f"{end:.{digits}f}" for end in ends)


def title_of(key: str, metric: "Metric") -> str:
    """The head of a metric's column."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return metric.named(key) + unit + (" (lower is better)" if metric.higher_is_better is False else "")


def column(scores: Sequence[Score], key: str, metric: "Metric") -> list[str]:
    """The values of a metric with their intervals, the best in bold."""
    values = [score.metrics.get(key) for score in scores]
    best = metric.higher_is_better
    ranks = (None,) * len(values) if best is None else ranks_of(values, best)
    return [
        cell(value, rank, metric.digits, interval(score.metrics, key))
        for score, value, rank in zip(scores, values, ranks, strict=True)
    ]


def metrics_in(spec: "Benchmark", scores: Iterable[Score]) -> dict[str, "Metric"]:
    """The metrics of the benchmark's table that some score has, by their keys in scores."""
    there = sorted({base_key(key) for score in scores for key in score.metrics})
    return {key: metric for key in there if (metric := spec.metric(key)) is not None}


def markdown_table(title: str, head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """A titled table and an empty line; the first column is of names, the others of numbers; cells are inert."""
    yield f"**{title}**"
    yield ""
    yield "| " + " | ".join(head).lstrip() + " |"
    yield "|---|" + "---:|" * (len(head) - 1)
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


def flag_lines(scores: Iterable[Score]) -> list[str]:
    """What a reader must know about the numbers of each model, everything once."""
    said = dict.fromkeys((score.model, flag) for score in scores for flag in score.flags)
    lines = [f"- {model}: {for_markdown(flag)}" for model, flag in said]
    return ["To know about these numbers:", "", *lines, ""] if lines else []


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
