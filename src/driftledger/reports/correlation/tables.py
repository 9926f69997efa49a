"""The correlations as text: every pair for programs, the headlines, the ranks and what was printed for people."""

import csv
import io
from collections.abc import Mapping, Sequence

from driftledger.benchmarks.tables import NOTHING, ranks_of
from driftledger.core.text import csv_text, for_csv, for_markdown
from driftledger.data.leaderboards import Leaderboard, PublishedCorrelation
from driftledger.metrics.agreement import FEWEST, Agreement
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.reports.correlation import PICTURE
from driftledger.reports.correlation.columns import Column
from driftledger.reports.correlation.pairs import Pair
from driftledger.reports.tables import markdown_table

_KINDS = ("pearson", "spearman", "kendall")
_PAIR_COLUMNS = ("of_a", "a", "of_b", "b", "n", *(f"{kind}{end}" for kind in _KINDS for end in ("", "_low", "_high")))


def pairs_csv(pairs: Sequence[Pair]) -> str:
    """A row per pair, with its three correlations and their intervals."""
    rows = []
    for pair in pairs:
        row: list[object] = [*map(for_csv, (pair.a.of, pair.a.key, pair.b.of, pair.b.key)), pair.found.n]
        for kind in _KINDS:
            ends: ConfidenceInterval | None = getattr(pair, kind)
            row += [getattr(pair.found, kind), *(ends or ("", ""))]
        rows.append(row)
    return csv_text(_PAIR_COLUMNS, rows)


def read_pairs(data: bytes, columns: Sequence[Column]) -> list[Pair]:
    """What :func:`pairs_csv` wrote.

    Args:
        columns: of ours; those of leaderboards, and others that are not among these, have no values here.
    """
    known = {(for_csv(column.of), for_csv(column.key)): column for column in columns}

    def column(of: str, key: str) -> Column:
        return known.setdefault((of, key), Column(of, key, key, {}, None, True, "/" not in key, "/" in key))

    def ends(row: Mapping[str, str], kind: str) -> ConfidenceInterval | None:
        low, high = row[f"{kind}_low"], row[f"{kind}_high"]
        return ConfidenceInterval(float(low), float(high)) if low and high else None

    return [
        Pair(
            column(row["of_a"], row["a"]),
            column(row["of_b"], row["b"]),
            Agreement(n=int(row["n"]), **{kind: float(row[kind]) for kind in _KINDS}),
            *(ends(row, kind) for kind in _KINDS),
        )
        for row in csv.DictReader(io.StringIO(data.decode(), newline=""))
    ]


def matrix_csv(columns: Sequence[Column], pairs: Sequence[Pair]) -> str:
    """Pearson's r of every column (across) with every other one (down); an empty cell where there is none."""
    names = [for_csv(f"{column.of}: {column.key}") for column in columns]
    found = {(id(pair.a), id(pair.b)): pair.found.pearson for pair in pairs}
    rows = (
        [
            name,
            *("" if r is None else r for r in (found.get((id(a), id(b)), found.get((id(b), id(a)))) for b in columns)),
        ]
        for name, a in zip(names, columns, strict=True)
    )
    return csv_text(["", *names], rows)


def markdown(
    told: Sequence[str],
    leaderboards: Sequence[Leaderboard],
    columns: Sequence[Column],
    pairs: Sequence[Pair],
    published: Sequence[PublishedCorrelation],
    confidence: float,
) -> str:
    """``correlation.md``: what could be compared, our headlines with all outside benchmarks, ranks, printed values.

    Args:
        told: of :func:`matched`.
    """
    across = [pair for pair in pairs if pair.a.outside != pair.b.outside]
    lines = ["# Correlation with other leaderboards", "", *(f"- {for_markdown(line)}" for line in told), ""]
    lines += [f"![Pearson's r between the headlines]({PICTURE})", ""]
    lines += _caution(pairs, confidence)
    shown = [pair for pair in across if all(each.headline for each in (pair.a, pair.b))]
    lines += _pair_table("Our headlines and outside benchmarks", shown)
    outside = [pair for pair in pairs if pair.a.outside and pair.b.outside]
    for board in leaderboards:
        own = [pair for pair in outside if pair.a.of == pair.b.of == board.name]
        headlines = [pair for pair in own if pair.a.headline and pair.b.headline]
        lines += _pair_table(f"{board.name}: its benchmarks among each other", headlines)
        lines += _published(own, [each for each in published if each.leaderboard == board.name])
        lines += _ranks(board, [column for column in columns if column.of == board.name and column.headline])
    return "\n".join(lines)


def matched(evaluated: Sequence[str], leaderboards: Sequence[Leaderboard], columns: Sequence[Column]) -> list[str]:
    """Which of our models stand on which leaderboard, in sentences; also where too few do for a correlation.

    Args:
        evaluated: our models, by name.
    """
    there = {
        board.name: {model for column in columns if column.of == board.name for model in column.values}
        for board in leaderboards
    }
    ours = {name: [model for model in evaluated if model in models] for name, models in there.items()}
    enough = {name: models for name, models in ours.items() if len(models) >= FEWEST}
    lines = [f"{len(models)} of our models stand on {name}: {', '.join(models)}." for name, models in enough.items()]
    few = [f"{name} ({', '.join(models) or 'none'})" for name, models in ours.items() if name not in enough]
    if few:
        lines.append(
            f"Too few of the {len(evaluated)} models evaluated here stand on {', '.join(few)} for our metrics to be "
            f"set against it: a correlation takes {FEWEST}, and correlation.models in params.yaml says which those are."
        )
    return lines


def _caution(pairs: Sequence[Pair], confidence: float) -> list[str]:
    away = [pair for pair in pairs if pair.pearson is not None and not pair.pearson.low <= 0 <= pair.pearson.high]
    tried = sum(pair.pearson is not None for pair in pairs)
    if not tried:
        return []
    return [
        f"Pairs of columns that share at least {FEWEST} models and vary over them: {len(pairs):,}. Intervals are of "
        f"{confidence:.0%}, by Fisher's transformation, and take models to be drawn independently, which versions and "
        f"sizes of one model are not. Intervals of Pearson's r that leave 0 out: {len(away):,} of {tried:,}; of as "
        f"many unrelated pairs about {round((1 - confidence) * tried):,} would. Signs are those of the values: where "
        "lower is better in one column alone, models that agree give a negative r.",
        "",
    ]


def _pair_table(title: str, pairs: Sequence[Pair]) -> list[str]:
    if not pairs:
        return []
    rows = [
        [
            _named(pair.a),
            _named(pair.b),
            str(pair.found.n),
            *(_value(getattr(pair.found, kind), getattr(pair, kind)) for kind in _KINDS),
        ]
        for pair in pairs
    ]
    head = ["", "", "models", "Pearson's r", "Spearman's ρ", "Kendall's τ"]
    return list(markdown_table(title, head, rows))


def _named(column: Column) -> str:
    return for_markdown(column.title if column.outside else f"{column.title}, {column.of}")


def _value(correlation: float, ends: ConfidenceInterval | None) -> str:
    return f"{correlation:.2f}" + ("" if ends is None else f" ({ends.low:.2f} to {ends.high:.2f})")


def _published(pairs: Sequence[Pair], published: Sequence[PublishedCorrelation]) -> list[str]:
    """Printed beside recomputed: what cannot be recomputed has no values of models."""
    if not published:
        return []
    found = {frozenset((pair.a.key, pair.b.key)): pair.found for pair in pairs}
    rows = []
    for each in published:
        again = found.get(frozenset((each.first, each.second)))
        recomputed = NOTHING if again is None else f"{again.pearson:.4f}"
        same = NOTHING if again is None else ("yes" if round(again.pearson, each.decimals) == each.pearson else "no")
        names = for_markdown(each.first), for_markdown(each.second)
        rows.append([*names, f"{each.pearson:.{each.decimals}f}", recomputed, same])
    missing = [row for row in rows if row[3] == NOTHING]
    head = ["", "", "printed", "recomputed", "equal as printed"]
    lines = list(markdown_table(f"{published[0].leaderboard}: Pearson's r as printed and recomputed", head, rows))
    if missing:
        lines += [f"Of {len(missing)} printed correlations the source gives no values of models to recompute.", ""]
    return lines


def _ranks(board: Leaderboard, columns: Sequence[Column]) -> list[str]:
    """Values with competition ranks, a row per model by its name there, as in Table 2 of the GenCeption paper."""
    if not columns:
        return []
    values = {(each.benchmark, each.model): each.value for each in board.values}
    models = [model for model in board.models if any((column.key, model) in values for column in columns)]
    ranks = [
        ranks_of([values.get((column.key, model)) for model in models], column.higher_is_better is not False)
        for column in columns
    ]
    rows = []
    for place, model in enumerate(models):
        cells = (
            NOTHING if rank[place] is None else f"{values[column.key, model]:g} (rank {rank[place]})"
            for column, rank in zip(columns, ranks, strict=True)
        )
        rows.append([for_markdown(model), *cells])
    heads = [
        for_markdown(column.title) + (" (lower is better)" if column.higher_is_better is False else "")
        for column in columns
    ]
    return list(markdown_table(f"{board.name}: values and ranks", ["", *heads], rows))
