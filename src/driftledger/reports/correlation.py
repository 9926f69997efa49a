"""Correlation: do our headlines order models alike, and as the benchmarks of published leaderboards
do?

Pearson's r, Spearman's ρ and Kendall's τ over the models that two columns share. Controls and
duplicates are left out: several that never look at an image have the same values, as one model
under two names has, and would make any two metrics agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import NOTHING, Table
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.text import csv_text, for_csv
from driftledger.core.types import Float64
from driftledger.data.leaderboards import OutsideValue, leaderboard_files, read_leaderboards
from driftledger.metrics.correlation import FEWEST, fisher_interval, kendall, pearson, spearman
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, matrix, short
from driftledger.reports.scores import Block

MOST = 24
"""Columns in the picture, the first ones; and rows of a table that the site does not fold."""


class Column(NamedTuple):
    """A headline of ours or a benchmark of a leaderboard, with a value for each model that has
    one."""

    of: str
    """Benchmark and data of ours, or a leaderboard."""
    key: str
    title: str
    values: Mapping[str, float]
    """Model → value. Our name, or for a model that is not ours ``leaderboard: name``."""
    ours: bool = True


class Pair(NamedTuple):
    """Two columns over the models that are in both."""

    a: Column
    b: Column
    models: int
    pearson: float
    interval: ConfidenceInterval | None
    """Of Pearson's r."""
    spearman: float
    kendall: float


class Correlation(NamedTuple):
    """What the report says about correlation."""

    lead: str
    tables: Sequence[Table]
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
    for a, b, n, r, ends, *ranks in pairs:
        rows.append([*map(for_csv, (a.of, a.key, b.of, b.key)), n, r, *(ends or ("", "")), *ranks])
    matched = []
    for board in boards:
        models = {model for each in columns if each.of == board for model in each.values}
        ours = ", ".join(model for model in project.settings.run.models if model in models)
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
    chains = {block.title: block for block in blocks if block.spec.layout.means_of_groups}
    others = [column for column in columns if column.of not in chains]
    growths = [table for block in chains.values() for table in growth(block, others)]
    head = ["of_a", "a", "of_b", "b", "models", "pearson", "low", "high", "spearman", "kendall"]
    return Correlation(
        lead, [*_tables(boards, pairs), *growths], _picture(columns, pairs), csv_text(head, rows)
    )


def our_columns(blocks: Sequence[Block]) -> Iterator[Column]:
    """Yield every headline, by the values that the leaderboard ranks by, without controls and
    duplicates.

    Of GC@t those at t = 1 and T, as in Table 3 of the GenCeption paper; of other families over t
    that at T.
    """
    for block in blocks:
        looking = _looking(block)
        for metric in block.spec.metrics:
            keys = block.spec.keys_of(metric, *block.scores) if metric.headline else []
            first = keys[: metric is block.spec.metrics[0]]
            for key in dict.fromkeys([*first, *keys[-1:]]):
                values = {
                    model: value for model, value in block.values(key).items() if model in looking
                }
                if values:
                    title = f"{metric.named(key)}, {block.title}"
                    yield Column(block.title, f"{block.spec.name}/{key}", title, values)


def _looking(block: Block) -> list[str]:
    """Return the ranked models, but of those that are one component or have the same results only
    the first."""
    looking = []
    seen = set[str]()
    for score in block.scores:
        rows = [(row.unit, row.values) for row in block.rows_of(score)]
        marks = {score.components["model"].fingerprint, *([repr(rows)] if rows else [])}
        if not score.is_control and score.model not in block.apart and not marks & seen:
            looking.append(score.model)
            seen |= marks
    return looking


def growth(block: Block, others: Sequence[Column]) -> Iterator[Table]:
    """Set GC@t and the sum of s(1) … s(t) against other numbers, as the GenCeption paper's ablation
    does."""
    keys = (block.spec.keys_of(metric, *block.scores) for metric in block.spec.metrics[:2])
    sums = dict.fromkeys(_looking(block), 0.0)
    rows = []
    for t, (gc, similarity) in enumerate(zip(*keys, strict=False), 1):
        values = block.values(similarity)
        sums = {model: total + values[model] for model, total in sums.items() if model in values}
        for other in others:
            means, weighted, theirs = _shared(sums, block.values(gc), other.values)
            correlations = [pearson(weighted, theirs), pearson(means, theirs)]
            if None not in correlations:
                texts = [f"{r:.2f}" for r in correlations]
                rows.append([other.title, str(t), str(len(theirs)), *texts])
    if rows:
        rows.sort(key=lambda row: row[0])
        head = ["Pearson's r with", "T", "models", "GC@T", "mean of s(1) … s(T)"]
        title = f"How far weighting by t matters, {block.title}"
        yield Table(
            title, head, rows, across=True, name=f"growth-{block.name}", detail=len(rows) > MOST
        )


def outside_columns(
    boards: Mapping[str, Sequence[OutsideValue]], settings: CorrelationSettings
) -> Iterator[Column]:
    """Every benchmark of every leaderboard, without its parts.

    Raises:
        ConfigError: ``correlation.models`` names a leaderboard that does not exist, or a model that
            it does not have.
    """
    for board, models in settings.models.items():
        if board not in boards:
            raise ConfigError(
                unknown_name("params.yaml: correlation.models: leaderboard", board, boards)
            )
        valid = {each.model for each in boards[board]}
        for own, outside in models.items():
            if outside not in valid:
                where = f"params.yaml: correlation.models.{board}.{own}: model"
                raise ConfigError(unknown_name(where, outside, valid))
    for board, rows in boards.items():
        ours = {outside: own for own, outside in settings.models.get(board, {}).items()}
        for benchmark in dict.fromkeys(
            each.benchmark for each in rows if "/" not in each.benchmark
        ):
            values = [each for each in rows if each.benchmark == benchmark]
            by_model = {
                ours.get(each.model, f"{board}: {each.model}"): each.value for each in values
            }
            yield Column(board, benchmark, benchmark, by_model, ours=False)


def correlated(columns: Sequence[Column], confidence: float) -> Iterator[Pair]:
    """Yield every two columns that share four models or more and are not constant over them."""
    for a, b in combinations(columns, 2):
        both = _shared(a.values, b.values)
        r = pearson(*both)
        rho = spearman(*both)
        n = len(both[0])
        if r is not None and rho is not None:
            yield Pair(a, b, n, r, fisher_interval(r, n, confidence), rho, kendall(*both))


def _shared(*columns: Mapping[str, float]) -> list[Float64]:
    """Return the values of the models that are in all columns."""
    models = [model for model in columns[0] if all(model in each for each in columns)]
    return [np.array([each[model] for model in models]) for each in columns]


def _picture(columns: Sequence[Column], pairs: Sequence[Pair]) -> Drawing:
    """Draw the columns that correlate with any other."""
    pearsons = {frozenset((id(pair.a), id(pair.b))): pair.pearson for pair in pairs}
    paired = {column for ids in pearsons for column in ids}
    shown = [column for column in columns if id(column) in paired][:MOST]
    numbers = []
    names = []
    for number, each in enumerate(shown, 1):
        title = each.title if each.ours else f"{each.title}, {each.of}"
        names.append(f"{short(title, 44)} · {number}")
        numbers.append(str(number))
    values = [[pearsons.get(frozenset((id(a), id(b)))) for b in shown] for a in shown]
    note = "No two columns share four models."
    if shown:
        note = (
            "Over the models that two columns share; grey where these are fewer than four, or all "
            "alike."
        )
    title = "Pearson's r between headlines"
    return matrix("pearson", title, names, numbers, values, note, most=1.0, digits=2)


def _tables(boards: Iterable[str], pairs: Sequence[Pair]) -> Iterator[Table]:
    """Our headlines and other benchmarks, our headlines, and each leaderboard's own."""
    for title, name, some in (
        ("Our headlines and other benchmarks", "out", [p for p in pairs if p.a.ours != p.b.ours]),
        ("Our headlines among each other", "ours", [p for p in pairs if p.a.ours and p.b.ours]),
        *(
            (
                f"{of}: its benchmarks among each other",
                of,
                [p for p in pairs if p.a.of == p.b.of == of],
            )
            for of in boards
        ),
    ):
        rows = []
        for a, b, n, r, ends, *ranks in some:
            between = f"{ends.low:.2f} to {ends.high:.2f}" if ends else NOTHING
            rows.append(
                [a.title, b.title, str(n), f"{r:.2f}", between, *(f"{rank:.2f}" for rank in ranks)]
            )
        head = ["", "", "models", "Pearson's r", "interval", "Spearman's ρ", "Kendall's τ"]
        if rows:
            yield Table(title, head, rows, across=True, name=name, detail=len(rows) > MOST)
