"""What the readers of all formats give, and how a text, an id or a JSON document is taken out of a file."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError

LARGEST_FILE = 512 * 2**20
"""Bytes that are read of a file, or of what it unpacks to."""
LONGEST_TEXT = 100_000
"""Characters of one prediction."""

_PLACE = re.compile(r"\{([^{}:]+)(?::0([1-9][0-9]?))?\}")


class PredictionRow(NamedTuple):
    """One prediction as its file tells it."""

    place: str
    """Where it stands, for people: ``line 3``."""
    cells: Mapping[str, Any]
    """By name, everything that an id may be made of."""
    text: str = ""
    trouble: str = ""
    """Why there is no text, where there is none: the call failed there, or the cell holds something else."""
    question: str = ""
    """What was asked, where the file tells it."""
    options: tuple[str, ...] = ()
    """In the order in which they were shown as A, B, C, …, where the file tells it."""


def text_row(place: str, cells: Mapping[str, Any], value: Any, **more: Any) -> PredictionRow:
    """The row of a value that should be a text."""
    if not isinstance(value, str):
        said = "no prediction" if value is None else f"a {type(value).__name__} where a text should be"
        return PredictionRow(place, cells, trouble=f"{place} holds {said}", **more)
    if not value.strip():
        return PredictionRow(place, cells, trouble=f"the prediction of {place} is empty", **more)
    if len(value) > LONGEST_TEXT:
        trouble = f"the prediction of {place} has {len(value):,} characters, more than {LONGEST_TEXT:,}"
        return PredictionRow(place, cells, trouble=trouble, **more)
    return PredictionRow(place, cells, value, **more)


def id_of(row: PredictionRow, rule: str) -> str | None:
    """The id that a column holds, or that a rule such as ``v1_{index}`` or ``{doc_id:04}`` makes of several; None where
    one is missing.

    >>> id_of(PredictionRow("line 1", {"index": 3, "doc": {"question_id": "v1_3"}}), "v1_{index}")
    'v1_3'
    >>> id_of(PredictionRow("line 1", {"index": 3, "doc": {"question_id": "v1_3"}}), "doc.question_id")
    'v1_3'
    >>> id_of(PredictionRow("line 1", {"index": 3, "doc": {"question_id": "v1_3"}}), "{index:04}")
    '0003'
    """
    names = [name for name, _ in _PLACE.findall(rule)]
    if not names:
        return _cell(row.cells, rule)
    cells = {name: _cell(row.cells, name) for name in names}
    if None in cells.values():
        return None
    return _PLACE.sub(lambda match: (cells[match[1]] or "").zfill(int(match[2] or 0)), rule)


def _cell(cells: Any, name: str) -> str | None:
    """A cell by its name, or by the path to it: ``doc.question_id``."""
    if not isinstance(cells, Mapping):
        return None
    if name not in cells:
        first, _, rest = name.partition(".")
        return _cell(cells.get(first), rest) if rest else None
    value = cells[name]
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # what a spreadsheet makes of whole numbers
    said = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
    return said or None


def decoded(data: bytes, where: str) -> str:
    """The text of a file in UTF-8, with or without a mark.

    Raises:
        ConfigError: it is in another encoding.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ConfigError(f"{where} is not UTF-8 (byte {error.start + 1:,}); save it as UTF-8") from None


def parse_json(text: str, where: str, **options: Any) -> Any:
    """A JSON document.

    Raises:
        ConfigError: it is none.
    """
    try:
        return json.loads(text, **options)
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{where} cannot be read as JSON ({error!s:.200}); mend it, or name its format") from None
