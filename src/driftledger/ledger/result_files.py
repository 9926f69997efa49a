"""Compare two files of results that any tool wrote, row by row.

Rows are paired by an id. A value is a column, or a dotted path into what a cell holds.
"""

import math
import re
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftledger.core.canonical import canonical_json
from driftledger.core.errors import LedgerError, unknown_name
from driftledger.data.records import ONE_CATEGORY
from driftledger.data.tables import left_out, table_rows
from driftledger.ledger.comparison import (
    FILES,
    Changes,
    Comparison,
    MetricComparison,
    ScorePair,
)
from driftledger.ledger.measure import (
    Asking,
    Units,
    correct,
    find_changes,
    measure,
    share_difference,
)
from driftledger.metrics.intervals import mean_over_categories
from driftledger.metrics.paired import DECIMALS
from driftledger.scoring.metric import Metric
from driftledger.scoring.number import Place
from driftledger.scoring.score import Answer

CONFIDENCE = 0.95
_ROWS = "rows"
"""The name of a pair of files in sentences, and before ``/`` in ``--metric``."""
_NOTHING = frozenset({"", "nan", "none", "null"})
_WORDS = {"true": 1.0, "false": 0.0, "C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Truth values, and the grades correct, partial, incorrect and no answer, as Inspect's
``value_to_float`` reads them."""
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_LARGEST = 1e60
"""Values are below it, so that their fourth powers are numbers."""
_SMALLEST = 1e4 / 10**DECIMALS
"""A value is at least as large, so that four of its digits are compared."""
_ABSENT = object()
"""The value of a path that a row does not have."""


class Columns(NamedTuple):
    """The columns of files of results, or dotted paths into them, that a comparison needs."""

    ids: Sequence[str]
    """Together they name a row."""
    values: Sequence[str]
    cluster: str | None = None
    """Rows that are about one thing; by default, rows with one first id."""
    group: str | None = None
    """The mean is over the means of groups."""
    higher: bool = True
    """Whether higher values are better."""


class ResultFile(NamedTuple):
    """What is kept of a file."""

    name: str
    places: Mapping[str, str]
    """Each id and the place of its row."""
    units: Sequence[Units]
    """The rows that have each value."""


def compare_files(
    a: tuple[Path, str], b: tuple[Path, str], columns: Columns, *, anyway: bool = False
) -> Comparison:
    """Compare two files, value by value, over the rows that both have a value for.

    Args:
        a: the path of A, and its name for people.
        b: the same of B.
        anyway: rank unfair values too, and still list the reasons against it.

    Raises:
        ConfigError, DataError: a file is not a table.
        LedgerError: a value is named twice; a file lacks a column, has an id twice or a text in
            place of a number; or the files have no id in common, or differ in the cluster or group
            of a row.
    """
    named = [*columns.values, *columns.ids, columns.cluster, columns.group]
    for path in columns.values:
        if named.count(path) > 1:
            raise LedgerError(
                f"{path!r:.80} is named twice, once by --value; name another column to compare"
            )
    one = _read(*a, columns)
    two = _read(*b, columns)
    if not one.places.keys() & two.places.keys():
        raise LedgerError(
            f"{one.name} and {two.name} have no id in common: the first begins with "
            f"{next(iter(one.places))!r:.80}, the second with {next(iter(two.places))!r:.80}; "
            "correct --id"
        )
    sides = (Path(one.name).name, Path(two.name).name)
    if sides[0] == sides[1]:
        sides = ("A", "B")
    pair = ScorePair(
        benchmark="",
        on="",
        place=_ROWS,
        a=one.name,
        b=two.name,
        differing=[],
        changed=[],
        metrics=[],
        comparable=True,
        reasons=[],
        cost={},
    )
    notes: list[str] = []
    values = zip(columns.values, one.units, two.units, strict=True)
    for path, units_a, units_b in values:
        for unit in units_a:
            if unit in units_b and units_a[unit][1:] != units_b[unit][1:]:
                raise LedgerError(
                    f"{one.places[unit]} and {two.places[unit]} have one id and differ in group or "
                    f"cluster: {units_a[unit][1:]!r:.200} and {units_b[unit][1:]!r:.200}; correct "
                    "one of them"
                )
        notes += _alone(path, sides[0], one, units_a.keys() - units_b.keys())
        notes += _alone(path, sides[1], two, units_b.keys() - units_a.keys())
        _add(pair, path, units_a, units_b, columns, anyway=anyway)
    pair = replace(pair, comparable=not pair.reasons)
    correct([pair])
    return Comparison(
        a=f"{one.name}, {len(one.places):,} rows",
        b=f"{two.name}, {len(two.places):,} rows",
        about=[*_about(columns)],
        notes=notes,
        pairs=[pair],
        only_a=[],
        only_b=[],
        confidence=CONFIDENCE,
        anyway=anyway,
        comparable=pair.comparable,
        reasons=pair.reasons,
        sides=sides,
        words=FILES,
    )


def columns_of(cells: Mapping[str, Any]) -> list[str]:
    """List the columns of a row, and the paths into objects that it holds, but not all of many."""
    return [path[:80] for path in islice(_paths_of(cells), 200)]


def _paths_of(cells: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for key, value in cells.items():
        if isinstance(value, dict) and value:
            yield from _paths_of(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def _about(columns: Columns) -> Iterator[str]:
    yield f"{', '.join(columns.values)} of rows with the same {' and '.join(columns.ids)}"
    if not columns.higher:
        yield "lower is better"
    cluster = columns.cluster
    if len(columns.ids) > 1:
        cluster = cluster or columns.ids[0]
    if cluster:
        yield f"rows with one {cluster} are one cluster"
    if columns.group:
        yield f"the mean is over the means by {columns.group}"


def _read(path: Path, name: str, columns: Columns) -> ResultFile:
    """Read what a comparison needs of a file; errors as in :func:`compare_files`."""
    places: dict[str, str] = {}
    units: list[dict[str, tuple[float, str, str]]] = [{} for _ in columns.values]
    unknown = {*columns.values}
    first: Mapping[str, Any] = {}
    for place, cells in table_rows(path, name):
        first = first or cells
        ids = [_name(cells, column, place) for column in columns.ids]
        unit = ids[0] if len(ids) == 1 else canonical_json(ids)
        if unit in places:
            raise LedgerError(
                f"{place} has the id {unit!r:.200} of {places[unit]}; keep one row of each id, or "
                "name one more column by --id, such as epoch"
            )
        places[unit] = place
        for own, column in zip(units, columns.values, strict=True):
            value = _find(cells, column)
            if value is not _ABSENT:
                unknown.discard(column)
            number = _number(value, column, place)
            if number is None:
                continue
            cluster = ids[0]
            group = ONE_CATEGORY
            if columns.cluster:
                cluster = _name(cells, columns.cluster, place)
            if columns.group:
                group = _name(cells, columns.group, place)
            own[unit] = (number, group, cluster)
    for part in left_out(path):
        raise LedgerError(
            f"{name}: {part} is not read; keep one sheet, of plain values"
        )
    if not places:
        raise LedgerError(f"{name} holds no rows; name a file that does")
    for column in unknown:
        raise LedgerError(f"{name}: {_unknown(column, first)}")
    return ResultFile(name, places, units)


def _find(cells: Any, path: str) -> Any:
    """Return the value at a dotted path; a name that has dots itself comes first.

    >>> _find({"scores": {"exact.match": [0, 1]}}, "scores.exact.match.1")
    1
    """
    if isinstance(cells, list):
        cells = {str(index): cell for index, cell in enumerate(cells)}
    if not isinstance(cells, dict):
        return _ABSENT
    if path in cells:
        return cells[path]
    for dot in re.finditer(r"\.", path):
        head = path[: dot.start()]
        if head in cells:
            value = _find(cells[head], path[dot.end() :])
            if value is not _ABSENT:
                return value
    return _ABSENT


def _name(cells: Mapping[str, Any], path: str, place: str) -> str:
    """Return an id, a cluster or a group as text: 1 and 1.0 are ``1``, true is ``true``."""
    value = _find(cells, path)
    if value is _ABSENT:
        raise LedgerError(f"{place}: {_unknown(path, cells)}")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float | Decimal) and str(value) not in ("", "nan"):
        return str(value)
    raise LedgerError(
        f"{place} has {value!r:.80} under {path!r:.80}, where a text or a number belongs; name "
        "another column, or correct the row"
    )


def _unknown(path: str, cells: Mapping[str, Any]) -> str:
    nearest = get_close_matches(path[:80], columns_of(cells), n=20, cutoff=0)
    return unknown_name("column", path[:80], nearest)


def _number(value: Any, path: str, place: str) -> float | None:
    """Return a cell as a number; None if it has no value."""
    number = value
    if isinstance(value, str):
        text = value.strip()
        word = text.lower()
        if word in _NOTHING:
            return None
        number = _WORDS.get(text, _WORDS.get(word))
        if _NUMBER.fullmatch(text):
            number = float(text)
    if value is _ABSENT or value is None or number != number:
        return None
    if isinstance(number, int | float | Decimal) and -_LARGEST < number < _LARGEST:
        return float(number)
    raise LedgerError(
        f"{place} has {value!r:.80} under {path!r:.80}, where a number belongs (below "
        f"{_LARGEST:g}); name a column of numbers, or of true and false"
    )


def _alone(path: str, side: str, file: ResultFile, units: Set[str]) -> Iterator[str]:
    """Name the first of the rows that have a value on one side alone."""
    if units:
        first = next(filter(units.__contains__, file.places))
        more = f" and {len(units) - 1} more" if len(units) > 1 else ""
        yield f"only {side} has a value of {path} for {first} ({file.places[first]}){more}"


def _add(
    pair: ScorePair, path: str, a: Units, b: Units, columns: Columns, *, anyway: bool
) -> None:
    """Add the comparison of a value."""
    place = Place(path)
    barred = ""
    for rows in (a.keys(), b.keys()):  # as each may leave out other ones
        total = len(rows) or 1
        have = [(len(rows & units.keys()), total) for units in (a, b)]
        difference = share_difference(f"coverage of {path}", *have)
        if difference is not None:
            pair.differing.append(replace(difference, concerns=(place,)))
            if difference.weight == "unfair":
                pair.reasons.append(difference.reason)
                barred = "" if anyway else difference.reason
    metric = _metric(path, columns, a, b)
    compared = MetricComparison(place, metric, _mean(a), _mean(b))
    measure(compared, a, b, barred, CONFIDENCE)
    pair.metrics.append(compared)
    changes = Changes(f"values of {path}", note=barred)
    if not barred:
        askings = [_asking(metric, units) for units in (a, b)]
        changes = find_changes(changes.of, askings, CONFIDENCE)
        changes.furthest.sort(key=lambda row: -abs(float(row.b) - float(row.a)))
        if alone := len(a.keys() ^ b.keys()):
            changes.note = changes.note or f"{alone:,} in one file alone"
    pair.changes.append(changes)


def _metric(path: str, columns: Columns, a: Units, b: Units) -> Metric:
    """Return a row of a table of metrics for a value: the mean over rows, or groups of them."""
    largest = max((abs(value) for value, _, _ in (*a.values(), *b.values())), default=0)
    if 0 < largest < _SMALLEST:
        raise LedgerError(
            f"no value of {path!r:.80} is {_SMALLEST:g} or more, and {DECIMALS} decimals are "
            "compared; multiply the values in both files"
        )
    return Metric(
        path,
        path.replace("{", "{{").replace("}", "}}"),  # as a title is a format
        "mean",
        source="",
        needs=frozenset(),
        # of values up to 1, a row can lose 1, even if none here did
        span=1.0 if largest <= 1 else 0.0,
        direction="higher" if columns.higher else "lower",
        # four digits of the largest value
        digits=min(DECIMALS, max(0, 3 - math.floor(math.log10(largest or 1)))),
        in_rows=True,
        shown=frozenset({"headline"}),
    )


def _mean(units: Units) -> float | None:
    if not units:
        return None
    values, groups, _ = zip(*units.values(), strict=True)
    return mean_over_categories(np.array(values), groups)


def _asking(metric: Metric, units: Units) -> Asking:
    asking = {}
    for unit, (value, _, cluster) in units.items():
        rounded = round(value, DECIMALS) + 0.0  # not −0
        worth = rounded if metric.is_higher else -rounded
        answer = Answer(unit, 0, f"{rounded:g}", worth=worth, read=rounded)
        asking[cluster, unit, 0] = (answer, "")
    return asking
