"""The page on which people fill in a sheet, with the pictures in it.

It is one file, so that it can be sent to somebody. It loads nothing and sends nothing: people save
a sheet, which ``--add`` reads.
"""

import base64
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.files import write_text
from driftledger.core.media import Medium, data_url
from driftledger.data.sheets import MISREAD, Cells, SheetForm
from driftledger.data.thumbnails import webp

TEMPLATE = Path(__file__).with_name("sheet_page.html")
LARGEST_PICTURE = 2**19
"""Bytes of a picture that a page holds as it is; a larger one is encoded again."""
LONGEST_SIDE = 2048
"""Pixels of the longer side of such a picture, at most."""
_QUALITY = 90
LARGEST_PAGE = 2**28
"""Characters of all pictures of a page, at most; browsers show nothing of one of 2²⁹."""


class PageTask(NamedTuple):
    """What people are told on a page."""

    title: str
    text: str
    rules: Sequence[str] = ()
    choices: Sequence[tuple[str, str]] = ()
    """Each answer and its meaning; without them people write texts."""
    shown: str = ""
    """The column that is shown with the picture, if any."""


def write_page(
    sheet: Path,
    form: SheetForm,
    rows: Sequence[Cells],
    pictures: Sequence[Medium],
    task: PageTask,
) -> None:
    """Write the page of a sheet, beside it and named like it.

    Nobody else's answers, no further columns and no path are in it.

    Args:
        rows: the rows of the sheet that are asked about; those that have an answer show it.
        pictures: the picture of each row.

    Raises:
        ConfigError: the pictures are more than browsers open.
    """
    by_digest = {picture.sha256: picture for picture in pictures}
    asked = []
    for cells, picture in zip(rows, pictures, strict=True):
        key = sha256_of([task.text, *form.key(cells), picture.sha256])
        values = [cells[column] for column in form.columns]
        asked.append({"key": key, "cells": values, "picture": picture.sha256})
    size = 0
    embedded = {}
    for digest, picture in by_digest.items():
        embedded[digest] = _embedded(picture)
        size += len(embedded[digest])
        if size > LARGEST_PAGE:
            raise ConfigError(
                f"the {len(by_digest):,} pictures of {sheet.stem}.html have over "
                f"{LARGEST_PAGE >> 20} MiB, which browsers do not open; take fewer samples"
            )
    content = task._asdict() | {
        "sheet": sheet.name,
        "columns": form.columns,
        "person": form.person,
        "answer": form.answer,
        "misread": MISREAD,
        "rows": asked,
        "pictures": embedded,
    }
    # ASCII, in which no text can end the element that it is in
    data = json.dumps(content).replace("<", "\\u003c")
    template = TEMPLATE.read_text(encoding="utf-8")
    write_text(sheet.with_suffix(".html"), template.replace("DATA", data, 1))


def _embedded(picture: Medium) -> str:
    """Return a picture as an address that holds it: the file itself, or a smaller WebP."""
    if picture.path.stat().st_size <= LARGEST_PICTURE:
        return data_url(picture.path)
    image = picture.open()
    image.thumbnail((LONGEST_SIDE, LONGEST_SIDE))
    data = base64.b64encode(webp(image, quality=_QUALITY)).decode()
    return f"data:image/webp;base64,{data}"
