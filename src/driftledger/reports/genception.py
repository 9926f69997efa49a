"""GenCeption's models side by side, as in the paper's Table 2: per category, group means, ranks with ties."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from driftledger.benchmarks.genception.records import ScoreFile
from driftledger.core.escaping import for_csv, for_markdown
from driftledger.reports.tables import NOTHING, cell, flag_lines, is_frechet, ranks_of


class Row(NamedTuple):
    """One line of a table: a category, a group or all of them, with each model's value and rank, where it has one."""

    kind: str
    group: str
    name: str
    values: tuple[float | None, ...]
    ranks: tuple[int | None, ...]


class Table(NamedTuple):
    """One metric of every model over one dataset, with one generator and one encoder."""

    dataset: str
    generator: str
    encoder: str
    metric: str
    higher_is_better: bool
    models: tuple[str, ...]
    rows: tuple[Row, ...]


def genception_tables(scores: Sequence[ScoreFile], iterations: int) -> list[str]:
    """Markdown lines: per dataset, generator and encoder one table per metric at T = ``iterations``."""
    lines: list[str] = []
    for block in _blocks(scores):
        first = block[0]
        lines += [f"## genception on {first.dataset} · {first.generator} · {first.encoder}", ""]
        for table in _tables(block, iterations):
            lines += [*_markdown_table(table), ""]
        lines += [_coverage(block), "", *flag_lines(block)]
    return lines


def genception_rows(scores: Sequence[ScoreFile], iterations: int) -> Iterator[tuple[object, ...]]:
    """Rows of the leaderboard's CSV, one per value at T = ``iterations``."""
    for table in (table for block in _blocks(scores) for table in _tables(block, iterations)):
        fixed = (table.dataset, table.generator, table.encoder, table.metric)
        for row in table.rows:
            for model, value, rank in zip(table.models, row.values, row.ranks, strict=True):
                if value is not None:
                    yield (*fixed, row.kind, for_csv(row.group), for_csv(row.name), model, value, rank)


def overall(score: ScoreFile, metric: str) -> float | None:
    """The overall mean, if every category has its part in it: a mean over fewer is not compared."""
    return score.metrics.get(metric) if all(metric in row for row in score.by_category.values()) else None


def _blocks(scores: Sequence[ScoreFile]) -> Iterator[list[ScoreFile]]:
    def side_by_side(score: ScoreFile) -> tuple[str, str, str]:
        return score.dataset, score.generator, score.encoder

    for _, block in groupby(sorted(scores, key=side_by_side), key=side_by_side):
        yield list(block)


def _tables(block: list[ScoreFile], iterations: int) -> Iterator[Table]:
    gc = f"gc_at_{iterations}"
    block = sorted(block, key=lambda score: (overall(score, gc) is None, -score.metrics[gc], score.model))
    yield _table(block, gc, higher_is_better=True)
    end = f"_at_{iterations}"
    at_last = {key for score in block for key in score.metrics if key.endswith(end)}
    for metric in sorted(key for key in at_last if is_frechet(key.removesuffix(end))):
        yield _table(block, metric, higher_is_better=False)
    yield _table(block, f"similarity_at_{iterations}", higher_is_better=True)


def _table(block: list[ScoreFile], metric: str, *, higher_is_better: bool) -> Table:
    first = block[0]

    def row(kind: str, group: str, name: str, cells: Iterable[dict[str, float]]) -> Row:
        return ranked(kind, group, name, tuple(each.get(metric) for each in cells))

    def ranked(kind: str, group: str, name: str, values: tuple[float | None, ...]) -> Row:
        return Row(kind, group, name, values, ranks_of(values, higher_is_better))

    rows: list[Row] = []
    groups = first.groups
    grouped = {category for members in groups.values() for category in members}
    for group, members in groups.items():
        rows += [row("category", group, name, (s.by_category.get(name, {}) for s in block)) for name in members]
        rows.append(row("group", group, group, (s.by_group.get(group, {}) for s in block)))
    rest = sorted({name for score in block for name in score.by_category} - grouped)
    rows += [row("category", "", name, (s.by_category.get(name, {}) for s in block)) for name in rest]
    rows.append(ranked("overall", "", "overall", tuple(overall(score, metric) for score in block)))
    models = tuple(score.model for score in block)
    return Table(first.dataset, first.generator, first.encoder, metric, higher_is_better, models, tuple(rows))


def _markdown_table(table: Table) -> Iterator[str]:
    direction = "higher" if table.higher_is_better else "lower"
    yield f"**{_title(table.metric)}**, {direction} is better."
    yield ""
    yield "| | " + " | ".join(table.models) + " |"
    yield "|---|" + "---:|" * len(table.models)
    for row in table.rows:
        name = for_markdown(row.name)
        label = name if row.kind == "category" else f"**{name} mean**"
        cells = (cell(value, rank, digits=3) for value, rank in zip(row.values, row.ranks, strict=True))
        yield f"| {label} | " + " | ".join(cells) + " |"
        if row.kind != "category":
            ranks = (NOTHING if rank is None else str(rank) for rank in row.ranks)
            yield f"| **{name} rank** | " + " | ".join(ranks) + " |"


def _title(metric: str) -> str:
    name, _, t = metric.rpartition("_at_")
    known = {"gc": f"GC@{t}, cosine", "similarity": f"s({t}), cosine of the last image"}
    return known.get(name, f"GC@{t}, {name} distance")


def _coverage(scores: Sequence[ScoreFile]) -> str:
    said = (f"{score.model} {score.scored}/{score.total}" for score in scores)
    return "Chains that reached T: " + ", ".join(said) + "."
