"""What others have published of models: CSV files, each value with its source and its date.

Some come with the package; a project may have its own in ``data/leaderboards``, which win over those of the same name.
A file is a leaderboard. A benchmark's name may end in ``/`` and what a part of it is of, as ``GC@3/Existence`` does.
"""

import math
import re
from collections.abc import Iterable, Iterator
from datetime import date
from importlib.resources import files
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DataError
from driftledger.core.sheets import read_table

COLUMNS = ("model", "benchmark", "value", "source", "date")
PUBLISHED_COLUMNS = ("first", "second", "pearson", "source", "date")

PUBLISHED = "correlations"
"""Folder beside the leaderboards: correlations as they are printed, in a file of a leaderboard's name."""

_DATE = re.compile(r"[0-9]{4}(-[0-9]{2}){0,2}")
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


class OutsideValue(NamedTuple):
    """A row of a leaderboard."""

    model: str
    benchmark: str
    value: float
    source: str
    date: str
    """``2024``, ``2024-04`` or ``2024-04-25``."""


class Leaderboard(NamedTuple):
    """A file: its name without ``.csv``, and its rows."""

    name: str
    values: tuple[OutsideValue, ...]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.model for each in self.values))


class PublishedCorrelation(NamedTuple):
    """A Pearson correlation between two benchmarks of a leaderboard, as printed."""

    leaderboard: str
    first: str
    second: str
    pearson: float
    decimals: int
    """As many as are printed."""
    source: str
    date: str


def leaderboard_folders(root: Path) -> tuple[Path, Path]:
    """Where a project's leaderboards are: the package's, and its own, which may be missing."""
    return Path(str(files("driftledger"))) / "catalogue" / "leaderboards", root / "data" / "leaderboards"


def leaderboard_digests(folders: Iterable[Path]) -> dict[str, str]:
    """Hex SHA-256 of every file that is read, by its path below its folder."""
    folders = tuple(folders)
    found = {path.name: path for path in _chosen(folders)}
    found |= {f"{PUBLISHED}/{path.name}": path for path in _chosen(folder / PUBLISHED for folder in folders)}
    return {name: sha256_file(path) for name, path in found.items()}


def read_leaderboards(folders: Iterable[Path]) -> list[Leaderboard]:
    """Every ``*.csv`` of some folders, by name; of several of one name, that of the last folder.

    Raises:
        DataError: a row lacks something, its value is no number or its date no date, or a model has two values of one
            benchmark. Names the file, the line and what to write there.
        ConfigError: a file is no CSV file with these columns.
    """
    return [Leaderboard(path.stem, tuple(_values(path))) for path in _chosen(folders)]


def read_published(folders: Iterable[Path]) -> list[PublishedCorrelation]:
    """Every printed correlation in folders of leaderboards; errors as in :func:`read_leaderboards`."""
    return [each for path in _chosen(folder / PUBLISHED for folder in folders) for each in _published(path)]


def _chosen(folders: Iterable[Path]) -> list[Path]:
    found = {path.name: path for folder in folders for path in folder.glob("*.csv")}
    return [found[name] for name in sorted(found)]


def _values(path: Path) -> Iterator[OutsideValue]:
    lines: dict[tuple[str, str], int] = {}
    for line, cells in _entries(path, COLUMNS):
        value = OutsideValue(
            cells["model"], cells["benchmark"], _number(path, line, cells["value"]), cells["source"], cells["date"]
        )
        key = value.model, value.benchmark
        if key in lines:
            raise DataError(
                f"{path}, line {line}: {value.model!r} has a value of {value.benchmark!r} in line {lines[key]} "
                "already; remove one, or put it into a file of its own"
            )
        lines[key] = line
        yield value


def _published(path: Path) -> Iterator[PublishedCorrelation]:
    for line, cells in _entries(path, PUBLISHED_COLUMNS):
        printed = cells["pearson"]
        pearson = _number(path, line, printed)
        if not -1 <= pearson <= 1:
            raise DataError(f"{path}, line {line}: {printed} is no correlation, which lies between -1 and 1; mend it")
        decimals = len(printed.partition(".")[2])
        yield PublishedCorrelation(
            path.stem, cells["first"], cells["second"], pearson, decimals, cells["source"], cells["date"]
        )


def _entries(path: Path, columns: tuple[str, ...]) -> Iterator[tuple[int, dict[str, str]]]:
    table = read_table(path, columns, "a leaderboard", "a spreadsheet")
    if not table.rows:
        raise DataError(f"{path} has no rows below its first line; add some or remove the file")
    for line, cells in table.entries():
        for column in columns:
            if not cells[column]:
                raise DataError(f"{path}, line {line}: {column} is empty; fill it in or remove the row")
        if not _is_date(cells["date"]):
            raise DataError(f"{path}, line {line}: {cells['date']!r} is no date; write 2024, 2024-04 or 2024-04-25")
        yield line, cells


def _number(path: Path, line: int, text: str) -> float:
    value = float(text) if _NUMBER.fullmatch(text) else math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}, line {line}: {text!r} is no number; write it like 62.7, without unit or separators")
    return value


def _is_date(text: str) -> bool:
    if not _DATE.fullmatch(text):
        return False
    try:
        date.fromisoformat(text + "-01-01"[len(text) - 4 :])
    except ValueError:
        return False
    return True
