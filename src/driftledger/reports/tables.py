"""The tables of one benchmark: models side by side, groups, and what is its own.

Which numbers a table shows is in each benchmark's specification.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain

from driftledger.benchmarks.base import Benchmark
from driftledger.metrics.ranks import DECIMALS
from driftledger.reports.cells import (
    Cell,
    Cells,
    ReportTable,
    cell,
    coverage_cell,
    name_cell,
    report_table,
)
from driftledger.reports.scores import Block, alike
from driftledger.scoring.metric import COSTS, COVERAGE, Metric
from driftledger.scoring.score import Score, base_key

BY_VALUE = "rank by value"
"""1 + how many have a better value, as in the papers."""
BY_TEST = "rank by significance"
"""1 + how many are shown to be better."""


COST_NOTE = (
    "Cost, of which less is better, is that of all answers that a sample needs, by every "
    "component, whoever asked first; failed attempts and a judge's checks of itself are not in "
    "it. It is empty where services have not counted all."
)


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


def title_of(metric: Metric, key: str) -> str:
    """Return a metric's title, its unit, and its direction where a reader could be mistaken."""
    unit = f" ({metric.unit})" if metric.unit else ""
    return metric.named(key) + unit + direction(metric)


def direction(metric: Metric) -> str:
    """Return a remark where lower is better."""
    return " (lower is better)" if metric.higher_is_better is False else ""


def bounds(block: Block, score: Score, number: str | None) -> str:
    """Write the bounds of a number, see :meth:`Block.bounds`; empty without any."""
    metric = block.metric(number or "")
    ends = block.bounds(score, number or "")
    if metric is None or ends is None:
        return ""
    return f"{ends.low:.{metric.digits}f} to {ends.high:.{metric.digits}f}"


def ranks_in(block: Block, number: str) -> Mapping[str, Cell]:
    """Return model → its rank by the values of a number."""
    ranks = block.ranks_by_value(number)
    cells = {}
    for score in block.scores:
        cells[score.model] = cell(
            ranks.get(score.model), score, number=number, digits=0
        )
    return cells


def misplaced(block: Block, number: str, title: str) -> list[str]:
    """Say how many models a control is above, or may be as far as tests show.

    Return nothing without controls.
    """
    metric = block.metric(number)
    if metric is None or metric.higher_is_better is None:
        return []
    models = block.ranked(number)
    tested = block.tested(number)
    if tested is not None:
        count = len(tested.doubtful)
        phrase = "{} of {} models are not shown to be better than a control"
    else:
        values = block.values(number)
        sign = 1 if metric.is_higher else -1
        worths = {
            model: sign * round(value, DECIMALS) for model, value in values.items()
        }
        controls = [worths[model] for model in block.ranked(number, controls=True)]
        best = max(controls, default=-math.inf)
        count = sum(worths[model] < best for model in models)
        phrase = "a control is better than {} of {} models"
    return [f"{title}: {phrase.format(count, len(models))}."] if count else []


@lru_cache(maxsize=1000)
def tables_of(block: Block) -> Sequence[ReportTable]:
    """Return all tables of a block: models side by side, those of the benchmark alone, and groups.

    They are made once for the leaderboard and the pages.
    """
    spec = block.spec
    order = block.order()
    first, *further = _model_tables(block)
    first = first._replace(notes=[*first.notes, *spec.notes(order)])
    own = map(report_table, spec.tables(order))
    return [first, *further, *own, *_rank_over_groups(block), *_group_tables(block)]


def _model_tables(block: Block) -> Iterator[ReportTable]:
    """Yield tables with a row per model: those of the specification, or one with every metric."""
    spec = block.spec
    layout = spec.layout
    scores = block.order()
    first_metric = spec.metrics.first
    first = spec.shown_key(first_metric, scores)
    tables = layout.tables or {f"{spec.title}; in brackets the interval": {}}
    named = {*layout.left_out}
    for columns in tables.values():
        named.update(number.rpartition("/")[2] for number in columns.values())
    coverages = {
        s.model: coverage_cell(s, more=bounds(block, s, first)) for s in scores
    }
    for place, (title, columns) in enumerate(tables.items(), 1):
        numbers = dict(columns)
        if place == 1:
            unnamed = [metric.key for metric in spec.metrics if metric.key not in named]
            unnamed += COSTS
            numbers |= dict(zip(unnamed, unnamed, strict=True))
        each_t = place > 1 and all("{t}" in number for number in columns.values())
        if each_t and len(spec.keys_of(first_metric, *scores)) < 2:
            continue
        head = [""]
        rows: dict[str, list[Cell | str]] = {s.model: [name_cell(s)] for s in scores}
        notes = []
        for name, number in numbers.items():
            for key in _members(block, number, each_t=each_t):
                metric = block.metric(key)
                if metric is None or not block.values(key):
                    continue
                head.append(title_of(metric, key) if name == number else name)
                notes += misplaced(
                    block, key, metric.named(key) if name == number else name
                )
                for model, value in block.cells(key).items():
                    rows[model].append(value)
        if first is not None:
            head.append(BY_VALUE if block.tested(first) is None else BY_TEST)
            for score in scores:
                rank = block.cells(first)[score.model].rank
                rows[score.model].append(cell(rank, score, number=first, digits=0))
        if place == 1:
            notes += notes_on_costs(scores)
        for model, row in rows.items():
            row.append(coverages[model])
        if place == 1 and any(coverage.more for coverage in coverages.values()):
            notes.append(
                f"In brackets behind a coverage: {first_metric.named(first or '')} if all that is "
                "missing were worth 0, and if it were worth as much as the best of the rest."
            )
        yield ReportTable(
            title,
            [*head, COVERAGE.title],
            rows=list(rows.values()),
            notes=notes,
            name=f"models_{place}" if len(tables) > 1 else "models",
            detail=each_t,
        )


def _members(block: Block, number: str, *, each_t: bool) -> list[str]:
    """List the numbers of a column of the layout: one, or the members of a family of metrics."""
    spec = block.spec
    metric = next((metric for metric in spec.metrics if metric.key == number), None)
    if metric is None:
        return [number]
    members = dict[str, None]()
    for score in block.order():
        keys = spec.keys_of(metric, score)
        last_alone = "{t}" in number and not each_t
        members |= dict.fromkeys(keys[-1:] if last_alone else keys)
    return [*members]


def _group_tables(block: Block) -> Iterator[ReportTable]:
    """Yield a table per kind of groups and metric."""
    spec = block.spec
    for kind, published in spec.layout.groups.items():
        in_groups = set[str]()
        for score in block.scores:
            for values in score.groups.get(kind, {}).values():
                in_groups.update(key for key in values if base_key(key) == key)
        for metric in spec.metrics:
            keys = sorted(key for key in in_groups if spec.metric(key) is metric)
            keys.sort(key=lambda key: -int((metric.match(key) or {}).get("t", 0)))
            if "{t}" in metric.key and metric is not spec.metrics.first:
                keys = keys[:1]
            for key in keys:
                is_main = (
                    spec.layout.means_of_groups and metric.headline and key == keys[0]
                )
                columns = []
                notes = []
                for score in block.order():
                    name = str(name_cell(score))
                    letters = block.cells(key)[score.model].letters
                    if letters:
                        name += f" ({letters})"
                        notes = [
                            f"Letters beside names are by {metric.named(key)} as a whole; models "
                            "that share one cannot be told apart."
                        ]
                    columns.append((block, score, name))
                table = _group_table(columns, kind, key)
                title = f"{title_of(metric, key)} by {kind}{published}"
                yield table._replace(title=title, notes=notes, detail=not is_main)
                published = ""


def _group_table(
    columns: Sequence[tuple[Block, Score, str]], kind: str, key: str
) -> ReportTable:
    """Return a table with a row per group and a column per model.

    As in GenCeption's Table 2 it also has means of groups and their ranks.

    Args:
        columns: each with its head.
    """
    layout = columns[0][0].spec.layout
    scores = [score for _, score, _ in columns]
    nested: dict[str, list[str]] = (
        scores[0].details["groups"] if layout.means_of_groups else {}
    )
    names = dict.fromkeys(
        name for score in scores for name in score.groups.get(kind, {})
    )
    for members in nested.values():
        for name in members:
            names.pop(name, None)
    rows: list[Cells] = []

    def add(
        title: str,
        number: str,
        cells_of: Callable[[Block, str], Mapping[str, Cell]] = Block.cells,
        *,
        bold: bool = False,
    ) -> None:
        row = [Cell(title, bold=bold)]
        for block, score, _ in columns:
            row.append(cells_of(block, number)[score.model]._replace(more=""))
        rows.append(row)

    def add_mean(name: str, number: str) -> None:
        add(f"{name} mean", number, bold=True)
        add(f"{name} {BY_VALUE}", number, ranks_in, bold=True)

    for group, members in nested.items():
        for name in members:
            add(name, f"{kind}/{name}/{key}")
        add_mean(group, f"{layout.means_of_groups}/{group}/{key}")
    for name in sorted(names) if nested else names:
        add(name, f"{kind}/{name}/{key}")
    if nested:
        add_mean("overall", key)
    rows.append([COVERAGE.title, *map(coverage_cell, scores)])
    head = ["", *(name for *_, name in columns)]
    return ReportTable(
        "", head, rows=rows, across=True, name=f"{kind}_{key}", detail=True
    )


def generators_tables(
    spec: Benchmark, blocks: Sequence[Block]
) -> Iterator[ReportTable]:
    """Yield groups of the first metric under several generators, each ranked by itself.

    That is GenCeption's Table 4.
    """
    if not spec.layout.means_of_groups:
        return
    for names, members in alike(blocks, "generator").items():
        if len(members) < 2:
            continue
        by_model: dict[str, list[tuple[Block, Score, str]]] = {}
        scores = []
        notes = []
        for block in members:
            for score in block.order():
                head = f"{name_cell(score)} · {score.keys['generator']}"
                by_model.setdefault(score.model, []).append((block, score, head))
                scores.append(score)
            for model, why in block.apart.items():
                notes.append(f"{model} on {block.on} has no rank: {why}.")
        key = spec.keys_of(spec.metrics.first, *scores)[-1]
        kind = next(iter(spec.layout.groups))
        title = (
            f"{spec.metrics.first.named(key)} by {kind} under several generators on "
            f"{' · '.join(names)}, each ranked by itself, as in Table 4"
        )
        table = _group_table([*chain.from_iterable(by_model.values())], kind, key)
        yield table._replace(
            title=title, notes=notes, name="-".join(("generators", *names))
        )


def _rank_over_groups(block: Block) -> Iterator[ReportTable]:
    """Yield the GC rank of the paper's first version.

    It is the mean over t of the ranks in each group, weighted by the group's share of categories.
    """
    spec = block.spec
    scores = block.order()
    kind = spec.layout.means_of_groups
    groups: dict[str, list[str]] = scores[0].details["groups"] if kind else {}
    if len(groups) < 2:
        return
    total = sum(map(len, groups.values()))
    head = [""]
    shares = []
    ranks_by_group = []
    for group, members in groups.items():
        numbers = [
            f"{kind}/{group}/{key}" for key in spec.keys_of(spec.metrics.first, *scores)
        ]
        ranks_by_group.append(
            [block.ranks_by_value(n) for n in numbers if block.values(n)]
        )
        shares.append(len(members) / total)
        head.append(f"{group}, mean {BY_VALUE}")
    rows = []
    for score in scores:
        means = []
        for ranks_by_t in ranks_by_group:
            ranks = [ranks.get(score.model, math.nan) for ranks in ranks_by_t]
            means.append(math.fsum(ranks) / len(ranks) if ranks else math.nan)
        weighted = [share * mean for share, mean in zip(shares, means, strict=True)]
        row = [name_cell(score)]
        for value in (*means, math.fsum(weighted)):
            row.append(cell(None if math.isnan(value) else value, score))
        rows.append([*row, coverage_cell(score)])
    sums = " + ".join(
        f"{len(members)}/{total} · {group}" for group, members in groups.items()
    )
    yield ReportTable(
        "The GC rank of the paper's first version",
        [*head, "GC rank (lower is better)", COVERAGE.title],
        rows=rows,
        notes=[
            f"GC rank: {sums}. Of each group, the ranks by value of GC@1 … GC@T are averaged."
        ],
        name="group_ranks",
        detail=True,
    )
