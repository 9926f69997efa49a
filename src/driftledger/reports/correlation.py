"""Correlation of our headlines with published leaderboards.

Pearson's r and Spearman's ρ over the models that two columns share. Controls and duplicates are
left out: several that never look at an image have the same values, as one model under two names
has, and would make any two metrics agree.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

import pandas as pd

from driftledger.core.errors import ConfigError, unknown_name
from driftledger.metrics.correlation import FEWEST, fisher_interval
from driftledger.project.catalogue import CorrelationSettings
from driftledger.project.presets import OWN
from driftledger.reports.charts import Drawing, matrix, short
from driftledger.reports.ratings import estimate_cell, rating_tables
from driftledger.reports.scores import RowsOf
from driftledger.reports.tables import Numbers, by_t, names_of, spec_of
from driftledger.scoring.frame import by_setup
from driftledger.scoring.table import Cells, Table

LEADERBOARDS = OWN / "catalogue" / "leaderboards"
MOST = 24
"""Columns in the picture, the first ones; and rows of a table that the site does not fold."""


class Correlation(NamedTuple):
    """The page of the report about correlation."""

    lead: str
    tables: Sequence[Table]
    picture: Drawing


def correlation(
    settings: CorrelationSettings, numbers: Numbers, rows_of: RowsOf
) -> Correlation:
    """Correlate our headlines with each other and with published leaderboards.

    Args:
        numbers: of all scores, with ranks.

    Raises:
        ConfigError: the settings name a leaderboard or a model that does not exist.
    """
    ours = pd.DataFrame(our_columns(numbers))
    published = pd.DataFrame(dict(published_columns(settings.models)))
    values = pd.concat([ours[~ours.duplicated()], published], axis=1)
    lead = (
        f"Do two numbers order models alike? {FEWEST} models in common are the fewest; controls "
        "are left out, and all but the first of models with the same results. Intervals of "
        f"Pearson's r, of {settings.confidence:.0%} by Fisher's transformation, take models to be "
        "drawn independently, which versions of one model are not; over few models they are wide, "
        "and one that holds 0 says little. Where lower is better in one column alone, models that "
        "agree give a negative r. Which of our models is which on a leaderboard is in "
        "correlation.models of params.yaml."
    )
    rows = list(_rows(values, settings.confidence))
    table = Table(
        "Our headlines and published benchmarks",
        ["", "", "models", "Pearson's r", "Spearman's ρ"],
        rows=rows,
        across=True,
        name="pairs",
        detail=len(rows) > MOST,
    )
    return Correlation(
        lead, [table, *rating_tables(numbers, rows_of)], _picture(values)
    )


def our_columns(numbers: Numbers) -> dict[str, dict[str, float]]:
    """Return every headline with the values by which the leaderboard ranks models.

    Of GC@t those at t = 1 and T, as in Table 3 of the GenCeption paper; of other metrics over t
    that at T.
    """
    columns = {}
    for part in by_setup(numbers):
        metrics = spec_of(part).metrics
        place = f"{part[0].benchmark} on {' · '.join(names_of(part))}"
        for metric in metrics.shown("headline"):
            steps = by_t(part, metric)
            chosen = [*steps][-1:]
            if metric is metrics.first:
                chosen = [*steps][:1] + chosen
            for t in chosen:
                values = {}
                for number in steps[t]:
                    if not number.control and not number.apart:
                        worth = number.worth
                        values[number.model] = math.nan if worth is None else worth
                columns[f"{metric.titled(t)}, {place}"] = values
    return columns


def published_columns(
    ours: Mapping[str, Mapping[str, str]],
) -> Iterator[tuple[str, "pd.Series[float]"]]:
    """Yield every benchmark of the leaderboards in the catalogue, without its parts.

    Args:
        ours: leaderboard → our name of a model → its name there. A model that is not ours has the
            leaderboard's name before its own.

    Raises:
        ConfigError: a leaderboard does not exist, or does not have a model.
    """
    where = "params.yaml: correlation.models"
    paths = {path.stem: path for path in sorted(LEADERBOARDS.glob("*.csv"))}
    for board in ours:
        if board not in paths:
            raise ConfigError(unknown_name(f"{where}: leaderboard", board, paths))
    for board, path in paths.items():
        rows = pd.read_csv(path)
        models = {model: f"{board}: {model}" for model in rows["model"]}
        for own, outside in ours.get(board, {}).items():
            if outside not in models:
                what = f"{where}.{board}.{own}: model"
                raise ConfigError(unknown_name(what, outside, models))
            models[outside] = own
        for name, part in rows.groupby("benchmark", sort=False):
            if "/" not in str(name):
                own_names = part["model"].map(models)
                yield f"{name}, {board}", part.set_index(own_names)["value"]


def _rows(values: pd.DataFrame, confidence: float) -> Iterator[Cells]:
    """Yield a row for every two columns that share four models or more.

    Columns that are constant over these models have none.
    """
    pearson: Any = values.corr(min_periods=FEWEST).round(6)
    spearman: Any = values.corr("spearman", min_periods=FEWEST)
    for a, b in combinations(map(str, values), 2):
        r = pearson.at[a, b]
        if not math.isnan(r):
            n = len(values[[a, b]].dropna())
            cell = estimate_cell(r, fisher_interval(r, n, confidence))
            rho = f"{spearman.at[a, b]:.2f}"
            yield [a, b, str(n), cell, rho]


def _picture(values: pd.DataFrame) -> Drawing:
    """Draw the columns that correlate with any other."""
    pearson = values.corr(min_periods=FEWEST).round(6)
    drawn = pearson.columns[pearson.count() > 1][:MOST]
    places = [str(place) for place in range(1, len(drawn) + 1)]
    rows = []
    for place, name in zip(places, drawn, strict=True):
        rows.append(f"{short(name, 44)} · {place}")
    return matrix(
        "pearson",
        "Pearson's r between headlines",
        rows=rows,
        columns=places,
        values=pearson.loc[drawn, drawn].to_numpy().tolist(),
        note="Over the models that two columns share; grey where these are fewer than four.",
        most=1.0,
        digits=2,
    )
