"""The folder that people describe images in: the sheet, the images beside it, and what they are asked.

What a person wrote is worth more than anything a program could write here: a sheet is only ever added to, and in one
step.
"""

import html
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from driftledger.components.models.human import COLUMNS, SHEET, Sheet, picture_of, read_sheet, sheet_text
from driftledger.core.errors import DataError
from driftledger.core.files import write_bytes
from driftledger.core.paths import leads_out
from driftledger.core.sheets import cleaned, column_names
from driftledger.core.strict import ID_RULE, is_id
from driftledger.core.types import ImageFile, Subject


class Pending(NamedTuple):
    """An image that waits for its description."""

    subject: Subject
    image: ImageFile
    annotator: str | None = None
    """Who is asked, if not anyone."""


class AnswerSheetSummary(NamedTuple):
    """How many images wait for a description, and how many rows have one, both for the annotator asked about."""

    to_fill_in: int
    filled_in: int


class _Waiting(NamedTuple):
    subject: Subject
    picture: str
    image: ImageFile
    annotator: str | None

    @property
    def file(self) -> str:
        return f"images/{self.subject.sample}-{self.subject.t}-{self.picture}.png"


def write_sheet(folder: Path, pending: Sequence[Pending], annotator: str | None, prompt: str) -> AnswerSheetSummary:
    """Write the folder that people work in, or add to the one that is there.

    ``sheet.csv`` gets a row for each pending image that has none yet, by ``annotator`` if one is named, otherwise by
    whoever is asked for that image, or by anyone; what it holds stays, its separator and columns of its own included.
    Beside it are the images, a page that shows those that still wait, and the instructions. A second call with the
    same arguments changes nothing.

    Args:
        prompt: what the models are asked, word for word.

    Raises:
        ConfigError: the sheet that is there cannot be read; it stays as it is.
        DataError: a sample's id is no safe file name, or what is to be written is a link out of the folder.
    """
    for written in (SHEET, "images", "index.html", "instructions.txt"):
        if leads_out(folder / written, folder):
            raise DataError(f"{folder / written} is a link out of its folder; remove it")
    path = folder / SHEET
    sheet = read_sheet(path) if path.exists() else Sheet(list(COLUMNS), [], [])
    annotator = None if annotator is None else cleaned(annotator).strip()
    mine = [entry for entry in sheet.entries if annotator in (None, entry.annotator)]
    described = {(entry.subject, entry.picture) for entry in mine if entry.text}
    waiting = [each for each in _looked_at(pending) if not _is_in(described, each)]
    for each in waiting:
        if not (folder / each.file).is_file():
            write_bytes(folder / each.file, each.image.path.read_bytes())
    _write(folder / "index.html", _page(waiting, prompt))
    who = "your name" if any(each.annotator for each in pending) else annotator and f'"{annotator}"'
    _write(folder / "instructions.txt", _instructions(prompt, who))
    asked = {(entry.subject, entry.picture) for entry in mine}
    missing = [each for each in waiting if not _is_in(asked, each)]
    if missing or not path.exists():
        _write(path, sheet_text(_extended(sheet, missing, annotator or "")))
    return AnswerSheetSummary(len(waiting), sum(1 for entry in mine if entry.text))


def _looked_at(pending: Sequence[Pending]) -> list[_Waiting]:
    for subject, *_ in pending:
        if not is_id(subject.sample):
            raise DataError(f"the sample id {subject.sample!r:.200} is no safe file name; {ID_RULE}")
    opened = {(each.subject, picture_of(each.image)): each for each in pending}
    return [_Waiting(*place, each.image, each.annotator) for place, each in opened.items()]


def _is_in(entries: set[tuple[Subject, str]], each: _Waiting) -> bool:
    return not entries.isdisjoint({(each.subject, each.picture), (each.subject, "")})


def _extended(sheet: Sheet, missing: Sequence[_Waiting], annotator: str) -> Sheet:
    columns = column_names(sheet.head)
    new = [column for column in COLUMNS if column not in columns]
    rows = [row + [""] * len(new) for row in sheet.rows]
    for each in missing:
        cells = {"sample": each.subject.sample, "t": str(each.subject.t), "image": each.file}
        cells["annotator"] = each.annotator or annotator
        rows.append([cells.get(column, "") for column in [*columns, *new]])
    return sheet._replace(head=sheet.head + new, rows=rows)


def _write(path: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data)


def _instructions(prompt: str, who: str | None) -> str:
    anyone = 'Put your name or initials into the column "annotator", spelt the same in every row.'
    someone = f'Fill in the rows with {who} in the column "annotator".'
    return f"""\
index.html shows every image that waits for a description, with its sample and t. Write the description into {SHEET},
into the column "text" of the row with that sample and t. The task is the one the models get, word for word:

---
{prompt}
---

- Describe what you see in the image, without searching for it and without help from a program.
- {anyone if who is None else someone}
- Leave the columns "sample", "t" and "image" as they are: they say which image a text is about.
- Line breaks inside a cell are fine. A ' at the start of a cell keeps a spreadsheet from taking it for a formula or a
  number; it is no part of the text.
- Save as CSV in UTF-8, with commas, semicolons or tabs. If a spreadsheet shows each row in one cell, import the file
  with a comma as separator.
"""


_STYLE = """\
body { font: 16px/1.5 sans-serif; max-width: 60rem; margin: 2rem auto }
pre { white-space: pre-wrap; font: inherit; background: #eee; padding: 1rem }
figure { margin: 3rem 0 }
img { max-width: 100%; max-height: 90vh }"""


def _page(waiting: Sequence[_Waiting], prompt: str) -> str:
    figures = "\n".join(
        f"<figure><figcaption><b>{html.escape(each.subject.sample)}</b>, t = {each.subject.t}</figcaption>"
        f'<img src="{html.escape(each.file)}" alt="" loading="lazy"></figure>'
        for each in waiting
    )
    return f"""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Images to describe</title>
<style>
{_STYLE}
</style>
<h1>Images to describe: {len(waiting)}</h1>
<p>Write into {SHEET}, as instructions.txt says:</p>
<pre>{html.escape(prompt)}</pre>
{figures}
</html>
"""
