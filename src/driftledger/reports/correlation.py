"""Correlation of our headlines with each other and with benchmarks of published leaderboards.

Pearson's r, Spearman's ρ and Kendall's τ over the models that two columns share. Controls and
duplicates are left out: several that never look at an image have the same values, as one model
under two names has, and would make any two metrics agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import NOTHING
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.text import csv_text, for_csv
from driftledger.core.types import Float64
from driftledger.data.leaderboards import (
    OutsideValue,
    leaderboard_files,
    read_leaderboards,
)
from driftledger.metrics.correlation import (
    FEWEST,
    fisher_interval,
    kendall,
    pearson,
    spearman,
)
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.cells import ReportTable
from driftledger.reports.charts import Drawing, matrix, short
from driftledger.reports.ratings import rating_tables
from driftledger.reports.scores import Block

MOST = 24
"""Columns in the picture, the first ones; and rows of a table that the site does not fold."""


_TO_OTHERS = "Our headlines and other benchmarks"
_OURS = "Our headlines among each other"
_AMONG = "{}: its benchmarks among each other"


class Ranking(NamedTuple):
    """A headline of ours or a benchmark of a leaderboard, with the values of its models."""

    of: str
    """Benchmark and data of ours, or a leaderboard."""
    key: str
    title: str
    values: Mapping[str, float]
    """Model → value. Our name, or for a model that is not ours ``leaderboard: name``."""
    ours: bool = True


class Correlated(NamedTuple):
    """Two rankings over the models that are in both."""

    a: Ranking
    b: Ranking
    models: int
    pearson: float
    interval: ConfidenceInterval | None
    """Of Pearson's r."""
    spearman: float
    kendall: float


class Correlation(NamedTuple):
    """The page of the report about correlation."""

    lead: str
    tables: Sequence[ReportTable]
    picture: Drawing
    csv: str
    """A row per pair."""


def correlation(project: Project, blocks: Sequence[Block]) -> Correlation:
    """Correlate our headlines with each other and with all leaderboards.

    Raises:
        ConfigError: ``correlation`` in ``params.yaml`` names a leaderboard or model that does not
            exist.
        DataError: a row of a leaderboard is wrong.
    """
    settings = project.settings.correlation
    boards = read_leaderboards(leaderboard_files(project.root))
    columns = [*our_columns(blocks), *outside_columns(boards, settings)]
    pairs = list(correlated(columns, settings.confidence))
    rows = []
    for pair in pairs:
        names = map(for_csv, (pair.a.of, pair.a.key, pair.b.of, pair.b.key))
        ends = pair.interval or ("", "")
        rows.append(
            [*names, pair.models, pair.pearson, *ends, pair.spearman, pair.kendall]
        )
    matched = []
    for board in boards:
        models = set[str]()
        for column in columns:
            if column.of == board:
                models.update(column.values)
        ours = ", ".join(
            model for model in project.settings.run.models if model in models
        )
        matched.append(f"{board}: {ours or 'none'}")
    lead = (
        f"Do two numbers order models alike? {FEWEST} models in common are the fewest; controls "
        "are left out, and all but the first of models that are one component or have the same "
        f"results. Intervals of Pearson's r, of {settings.confidence:.0%} by Fisher's "
        "transformation, take models to be drawn independently, which versions of one model are "
        "not; over few models they are wide, and one that holds 0 says little. Where lower is "
        "better in one column alone, models that agree give a negative r. Our models on other "
        f"leaderboards, as correlation.models in params.yaml names them: {'; '.join(matched)}."
    )
    chains = {
        block.title: block for block in blocks if block.spec.layout.means_of_groups
    }
    others = [column for column in columns if column.of not in chains]
    tables = list(_tables(boards, pairs))
    for block in chains.values():
        tables += growth(block, others)
    tables += rating_tables(blocks)
    head = [
        "of_a",
        "a",
        "of_b",
        "b",
        "models",
        "pearson",
        "low",
        "high",
        "spearman",
        "kendall",
    ]
    return Correlation(
        lead, tables, picture=_picture(columns, pairs), csv=csv_text(head, rows)
    )


def our_columns(blocks: Sequence[Block]) -> Iterator[Ranking]:
    """Yield every headline, by the values that the leaderboard ranks by, without controls and
    duplicates.

    Of GC@t those at t = 1 and T, as in Table 3 of the GenCeption paper; of other families over t
    that at T.
    """
    for block in blocks:
        spec = block.spec
        models = _distinct_models(block)
        for metric in spec.metrics:
            if not metric.headline:
                continue
            keys = spec.keys_of(metric, *block.scores)
            first = keys[:1] if metric is spec.metrics[0] else []
            for key in dict.fromkeys([*first, *keys[-1:]]):
                values = block.values(key)
                values = {
                    model: value for model, value in values.items() if model in models
                }
                if values:
                    title = f"{metric.named(key)}, {block.title}"
                    yield Ranking(
                        block.title, f"{spec.name}/{key}", title=title, values=values
                    )


def _distinct_models(block: Block) -> list[str]:
    """List the ranked models; of those with one component or the same results only the first."""
    models = []
    seen = set[str]()
    for score in block.scores:
        marks = {score.components["model"].fingerprint}
        if rows := block.rows_of(score):
            marks.add(repr([(row.unit, row.values) for row in rows]))
        is_ranked = not score.is_control and score.model not in block.apart
        if is_ranked and seen.isdisjoint(marks):
            models.append(score.model)
            seen |= marks
    return models


def growth(block: Block, others: Sequence[Ranking]) -> Iterator[ReportTable]:
    """Yield a table of GC@t and the sum of s(1) … s(t) against other numbers, as in the GenCeption
    paper's ablation."""
    spec = block.spec
    gc_keys = spec.keys_of(spec.metrics[0], *block.scores)
    similarity_keys = spec.keys_of(spec.metrics[1], *block.scores)
    sums = dict.fromkeys(_distinct_models(block), 0.0)
    rows = []
    for t, (gc, similarity) in enumerate(
        zip(gc_keys, similarity_keys, strict=False), 1
    ):
        values = block.values(similarity)
        sums = {
            model: total + values[model]
            for model, total in sums.items()
            if model in values
        }
        for other in others:
            means, weighted, theirs = _shared(sums, block.values(gc), other.values)
            by_weighted = pearson(weighted, theirs)
            by_mean = pearson(means, theirs)
            if by_weighted is not None and by_mean is not None:
                correlations = [f"{by_weighted:.2f}", f"{by_mean:.2f}"]
                rows.append([other.title, str(t), str(len(theirs)), *correlations])
    if rows:
        rows.sort(key=lambda row: row[0])
        yield _table(
            f"How far weighting by t matters, {block.title}",
            ["Pearson's r with", "T", "models", "GC@T", "mean of s(1) … s(T)"],
            rows=rows,
            name=f"growth-{block.name}",
        )


def _table(
    title: str, head: Sequence[str], rows: Sequence[Sequence[str]], name: str
) -> ReportTable:
    return ReportTable(
        title, head, rows=rows, across=True, name=name, detail=len(rows) > MOST
    )


def outside_columns(
    boards: Mapping[str, Sequence[OutsideValue]], settings: CorrelationSettings
) -> Iterator[Ranking]:
    """Yield every benchmark of every leaderboard, without its parts.

    Raises:
        ConfigError: ``correlation.models`` names a leaderboard that does not exist, or a model that
            it does not have.
    """
    for board, models in settings.models.items():
        where = "params.yaml: correlation.models"
        if board not in boards:
            raise ConfigError(unknown_name(f"{where}: leaderboard", board, boards))
        valid = {row.model for row in boards[board]}
        for own, outside in models.items():
            if outside not in valid:
                raise ConfigError(
                    unknown_name(f"{where}.{board}.{own}: model", outside, valid)
                )
    for board, rows in boards.items():
        ours = {outside: own for own, outside in settings.models.get(board, {}).items()}
        by_name: dict[str, dict[str, float]] = {}
        for row in rows:
            if "/" not in row.benchmark:
                model = ours.get(row.model, f"{board}: {row.model}")
                by_name.setdefault(row.benchmark, {})[model] = row.value
        for name, values in by_name.items():
            yield Ranking(board, name, title=name, values=values, ours=False)


def correlated(columns: Sequence[Ranking], confidence: float) -> Iterator[Correlated]:
    """Yield every two columns that share four models or more and are not constant over them."""
    for a, b in combinations(columns, 2):
        both = _shared(a.values, b.values)
        r = pearson(*both)
        rho = spearman(*both)
        n = len(both[0])
        if r is not None and rho is not None:
            interval = fisher_interval(r, n, confidence)
            tau = kendall(*both)
            yield Correlated(
                a, b, n, pearson=r, interval=interval, spearman=rho, kendall=tau
            )


def _shared(*columns: Mapping[str, float]) -> list[Float64]:
    """Return the values of the models that are in all columns."""
    models = [
        model for model in columns[0] if all(model in column for column in columns)
    ]
    return [np.array([column[model] for model in models]) for column in columns]


def _picture(columns: Sequence[Ranking], pairs: Sequence[Correlated]) -> Drawing:
    """Draw the columns that correlate with any other."""
    pearsons = {}
    for pair in pairs:
        pearsons[id(pair.a), id(pair.b)] = pair.pearson
        pearsons[id(pair.b), id(pair.a)] = pair.pearson
    paired = set(chain.from_iterable(pearsons))
    drawn = [column for column in columns if id(column) in paired][:MOST]
    names = []
    values = []
    for number, column in enumerate(drawn, 1):
        title = column.title if column.ours else f"{column.title}, {column.of}"
        names.append(f"{short(title, 44)} · {number}")
        values.append([pearsons.get((id(column), id(other))) for other in drawn])
    note = "No two columns share four models."
    if drawn:
        note = (
            "Over the models that two columns share; grey where these are fewer than four, or all "
            "alike."
        )
    return matrix(
        "pearson",
        "Pearson's r between headlines",
        rows=names,
        columns=[str(number) for number in range(1, len(drawn) + 1)],
        values=values,
        note=note,
        most=1.0,
        digits=2,
    )


def _tables(
    boards: Iterable[str], pairs: Sequence[Correlated]
) -> Iterator[ReportTable]:
    """Yield our headlines and other benchmarks, our headlines, and each leaderboard's own."""
    head = ["", "", "models", "Pearson's r", "interval", "Spearman's ρ", "Kendall's τ"]
    names = {_TO_OTHERS: "out", _OURS: "ours"}
    for board in boards:
        names[_AMONG.format(board)] = board
    rows: dict[str, list[list[str]]] = {}
    for title in names:
        rows[title] = []
    for a, b, n, r, ends, rho, tau in pairs:
        interval = f"{ends.low:.2f} to {ends.high:.2f}" if ends else NOTHING
        numbers = [f"{r:.2f}", interval, f"{rho:.2f}", f"{tau:.2f}"]
        row = [a.title, b.title, str(n), *numbers]
        if a.ours != b.ours:
            rows[_TO_OTHERS].append(row)
        elif a.ours:
            rows[_OURS].append(row)
        elif a.of == b.of:
            rows[_AMONG.format(a.of)].append(row)
    for title, name in names.items():
        if rows[title]:
            yield _table(title, head, rows=rows[title], name=name)
