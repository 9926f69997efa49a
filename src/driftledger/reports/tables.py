"""The tables of scores of one benchmark on the same data: models side by side, groups, and what is
its own. Each is a pivot of their numbers.

``numbers`` are rows of the frame of all scores, with the columns of ranks; ``part`` are those of
one setup.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.core.grouping import grouped
from driftledger.reports.tests import metric_of
from driftledger.scoring.frame import (
    as_int,
    by_setup,
    place_of,
    scores_in,
)
from driftledger.scoring.metric import COSTS, COVERAGE, Metric
from driftledger.scoring.number import NumberName, Place
from driftledger.scoring.score import Score
from driftledger.scoring.table import CONTROLS, NOT_RANKED, Cell, Table, number_cell

ByModel = Mapping[str, Cell]
"""Model → its cell of a column."""
Numbers = Sequence[Any]
Columns = dict[str, list[Any]]
"""Head → the numbers of a column, one of each model that has it."""

BY_VALUE = "rank by value"
"""1 + how many have a better value, as in the papers."""
BY_TEST = "rank by significance"
"""1 + how many are shown to be better."""
MARK = "*"
"""Behind a value that has no interval for a reason, which is a note below the table."""
COST_NOTE = (
    "Cost, of which less is better, is that of all answers that a sample needs, by every "
    "component, whoever asked first; failed attempts and a judge's checks of itself are not in "
    "it. It is empty where services have not counted all."
)


def spec_of(numbers: Numbers) -> Benchmark:
    """Return the benchmark of numbers, which all are of one."""
    return benchmark(numbers[0].benchmark)


def names_of(part: Numbers, *left_out: str) -> list[str]:
    """Return the names of the data and components of a setup, but those of some roles."""
    keys = spec_of(part).scores.keys
    return [part[0].score.keys[key] for key in keys if key not in ("model", *left_out)]


def title_of(metric: Metric, t: int | None) -> str:
    """Return a metric's title, its unit, and its direction where a reader could be mistaken."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return metric.titled(t) + unit + direction(metric)


def direction(metric: Metric) -> str:
    """Return a remark where lower is better."""
    return " (lower is better)" if metric.direction == "lower" else ""


# Cells of numbers.


def cell_of(number: Any) -> Cell:
    """Write a number of a frame with its rank, and its deviation or else its interval."""
    if math.isnan(number.worth):
        return Cell()
    digits = metric_of(number).digits
    is_cost = number.metric in COSTS  # which no page and no audit has
    cell = number_cell(
        number.worth,
        digits,
        score=None if is_cost else number.score,
        place=place_of(number),
    )
    deviation = "" if math.isnan(number.std) else f"{number.std:.{digits}f}"
    return cell._replace(
        text=cell.text + (MARK if lacks_interval(number) else ""),
        rank=as_int(number.rank),
        bold=number.best,
        letters=number.letters,
        deviation=deviation,
        more="" if deviation else interval(number),
    )


def lacks_interval(number: Any) -> bool:
    """Return True for a value that says why it has no interval."""
    return bool(number.why) and math.isnan(number.low) and not math.isnan(number.value)


def interval(number: Any) -> str:
    """Write a number's interval; empty without one."""
    return _ends(number.low, number.high, metric_of(number), between="–")


def bounds(number: Any) -> str:
    """Write the bounds of a number; empty without any."""
    return _ends(number.least, number.most, metric_of(number), between=" to ")


def _ends(low: float, high: float, metric: Metric, between: str) -> str:
    if math.isnan(low):
        return ""
    return f"{low:.{metric.digits}f}{between}{high:.{metric.digits}f}"


def cells_by_model(numbers: Numbers) -> ByModel:
    """Return model → the cell of its number."""
    return {number.model: cell_of(number) for number in numbers}


def rank_cell(number: Any, rank: Any) -> Cell:
    """Write a rank by a number; a dash for NA."""
    return number_cell(as_int(rank), 0, score=number.score, place=place_of(number))


def name_cell(score: Score) -> Cell:
    """Return a model's name, marked if it is a control."""
    return Cell(score.model, more="control" if score.is_control else "")


# Orders and notes.


def shown_numbers(part: Numbers, metric: Metric) -> list[Any]:
    """Return the numbers of a metric at its last t, of all samples, of models that have it."""
    return [
        number
        for number in part
        if number.metric == metric.name
        and number.last
        and not number.group_kind
        and not math.isnan(number.value)
    ]


def best_first(scores: Sequence[Score], numbers: Numbers) -> list[Score]:
    """Sort scores by a number of their models; then those without a rank, then controls."""
    places = {}
    for number in numbers:
        if not number.apart and not math.isnan(number.worth):
            sign = -1 if metric_of(number).is_higher else 1
            places[number.model] = sign * number.worth

    def place(score: Score) -> tuple[bool, bool, float, str]:
        name = score.model
        return score.is_control, name not in places, places.get(name, 0.0), name

    return sorted(scores, key=place)


def in_order(part: Numbers) -> list[Score]:
    """Sort the scores of a setup by the first metric that some have."""
    for metric in spec_of(part).metrics:
        numbers = shown_numbers(part, metric)
        if numbers:
            break
    return best_first(scores_in(part), numbers)


def misplaced(numbers: Numbers, title: str) -> list[str]:
    """Say how many models a control is above, or may be as far as tests show.

    Return nothing without controls.
    """
    models = [number for number in numbers if as_int(number.by_value)]
    count = sum(number.doubtful for number in models)
    if not count:
        return []
    phrase = f"a control is better than {count} of {len(models)} models"
    if models[0].tested:
        phrase = (
            f"{count} of {len(models)} models are not shown to be better than a control"
        )
    return [f"{title}: {phrase}."]


def notes_on_marks(numbers: Iterable[tuple[str, Any]]) -> list[str]:
    """Return why marked values have no interval, each reason with the heads of its values.

    Args:
        numbers: each with the head of its row or column.
    """
    reasons: dict[str, dict[str, None]] = {}
    for head, number in numbers:
        if lacks_interval(number):
            reasons.setdefault(number.why, {})[head] = None
    return [f"{MARK} {', '.join(heads)}: {why}." for why, heads in reasons.items()]


def notes_on_costs(scores: Sequence[Score]) -> list[str]:
    """Return what to know of costs that are shown, and what was not counted; empty without
    costs."""
    notes = [
        f"{score.model}: {score.uncounted} were counted."
        for score in scores
        if score.uncounted
    ]
    if notes or any(score.costs for score in scores):
        notes.insert(0, COST_NOTE)
    return notes


# Tables.


def tables_of(part: Numbers) -> list[Table]:
    """Return all tables of a setup: models side by side, the benchmark's own, and groups."""
    spec = spec_of(part)
    order = in_order(part)
    first, *further = _model_tables(part, order)
    first = first._replace(notes=[*first.notes, *spec.notes(order)])
    groups = [*_ranks_over_groups(part, order), *_group_tables(part, order)]
    return [first, *further, *spec.tables(order), *groups]


def _model_tables(part: Numbers, order: Sequence[Score]) -> Iterator[Table]:
    """Yield tables with a row per model: those of the specification, and one of every t."""
    spec = spec_of(part)
    tables = spec.paper_tables or {f"{spec.title}; in brackets the interval": {}}
    named = {place.metric for heads in tables.values() for place in heads.values()}
    others = [each for each in spec.metrics.shown("table") if each.name not in named]
    for count, (title, heads) in enumerate(tables.items(), 1):
        columns = _at_places(part, heads)
        if count == 1:
            columns |= columns_of(part, [*others, *COSTS.values()])
        name = f"models_{count}" if len(tables) > 1 else "models"
        table = _model_table(part, order, columns, title=title, name=name)
        if count == 1:
            table = _with_bounds(table, part, order)
        yield table
    columns = _at_every_t(part)
    if columns:
        title = f"{spec.title} at every t; in brackets the interval"
        table = _model_table(part, order, columns, title=title, name="models_by_t")
        yield table._replace(detail=True)


def _at_places(part: Numbers, heads: Mapping[str, Place]) -> Columns:
    """Return the columns of a paper's table."""
    by_place = grouped(part, place_of)
    columns = {head: by_place.get(place, []) for head, place in heads.items()}
    return {head: numbers for head, numbers in columns.items() if _have_worth(numbers)}


def _have_worth(numbers: Numbers) -> bool:
    return any(not math.isnan(number.worth) for number in numbers)


def columns_of(part: Numbers, metrics: Sequence[Metric]) -> Columns:
    """Return a column for each metric that some model has, at its last t."""
    columns = {}
    for metric in metrics:
        numbers = shown_numbers(part, metric)
        if _have_worth(numbers):
            columns[title_of(metric, as_int(numbers[0].t))] = numbers
    return columns


def _at_every_t(part: Numbers) -> Columns:
    """Return the headlines that have several t, each t a column."""
    columns = {}
    for metric in spec_of(part).metrics.shown("headline"):
        steps = by_t(part, metric)
        if metric.over_t and len(steps) > 1:
            for t, numbers in steps.items():
                columns[title_of(metric, t)] = numbers
    return columns


def by_t(part: Numbers, metric: Metric) -> dict[int | None, list[Any]]:
    """Return t → the numbers of a metric over all samples that have a value, t by t."""
    own = []
    for number in part:
        is_whole = number.metric == metric.name and not number.group_kind
        if is_whole and not math.isnan(number.value):
            own.append(number)
    own.sort(key=lambda number: as_int(number.t) or 0)
    return grouped(own, lambda number: as_int(number.t))


def _model_table(
    part: Numbers, order: Sequence[Score], columns: Columns, title: str, name: str
) -> Table:
    """Return a table of columns, the rank by the first metric, and the coverage."""
    cells = {head: cells_by_model(numbers) for head, numbers in columns.items()}
    notes = []
    marked = []
    for head, numbers in columns.items():
        notes += misplaced(numbers, head)
        marked += [(head, number) for number in numbers]
    notes += notes_on_marks(marked)
    ranked = shown_numbers(part, spec_of(part).metrics.first)
    if ranked:
        is_tested = any(number.tested for number in ranked)
        head = BY_TEST if is_tested else BY_VALUE
        cells[head] = {n.model: rank_cell(n, n.rank) for n in ranked}
    cells[COVERAGE.title] = cells_by_model(_at(part, Place(COVERAGE.name)))
    table = models_table(title, cells, order, reasons_in(part))
    return table._replace(notes=notes, name=name)


def models_table(
    title: str,
    columns: Mapping[str, ByModel],
    order: Sequence[Score],
    apart: Collection[str] = (),
) -> Table:
    """Return a table with a row per model from the cells of each column.

    Args:
        apart: the models that are not ranked with the others.
    """
    rows = []
    kinds = dict.fromkeys(apart, NOT_RANKED)
    for score in order:
        row = [cells.get(score.model, Cell()) for cells in columns.values()]
        rows.append([name_cell(score), *row])
        if score.is_control:
            kinds[score.model] = CONTROLS
    return Table(title, ["", *columns], rows=rows, kinds=kinds)


def _with_bounds(table: Table, part: Numbers, order: Sequence[Score]) -> Table:
    """Write the bounds of the first metric behind coverages, and what to know of costs."""
    metric = spec_of(part).metrics.first
    numbers = shown_numbers(part, metric)
    ends = {number.model: bounds(number) for number in numbers}
    notes = [*table.notes, *notes_on_costs(order)]
    rows = []
    for score, (*row, coverage) in zip(order, table.rows, strict=True):
        assert isinstance(coverage, Cell)
        rows.append([*row, coverage._replace(more=ends.get(score.model, ""))])
    if any(ends.values()):
        title = metric.titled(as_int(numbers[0].t))
        notes.append(
            f"In brackets behind a coverage: {title} if all that is missing were worth 0, and "
            "if it were worth as much as the best of the rest."
        )
    return table._replace(rows=rows, notes=notes)


def _group_tables(part: Numbers, order: Sequence[Score]) -> Iterator[Table]:
    """Yield a table per kind of groups and metric; of the first metric, one for each t."""
    spec = spec_of(part)
    for kind, published in spec.group_tables.items():
        for metric in spec.metrics.shown("table"):
            places = _in_groups(part, kind, metric)
            for place in places:
                letters = _letters(part, place)
                heads: dict[tuple[str, ...], str] = {}
                for score in order:
                    letter = letters.get(score.model)
                    name = str(name_cell(score))
                    heads[score.model,] = f"{name} ({letter})" if letter else name
                table = _group_table(part, heads, kind, place, by=("model",))
                notes = [*table.notes]
                if letters:
                    notes.append(
                        f"Letters beside names are by {metric.titled(place.t)} as a whole; models "
                        "that share one cannot be told apart."
                    )
                is_main = spec.means_of_groups and "headline" in metric.shown
                yield table._replace(
                    title=f"{title_of(metric, place.t)} by {kind}{published}",
                    notes=notes,
                    detail=not (is_main and place == places[0]),
                )
                published = ""


def _in_groups(part: Numbers, kind: str, metric: Metric) -> list[Place]:
    """Return the places of a metric that have numbers in groups, the last t first.

    Of metrics other than the first of their benchmark it is the last t alone.
    """
    steps = set()
    for number in part:
        is_own = number.group_kind == kind and number.metric == metric.name
        if is_own and not math.isnan(number.value):
            steps.add(as_int(number.t))
    by_t = sorted(steps, key=lambda t: t or 0, reverse=True)
    if metric is not spec_of(part).metrics.first:
        by_t = by_t[:1]
    return [Place(metric.name, t) for t in by_t]


def _letters(part: Numbers, place: Place) -> dict[str, str]:
    """Return model → its letters by all samples; empty where models do not differ."""
    letters = {}
    for number in _at(part, place):
        if number.differ and not number.group_kind:
            letters[number.model] = number.letters
    return letters


def _at(numbers: Numbers, place: Place) -> list[Any]:
    """Return the numbers of a metric at a t, of all samples and of each group."""
    return [
        number
        for number in numbers
        if number.metric == place.metric and as_int(number.t) == place.t
    ]


def _group_table(
    numbers: Numbers,
    heads: Mapping[tuple[str, ...], str],
    kind: str,
    place: Place,
    *,
    by: Sequence[str],
) -> Table:
    """Return a table with a row per group and a column per model.

    As in GenCeption's Table 2 it also has means of groups and their ranks. A group has letters
    where its models differ.

    Args:
        heads: the values of the frame's columns ``by`` → the head of the table's column.
    """
    own = _at(numbers, place)
    coverages = _at(numbers, Place(COVERAGE.name))
    cells = {}
    ranks = {}
    for number in chain(own, coverages):
        key = place_of(number), tuple(getattr(number, name) for name in by)
        cell = cell_of(number)._replace(more="")
        cells[key] = cell if number.differ else cell._replace(letters="")
        ranks[key] = rank_cell(number, number.by_value)
    rows: list[Sequence[Cell | str]] = []

    def add(
        title: str, place: Place, *, bold: bool = False, by_rank: bool = False
    ) -> None:
        source = ranks if by_rank else cells
        row = [source.get((place, head), Cell()) for head in heads]
        rows.append([Cell(title, bold=bold), *row])

    def add_mean(name: str, place: Place) -> None:
        add(f"{name} mean", place, bold=True)
        add(f"{name} {BY_VALUE}", place, bold=True, by_rank=True)

    means = spec_of(numbers).means_of_groups
    nested = nested_groups(numbers)
    members = set(chain.from_iterable(nested.values()))
    groups = dict.fromkeys(n.group for n in own if n.group_kind == kind)
    for group, names in nested.items():
        for name in names:
            add(name, place._replace(group_kind=kind, group=name))
        add_mean(group, place._replace(group_kind=means, group=group))
    for name in sorted(groups) if nested else groups:
        if name not in members:
            add(name, place._replace(group_kind=kind, group=name))
    if nested:
        add_mean("overall", place)
    add(COVERAGE.title, Place(COVERAGE.name))
    marked = [(number.group or "overall", number) for number in own]
    return Table(
        "",
        ["", *heads.values()],
        rows=rows,
        notes=notes_on_marks(marked),
        across=True,
        name=f"{kind}_{NumberName(place.metric, place.t)}",
        detail=True,
    )


def nested_groups(numbers: Numbers) -> Mapping[str, Sequence[str]]:
    """Return group → the groups that it is the mean of; empty for benchmarks without such means."""
    if not spec_of(numbers).means_of_groups:
        return {}
    groups: Mapping[str, Sequence[str]] = scores_in(numbers)[0].details["groups"]
    return groups


def generators_tables(numbers: Numbers) -> Iterator[Table]:
    """Yield groups of the first metric under several generators, each ranked by itself.

    That is GenCeption's Table 4.

    Args:
        numbers: of one benchmark.
    """
    spec = spec_of(numbers)
    if not spec.means_of_groups:
        return
    alike = grouped(by_setup(numbers), lambda part: tuple(names_of(part, "generator")))
    for names, setups in alike.items():
        if len(setups) > 1:
            yield _generators_table(setups, names)


def _generators_table(setups: Sequence[Numbers], names: Sequence[str]) -> Table:
    spec = spec_of(setups[0])
    by_model: dict[str, dict[tuple[str, ...], str]] = {}
    notes = []
    for part in setups:
        for score in in_order(part):
            generator = score.keys["generator"]
            heads = by_model.setdefault(score.model, {})
            heads[score.model, generator] = f"{name_cell(score)} · {generator}"
        for model, why in reasons_in(part).items():
            on = " · ".join(names_of(part))
            notes.append(f"{model} on {on} has no rank: {why}.")
    heads = {key: head for own in by_model.values() for key, head in own.items()}
    numbers = [*chain.from_iterable(setups)]
    kind = next(iter(spec.group_tables))
    place = _in_groups(numbers, kind, spec.metrics.first)[0]
    table = _group_table(numbers, heads, kind, place, by=("model", "generator"))
    title = (
        f"{spec.metrics.first.titled(place.t)} by {kind} under several generators on "
        f"{' · '.join(names)}, each ranked by itself, as in Table 4"
    )
    return table._replace(
        title=title,
        notes=[*notes, *table.notes],
        name="-".join(("generators", *names)),
    )


def reasons_in(part: Numbers) -> dict[str, str]:
    """Return model → why it has no rank among those of its setup."""
    return {number.model: number.apart for number in part if number.apart}


def _ranks_over_groups(part: Numbers, order: Sequence[Score]) -> Iterator[Table]:
    """Yield the GC rank of the paper's first version.

    It is the mean over t of the ranks in each group, weighted by the group's share of categories.
    """
    nested = nested_groups(part)
    if len(nested) < 2:
        return
    total = sum(map(len, nested.values()))
    columns: dict[str, ByModel] = {}
    weighted = {score.model: 0.0 for score in order}
    for group, members in nested.items():
        ranks = _mean_ranks(part, group)
        columns[f"{group}, mean {BY_VALUE}"] = {
            model: number_cell(mean) for model, mean in ranks.items()
        }
        for model in [*weighted]:
            weighted[model] += ranks.get(model, math.nan) * len(members) / total
    columns["GC rank (lower is better)"] = {
        model: number_cell(mean)
        for model, mean in weighted.items()
        if not math.isnan(mean)
    }
    columns[COVERAGE.title] = cells_by_model(_at(part, Place(COVERAGE.name)))
    sums = " + ".join(
        f"{len(members)}/{total} · {group}" for group, members in nested.items()
    )
    note = f"GC rank: {sums}. Of each group, the ranks by value of GC@1 … GC@T are averaged."
    title = "The GC rank of the paper's first version"
    table = models_table(title, columns, order)
    yield table._replace(notes=[note], name="group_ranks", detail=True)


def _mean_ranks(part: Numbers, group: str) -> dict[str, float]:
    """Return model → its mean rank by value over t, of those with a rank at each t."""
    spec = spec_of(part)
    by_t: dict[int | None, dict[str, int]] = {}
    for number in part:
        is_own = number.group == group and number.group_kind == spec.means_of_groups
        if is_own and number.metric == spec.metrics.first.name:
            rank = as_int(number.by_value)
            if rank is not None:
                by_t.setdefault(as_int(number.t), {})[number.model] = rank
    means = {}
    for model in set[str]().union(*by_t.values()):
        ranks = [by_model.get(model, math.nan) for by_model in by_t.values()]
        mean = math.fsum(ranks) / len(ranks)
        if not math.isnan(mean):
            means[model] = mean
    return means
