"""What people think of captions: files that others have published and that a user puts into ``data/judgements``.

None comes with the package. Three forms are read, by what is there:

- a folder with ``ExpertAnnotations.txt`` and ``Flickr8k.token.txt``, as Flickr8k's text archive holds them: pairs of an
  image and a caption, which may be another image's, with three experts' judgements from 1 to 4 (Hodosh et al. 2013,
  "Framing Image Description as a Ranking Task"; its readme has the columns);
- a CSV file with ``img`` or ``imgid``, ``cand`` and ``human_score`` or ``score``, as Polaris is published (Wada et al.
  2024, "Polos: Multimodal Metric Learning from Human Feedback for Image Captioning");
- any other CSV file with ``image``, ``caption`` and ``rating`` or ``mos``, and ``model`` where captions are by models:
  ICBench's mean opinion scores (Xu et al. 2026, "ITIScore") once their file has these names.

Further columns are left alone. Several ratings of one caption of one image, by different people, are averaged.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from driftledger.core.canonical import sha256_file
from driftledger.core.errors import DataError
from driftledger.core.sheets import SheetTable, column_names, read_table
from driftledger.metrics.exact import exact_mean

EXPERTS, TOKENS = "ExpertAnnotations.txt", "Flickr8k.token.txt"
"""Of Flickr8k."""

_IMAGE, _CAPTION, _RATING = ("image", "img", "imgid"), ("caption", "cand"), ("rating", "human_score", "score", "mos")
_MODEL = "model"
_ABOUT = "judgements"


class Judged(NamedTuple):
    """A caption of an image, and what people think of it."""

    image: str
    """Its file's name without folders and without its ending."""
    caption: str
    rating: float
    """The mean over people; higher is better, on the file's own scale."""
    model: str = ""
    """Whose caption it is, where the file says so."""


class Judgements(NamedTuple):
    """A file or folder: its name without ending, and its captions."""

    name: str
    captions: tuple[Judged, ...]


def judgement_folder(root: Path) -> Path:
    """Where a project's judgements are; it may be missing."""
    return root / "data" / "judgements"


def judgement_digests(folder: Path) -> dict[str, str]:
    """Hex SHA-256 of every file that is read, by its path below the folder; none where there is no folder."""
    found = [file for source in _sources(folder) for file in ([source] if source.is_file() else _parts(source))]
    return {file.relative_to(folder).as_posix(): sha256_file(file) for file in found if file.is_file()}


def read_judgements(folder: Path) -> list[Judgements]:
    """All of a folder, by name.

    Raises:
        DataError: a row lacks something, a rating is no number, or a caption is missing among the tokens. Names the
            file and the line.
        ConfigError: a file is no CSV file in UTF-8, or lacks a column.
    """
    return [
        Judgements(source.stem, tuple(_averaged(_experts(source) if source.is_dir() else _table(source))))
        for source in _sources(folder)
    ]


def image_name(path: str) -> str:
    """What an image is called, wherever it lies.

    >>> image_name("coco/val2014/COCO_val2014_000000358254.jpg")
    'COCO_val2014_000000358254'
    """
    return PurePosixPath(path.replace("\\", "/")).stem


def compared(text: str) -> str:
    """A caption without differences in blanks, in which copies of one text differ."""
    return " ".join(text.split())


def _sources(folder: Path) -> list[Path]:
    there = [path for path in folder.glob("*") if path.suffix == ".csv" or (path / EXPERTS).is_file()]
    return sorted(there, key=lambda path: path.name)


def _parts(source: Path) -> list[Path]:
    return [source / EXPERTS, source / TOKENS]


def _averaged(some: Iterable[Judged]) -> Iterator[Judged]:
    """One of each caption of an image by a model, in the order of the file."""
    found: dict[Judged, list[float]] = {}
    for each in some:
        found.setdefault(each._replace(rating=0.0), []).append(each.rating)
    return (each._replace(rating=exact_mean(ratings)) for each, ratings in found.items())


def _table(path: Path) -> Iterator[Judged]:
    table = read_table(path, (), _ABOUT, "a spreadsheet")
    image, caption, rating = (_column(path, table, names) for names in (_IMAGE, _CAPTION, _RATING))
    for line, cells in table.entries():
        for column in (image, caption, rating):
            if not cells[column]:
                raise DataError(f"{path}, line {line}: {column} is empty; fill it in or remove the row")
        value = _number(path, line, cells[rating])
        yield Judged(image_name(cells[image]), compared(cells[caption]), value, cells.get(_MODEL, ""))


def _column(path: Path, table: SheetTable, names: Sequence[str]) -> str:
    there = [name for name in names if name in column_names(table.head)]
    if not there:
        raise DataError(f"{path}: the first line names none of {', '.join(names)}; call the column one of these")
    return there[0]


def _experts(folder: Path) -> Iterator[Judged]:
    """As Flickr8k's readme has it: image, caption id and three judgements, between tabs."""
    captions = dict(cells for _, cells in _lines(folder / TOKENS, 2))
    for line, (image, caption, *ratings) in _lines(folder / EXPERTS, 5):
        if caption not in captions:
            raise DataError(f"{folder / EXPERTS}, line {line}: {caption!r} is no caption of {TOKENS}")
        for rating in ratings:
            value = _number(folder / EXPERTS, line, rating)
            yield Judged(image_name(image), compared(captions[caption]), value)


def _lines(path: Path, columns: int) -> Iterator[tuple[int, list[str]]]:
    if not path.is_file():
        raise DataError(f"{path} is missing; it is in the same archive as {EXPERTS}")
    for line, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        cells = text.split("\t")
        if text.strip():
            if len(cells) != columns:
                raise DataError(
                    f"{path}, line {line}: {len(cells)} columns between tabs, where there should be {columns}"
                )
            yield line, cells


def _number(path: Path, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{path}, line {line}: {text!r} is no number; write it like 3.5")
    return value
