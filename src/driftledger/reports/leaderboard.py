"""The leaderboard: every benchmark's models side by side."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from pandas import DataFrame

from driftledger.benchmarks.base.benchmark import Benchmark
from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell
from driftledger.reports.tables import (
    Columns,
    Numbers,
    best_first,
    by_title,
    cell_of,
    generators_tables,
    interval,
    models_table,
    names_of,
    notes_on_costs,
    reasons_in,
    section_of,
    shown_numbers,
    spec_of,
    tables_of,
)
from driftledger.reports.tests import metric_of
from driftledger.scoring.frame import (
    PLACE,
    SETUP,
    by_setup,
    csv_of,
    scores_in,
)
from driftledger.scoring.metric import COSTS, COVERAGE, Metric
from driftledger.scoring.score import Score, marks_of
from driftledger.scoring.table import RANGE, Cell, Table, markdown, number_cell

T = TypeVar("T")

_COLUMNS = [
    *(*SETUP, "model", "control", "coverage"),
    *(*PLACE, "value", "low", "high", "std", "n"),
    *("rank", "letters", "apart", "why"),
    *("floor", "share"),
]
"""Models that share one of ``letters`` cannot be told apart, and their ``rank`` is 1 + how many are
shown to be better. Without letters nothing was tested, and the rank goes by values. Controls have
none. ``apart`` says why a rank is not among those of the rows without it. ``floor`` is what the
benchmark gives for nothing, and ``share`` how far the value is from there to the ceiling."""

BRACKETS = "the interval, a coverage below 1, and the share of the range"
LETTERS = (
    "Models that share a letter cannot be told apart (paired differences, Holm's correction over "
    "all pairs). Bold marks the group that no model is shown to be better than. A value without a "
    "letter was not tested; controls do not compete."
)

FLOORS = (
    "Floor: what the benchmark gives for nothing, by a model's own control that sees nothing, or "
    "the best control, or chance; ceiling: the best possible value; percentages of the range: "
    "(value − floor) / (ceiling − floor)."
)


class ReportSection(NamedTuple):
    """The content under one heading."""

    title: str
    name: str
    tables: Sequence[Table]
    scores: Sequence[Score] = ()
    """The scores of its setup; empty if its tables show several setups."""
    scored: str = ""
    """A sentence on how much of each score was scored."""
    absent: Sequence[str] = ()
    """A sentence for each number without a value and each model without a rank, with the reason."""
    flags: Sequence[str] = ()
    """Sentences that a reader of the numbers must know, each with its models."""


Sections = Mapping[Benchmark, Sequence[ReportSection]]
"""The sections of each benchmark, made once for Markdown and pages."""


def by_benchmark(numbers: Numbers) -> list[list[Any]]:
    """Return the numbers of each benchmark."""
    return [*grouped(numbers, lambda number: str(number.benchmark)).values()]


def sections_in(numbers: Numbers) -> Sections:
    """Return the sections of each benchmark."""
    return {spec_of(own): [*_sections(own)] for own in by_benchmark(numbers)}


def _sections(numbers: Numbers) -> Iterator[ReportSection]:
    """Yield the sections of a benchmark: one across setups, then one for each setup."""
    spec = spec_of(numbers)
    setups = by_setup(numbers)
    across = [*generators_tables(numbers)]
    if len(setups) > 1:
        across = [*_side_by_side(numbers), *across]
    if across:
        title = f"{spec.name}, side by side"
        yield ReportSection(title, f"{spec.name}-across", tables=across)
    for part in setups:
        scores = scores_in(part)
        names = names_of(part)
        counts = [f"{score.model} {score.how_many}" for score in scores]
        flags = [(flag.text, score.model) for score in scores for flag in score.flags]
        yield ReportSection(
            f"{spec.name} on {' · '.join(names)}",
            section_of(scores[0]),
            tables=tables_of(part),
            scores=scores,
            scored=f"Scored: {', '.join(counts)}.",
            absent=[*_absent(part)],
            flags=[f"{models}: {flag}" for flag, models in _with_models(flags, scores)],
        )


def _absent(part: Numbers) -> Iterator[str]:
    """Say which numbers have no value and which models no rank, and why."""
    reasons = []
    for number in part:
        if number.value is None:
            title = metric_of(number).titled(number.t)
            if number.group:
                title += f" of {number.group}"
            reasons.append(((title, number.why), number.model))
    for (title, why), models in _with_models(reasons, scores_in(part)):
        yield f"No {title} ({models}): {why}."
    for model, why in reasons_in(part).items():
        yield f"No rank ({model}): {why}."


def _with_models(
    pairs: Iterable[tuple[T, str]], scores: Sequence[Score]
) -> Iterator[tuple[T, str]]:
    """Yield each thing once, with the names of its models."""
    count = len({score.model for score in scores})
    for thing, members in grouped(dict.fromkeys(pairs), lambda pair: pair[0]).items():
        models = ", ".join(model for _, model in members)
        yield thing, "all models" if len(members) == count > 1 else models


def at_a_glance(numbers: Numbers, *, every: bool = False) -> Columns:
    """Return the first headlines of each benchmark as columns.

    Args:
        every: on all data and through all components, instead of the first of each.
    """
    columns = {}
    for own in by_benchmark(numbers):
        spec = spec_of(own)
        for head, part in _across(own, spec.metrics.glanced, every).items():
            columns[f"{spec.title} {head}"] = part
    return columns


def _across(numbers: Numbers, metrics: Sequence[Metric], every: bool) -> Columns:
    """Return a column for each metric and setup, or for the first setup alone.

    A head names the data or components that tell its setup from the others.
    """
    columns = {}
    for metric in metrics:
        values = shown_numbers(numbers, metric)
        setups = by_setup(number for number in values if number.worth is not None)
        if not every:
            setups = setups[:1]
        names = [name for part in setups for name in set(names_of(part))]
        for part in setups:
            apart = [n for n in names_of(part) if names.count(n) < len(setups)]
            head = str(part[0].title)
            if apart:
                head += f" ({' · '.join(apart)})"
            columns[head] = part
    return columns


def overview(numbers: Numbers, *, every: bool = False) -> Table | None:
    """Return a row per model and a column per headline; None without any score."""
    columns = at_a_glance(numbers, every=every)
    if not columns:
        return None
    data = []
    for head, part in columns.items():
        data.append(f"{head}: {' · '.join(names_of(part))}")
    note = (
        f"Higher is better unless a column says otherwise; in brackets {BRACKETS}. {LETTERS} "
        f"{'; '.join(data)}."
    )
    costs: list[str] = []
    for part in by_setup(numbers):
        costs = notes_on_costs(scores_in(part))
        if costs:  # more than the costs of one benchmark would not fit a screen
            spent = by_title(number for number in part if number.metric in COSTS)
            for head, own in spent.items():
                columns[f"{spec_of(part).title} {head}"] = own
            break
    table = _detailed("At a glance", columns, note)
    notes = [*table.notes, *_alarms(numbers), *costs]
    return table._replace(name="overview", notes=notes)


def _alarms(numbers: Numbers) -> list[str]:
    """Return a line for each model and benchmark with alarms."""
    lines = []
    for score in scores_in(numbers):
        alarms = "; ".join(flag.text for flag in score.flags if flag.alarm)
        if alarms:
            lines.append(f"{score.model}, {score.benchmark} on {score.on}: {alarms}")
    return [*dict.fromkeys(lines)]  # encoders may score the same replies


def _side_by_side(numbers: Numbers) -> list[Table]:
    """Return a table of a benchmark on all data and through all components, if any."""
    spec = spec_of(numbers)
    metrics = spec.metrics.shown("across") or spec.metrics.glanced
    columns = _across(numbers, metrics, every=True)
    if not columns:
        return []
    title = f"{spec.title} on all data, through all components"
    note = f"Each column has its own ranks; in brackets {BRACKETS}."
    return [_detailed(title, columns, note)._replace(name=spec.name)]


def _detailed(title: str, columns: Columns, note: str) -> Table:
    """Return a table with a row per model, the best by the first column first.

    Values have their intervals and coverages below 1.
    """
    scores = {}
    apart = []
    for head, numbers in columns.items():
        for number in numbers:
            scores[number.model] = number.score
            if number.apart and number.metric not in COSTS:
                apart.append(f"{head} of {number.model} has no rank: {number.apart}.")
    order = best_first([*scores.values()], next(iter(columns.values())))
    table = models_table(title, columns, order, write=_detailed_cell)
    floors = [Cell("floor", kind=RANGE)]
    ceilings = [Cell("ceiling", kind=RANGE)]
    for head in table.head[1:]:  # a control's floor is that of most models
        number = max(columns[head], key=attrgetter("control"))
        floors.append(number_cell(number.floor, number.digits))
        ceilings.append(number_cell(metric_of(number).ceiling, number.digits))
    return table._replace(
        rows=[*table.rows, floors, ceilings],
        notes=[note, FLOORS, *table.notes, *apart],
    )


def _detailed_cell(number: Any) -> Cell:
    cell = cell_of(number)
    if cell.score is None:
        return cell
    details = [interval(number)]
    if number.coverage != 1:
        details.append(f"coverage {number.coverage:.{COVERAGE.digits}f}")
    share = percentage(number.share)
    more = "; ".join(filter(None, [*details, share]))
    return cell._replace(more=more, share=share, deviation="")


def percentage(share: float | None) -> str:
    """Write a share of the range; empty without one.

    >>> percentage(0.7025), percentage(-0.46), percentage(-0.004), percentage(None)
    ('70%', '−46%', '0%', '')
    """
    return "" if share is None else f"{share:z.0%}".replace("-", "−")


def remarks(scores: Sequence[Score]) -> Iterator[str]:
    """Yield the marks of components, each with its models."""
    marked = [
        (mark.text, score.model)
        for score in scores
        for mark in marks_of(score.components)
    ]
    for mark, models in _with_models(marked, scores):
        yield f"{models}: {mark}"


def leaderboard_files(
    ranked: DataFrame, rows: Numbers, sections: Sections
) -> dict[str, bytes]:
    """Write ``leaderboard.csv`` and ``leaderboard.md``.

    The first has a row per number, the second an overview and all tables.

    Args:
        ranked: the frame of all scores, with ranks.
        rows: the rows of that frame.
        sections: those of these rows.
    """
    lines = ["# Leaderboard", ""]
    glance = overview(rows)
    if glance:
        lines += ["## At a glance", *list(markdown(glance))[1:]]
    for remark in remarks(scores_in(rows)):
        lines += [f"- {for_cell(remark)}", ""]
    for section in chain.from_iterable(sections.values()):
        lines += _markdown_section(section)
    return {
        "leaderboard.md": "\n".join(lines).encode(),
        "leaderboard.csv": csv_of(ranked, _COLUMNS).encode(),
    }


def _markdown_section(section: ReportSection) -> list[str]:
    """Write a section as lines: main tables, remarks, then the tables of details."""
    lines = [f"## {section.title}", ""]
    details = list[str]()
    for table in section.tables:
        if table.detail:
            details += markdown(table)
        else:
            lines += markdown(table)
    if section.absent:
        lines += [*(f"- {for_cell(line)}" for line in section.absent), ""]
    if section.scored:
        lines += [section.scored, ""]
    if section.flags:
        lines += ["To know about these numbers:", ""]
        lines += [*(f"- {for_cell(line)}" for line in section.flags), ""]
    return lines + details
