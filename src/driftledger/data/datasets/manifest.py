"""A file that says which image is of which class and in which set, where folders do not.

It may come from somebody else: it can name no image outside of its folder, and every mistake is named by its line.
"""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from driftledger.core.errors import ConfigError, DataError, unknown_name
from driftledger.core.types import Split
from driftledger.data.datasets.base import SPLIT_NAMES, inside, read_text

_NEEDED = ("file", "label", "split")


class FolderImage(NamedTuple):
    """An image below a folder, and what its place or a manifest says of it."""

    place: str
    """What errors call it."""
    file: str
    """Its name below the folder."""
    path: Path
    label: str | None = None
    split: Split | None = None
    id: str | None = None
    category: str | None = None


def read_manifest(folder: Path, manifest: str) -> list[FolderImage]:
    """The rows of a CSV or JSONL file of UTF-8 below ``folder``, in its order.

    Its columns are ``file`` (below ``folder``, separated by ``/``), ``label``, ``split`` (train or support, test), and
    where wanted ``id`` and ``category``; others are passed over. CSV begins with their names.

    Raises:
        ConfigError: there is no such file below ``folder``, or its suffix is neither .csv nor .jsonl.
        DataError: it cannot be read, a column or a cell is missing, a split is unknown, or an image is missing, lies
            outside of ``folder`` or is listed twice.
    """
    path = inside(folder, manifest)
    if isinstance(path, str):
        raise ConfigError(f"the manifest {manifest!r:.200} {path}; set manifest to a file below path")
    readers = {".csv": _csv_rows, ".jsonl": _jsonl_rows}
    kind = PurePosixPath(manifest).suffix.lower()
    if kind not in readers:
        raise ConfigError(f"the manifest {manifest!r:.200} is neither .csv nor .jsonl; convert it, or mend manifest")
    seen: dict[Path, int] = {}
    rows = []
    for line, cells in readers[kind](read_text(path, manifest), manifest):
        row = _row(folder, f"line {line} of {manifest}", cells)
        if row.path in seen:
            raise DataError(f"{row.place} names the image of line {seen[row.path]} again, {row.file!r}; remove one")
        seen[row.path] = line
        rows.append(row)
    if not rows:
        raise DataError(f"{manifest} lists no images; add some, or mend manifest")
    return rows


def _csv_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        head = [column.strip() for column in next(lines, [])]
        for column in _NEEDED:
            if head.count(column) != 1:
                raise DataError(f"{name} must have a column {column!r}, once, in its first line; mend that line")
        before = lines.line_num
        for cells in lines:
            line, before = before + 1, lines.line_num
            if len(cells) not in (0, len(head)):
                raise DataError(
                    f"line {line} of {name} has {len(cells)} cells, and the first line {len(head)}; mend it"
                )
            if cells:
                yield line, dict(zip(head, cells, strict=True))
    except csv.Error as error:
        raise DataError(f"line {lines.line_num} of {name} is not CSV that can be read ({error}); mend it") from None


def _jsonl_rows(text: str, name: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for line, content in enumerate(text.split("\n"), 1):
        if not content.strip():
            continue
        try:
            cells = json.loads(content)
        except (ValueError, RecursionError) as error:
            raise DataError(f"line {line} of {name} is not JSON that can be read ({error!s:.200}); mend it") from None
        if not isinstance(cells, dict):
            raise DataError(f"line {line} of {name} is not a JSON object; write one per image")
        yield line, cells


def _row(folder: Path, place: str, cells: Mapping[str, Any]) -> FolderImage:
    file, label, split = (_needed(cells, column, place) for column in _NEEDED)
    if split not in SPLIT_NAMES:
        raise DataError(unknown_name(f"{place}: split", f"{split:.80}", SPLIT_NAMES))
    path = inside(folder, file)
    if isinstance(path, str):
        raise DataError(f"{place} names the image {file!r:.200}, which {path}; correct it")
    category = _composed(_cell(cells, "category", place)) or None
    name = _cell(cells, "id", place) or None
    return FolderImage(place, file, path, _composed(label), SPLIT_NAMES[split], name, category)


def _needed(cells: Mapping[str, Any], column: str, place: str) -> str:
    value = _cell(cells, column, place)
    if not value:
        raise DataError(f"{place} has no {column}; fill it in")
    return value


def _cell(cells: Mapping[str, Any], column: str, place: str) -> str:
    """A cell as text without spaces around it; empty where it is missing."""
    value = cells.get(column)
    if value is None:
        return ""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise DataError(f"{place}: {column} is neither text nor a whole number; write it as text")
    try:
        str(value).encode()
    except UnicodeEncodeError:
        raise DataError(f"{place}: {column} holds half a character; correct it") from None
    return str(value).strip()


def _composed(text: str) -> str:
    """Text composed as Unicode prefers, so that equal labels are equal."""
    return unicodedata.normalize("NFC", text)
