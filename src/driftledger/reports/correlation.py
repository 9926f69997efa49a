"""Correlation: do our headlines order models alike, and as the benchmarks of published leaderboards do?

Pearson's r over the models that two columns share. Controls and duplicates are left out: several that never look at an
image have the same values, as one model under two names has, and would make any two metrics agree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base import NOTHING, Table
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.text import csv_text, for_csv
from driftledger.data.leaderboards import OutsideValue, leaderboard_files, read_leaderboards
from driftledger.metrics.correlation import FEWEST, fisher_interval, pearson
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.charts import Drawing, matrix, short
from driftledger.reports.scores import Block

MOST = 24
"""Columns in the picture, the first ones; and rows of a table that the site does not fold."""


class Column(NamedTuple):
    """A headline of ours or a benchmark of a leaderboard, with a value for each model that has one."""

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
        ConfigError: ``correlation`` in ``params.yaml`` names a leaderboard or model that does not exist.
        DataError: a row of a leaderboard is wrong.
    """
    settings, boards = project.settings.correlation, read_leaderboards(leaderboard_files(project.root))
    columns = [*our_columns(blocks), *outside_columns(boards, settings)]
    pairs = list(correlated(columns, settings.confidence))
    rows = [[*map(for_csv, (a.of, a.key, b.of, b.key)), n, r, *(ends or ("", ""))] for a, b, n, r, ends in pairs]
    matched = []
    for board in boards:
        models = {model for each in columns if each.of == board for model in each.values}
        ours = ", ".join(model for model in project.settings.run.models if model in models)
        matched.append(f"{board}: {ours or 'none'}")
    lead = (
        f"Do two numbers order models alike? {FEWEST} models in common are the fewest, {FEWEST + 1} for an interval; "
        "controls are left out, and all but the first of models that are one component or have the same results. "
        f"Intervals of {settings.confidence:.0%} by Fisher's transformation take models to be drawn independently, "
        "which versions of one model are not; over few models they are wide, and one that holds 0 says little. Where "
        "lower is better in one column alone, models that agree give a negative r. "
        f"Our models on other leaderboards, as correlation.models in params.yaml names them: {'; '.join(matched)}."
    )
    return Correlation(
        lead,
        list(_tables(boards, pairs)),
        _picture(columns, pairs),
        csv_text(["of_a", "a", "of_b", "b", "models", "pearson", "low", "high"], rows),
    )


def our_columns(blocks: Sequence[Block]) -> Iterator[Column]:
    """Every headline, by the values that the leaderboard ranks by, without controls and duplicates."""
    for block in blocks:
        seen, looking = set[str](), set[str]()
        for score in block.scores:
            rows = [(row.unit, row.values) for row in block.rows_of(score)]
            marks = {score.components["model"].fingerprint, *([repr(rows)] if rows else [])}
            if not score.is_control and score.model not in block.apart and not marks & seen:
                looking.add(score.model)
                seen |= marks
        for key in dict.fromkeys(key for score in block.scores for key in block.spec.headlines(score)):
            values = {model: value for model, value in block.values(key).items() if model in looking}
            if values and (metric := block.metric(key)):
                yield Column(block.title, f"{block.spec.name}/{key}", f"{metric.named(key)}, {block.title}", values)


def outside_columns(boards: Mapping[str, Sequence[OutsideValue]], settings: CorrelationSettings) -> Iterator[Column]:
    """Every benchmark of every leaderboard, without its parts.

    Raises:
        ConfigError: ``correlation.models`` names a leaderboard that does not exist, or a model that it does not have.
    """
    for board, models in settings.models.items():
        if board not in boards:
            raise ConfigError(unknown_name("params.yaml: correlation.models: leaderboard", board, boards))
        valid = {each.model for each in boards[board]}
        for own, outside in models.items():
            if outside not in valid:
                where = f"params.yaml: correlation.models.{board}.{own}: model"
                raise ConfigError(unknown_name(where, outside, valid))
    for board, rows in boards.items():
        ours = {outside: own for own, outside in settings.models.get(board, {}).items()}
        for benchmark in dict.fromkeys(each.benchmark for each in rows if "/" not in each.benchmark):
            values = [each for each in rows if each.benchmark == benchmark]
            by_model = {ours.get(each.model, f"{board}: {each.model}"): each.value for each in values}
            yield Column(board, benchmark, benchmark, by_model, ours=False)


def correlated(columns: Sequence[Column], confidence: float) -> Iterator[Pair]:
    """Every two columns that share three models or more and are not constant over them."""
    for a, b in combinations(columns, 2):
        shared = [model for model in a.values if model in b.values]
        r = pearson(*(np.array([each.values[model] for model in shared]) for each in (a, b)))
        if r is not None:
            yield Pair(a, b, len(shared), r, fisher_interval(r, len(shared), confidence))


def _picture(columns: Sequence[Column], pairs: Sequence[Pair]) -> Drawing:
    """The columns that correlate with any other."""
    pearsons = {ids: pair.pearson for pair in pairs for ids in ((id(pair.a), id(pair.b)), (id(pair.b), id(pair.a)))}
    shown = [a for a in columns if any((id(a), id(b)) in pearsons for b in columns)][:MOST]
    titles = [each.title if each.ours else f"{each.title}, {each.of}" for each in shown]
    names = [f"{short(title, 44)} · {number}" for number, title in enumerate(titles, 1)]
    values = [[pearsons.get((id(a), id(b))) for b in shown] for a in shown]
    note = "Over the models that two columns share; grey where these are fewer than three, or all alike."
    numbers = [str(number) for number in range(1, len(shown) + 1)]
    title, note = "Pearson's r between headlines", note if shown else "No two columns share three models."
    return matrix("pearson", title, names, numbers, values, note, most=1.0, digits=2)


def _tables(boards: Iterable[str], pairs: Sequence[Pair]) -> Iterator[Table]:
    """Our headlines and other benchmarks, our headlines, and each leaderboard's own."""
    for title, name, some in (
        ("Our headlines and other benchmarks", "out", [p for p in pairs if p.a.ours != p.b.ours]),
        ("Our headlines among each other", "ours", [p for p in pairs if p.a.ours and p.b.ours]),
        *(
            (f"{of}: its benchmarks among each other", of, [p for p in pairs if p.a.of == p.b.of == of])
            for of in boards
        ),
    ):
        rows = [
            [a.title, b.title, str(n), f"{r:.2f}", f"{ends.low:.2f} to {ends.high:.2f}" if ends else NOTHING]
            for a, b, n, r, ends in some
        ]
        head = ["", "", "models", "Pearson's r", "interval"]
        if rows:
            yield Table(title, head, rows, across=True, name=name, detail=len(rows) > MOST)
