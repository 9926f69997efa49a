"""Published results of models: CSV files, each value with its source and its date.

Some come with the package; a project may have its own in ``data/leaderboards``, which replace those of the same name.
A file is a leaderboard. A benchmark's name may end in ``/`` and a part of it, as in ``GC@3/Existence``.
"""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DataError
from driftledger.core.strict import explain
from driftledger.data.tables import read_table

Text = Annotated[str, Field(min_length=1)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?$")]
"""``2024``, ``2024-04`` or ``2024-04-25``."""
Row = TypeVar("Row", bound=NamedTuple)


class OutsideValue(NamedTuple):
    """A row of a leaderboard."""

    model: Text
    benchmark: Text
    value: Annotated[float, Field(allow_inf_nan=False)]
    source: Text
    date: Date


class Leaderboard(NamedTuple):
    """A file: its name without ``.csv``, and its rows."""

    name: str
    values: tuple[OutsideValue, ...]

    @property
    def models(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(each.model for each in self.values))


def leaderboard_folders(root: Path) -> tuple[Path, Path]:
    """The folders of a project's leaderboards: the package's, and its own, which may be missing."""
    return Path(str(files("driftledger"))) / "catalogue" / "leaderboards", root / "data" / "leaderboards"


def leaderboard_digests(folders: Iterable[Path]) -> dict[str, str]:
    """Hex SHA-256 of every file that is read, by its name."""
    return {path.name: sha256_file(path) for path in _chosen(folders)}


def read_leaderboards(folders: Iterable[Path]) -> list[Leaderboard]:
    """Read every ``*.csv`` of some folders, by name; of several of one name, that of the last folder.

    Raises:
        DataError: a file is not CSV, a row lacks a value or has a wrong one, or a model has two values of one
            benchmark. Names the file and the line.
    """
    return [Leaderboard(path.stem, tuple(_values(path))) for path in _chosen(folders)]


def _chosen(folders: Iterable[Path]) -> list[Path]:
    paths = {path.name: path for folder in folders for path in folder.glob("*.csv")}
    return [paths[name] for name in sorted(paths)]


def _rows(path: Path) -> Iterator[tuple[str, dict[str, str]]]:
    for place, cells in read_table(path).rows:
        yield f"{path.parent}: {place}", {name.casefold(): cell.strip() for name, cell in cells.items()}


def _values(path: Path) -> Iterator[OutsideValue]:
    places: dict[tuple[str, str], str] = {}
    for place, cells in _rows(path):
        value = _checked(OutsideValue, cells, place)
        key = value.model, value.benchmark
        if key in places:
            raise DataError(f"{place}: {value.model!r} has another value of {value.benchmark!r} in {places[key]}")
        places[key] = place
        yield value


_adapter = cache(TypeAdapter)


def _checked(kind: type[Row], cells: dict[str, Any], where: str) -> Row:
    try:
        row: Row = _adapter(kind).validate_python({name: cells.get(name) for name in kind._fields})
        return row
    except ValidationError as error:
        raise DataError(f"{explain(error, where)}; correct it") from None
