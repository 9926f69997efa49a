"""What the tables of all benchmarks share: who is best, how a value is written, what a reader must know."""

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, TypeVar

from driftledger.benchmarks.base import Benchmark, Cell, Cells, Metric, Origin, SideBySide, Table
from driftledger.benchmarks.score import STD, Score, base_key, interval_of
from driftledger.benchmarks.standing import Standing
from driftledger.core.text import csv_text, for_csv
from driftledger.metrics.ranks import DECIMALS, competition_ranks

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


def best_first(values: dict[str, float | None]) -> tuple[str, ...]:
    """Names from the highest value to the lowest, then those without one; equal ones by name."""

    def order(name: str) -> tuple[bool, float, str]:
        value = values[name]
        return value is None, -(value or 0.0), name

    return tuple(sorted(values, key=order))


class Place(NamedTuple):
    """Where a model stands among others by one number."""

    rank: int | None = None
    """1 + how many models are shown to be better; where that was not tested, how many have a better value. None where
    neither direction is better, and of controls."""
    best: bool = False
    """Nobody is shown to be better, and somebody to be worse."""
    letters: str = ""
    """Models that share one cannot be told apart; empty where that was not tested."""


NOWHERE = Place()


def is_control(score: Score) -> bool:
    """Whether it is of a model that does not look."""
    return score.components["model"].is_control


def places(
    scores: Sequence[Score], values: Sequence[float | None], metric: Metric, standing: Standing | None = None
) -> list[Place]:
    """Where the model of each score stands by these values; controls stand nowhere, they are no models to choose.

    Args:
        standing: what tests show, if any were made.
    """
    there = [None if is_control(score) else value for score, value in zip(scores, values, strict=True)]
    if standing is None:
        return [Place(rank) for rank in ranked(there, metric)]
    of = standing.groups
    return [
        NOWHERE
        if value is None or score.model not in of.ranks
        else Place(of.ranks[score.model], score.model in of.best, of.letters[score.model])
        for score, value in zip(scores, there, strict=True)
    ]


def cell(
    value: float | None, place: Place = NOWHERE, digits: int = 2, more: str = "", of: Origin | None = None
) -> Cell:
    """A value, bold where it is of the best group, with the letters of its groups, and ``more`` after it in brackets.

    >>> print(cell(27.204, Place(1, True, "a"), more="24.1–30.3"), cell(27.204, digits=1), cell(None))
    27.20 a (24.1–30.3) 27.2 –
    """
    if value is None:
        return Cell(NOTHING)
    shade = place.rank if place.letters else None
    return Cell(f"{value:.{digits}f}", place.best, "", more, value, of, place.letters, shade)


CONTROL = "control"


def name_cell(score: Score) -> Cell:
    """A model's name, as the first of its row; of a control it says so."""
    return Cell(score.model, more=CONTROL if is_control(score) else "")


def name_head(score: Score, standing: Standing | None = None) -> str:
    """The same as the head of a column, with the letters of the model's groups where tests show some."""
    return str(name_cell(score)) + ("" if standing is None else standing.behind(score.model))


def letters_note(metric: Metric, key: str, standing: Standing | None) -> list[str]:
    """What letters beside names say, where there are some."""
    by = f"Letters beside names are by {metric.named(key)} as a whole: models that share one cannot be told apart."
    return [by] if standing is not None and standing.groups.letters else []


def ordered(scores: Sequence[Score], values: Mapping[str, float | None], higher_is_better: bool = True) -> list[Score]:
    """The best first, then those without a value; behind all of them the controls, in the same order."""
    sign = 1 if higher_is_better else -1
    by_model = {score.model: score for score in scores}
    order = best_first({model: None if (value := values[model]) is None else sign * value for model in by_model})
    return sorted((by_model[model] for model in order), key=is_control)


def controls_above(scores: Sequence[Score], values: Sequence[float | None], metric: Metric) -> Mapping[str, list[str]]:
    """Control → the models whose value is worse than its own; only of controls above some model."""
    if metric.higher_is_better is None:
        return {}
    sign = 1 if metric.higher_is_better else -1
    there = [
        (score, sign * round(value, DECIMALS)) for score, value in zip(scores, values, strict=True) if value is not None
    ]
    models = [(score.model, value) for score, value in there if not is_control(score)]
    found = {
        score.model: [model for model, other in models if other < value] for score, value in there if is_control(score)
    }
    return {control: below for control, below in found.items() if below}


def misplaced(scores: Sequence[Score], values: Sequence[float | None], metric: Metric) -> str:
    """What the head of a metric says where it gives a control a better value than to some of the models; empty where it
    does not."""
    below = {model for models in controls_above(scores, values, metric).values() for model in models}
    many = sum(value is not None and not is_control(score) for score, value in zip(scores, values, strict=True))
    return f" (control above {len(below)} of {many})" if below else ""


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


def column(scores: Sequence[Score], key: str, metric: Metric, block: SideBySide) -> list[Cell]:
    """The values of a metric with their intervals, the best group in bold."""
    values = [score.metrics.get(key) for score in scores]
    return [
        cell(value, place, metric.digits, interval(score.metrics, key), Origin(score, key))
        for score, value, place in zip(scores, values, places(scores, values, metric, block.standing(key)), strict=True)
    ]


def head_of(scores: Sequence[Score], key: str, metric: Metric) -> str:
    """The head of its column: :func:`title_of`, and whether it puts a control above a model."""
    return title_of(key, metric) + misplaced(scores, [score.metrics.get(key) for score in scores], metric)


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
    models = ordered(block.scores, {score.model: spec.ranked(score, first) for score in block.scores})
    head, columns = [""], [[name_cell(score) for score in models]]
    for metric in spec.metrics:
        members = [spec.members(metric, score) for score in models]
        steps = "{t}" in metric.key
        last = {key for some in members for key in (some[-1:] if steps else some)}
        for key in dict.fromkeys(key for some in members for key in some if key in last or metric.key in every_step):
            values = [spec.ranked(score, key) for score in models]
            head.append(metric.named(key) + direction(metric) + misplaced(models, values, metric))
            at = places(models, values, metric, block.standing(key))
            shown = [interval(score.metrics, key, metric.digits) if key in last else "" for score in models]
            columns.append(
                [
                    cell(value, place, metric.digits, more, Origin(score, key))
                    for score, value, place, more in zip(models, values, at, shown, strict=True)
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
    """Ranks by the values of a metric alone; none where neither direction is better."""
    better = metric.higher_is_better
    return (None,) * len(values) if better is None else ranks_of(values, better)


def direction(metric: Metric) -> str:
    """What the head of its column says where a reader could be mistaken."""
    return " (lower is better)" if metric.higher_is_better is False else ""


def group_tables(
    spec: Benchmark, scores: Sequence[Score], block: SideBySide, but: Collection[str] = ()
) -> Iterator[Table]:
    """A table per kind of groups and metric: a row per group, a column per model.

    Args:
        scores: those of the block, the best first.
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
                values, number = [each.get(key) for each in told], f"{kind}/{name}/{key}"
                at = places(scores, values, metric, block.standing(number))
                cells = [
                    cell(value, place, metric.digits, of=Origin(score, number))._replace(
                        deviation=deviation(each, key, metric.digits)
                    )
                    for score, each, value, place in zip(scores, told, values, at, strict=True)
                ]
                rows.append([name, *cells])
            title, published = f"{title_of(key, metric)} by {kind}{published}", ""
            standing = block.standing(key)
            head, coverages = ["", *(name_head(each, standing) for each in scores)], [each.coverage for each in scores]
            notes = letters_note(metric, key, standing)
            yield Table(title, head, rows, notes, coverages, across=True, name=f"{kind}_{key}", detail=True)


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
