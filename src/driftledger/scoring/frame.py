"""All scores as one frame with a row per number."""

from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import Any, Final

import pandas as pd
from pandas import DataFrame

from driftledger.core.grouping import grouped
from driftledger.core.text import csv_text, for_csv
from driftledger.scoring.number import Number, Place
from driftledger.scoring.score import Score

_KEYS = ["generator", "encoder", "text_encoder", "description"]
SETUP: Final = ["benchmark", "data", *_KEYS]
"""The columns that scores in one table share; "" if a score has none."""
PLACE: Final = ["metric", "t", "group_kind", "group"]
"""The columns that identify a number in a score, as in :class:`Place`."""
OF_SCORE: Final = [*SETUP, "model", "control", "coverage", "unranked", "score"]
"""The columns that all numbers of a score share. ``unranked`` says why the score has no rank, and
``score`` is the :class:`Score` itself."""
_TEXTS = ["group_kind", "group", "why"]
_FLOATS = ["value", "low", "high", "std"]


def frame(scores: Iterable[Score]) -> DataFrame:
    """Return a row per number of each score, including coverage and costs.

    The columns are :data:`OF_SCORE` and those of :class:`Number`. A text that is missing is "", a
    missing ``t`` or ``n`` is NA, and a missing value NaN.
    """
    rows = []
    for score in scores:
        shared = _shared(score)
        for number in _numbers(score):
            rows.append(shared | dict(number))
    columns = [*OF_SCORE, *Number.model_fields]
    numbers = DataFrame(rows, columns=columns, dtype=object)
    numbers[_TEXTS] = numbers[_TEXTS].fillna("")
    types = dict.fromkeys(_FLOATS, "float64") | dict.fromkeys(["t", "n"], "Int64")
    return numbers.astype(types)


def _shared(score: Score) -> dict[str, Any]:
    return {
        "benchmark": score.benchmark,
        "data": score.on,
        **{key: score.keys.get(key, "") for key in _KEYS},
        "model": score.model,
        "control": score.is_control,
        "coverage": score.coverage,
        "unranked": score.unranked or "",
        "score": score,
    }


def _numbers(score: Score) -> Iterator[Number]:
    yield from score.by_place.values()
    for cost, value in score.costs.items():
        yield Number(metric=cost, value=value)


def rows_in(numbers: DataFrame) -> list[Any]:
    """Return each number as a tuple with the columns as names, and its ``Index``.

    What is missing is None, but for texts.
    """
    known = numbers.astype(object).where(numbers.notna(), None)
    return [*known.itertuples()]


def place_of(number: Any) -> Place:
    """Return the place of a row."""
    group = number.group_kind or None, number.group or None
    return Place(number.metric, number.t, *group)


def by_setup(numbers: Iterable[Any]) -> list[list[Any]]:
    """Return the rows of each setup, in first-seen order."""
    return [*grouped(numbers, attrgetter(*SETUP)).values()]


def scores_in(numbers: Iterable[Any]) -> list[Score]:
    """Return the scores behind rows."""
    scores = {id(number.score): number.score for number in numbers}
    return [*scores.values()]


def csv_of(numbers: DataFrame, columns: list[str]) -> str:
    """Write some columns as a CSV file's text, in which no text is a formula."""
    cells = numbers[columns].astype(object).map(_in_csv)
    return csv_text(columns, cells.to_numpy().tolist())


def _in_csv(value: Any) -> str:
    if isinstance(value, str):
        return for_csv(value)
    return "" if pd.isna(value) else str(value)
