"""The stage ``correlation``: do our metrics order models as each other, and as other people's benchmarks, do?

Controls are left out: several that never look have the same values, and would make any two metrics agree.
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Literal, NamedTuple

import numpy as np

from driftledger.benchmarks.base import NOTHING, Matrix
from driftledger.benchmarks.score import Score, base_key
from driftledger.core.errors import ConfigError, unknown_name
from driftledger.core.files import write_bytes, write_text
from driftledger.core.text import csv_text, for_csv, for_markdown
from driftledger.data.leaderboards import (
    Leaderboard,
    PublishedCorrelation,
    leaderboard_folders,
    read_leaderboards,
    read_published,
)
from driftledger.metrics.agreement import FEWEST, Agreement, agreement, fisher_interval
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.project import Project
from driftledger.reports.charts import drawn, matrix, short
from driftledger.reports.selected import selected_scores
from driftledger.reports.standing import by_benchmark, ranks_of
from driftledger.reports.tables import markdown_table

PAIRS, MATRIX, TABLES, PICTURE = "correlation.csv", "correlation_matrix.csv", "correlation.md", "correlation.svg"
FILES = (PAIRS, MATRIX, TABLES, PICTURE)
"""What the stage writes, below ``reports``."""
KINDS: tuple[Literal["pearson", "spearman", "kendall"], ...] = ("pearson", "spearman", "kendall")
MOST = 24
"""Columns in the picture; the first ones are shown."""

_PAIR_COLUMNS = ("of_a", "a", "of_b", "b", "n", *(f"{kind}{end}" for kind in KINDS for end in ("", "_low", "_high")))
HEADS = ("models", "Pearson's r", "Spearman's ρ", "Kendall's τ")


class Column(NamedTuple):
    """A metric or a benchmark with a value for each model that has one."""

    of: str
    """Benchmark and data of ours, or a leaderboard."""
    key: str
    title: str
    values: Mapping[str, float]
    """Model → value. Our name, or for a model that is not ours ``leaderboard: name``."""
    higher_is_better: bool | None
    outside: bool
    headline: bool
    """Whether the picture and the tables show it."""
    detail: bool = False
    """Whether it is a part of a benchmark: such columns are not set against each other."""


class Correlated(NamedTuple):
    """Two columns over the models that are in both, and the intervals of each correlation that has one."""

    a: Column
    b: Column
    agreement: Agreement
    intervals: Mapping[str, ConfidenceInterval | None]

    def cells(self) -> list[str]:
        """How many models, then each correlation with its interval."""
        ends = {kind: self.intervals[kind] for kind in KINDS}
        return [
            str(self.agreement.n),
            *(
                f"{getattr(self.agreement, kind):.2f}" + (f" ({each.low:.2f} to {each.high:.2f})" if each else "")
                for kind, each in ends.items()
            ),
        ]


def write_correlation(project: Project) -> str:
    """Write the correlations of all our metrics with each other and with all leaderboards; say what was matched.

    Raises:
        ConfigError: ``correlation`` in ``params.yaml`` names a leaderboard or model that does not exist.
        DataError: a row of a leaderboard is wrong.
        StoreError: a score is missing, or was computed with other settings than ``params.yaml`` has now.
    """
    folders, confidence = leaderboard_folders(project.root), project.settings.correlation.confidence
    leaderboards, published = read_leaderboards(folders), read_published(folders)
    columns = all_columns(project, selected_scores(project))
    pairs = list(correlated(columns, confidence))
    matched = _matched(project.settings.run.models, leaderboards, columns)
    reports = project.paths.reports
    write_text(reports / PAIRS, pairs_csv(pairs))
    write_text(reports / MATRIX, _matrix_csv([column for column in columns if not column.detail], pairs))
    lines = _markdown(matched, leaderboards, columns, pairs, published, confidence)
    write_text(reports / TABLES, "\n".join(lines))
    write_bytes(reports / PICTURE, _picture([column for column in columns if column.headline], pairs))
    return "\n".join(matched)


def all_columns(project: Project, scores: Sequence[Score]) -> list[Column]:
    """Our metrics, then the benchmarks of all leaderboards; errors as in :func:`write_correlation`."""
    leaderboards = read_leaderboards(leaderboard_folders(project.root))
    return [*our_columns(scores), *outside_columns(leaderboards, project.settings.correlation)]


def our_columns(scores: Sequence[Score]) -> Iterator[Column]:
    """Every metric of the benchmarks' tables, by the values that the leaderboard ranks by, without controls."""
    for spec, _, blocks in by_benchmark([score for score in scores if not score.is_control]):
        for block in blocks:
            headlines = {key for score in block.scores for key in spec.headlines(score)}
            for key in dict.fromkeys(key for score in block.scores for key in score.metrics if base_key(key) == key):
                if metric := spec.metric(key):
                    ranked = {score.model: spec.ranked(score, key) for score in block.scores}
                    values = {model: value for model, value in ranked.items() if value is not None}
                    title, better = metric.named(key), metric.higher_is_better
                    yield Column(block.title, f"{spec.name}/{key}", title, values, better, False, key in headlines)


def outside_columns(leaderboards: Sequence[Leaderboard], settings: CorrelationSettings) -> Iterator[Column]:
    """Every benchmark of every leaderboard.

    Raises:
        ConfigError: ``correlation.models`` names a leaderboard that does not exist, or a model that it does not have.
    """
    by_name = {board.name: board for board in leaderboards}
    for name, models in settings.models.items():
        if name not in by_name:
            raise ConfigError(unknown_name("params.yaml: correlation.models: leaderboard", name, by_name))
        for own, outside in models.items():
            if outside not in by_name[name].models:
                where = f"params.yaml: correlation.models.{name}.{own}: model"
                raise ConfigError(unknown_name(where, outside, by_name[name].models))
    for board in leaderboards:
        ours = {outside: own for own, outside in settings.models.get(board.name, {}).items()}
        for benchmark in dict.fromkeys(each.benchmark for each in board.values):
            values = {
                ours.get(each.model, f"{board.name}: {each.model}"): each.value
                for each in board.values
                if each.benchmark == benchmark
            }
            whole, _, part = benchmark.partition("/")
            better = whole not in settings.lower_is_better
            yield Column(board.name, benchmark, benchmark, values, better, True, not part, bool(part))


def correlated(columns: Sequence[Column], confidence: float, *, ours: bool = False) -> Iterator[Correlated]:
    """Every two columns that share three models or more and are not constant over them, but two details.

    Args:
        ours: only pairs with a column of ours.
    """
    for a, b in combinations(columns, 2):
        if not (a.detail and b.detail) and not (ours and a.outside and b.outside):
            shared = [model for model in a.values if model in b.values]
            found = agreement(*(np.array([each.values[model] for model in shared]) for each in (a, b)))
            if found is not None:
                of: dict[str, ConfidenceInterval | None] = {
                    kind: fisher_interval(getattr(found, kind), found.n, kind, confidence) for kind in KINDS
                }
                yield Correlated(a, b, found, of)


def pairs_csv(pairs: Sequence[Correlated]) -> str:
    """A row per pair, with its three correlations and their intervals."""
    rows: list[list[object]] = []
    for a, b, found, intervals in pairs:
        row: list[object] = [*map(for_csv, (a.of, a.key, b.of, b.key)), found.n]
        for kind in KINDS:
            row += [getattr(found, kind), *(intervals[kind] or ("", ""))]
        rows.append(row)
    return csv_text(_PAIR_COLUMNS, rows)


def _matrix_csv(columns: Sequence[Column], pairs: Sequence[Correlated]) -> str:
    """Pearson's r of every column with every other one; an empty cell where there is none."""
    names = [for_csv(f"{column.of}: {column.key}") for column in columns]
    known = _pearson(pairs)
    rows = ([name, *(known.get((id(a), id(b)), "") for b in columns)] for name, a in zip(names, columns, strict=True))
    return csv_text(["", *names], rows)


def _pearson(pairs: Sequence[Correlated]) -> dict[tuple[int, int], float]:
    return {ids: p.agreement.pearson for p in pairs for ids in ((id(p.a), id(p.b)), (id(p.b), id(p.a)))}


def _picture(columns: Sequence[Column], pairs: Sequence[Correlated]) -> bytes:
    """Draw the columns that correlate with any other; a sentence where there are none."""
    known = _pearson(pairs)
    shown = [a for a in columns if any((id(a), id(b)) in known for b in columns)][:MOST]
    names = [f"{short(f'{each.title}, {each.of}', 44)} · {number}" for number, each in enumerate(shown, 1)]
    values = [[None if a is b else known.get((id(a), id(b))) for b in shown] for a in shown]
    note = "Over the models that two columns share; grey where these are fewer than three, or all alike."
    note = note if shown else "No two columns share three models."
    numbers = [str(number) for number in range(1, len(shown) + 1)]
    title = "Pearson's r between headlines"
    return drawn(matrix(Matrix("correlation", title, names, numbers, values, note, most=1.0, digits=2)))


def _matched(evaluated: Sequence[str], leaderboards: Sequence[Leaderboard], columns: Sequence[Column]) -> list[str]:
    """Say which of our models are on which leaderboard, and where too few are for a correlation."""
    known: dict[str, set[str]] = {board.name: set() for board in leaderboards}
    for column in columns:
        if column.of in known:
            known[column.of] |= column.values.keys()
    ours = {name: [model for model in evaluated if model in models] for name, models in known.items()}
    enough = {name: models for name, models in ours.items() if len(models) >= FEWEST}
    lines = [f"{len(models)} of our models stand on {name}: {', '.join(models)}." for name, models in enough.items()]
    few = [f"{name} ({', '.join(models) or 'none'})" for name, models in ours.items() if name not in enough]
    if few:
        lines.append(
            f"Too few of the {len(evaluated)} models evaluated here are on {', '.join(few)} for our metrics to be "
            f"compared with it; a correlation takes {FEWEST}, and correlation.models in params.yaml names them."
        )
    return lines


def _markdown(
    matched: Sequence[str],
    leaderboards: Sequence[Leaderboard],
    columns: Sequence[Column],
    pairs: Sequence[Correlated],
    published: Sequence[PublishedCorrelation],
    confidence: float,
) -> Iterator[str]:
    """``correlation.md``: what could be compared, our headlines and outside benchmarks, ranks, printed values."""
    yield from ("# Correlation with other leaderboards", "", *(f"- {for_markdown(line)}" for line in matched), "")
    yield from (f"![Pearson's r between the headlines]({PICTURE})", "")
    ends = [each for pair in pairs if (each := pair.intervals["pearson"]) is not None]
    if ends:
        away = sum(not each.low <= 0 <= each.high for each in ends)
        yield from (
            f"Pairs of columns that share at least {FEWEST} models and vary over them: {len(pairs):,}; controls are "
            f"left out. Intervals are of {confidence:.0%}, by Fisher's transformation, and take models to be drawn "
            "independently, which versions and sizes of one model are not. Intervals of Pearson's r that leave 0 out: "
            f"{away:,} of {len(ends):,}; of as many unrelated pairs about {round((1 - confidence) * len(ends)):,} "
            "would. Signs are those of the values: where lower is better in one column alone, models that agree give a "
            "negative r.",
            "",
        )
    headlines = [pair for pair in pairs if pair.a.headline and pair.b.headline]
    across = [pair for pair in headlines if pair.a.outside != pair.b.outside]
    yield from _pair_table("Our headlines and outside benchmarks", across)
    yield from _pair_table("Our headlines among each other", [p for p in headlines if not (p.a.outside or p.b.outside)])
    for board in leaderboards:
        own = [pair for pair in pairs if pair.a.of == pair.b.of == board.name and pair.a.outside and pair.b.outside]
        some = [pair for pair in own if pair.a.headline and pair.b.headline]
        yield from _pair_table(f"{board.name}: its benchmarks among each other", some)
        yield from _published(own, [each for each in published if each.leaderboard == board.name])
        yield from _ranks(board, [column for column in columns if column.of == board.name and column.headline])


def _pair_table(title: str, pairs: Sequence[Correlated]) -> Iterator[str]:
    def name(column: Column) -> str:
        return for_markdown(column.title if column.outside else f"{column.title}, {column.of}")

    if pairs:
        yield from markdown_table(
            title, ["", "", *HEADS], [[name(pair.a), name(pair.b), *pair.cells()] for pair in pairs]
        )


def _published(pairs: Sequence[Correlated], published: Sequence[PublishedCorrelation]) -> Iterator[str]:
    """Printed correlations beside recomputed ones, which take values of models."""
    if not published:
        return
    known = {frozenset((pair.a.key, pair.b.key)): pair.agreement.pearson for pair in pairs}
    rows = []
    for each in published:
        again = known.get(frozenset((each.first, each.second)))
        same = NOTHING if again is None else ("yes" if round(again, each.decimals) == each.pearson else "no")
        recomputed = NOTHING if again is None else f"{again:.4f}"
        names = for_markdown(each.first), for_markdown(each.second)
        rows.append([*names, f"{each.pearson:.{each.decimals}f}", recomputed, same])
    head = ["", "", "printed", "recomputed", "equal as printed"]
    yield from markdown_table(f"{published[0].leaderboard}: Pearson's r as printed and recomputed", head, rows)
    missing = sum(row[3] == NOTHING for row in rows)
    if missing:
        yield from (f"Of {missing} printed correlations the source gives no values of models to recompute.", "")


def _ranks(board: Leaderboard, columns: Sequence[Column]) -> Iterator[str]:
    """Values with competition ranks, a row per model by its name there, as in Table 2 of the GenCeption paper."""
    if not columns:
        return
    values = {(each.benchmark, each.model): each.value for each in board.values}
    models = [model for model in board.models if any((column.key, model) in values for column in columns)]
    cells = [[for_markdown(model) for model in models]]
    heads = [""]
    for column in columns:
        higher = column.higher_is_better is not False
        ranks = ranks_of([values.get((column.key, model)) for model in models], higher)
        cells.append(
            [
                NOTHING if rank is None else f"{values[column.key, model]:g} (rank {rank})"
                for model, rank in zip(models, ranks, strict=True)
            ]
        )
        heads.append(for_markdown(column.title) + ("" if higher else " (lower is better)"))
    yield from markdown_table(f"{board.name}: values and ranks", heads, list(zip(*cells, strict=True)))
