"""The tables of all benchmarks, as Markdown.

Which numbers a table shows is in each benchmark's specification. Cells hold plain text, which may
come from models and files; it is escaped where it is written.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache

from driftledger.benchmarks.base import (
    COVERAGE,
    NOWHERE,
    Benchmark,
    Cell,
    Cells,
    Metric,
    Origin,
    Table,
    cell,
    coverage_cell,
)
from driftledger.benchmarks.score import STD, Score, base_key, interval_of
from driftledger.core.grouping import grouped
from driftledger.core.text import for_cell
from driftledger.metrics.ranks import DECIMALS
from driftledger.reports.scores import Block


def title_of(metric: Metric, key: str) -> str:
    """A metric's title, its unit, and its direction where a reader could be mistaken."""
    return metric.named(key) + (metric.unit and f" ({metric.unit})") + direction(metric)


def direction(metric: Metric) -> str:
    """Say where lower is better."""
    return " (lower is better)" if metric.higher_is_better is False else ""


def name_cell(score: Score) -> Cell:
    """A model's name, which says so of a control."""
    return Cell(score.model, more="control" if score.is_control else "")


def interval(values: dict[str, float], key: str, digits: int) -> str:
    """A number's interval, empty without one.

    >>> interval({"ssim": 28.2, "ssim_low": 27.14, "ssim_high": 29.5}, "ssim", 1)
    '27.1–29.5'
    """
    return "–".join(f"{end:.{digits}f}" for end in interval_of(values, key) or ())


def bounds(block: Block, score: Score, number: str | None) -> str:
    """The bounds of a number, as :meth:`Block.bounds` has them; empty without any."""
    metric = block.metric(number or "")
    ends = block.bounds(score, number or "")
    return (
        f"{ends.low:.{metric.digits}f} to {ends.high:.{metric.digits}f}" if metric and ends else ""
    )


def cells_of(block: Block, number: str) -> dict[str, Cell]:
    """Return model → a number with its place, and its deviation or else its interval."""
    places = block.places(number)
    metric = block.metric(number)
    cells = {}
    digits = metric.digits if metric else 2
    (group, _, key) = number.rpartition("/")
    kind, _, name = group.partition("/")
    for score in block.scores:
        values = score.groups.get(kind, {}).get(name, {}) if group else score.metrics
        value = block.spec.value_of(score, number)
        deviation = (
            f"{values[key + STD]:.{digits}f}" if value is not None and key + STD in values else ""
        )
        more = "" if deviation else interval(values, key, digits)
        place = places.get(score.model, NOWHERE)
        cells[score.model] = cell(value, place, digits, more, Origin(score, number))._replace(
            deviation=deviation
        )
    return cells


BY_VALUE = "rank by value"
"""1 + how many have a better value, as in the papers."""
BY_TEST = "rank by significance"
"""1 + how many are shown to be better."""


def ranks_in(block: Block, number: str, *, by_value: bool = True) -> dict[str, Cell]:
    """Return model → its rank by the values of a number, or by its place."""
    ranks: Mapping[str, int | None] = block.ranks_by_value(number)
    if not by_value:
        ranks = {model: place.rank for model, place in block.places(number).items()}
    return {s.model: cell(ranks.get(s.model), digits=0, of=Origin(s, number)) for s in block.scores}


def misplaced(block: Block, number: str, title: str) -> list[str]:
    """Say which share of the models a control is above, or may be as far as tests show; nothing
    without controls."""
    metric = block.metric(number)
    tested = block.tested(number)
    models = block.ranked(number)
    if metric is None or metric.higher_is_better is None:
        return []
    if tested is not None:
        doubtful = (
            f"{len(tested.doubtful)} of {len(models)} models are not shown to be better than a "
            "control"
        )
        return [f"{title}: {doubtful}."] if tested.doubtful else []
    sign = 1 if metric.higher_is_better else -1
    values = {model: sign * round(value, DECIMALS) for model, value in block.values(number).items()}
    best = max((values[model] for model in block.ranked(number, controls=True)), default=-math.inf)
    below = sum(values[model] < best for model in models)
    return [f"{title}: a control is better than {below} of {len(models)} models."] if below else []


@lru_cache(maxsize=1000)
def tables_of(block: Block) -> Sequence[Table]:
    """All tables of a block: models side by side, those of the benchmark alone, and groups.

    Made once for the leaderboard and the pages.
    """
    spec = block.spec
    order = block.order()
    models = list(_model_tables(block))
    models[0] = models[0]._replace(notes=[*models[0].notes, *spec.notes(order)])
    return [*models, *spec.tables(order), *_rank_over_groups(block), *_group_tables(block)]


def _model_tables(block: Block) -> Iterator[Table]:
    """A row per model: the tables that the specification names, or one with every metric."""
    spec = block.spec
    scores = block.order()
    families = {metric.key: metric for metric in spec.metrics}
    shown = spec.layout.tables or {f"{spec.title}; in brackets the interval": {}}
    named = {number.rpartition("/")[2] for columns in shown.values() for number in columns.values()}
    first = spec.shown_key(spec.metrics[0], scores)
    covered = {s.model: coverage_cell(s)._replace(more=bounds(block, s, first)) for s in scores}
    worth = (
        "all that is missing were worth 0, and if it were worth as much as the best of the rest."
    )
    filled = f"In brackets behind a coverage: {spec.metrics[0].named(first or '')} if {worth}"
    for place, (title, columns) in enumerate(shown.items(), 1):
        further = {
            key: key
            for key in families
            if place == 1 and key not in {*named, *spec.layout.left_out}
        }
        each_t = place > 1 and all("{t}" in number for number in columns.values())
        if each_t and len(spec.keys_of(spec.metrics[0], *scores)) < 2:
            continue
        head = [""]
        cells = []
        notes = []
        for name, number in {**columns, **further}.items():
            members = [
                spec.keys_of(families[number], s) if number in families else [number]
                for s in scores
            ]
            if "{t}" in number and not each_t:
                members = [keys[-1:] for keys in members]
            for key in dict.fromkeys(key for keys in members for key in keys):
                metric = block.metric(key)
                if metric is not None and block.values(key):
                    head.append(title_of(metric, key) if name == number else name)
                    notes += misplaced(block, key, metric.named(key) if name == number else name)
                    cells.append(cells_of(block, key))
        if first is not None:
            head.append(BY_VALUE if block.tested(first) is None else BY_TEST)
            cells.append(ranks_in(block, first, by_value=False))
        rows = [
            [name_cell(s), *(column[s.model] for column in cells), covered[s.model]] for s in scores
        ]
        name = f"models_{place}" if len(shown) > 1 else "models"
        if place == 1 and any(each.more for each in covered.values()):
            notes.append(filled)
        yield Table(title, [*head, COVERAGE.title], rows, notes, name=name, detail=each_t)


def _group_tables(block: Block) -> Iterator[Table]:
    """A table per kind of groups and metric."""
    spec = block.spec
    for kind, published in spec.layout.groups.items():
        in_groups = {
            key
            for score in block.scores
            for of in score.groups.get(kind, {}).values()
            for key in of
        }
        for metric in spec.metrics:
            keys = sorted(
                key for key in in_groups if spec.metric(key) is metric and base_key(key) == key
            )
            keys.sort(key=lambda key: -int((metric.match(key) or {}).get("t", 0)))
            for key in keys[:1] if "{t}" in metric.key and metric is not spec.metrics[0] else keys:
                title = f"{title_of(metric, key)} by {kind}{published}"
                detail = not (spec.layout.means_of_groups and metric.headline and key == keys[0])
                published = ""
                letters = {
                    model: f" ({place.letters})"
                    for model, place in block.places(key).items()
                    if place.letters
                }
                columns = [
                    (block, s, f"{name_cell(s)}{letters.get(s.model, '')}") for s in block.order()
                ]
                note = (
                    f"Letters beside names are by {metric.named(key)} as a whole; models that "
                    "share one cannot be "
                )
                table = _group_table(columns, kind, key)
                yield table._replace(
                    title=title, notes=[f"{note}told apart."] if letters else [], detail=detail
                )


def _group_table(columns: Sequence[tuple[Block, Score, str]], kind: str, key: str) -> Table:
    """A row per group, a column per model; as in GenCeption's Table 2 also means of groups and
    their ranks.

    Args:
        columns: each with its head.
    """
    spec = columns[0][0].spec
    scores = [score for _, score, _ in columns]
    blocks = {id(block): block for block, *_ in columns}
    nested: dict[str, list[str]] = (
        scores[0].details["groups"] if spec.layout.means_of_groups else {}
    )
    names = dict.fromkeys(name for score in scores for name in score.groups.get(kind, {}))
    others = [name for name in names if not any(name in members for members in nested.values())]
    rows: list[Cells] = []

    def add(
        title: str,
        number: str,
        of: Callable[..., dict[str, Cell]] = cells_of,
        *,
        bold: bool = False,
    ) -> None:
        numbers = {place: of(each, number) for place, each in blocks.items()}
        cells = [numbers[id(block)][score.model]._replace(more="") for block, score, _ in columns]
        rows.append([Cell(title, bold=bold), *cells])

    def add_mean(name: str, number: str) -> None:
        add(f"{name} mean", number, bold=True)
        add(f"{name} {BY_VALUE}", number, ranks_in, bold=True)

    for group, members in nested.items():
        for name in members:
            add(name, f"{kind}/{name}/{key}")
        add_mean(group, f"{spec.layout.means_of_groups}/{group}/{key}")
    for name in sorted(others) if nested else others:
        add(name, f"{kind}/{name}/{key}")
    if nested:
        add_mean("overall", key)
    rows.append([COVERAGE.title, *map(coverage_cell, scores)])
    return Table(
        "",
        ["", *(head for *_, head in columns)],
        rows,
        across=True,
        name=f"{kind}_{key}",
        detail=True,
    )


def generators_tables(spec: Benchmark, blocks: Sequence[Block]) -> Iterator[Table]:
    """Groups of the first metric under several generators, each ranked by itself, as in
    GenCeption's Table 4."""
    if not spec.layout.means_of_groups:
        return
    alike = [key for key in spec.scores.keys if key not in ("model", "generator")]
    for on, some in grouped(
        blocks, lambda block: tuple(block.scores[0].keys[key] for key in alike)
    ).items():
        columns = [
            (block, s, f"{name_cell(s)} · {s.keys['generator']}")
            for block in some
            for s in block.order()
        ]
        models = list(dict.fromkeys(score.model for _, score, _ in columns))
        columns.sort(key=lambda column: models.index(column[1].model))
        if len({score.keys["generator"] for _, score, _ in columns}) > 1:
            key = spec.keys_of(spec.metrics[0], *(score for _, score, _ in columns))[-1]
            kind = next(iter(spec.layout.groups))
            where = f"by {kind} under several generators on {' · '.join(on)}"
            title = f"{spec.metrics[0].named(key)} {where}, each ranked by itself, as in Table 4"
            notes = [
                f"{model} on {each.on} has no rank: {why}."
                for each in some
                for model, why in each.apart.items()
            ]
            table = _group_table(columns, kind, key)
            yield table._replace(title=title, notes=notes, name="-".join(("generators", *on)))


def _rank_over_groups(block: Block) -> Iterator[Table]:
    """Make the GC rank of the first version: of each group the mean of its ranks over t, by its
    share of categories."""
    spec = block.spec
    scores = block.order()
    kind = spec.layout.means_of_groups
    groups: dict[str, list[str]] = scores[0].details["groups"] if kind else {}
    if len(groups) < 2:
        return
    total = sum(map(len, groups.values()))
    columns = []
    for group in groups:
        numbers = [f"{kind}/{group}/{key}" for key in spec.keys_of(spec.metrics[0], *scores)]
        ranks = [block.ranks_by_value(number) for number in numbers if block.values(number)]
        means = {}
        for score in scores:
            own = [of_t.get(score.model, math.nan) for of_t in ranks]
            means[score.model] = math.fsum(own) / len(own) if own else math.nan
        columns.append(means)
    shares = [len(members) / total for members in groups.values()]
    rows = []
    for score in scores:
        values = [means[score.model] for means in columns]
        values.append(math.fsum(share * mean for share, mean in zip(shares, values, strict=True)))
        cells = [
            cell(None if math.isnan(value) else value, of=Origin(score, "")) for value in values
        ]
        rows.append([name_cell(score), *cells, coverage_cell(score)])
    sums = " + ".join(f"{len(members)}/{total} · {group}" for group, members in groups.items())
    head = [
        "",
        *(f"{group}, mean {BY_VALUE}" for group in groups),
        "GC rank (lower is better)",
        COVERAGE.title,
    ]
    notes = [f"GC rank: {sums}. Of each group, the ranks by value of GC@1 … GC@T are averaged."]
    yield Table(
        "The GC rank of the paper's first version",
        head,
        rows,
        notes,
        name="group_ranks",
        detail=True,
    )


def markdown(table: Table) -> Iterator[str]:
    """Write a title, the table and its notes as lines, with an empty one behind each."""
    head = " | ".join(map(for_cell, table.head))
    yield from (
        f"**{for_cell(table.title)}**",
        "",
        f"| {head.lstrip()} |",
        f"|---|{'---:|' * (len(table.head) - 1)}",
    )
    yield from (f"| {' | '.join(map(_written, row))} |" for row in table.rows)
    yield ""
    for note in table.notes:
        yield from (for_cell(note), "")


def _written(each: Cell | str) -> str:
    if isinstance(each, str):
        return for_cell(each)
    text = for_cell(each.text)
    more = for_cell(str(each._replace(text="")))
    return (f"**{text}**" if each.bold else text) + (more and f" {more}")
