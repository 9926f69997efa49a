"""Tables of the scores of one benchmark on the same data.

``numbers`` are rows of the frame of all scores, with the columns of ranks; ``part`` are those of
one setup.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.benchmarks.registry import benchmark
from driftledger.core.grouping import grouped
from driftledger.reports.tests import metric_of
from driftledger.scoring.frame import (
    by_setup,
    place_of,
    scores_in,
)
from driftledger.scoring.metric import COSTS, COVERAGE, Metric
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score
from driftledger.scoring.table import (
    CONTROLS,
    MODELS,
    NOT_RANKED,
    Cell,
    Cells,
    Table,
    number_cell,
)

ByModel = Mapping[str, Cell]
"""Model → its cell of a column."""
Numbers = Sequence[Any]
Columns = dict[str, list[Any]]
"""Head → the numbers of a column, one of each model that has it."""

BY_VALUE = "rank by value"
"""The head of a rank: 1 + the number of models with a better value, as in the papers."""
BY_TEST = "rank by significance"
"""The head of a rank: 1 + the number of models that are shown to be better."""
MARK = "*"
"""Marks a value that has no interval; a note below the table says why."""
COST_NOTE = (
    "Cost, of which less is better, is that of all answers that a sample needs, by every "
    "component, whoever asked first; failed attempts and a judge's checks of itself are not in "
    "it. It is empty where services have not counted all."
)


def spec_of(numbers: Numbers) -> Benchmark:
    """Return the benchmark of numbers, which all are of one."""
    return benchmark(numbers[0].benchmark)


def section_of(score: Score) -> str:
    """Return the id of a score's setup: ``genception-photos-painter-layout``."""
    keys = benchmark(score.benchmark).scores.keys
    names = [score.keys[key] for key in keys if key != "model"]
    return "-".join([score.benchmark, *names])


def names_of(part: Numbers, *left_out: str) -> list[str]:
    """Return the names of a setup's data and components, without those of some roles."""
    names = []
    for key in spec_of(part).scores.keys:
        if key not in ("model", *left_out):
            names.append(part[0].score.keys[key])
    return names


def cell_of(number: Any) -> Cell:
    """Write a number of a frame with its rank, and its deviation or else its interval."""
    if number.worth is None:
        return Cell()
    digits = number.digits
    score = None if number.metric in COSTS else number.score  # no page has a cost
    cell = number_cell(number.worth, digits, score=score, place=place_of(number))
    deviation = "" if number.std is None else f"{number.std:.{digits}f}"
    return cell._replace(
        mark=MARK if lacks_interval(number) else "",
        rank=number.rank,
        bold=number.best,
        letters=number.letters,
        deviation=deviation,
        more="" if deviation else interval(number),
    )


def lacks_interval(number: Any) -> bool:
    """Return True for a value that says why it has no interval."""
    return bool(number.why) and number.low is None and number.value is not None


def interval(number: Any) -> str:
    """Write a number's interval; empty without one."""
    if None in (number.low, number.high):
        return ""
    low = f"{number.low:.{number.digits}f}"
    high = f"{number.high:.{number.digits}f}"
    return f"{low}–{high}"


def rank_cell(number: Any, rank: Any) -> Cell:
    """Return the cell of a rank by a number; None is a dash."""
    return number_cell(rank, 0, score=number.score, place=place_of(number))


def name_cell(score: Score, kind: str = MODELS) -> Cell:
    """Return the cell that names a row: a model, marked if it is a control.

    Args:
        kind: of the row, unless the model is a control.
    """
    if score.is_control:
        return Cell(score.model, more="control", kind=CONTROLS)
    return Cell(score.model, kind=kind)


def numbers_of(part: Numbers, metric: Metric) -> list[Any]:
    """Return the numbers of a metric over all samples that have a value."""
    numbers = []
    for number in part:
        is_whole = number.metric == metric.name and not number.group_kind
        if is_whole and number.value is not None:
            numbers.append(number)
    return numbers


def shown_numbers(part: Numbers, metric: Metric) -> list[Any]:
    """Return the numbers of a metric over all samples at its last t."""
    return [number for number in numbers_of(part, metric) if number.last]


def by_t(part: Numbers, metric: Metric) -> dict[int | None, list[Any]]:
    """Return t → the numbers of a metric over all samples that have a value, t by t."""
    return grouped(numbers_of(part, metric), lambda number: number.t)


def best_first(scores: Sequence[Score], numbers: Numbers) -> list[Score]:
    """Sort scores by the first number of their models.

    Models without a rank follow, then controls.
    """
    worths = dict[str, float]()
    for number in numbers:
        if not number.apart and number.worth is not None:
            sign = -1 if metric_of(number).is_higher else 1
            worths.setdefault(number.model, sign * number.worth)

    def place(score: Score) -> tuple[bool, float, str]:
        return score.is_control, worths.get(score.model, math.inf), score.model

    return sorted(scores, key=place)


def in_order(part: Numbers) -> list[Score]:
    """Sort the scores of a setup by the first metric that some have."""
    numbers: list[Any] = []
    for metric in spec_of(part).metrics:
        numbers = numbers or shown_numbers(part, metric)
    return best_first(scores_in(part), numbers)


def notes_on_controls(numbers: Numbers, title: str) -> list[str]:
    """Say how many models are not better than a control, or not shown to be."""
    models = [number for number in numbers if number.by_value]
    count = sum(number.doubtful for number in models)
    if not count:
        return []
    of = f"{count} of {len(models)} models"
    if models[0].tested:
        return [f"{title}: {of} are not shown to be better than a control."]
    return [f"{title}: a control is better than {of}."]


def notes_on_marks(numbers: Iterable[tuple[str, Any]]) -> list[str]:
    """Return why marked values have no interval, a line per reason.

    Args:
        numbers: each with the head of its row or column.
    """
    reasons: dict[str, dict[str, None]] = {}
    for head, number in numbers:
        if lacks_interval(number):
            reasons.setdefault(number.why, {})[head] = None
    notes = []
    for why, heads in reasons.items():
        notes.append(f"{MARK} {', '.join(heads)}: {why}.")
    return notes


def notes_on_costs(scores: Sequence[Score]) -> list[str]:
    """Return notes on the costs of scores and on calls that were not counted."""
    notes = [
        f"{score.model}: {score.uncounted} were counted."
        for score in scores
        if score.uncounted
    ]
    if notes or any(score.costs for score in scores):
        notes.insert(0, COST_NOTE)
    return notes


def tables_of(part: Numbers) -> list[Table]:
    """Return all tables of a setup: models, the benchmark's own, and groups."""
    spec = spec_of(part)
    order = in_order(part)
    first, *further = _model_tables(part, order)
    notes = [*first.notes, *notes_on_costs(order), *spec.notes(order)]
    first = first._replace(notes=notes)
    return [first, *further, *spec.tables(order), *_group_tables(part, order)]


def _model_tables(part: Numbers, order: Sequence[Score]) -> Iterator[Table]:
    """Yield the tables with a row per model, and last one of every t."""
    spec = spec_of(part)
    tables = spec.paper_tables or {f"{spec.title}; in brackets the interval": {}}
    by_place = grouped(part, place_of)
    named = {place.metric for heads in tables.values() for place in heads.values()}
    in_table = {metric.name for metric in spec.metrics.shown("table")} | COSTS.keys()
    overall = [number for number in part if not number.group_kind]
    unnamed = in_table - named
    rest = by_title(n for n in overall if n.last and n.metric in unnamed)
    ends = _ranks_and_coverages(part)
    for count, (title, heads) in enumerate(tables.items(), 1):
        columns = {head: by_place.get(place, []) for head, place in heads.items()}
        table = models_table(title, columns | rest, order, ends)
        yield table._replace(name=f"models_{count}" if len(tables) > 1 else "models")
        rest = {}
    names = {metric.name for metric in spec.metrics.shown("headline")}
    headlines = [n for n in overall if n.metric in names and n.t]
    if not all(number.last for number in headlines):
        title = f"{spec.title} at every t"
        columns = by_title(headlines)
        table = models_table(title, columns, order, ends, write=_short_cell)
        yield table._replace(name="models_by_t", detail=True)


def _short_cell(number: Any) -> Cell:
    """Write a number without its interval, for which a wide table has no room."""
    return cell_of(number)._replace(more="")


def by_title(numbers: Iterable[Any]) -> Columns:
    """Return title → numbers."""
    return grouped(numbers, lambda number: str(number.title))


def _ranks_and_coverages(part: Numbers) -> dict[str, ByModel]:
    """Return the last columns: ranks by the first metric, and coverages."""
    columns: dict[str, ByModel] = {}
    numbers = shown_numbers(part, spec_of(part).metrics.first)
    if numbers:
        head = BY_TEST if any(number.tested for number in numbers) else BY_VALUE
        columns[head] = {n.model: rank_cell(n, n.rank) for n in numbers}
    coverages = numbers_of(part, COVERAGE)
    columns[COVERAGE.title] = {n.model: cell_of(n) for n in coverages}
    return columns


def models_table(
    title: str,
    columns: Columns,
    order: Sequence[Score],
    further: Mapping[str, ByModel] | None = None,
    *,
    write: Callable[[Any], Cell] = cell_of,
) -> Table:
    """Return a table with a row per model.

    Args:
        columns: a column without any value is left out.
        further: the columns after them.
    """
    cells: dict[str, ByModel] = {}
    notes = []
    marked = []
    apart = dict[str, str]()
    for head, numbers in columns.items():
        if any(number.worth is not None for number in numbers):
            cells[head] = {number.model: write(number) for number in numbers}
            notes += notes_on_controls(numbers, head)
            marked += [(head, number) for number in numbers]
            apart |= reasons_in(numbers)
    cells |= further or {}
    rows = []
    for score in order:
        kind = NOT_RANKED if score.model in apart else MODELS
        row = [by_model.get(score.model, Cell()) for by_model in cells.values()]
        rows.append([name_cell(score, kind), *row])
    notes += notes_on_marks(marked)
    return Table(title, ["", *cells], rows=rows, notes=notes)


def reasons_in(part: Numbers) -> dict[str, str]:
    """Return model → the reason why it has no rank in its setup."""
    return {number.model: number.apart for number in part if number.apart}


def _group_tables(part: Numbers, order: Sequence[Score]) -> Iterator[Table]:
    """Yield a table per kind of groups and metric; of the first metric, one per t."""
    spec = spec_of(part)
    heads = {id(score): str(name_cell(score)) for score in order}
    for kind, published in spec.group_tables.items():
        for place, is_last in _places(part, kind).items():
            metric = spec.metrics[place.metric]
            is_main = spec.means_of_groups and "headline" in metric.shown
            yield _group_table(part, heads, kind, place)._replace(
                title=f"{metric.headed(place.t)} by {kind}{published}",
                name=f"{kind}_{place.name}",
                detail=not (is_main and is_last),
            )
            published = ""


def _places(part: Numbers, kind: str) -> dict[Place, bool]:
    """Return the places at which groups of a kind have numbers → True at the last t.

    Only the first metric has the places of earlier t.
    """
    metrics = [metric.name for metric in spec_of(part).metrics.shown("table")]
    places = {}
    for number in part:
        is_shown = number.last or number.metric == metrics[0]
        if is_shown and number.group_kind == kind and number.metric in metrics:
            places[Place(number.metric, number.t)] = number.last

    def order(place: Place) -> tuple[int, int]:
        return metrics.index(place.metric), -(place.t or 0)

    return {place: places[place] for place in sorted(places, key=order)}


def _group_table(
    numbers: Numbers, heads: Mapping[int, str], kind: str, place: Place
) -> Table:
    """Return a table with a row per group and a column per score.

    As in GenCeption's Table 2 it also has means of groups and their ranks. A row has letters where
    its models differ.

    Args:
        heads: ``id`` of a score → the head of its column.
    """
    numbers_by_place = {(place_of(n), id(n.score)): n for n in numbers}
    own = [n for n in numbers if place_of(n)[:2] == place[:2]]
    means = spec_of(numbers).means_of_groups
    nested: Mapping[str, Sequence[str]] = {}
    if means:
        nested = numbers[0].score.details["groups"]
    names = {number.group for number in own if number.group_kind == kind}
    rest = sorted(names.difference(*nested.values()))
    rows: list[Cells] = []

    def add(title: str, at: Place, *, bold: bool = False, ranks: bool = False) -> None:
        row = [Cell(title, bold=bold)]
        for score in heads:
            number = numbers_by_place.get((at, score))
            row.append(_in_group(number, ranks) if number else Cell())
        rows.append(row)

    def add_mean(name: str, at: Place) -> None:
        add(f"{name} mean", at, bold=True)
        add(f"{name} {BY_VALUE}", at, bold=True, ranks=True)

    for group, members in {**nested, "": rest}.items():
        for name in members:
            add(name, place._replace(group_kind=kind, group=name))
        if group:
            add_mean(group, place._replace(group_kind=means, group=group))
    if nested:
        add_mean("overall", place)
    else:
        add("overall", place, bold=True)
    add(COVERAGE.title, Place(COVERAGE.name))
    notes = notes_on_marks((number.group or "overall", number) for number in own)
    return Table("", ["", *heads.values()], rows=rows, notes=notes, across=True)


def _in_group(number: Any, ranks: bool) -> Cell:
    if ranks:
        return rank_cell(number, number.by_value)
    cell = _short_cell(number)
    return cell if number.differ else cell._replace(letters="")


def generators_tables(numbers: Numbers) -> Iterator[Table]:
    """Yield a table per data of groups under several generators.

    It shows the first metric, and ranks the models of each generator by themselves.

    That is GenCeption's Table 4.

    Args:
        numbers: of one benchmark.
    """
    spec = spec_of(numbers)
    if not spec.means_of_groups:
        return
    kind = next(iter(spec.group_tables))
    alike = grouped(by_setup(numbers), lambda part: tuple(names_of(part, "generator")))
    for names, setups in alike.items():
        if len(setups) < 2:
            continue
        every = [*chain.from_iterable(setups)]
        place = next(iter(_places(every, kind)))
        title = (
            f"{spec.metrics.first.titled(place.t)} by {kind} under several generators on "
            f"{' · '.join(names)}, each ranked by itself, as in Table 4"
        )
        heads = {}
        for score in in_order(every):
            heads[id(score)] = f"{name_cell(score)} · {score.keys['generator']}"
        table = _group_table(every, heads, kind, place)
        yield table._replace(title=title, name="-".join(("generators", *names)))
