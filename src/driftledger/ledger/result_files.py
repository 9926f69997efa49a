"""Compare two files of results that any tool wrote, row by row.

Rows are paired by an id. A value is a column, or a dotted path into what a cell holds.
"""

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from driftledger.core.canonical import canonical_json
from driftledger.core.errors import LedgerError, first_few
from driftledger.core.files import load_json
from driftledger.core.text import shortened
from driftledger.data.records import ONE_CATEGORY
from driftledger.data.tables import table_rows
from driftledger.ledger.comparison import (
    FILES,
    Changes,
    Comparison,
    MetricComparison,
    ScorePair,
    is_fair,
    reasons_of,
    why_barred,
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
_WORDS = {"true": 1.0, "false": 0.0}
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's correct, partial, incorrect and no answer, as its ``value_to_float`` reads them."""
_NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]{1,4})?")
_ABSENT = object()
"""The value of a path that a row does not have."""
_SHOWN = 80
"""Characters of a foreign name or value in a sentence."""


class Columns(NamedTuple):
    """The columns of result files, or dotted paths into them, that a comparison needs."""

    ids: Sequence[str]
    """Together they name a row."""
    values: Sequence[str]
    cluster: str | None = None
    """Rows that are about one thing; by default, rows with one first id."""
    group: str | None = None
    """The mean is over the means of groups."""
    higher: bool = True
    """Whether higher values are better."""


class ResultRow(NamedTuple):
    """What is kept of a row."""

    place: str
    values: Sequence[float | None]
    cluster: str = ""
    group: str = ""
    """Both are empty if the row has no value."""


class ResultFile(NamedTuple):
    """The rows of a file by their id."""

    name: str
    rows: Mapping[str, ResultRow]
    graded: bool
    """Whether there are grades of Inspect among the values."""

    def units(self, number: int) -> Units:
        """Return the rows that have the value of this number."""
        units = {}
        for unit, row in self.rows.items():
            value = row.values[number]
            if value is not None:
                units[unit] = (value, row.group, row.cluster)
        return units


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
        LedgerError: a file lacks a column, has an id twice or a text in place of a number; or the
            files have no id in common, or differ in the cluster or group of a row.
    """
    one = _read(*a, columns)
    two = _read(*b, columns)
    _check_alike(one, two, columns)
    sides = (Path(one.name).name, Path(two.name).name)
    if sides[0] == sides[1]:
        sides = ("A", "B")
    differing = []
    metrics = []
    changes = []
    notes = []
    if one.graded or two.graded:
        notes.append("C, P, I and N are read as Inspect reads them: 1, 0.5, 0 and 0")
    for number, path in enumerate(columns.values):
        units_a = one.units(number)
        units_b = two.units(number)
        place = Place(path)
        total = len(units_a.keys() | units_b.keys()) or 1
        counts = ((len(units_a), total), (len(units_b), total))
        difference = share_difference(f"coverage of {path}", *counts)
        if difference is not None:
            differing.append(replace(difference, concerns=(place,)))
        barred = "" if anyway else why_barred(differing, place)
        metric = _metric(path, columns, units_a, units_b)
        compared = MetricComparison(place, metric, _mean(units_a), _mean(units_b))
        measure(compared, units_a, units_b, barred, CONFIDENCE)
        metrics.append(compared)
        if barred:
            changes.append(Changes(f"values of {path}", note=barred))
        else:
            changes.append(_changes(metric, units_a, units_b))
        notes += _alone(path, sides[0], one, units_a.keys() - units_b.keys())
        notes += _alone(path, sides[1], two, units_b.keys() - units_a.keys())
    pair = ScorePair(
        benchmark="",
        on="",
        place=_ROWS,
        a=one.name,
        b=two.name,
        differing=differing,
        changed=[],
        metrics=metrics,
        comparable=is_fair(differing, [compared.number for compared in metrics]),
        reasons=reasons_of(differing),
        cost={},
        changes=changes,
    )
    correct([pair])
    return Comparison(
        a=f"{one.name}, {len(one.rows):,} rows",
        b=f"{two.name}, {len(two.rows):,} rows",
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


def columns_of(path: Path, name: str) -> str:
    """List the columns of a file's first row, and the paths into them."""
    for _, cells in table_rows(path, name):
        return _listed(_leaves(cells))
    return "(none)"


def _read(path: Path, name: str, columns: Columns) -> ResultFile:
    """Read what a comparison needs of a file; errors as in :func:`compare_files`."""
    rows: dict[str, ResultRow] = {}
    known: set[str] = set()
    graded = False
    first: dict[str, Any] = {}
    needed = [*columns.ids, *columns.values]
    needed += filter(None, [columns.cluster, columns.group])
    for place, cells in table_rows(path, name, needed):
        first = first or cells
        names = [_name(cells, column, "--id", place) for column in columns.ids]
        unit = names[0] if len(names) == 1 else canonical_json(names)
        if unit in rows:
            raise LedgerError(
                f"{place} has the id {unit!r:.200} of {rows[unit].place}; keep one row of each id, "
                "or name one more column by --id, such as epoch"
            )
        values = []
        for column in columns.values:
            value = _find(cells, column)
            if value is not _ABSENT:
                known.add(column)
            graded = graded or value in [*_GRADES]
            values.append(_number(value, f"{place} has {{}} under {column!r:.80}"))
        row = ResultRow(place, values)
        if any(value is not None for value in values):
            cluster = names[0]
            group = ONE_CATEGORY
            if columns.cluster is not None:
                cluster = _name(cells, columns.cluster, "--cluster", place)
            if columns.group is not None:
                group = _name(cells, columns.group, "--group", place)
            row = ResultRow(place, values, cluster, group)
        rows[unit] = row
    if not rows:
        raise LedgerError(f"{name} holds no rows; name a file that does")
    for column in columns.values:
        if column not in known:
            raise LedgerError(
                f"no row of {name} has {column!r:.80}; {_near(column, first)}"
            )
    return ResultFile(name, rows, graded)


def _check_alike(one: ResultFile, two: ResultFile, columns: Columns) -> None:
    """Refuse files without a common id, and rows of one id in other clusters or groups."""
    common = [unit for unit in one.rows if unit in two.rows]
    if not common:
        raise LedgerError(
            f"{one.name} and {two.name} have no id in common: the first begins with "
            f"{next(iter(one.rows))!r:.80}, the second with {next(iter(two.rows))!r:.80}; correct "
            "--id"
        )
    for unit in common:
        a = one.rows[unit]
        b = two.rows[unit]
        for option in ("cluster", "group"):
            of_a = getattr(a, option)
            of_b = getattr(b, option)
            if of_a and of_b and of_a != of_b:
                raise LedgerError(
                    f"the id {unit!r:.80} has two values for --{option}: {of_a!r:.80} in {a.place} "
                    f"and {of_b!r:.80} in {b.place}; correct one of them"
                )


def _find(cells: Any, path: str) -> Any:
    """Return the value at a dotted path; a name that has dots itself comes first.

    A cell of text that is followed further is read as JSON.

    >>> _find({"scores": {"exact.match": [0, 1]}}, "scores.exact.match.1")
    1
    """
    if isinstance(cells, str):
        with suppress(ValueError):
            cells = load_json(cells.encode(), finite=False)
    if isinstance(cells, list):
        cells = {str(index): cell for index, cell in enumerate(cells)}
    if not isinstance(cells, dict):
        return _ABSENT
    if path in cells:
        return cells[path]
    parts = path.split(".")
    for length in range(1, len(parts)):
        head = ".".join(parts[:length])
        if head in cells:
            value = _find(cells[head], ".".join(parts[length:]))
            if value is not _ABSENT:
                return value
    return _ABSENT


def _name(cells: Any, path: str, option: str, place: str) -> str:
    """Return an id, a cluster or a group as text: 1 and 1.0 are ``1``, true is ``true``."""
    value = _find(cells, path)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float | Decimal) and value == value and value % 1 == 0:
        return str(int(value))
    if isinstance(value, str | int | float | Decimal) and str(value) not in ("", "nan"):
        return str(value)
    raise LedgerError(
        f"{place} has neither text nor a number under {path!r:.80}, which {option} needs; "
        f"{_near(path, cells)}"
    )


def _number(value: Any, where: str) -> float | None:
    """Return a cell as a number; None if it has no value.

    Args:
        where: the beginning of an error, with a place for what the cell holds.
    """
    number = value
    if isinstance(value, str):
        text = value.strip()
        word = text.lower()
        if word in _NOTHING:
            return None
        number = _WORDS.get(word, _GRADES.get(text))
        if _NUMBER.fullmatch(text):
            number = float(text)
    if value is _ABSENT or value is None or number != number:
        return None
    if isinstance(number, int | float | Decimal) and math.isfinite(number):
        return float(number)
    what = f"{value!r:.80}"
    advice = "name a column of numbers, or of true and false"
    if isinstance(value, dict):
        what = "an object"
        advice = f"name a value in it, with a dot: {_listed(_leaves(value))}"
    raise LedgerError(f"{where.format(what)}, where a finite number belongs; {advice}")


def _leaves(cells: Mapping[str, Any], above: str = "") -> Iterator[str]:
    """Yield the paths of the values of a row."""
    for key, value in cells.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, f"{above}{key}.")
        else:
            yield f"{above}{key}"


def _listed(names: Iterator[str]) -> str:
    return first_few([shortened(name, _SHOWN) for name in islice(names, 200)], 12)


def _near(path: str, cells: Mapping[str, Any]) -> str:
    """Name the path of a row that is most like another, and list them."""
    nearest = get_close_matches(path, islice(_leaves(cells), 200), n=1)
    hint = f"did you mean {nearest[0]!r:.80}? " if nearest else ""
    return f"{hint}it has {_listed(_leaves(cells))}"


def _metric(path: str, columns: Columns, a: Units, b: Units) -> Metric:
    """Return a row of a table of metrics for a value: the mean over rows, or groups of them."""
    values = [abs(value) for units in (a, b) for value, _, _ in units.values()]
    largest = max(values, default=0.0)
    # four digits of the largest value
    digits = (
        min(DECIMALS, max(0, 3 - math.floor(math.log10(largest)))) if largest else 3
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
        digits=digits,
        in_rows=True,
        shown=frozenset({"headline"}),
    )


def _mean(units: Units) -> float | None:
    if not units:
        return None
    values = np.array([value for value, _, _ in units.values()])
    return mean_over_categories(values, [group for _, group, _ in units.values()])


def _changes(metric: Metric, a: Units, b: Units) -> Changes:
    """Return the changes of a value, the largest first."""
    askings = [_asking(metric, units) for units in (a, b)]
    changes = find_changes(f"values of {metric.name}", askings, CONFIDENCE)
    changes.furthest.sort(key=lambda row: -abs(float(row.b) - float(row.a)))
    return changes


def _asking(metric: Metric, units: Units) -> Asking:
    asking = {}
    for unit, (value, _, cluster) in units.items():
        rounded = round(value, DECIMALS) + 0.0  # not −0
        worth = rounded if metric.is_higher else -rounded
        answer = Answer(unit, 0, f"{rounded:g}", worth=worth, read=rounded)
        asking[cluster, unit, 0] = (answer, "")
    return asking


def _alone(
    path: str, side: str, file: ResultFile, units: Collection[str]
) -> Iterator[str]:
    """Name the first of the rows that have a value on one side alone."""
    for unit, row in file.rows.items():
        if unit in units:
            more = f" and {len(units) - 1} more" if len(units) > 1 else ""
            yield f"only {side} has a value of {path} for {unit} ({row.place}){more}"
            return


def _about(columns: Columns) -> Iterator[str]:
    """Say what is compared."""
    ids = " and ".join(columns.ids)
    yield f"{', '.join(columns.values)} of rows with the same {ids}"
    if not columns.higher:
        yield "lower is better"
    cluster = columns.cluster
    if len(columns.ids) > 1:
        cluster = cluster or columns.ids[0]
    if cluster:
        yield f"rows with one {cluster} count as one cluster"
    if columns.group:
        yield f"the mean is over the means by {columns.group}"
