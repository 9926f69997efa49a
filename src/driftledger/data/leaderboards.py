"""Published results of models: CSV files, each value with its source and its date.

Some come with the package; a project may have its own in ``data/leaderboards``, which replace those
of the same name. A file is a leaderboard. A benchmark's name may end in ``/`` and a part of it, as
in ``GC@3/Existence``.
"""

from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import Field, TypeAdapter, ValidationError

from driftledger.core.errors import DataError
from driftledger.core.strict import explain
from driftledger.data.tables import read_table

Text = Annotated[str, Field(min_length=1)]
Date = Annotated[str, Field(pattern=r"^[0-9]{4}(-(0[1-9]|1[0-2])(-[0-3][0-9])?)?$")]
"""``2024``, ``2024-04`` or ``2024-04-25``."""


class OutsideValue(NamedTuple):
    """A row of a leaderboard."""

    model: Text
    benchmark: Text
    value: Annotated[float, Field(allow_inf_nan=False)]
    source: Text
    date: Date


def leaderboard_files(root: Path) -> list[Path]:
    """List the package's leaderboards and a project's own by name.

    Its own replace those of the same name.
    """
    ours = Path(str(files("driftledger"))) / "catalogue" / "leaderboards"
    paths = {path.name: path for path in ours.glob("*.csv")}
    for path in (root / "data" / "leaderboards").glob("*.csv"):
        paths[path.name] = path
    return [paths[name] for name in sorted(paths)]


def read_leaderboards(paths: Iterable[Path]) -> dict[str, list[OutsideValue]]:
    """Read leaderboards: the name of a file without ``.csv``, and its rows.

    Raises:
        DataError: a file is not CSV, a row lacks a value or has a wrong one, or a model has two
            values of one benchmark. Names the file and the line.
    """
    adapter = TypeAdapter(OutsideValue)
    boards = {}
    for path in paths:
        values: dict[tuple[str, str], OutsideValue] = {}
        for place, cells in read_table(path).rows:
            where = f"{path.parent}: {place}"
            texts = {name.casefold(): cell.strip() for name, cell in cells.items()}
            row = {name: texts.get(name) for name in OutsideValue._fields}
            try:
                value = adapter.validate_python(row)
            except ValidationError as error:
                raise DataError(f"{explain(error, where)}; correct it") from None
            key = (value.model, value.benchmark)
            if values.setdefault(key, value) is not value:
                raise DataError(
                    f"{where}: {value.model!r} has another value of {value.benchmark!r} above; "
                    "keep one"
                )
        boards[path.stem] = [*values.values()]
    return boards
