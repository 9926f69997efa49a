"""The models side by side, as in the GenCeption paper's Table 2: per category, group means, ranks with ties."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from driftledger.metrics.ranks import competition_ranks
from driftledger.question_records import QuestionScore
from driftledger.records import ScoreFile, write_text
from driftledger.reports.questions import question_rows, question_tables
from driftledger.shown import csv_text, for_csv, for_markdown


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


def write_leaderboard(
    target: Path, scores: Sequence[ScoreFile], iterations: int, questions: Sequence[QuestionScore] = ()
) -> None:
    """Write ``target`` as ``.csv``, one row per value, and as ``.md``, one table per metric."""
    tables = [table for block in _blocks(scores) for table in _tables(block, iterations)]
    rows = [*_csv_rows(tables), *question_rows(questions)]
    write_text(target.with_suffix(".csv"), csv_text(_COLUMNS, rows))
    write_text(target.with_suffix(".md"), "\n".join([*_markdown(tables, scores), *question_tables(questions)]))


def _blocks(scores: Sequence[ScoreFile]) -> Iterator[list[ScoreFile]]:
    def side_by_side(score: ScoreFile) -> tuple[str, str, str]:
        return score.dataset, score.generator, score.encoder

    for _, block in groupby(sorted(scores, key=side_by_side), key=side_by_side):
        yield list(block)


def _tables(block: list[ScoreFile], iterations: int) -> Iterator[Table]:
    gc = f"gc_at_{iterations}"
    block = sorted(block, key=lambda score: (gc not in _if_complete(score, gc), -score.metrics[gc], score.model))
    yield _table(block, gc, higher_is_better=True)
    frechet = sorted({key for score in block for key in score.metrics if key.endswith(f"_at_{iterations}")})
    for metric in frechet:
        if not metric.startswith(("gc_", "similarity_")):
            yield _table(block, metric, higher_is_better=False)
    yield _table(block, f"similarity_at_{iterations}", higher_is_better=True)


def _table(block: list[ScoreFile], metric: str, *, higher_is_better: bool) -> Table:
    first = block[0]

    def row(kind: str, group: str, name: str, cells: Iterable[dict[str, float]]) -> Row:
        values = tuple(cell.get(metric) for cell in cells)
        return Row(kind, group, name, values, _ranks(values, higher_is_better))

    rows: list[Row] = []
    groups = first.groups
    grouped = {category for members in groups.values() for category in members}
    for group, members in groups.items():
        rows += [row("category", group, name, (s.by_category.get(name, {}) for s in block)) for name in members]
        rows.append(row("group", group, group, (s.by_group.get(group, {}) for s in block)))
    rest = sorted({name for score in block for name in score.by_category} - grouped)
    rows += [row("category", "", name, (s.by_category.get(name, {}) for s in block)) for name in rest]
    rows.append(row("overall", "", "overall", (_if_complete(score, metric) for score in block)))
    models = tuple(score.model for score in block)
    return Table(first.dataset, first.generator, first.encoder, metric, higher_is_better, models, tuple(rows))


def _if_complete(score: ScoreFile, metric: str) -> dict[str, float]:
    """The overall means, if every category has its part in them: a mean over fewer is not compared."""
    return score.metrics if all(metric in row for row in score.by_category.values()) else {}


def _ranks(values: tuple[float | None, ...], higher_is_better: bool) -> tuple[int | None, ...]:
    """Ranks among the models that have a value."""
    there = [value for value in values if value is not None]
    ranks = iter(competition_ranks(there, higher_is_better) if there else [])
    return tuple(None if value is None else next(ranks) for value in values)


_COLUMNS = ("dataset", "generator", "encoder", "metric", "kind", "group", "name", "model", "value", "rank")


def _csv_rows(tables: list[Table]) -> Iterator[tuple[object, ...]]:
    for table in tables:
        fixed = (table.dataset, table.generator, table.encoder, table.metric)
        for row in table.rows:
            for model, value, rank in zip(table.models, row.values, row.ranks, strict=True):
                if value is not None:
                    yield (*fixed, row.kind, for_csv(row.group), for_csv(row.name), model, value, rank)


def _markdown(tables: list[Table], scores: Sequence[ScoreFile]) -> list[str]:
    lines = ["# Leaderboard", ""]
    for (dataset, generator, encoder), some in groupby(tables, key=lambda table: table[:3]):
        lines += [f"## {dataset} · {generator} · {encoder}", ""]
        for table in some:
            lines += [*_markdown_table(table), ""]
        shown = [
            score
            for score in scores
            if (score.dataset, score.generator, score.encoder) == (dataset, generator, encoder)
        ]
        lines += [_coverage(shown), "", *_flags(shown)]
    return lines


def _markdown_table(table: Table) -> Iterator[str]:
    direction = "higher" if table.higher_is_better else "lower"
    yield f"**{_title(table.metric)}**, {direction} is better."
    yield ""
    yield "| | " + " | ".join(table.models) + " |"
    yield "|---|" + "---:|" * len(table.models)
    for row in table.rows:
        name = for_markdown(row.name)
        label = name if row.kind == "category" else f"**{name} mean**"
        cells = (_cell(value, rank) for value, rank in zip(row.values, row.ranks, strict=True))
        yield f"| {label} | " + " | ".join(cells) + " |"
        if row.kind != "category":
            ranks = ("–" if rank is None else str(rank) for rank in row.ranks)
            yield f"| **{name} rank** | " + " | ".join(ranks) + " |"


def _title(metric: str) -> str:
    name, _, t = metric.rpartition("_at_")
    known = {"gc": f"GC@{t}, cosine", "similarity": f"s({t}), cosine of the last image"}
    return known.get(name, f"GC@{t}, {name} distance")


def _cell(value: float | None, rank: int | None) -> str:
    if value is None:
        return "–"
    return f"**{value:.3f}**" if rank == 1 else f"{value:.3f}"


def _coverage(scores: Sequence[ScoreFile]) -> str:
    said = (f"{score.model} {score.scored}/{score.total}" for score in scores)
    return "Chains that reached T: " + ", ".join(said) + "."


def _flags(scores: Sequence[ScoreFile]) -> list[str]:
    lines = [f"- {score.model}: {for_markdown(flag)}" for score in scores for flag in score.flags]
    return ["To know about these numbers:", "", *lines, ""] if lines else []
