"""People as a row in every table, as in the GenCeption paper's Table 5: they get the models' prompt and a sheet.

People answer in weeks where models answer in seconds, so no run waits for them: what is not written yet is a
failed call, which the next run tries again. What a person wrote is worth more than anything a program could write: a
sheet is only ever added to, and in one step.
"""

import hashlib
import html
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import write_bytes
from driftledger.core.images import png_bytes
from driftledger.core.paths import leads_out
from driftledger.core.sheets import SheetTable, cleaned, column_names, is_cut, read_table, table_text
from driftledger.core.types import Conversation, Medium, Outcome, Reply, Subject

SHEET = "sheet.csv"
COLUMNS = ("sample", "t", "image", "text", "annotator")


class SheetEntry(NamedTuple):
    """What a row holds. ``text`` is empty until a person has written it."""

    subject: Subject
    picture: str
    """:func:`picture_of` the image it describes."""
    annotator: str
    text: str


def picture_of(image: Medium) -> str:
    """The first 12 hex digits of the SHA-256 of size and pixels: equal for one picture in two encodings."""
    picture = image.open()
    return hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()[:12]


def read_sheet(path: Path) -> tuple[SheetTable, list[SheetEntry]]:
    """Read a sheet as spreadsheets save it, and the entry of each row; see :mod:`driftledger.core.sheets`.

    Raises:
        ConfigError: it is missing, is not a CSV file with the :data:`COLUMNS`, or a row cannot be understood.
    """
    table = read_table(path, COLUMNS, "human", "driftledger people descriptions DATASET MODEL")
    entries = []
    for number, cells in table.entries():
        sample, t = cells["sample"], cells["t"]
        if not sample:
            raise ConfigError(f"human: {path}, line {number}: the row names no sample; fill in which one it is about")
        if not re.fullmatch(r"0*[1-9][0-9]{0,8}", t):
            raise ConfigError(f"human: {path}, line {number}: t is {t!r:.100}; it must be a whole number from 1 on")
        if is_cut(cells["text"]):
            raise ConfigError(f"human: {path}, line {number}: a spreadsheet has cut the text; write its end, or less")
        image = re.fullmatch(rf"images/{re.escape(sample)}-{int(t)}-([0-9a-f]{{12}})\.png", cells["image"])
        if image is None:
            raise ConfigError(f"human: {path}, line {number}: image is {cells['image']!r:.100}; leave it as it was")
        entries.append(SheetEntry(Subject(sample, int(t)), image[1], cells["annotator"], cells["text"]))
    return table, entries


Annotator = Annotated[str, AfterValidator(lambda text: cleaned(text).strip()), Field(min_length=1, max_length=100)]


class Human(Model):
    """Answers with what people wrote into a sheet about a sample's image at iteration ``t``.

    At t ≥ 2 the image differs from generator to generator, and when an earlier description was edited: a row answers
    for the image that it names. What a person wrote is never cut: it ignores a conversation's ``max_tokens``.
    """

    provider: ClassVar[str] = "human"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False  # what people wrote is the answer; the code looks it up
    reads_files: ClassVar[bool] = True

    path: Operational[Path]
    """The folder that ``driftledger people descriptions`` writes; what its sheet says is in the identity."""
    annotator: Annotator | None = None
    """The person who wrote the rows to use. Without one there must be one row per image, by anyone."""
    annotators: Operational[tuple[Annotator, ...]] = ()
    """Whom a new sheet asks: in turn within each category, so that no one gets two images of one before all have one.
    Who wrote a text is in its row, and so in the identity."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.annotator is not None and self.annotators:
            raise ValueError("annotator takes one person's rows, and annotators divides images among several; set one")
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError(f"annotators lists a person twice: {', '.join(self.annotators)}")
        return self

    @property
    def sheet(self) -> Path:
        """The CSV file, whether it is there or not.

        Raises:
            ConfigError: the folder cannot be reached, or the sheet is a link out of it.
        """
        try:
            folder = self.path.expanduser()
            if leads_out(folder / SHEET, folder):  # the folder comes back from other people
                raise ConfigError(f"human: {folder / SHEET} is a link out of its folder; put the sheet itself there")
            return folder / SHEET
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"human: {str(self.path)!r:.200} cannot be reached ({error}); correct path") from None

    def identity(self) -> dict[str, Any]:
        """What the chosen rows say: neither their order, nor the file's form, nor rows without a text.

        Raises:
            ConfigError: the sheet is missing or damaged, or does not say which text is meant.
        """
        rows = sorted((*each.subject, each.text, each.annotator, each.picture) for each in self._written.values())
        return {"texts": len(rows), "sha256": sha256_of(rows)}

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        replies = []
        for conversation in conversations:
            subject, image = conversation.subject, conversation.last_medium
            if subject is None:
                raise ValueError("a conversation without a subject cannot be looked up in a sheet")
            entry = None if image is None else self._written.get((subject, picture_of(image)))
            by = f" by {self.annotator!r}" if self.annotator else ""
            error = f"nothing is written about this image of sample {subject.sample!r:.200}, t={subject.t}{by} in "
            error += f"{self.sheet.name}; fill it in (driftledger people descriptions)"
            replies.append(Reply("", Outcome.FAILED, error=error) if entry is None else Reply(entry.text))
        return replies

    @cached_property
    def _written(self) -> dict[tuple[Subject, str], SheetEntry]:
        """The chosen rows that have a text. Read once, so that the answers are those of the fingerprint."""
        chosen: dict[tuple[Subject, str], SheetEntry] = {}
        for entry in read_sheet(self.sheet)[1]:
            if not entry.text or self.annotator not in (None, entry.annotator):
                continue
            other = chosen.setdefault((entry.subject, entry.picture), entry)
            if entry != other:
                names = [repr(each.annotator[:100]) if each.annotator else "no name" for each in (other, entry)]
                raise ConfigError(
                    f"human: {self.sheet} has several texts for sample {entry.subject.sample!r:.200}, "
                    f"t={entry.subject.t}, by {' and '.join(names)}; set annotator to choose one, or keep one row"
                )
        return chosen


class Pending(NamedTuple):
    """An image that waits for its description."""

    subject: Subject
    image: Medium
    annotator: str | None = None
    """Who is asked, if not anyone."""


def write_sheet(folder: Path, pending: Sequence[Pending], annotator: str | None, prompt: str) -> tuple[int, int]:
    """Write the folder that people work in, or add to the one that is there.

    ``sheet.csv`` gets a row for each pending image that has none yet, by ``annotator`` if one is named, otherwise by
    the person asked for that image, or by anyone; what it holds stays, columns of its own included.
    Beside it are the images and a page with instructions that shows those that still wait. A second call with the same
    arguments changes nothing.

    Args:
        prompt: what the models are asked, word for word.

    Returns:
        How many images wait for a description, and how many rows have one, both for the annotator asked about.

    Raises:
        ConfigError: the sheet that is there cannot be read; it stays as it is.
        DataError: what is to be written is a link out of the folder.
    """
    for written in (SHEET, "images", "index.html"):
        if leads_out(folder / written, folder):
            raise DataError(f"{folder / written} is a link out of its folder; remove it")
    path = folder / SHEET
    sheet, entries = read_sheet(path) if path.exists() else (SheetTable(list(COLUMNS), [], []), [])
    annotator = None if annotator is None else cleaned(annotator).strip()
    mine = [entry for entry in entries if annotator in (None, entry.annotator)]
    described = {(entry.subject, entry.picture) for entry in mine if entry.text}
    listed = {(entry.subject, entry.picture) for entry in mine}
    waiting, missing = {}, []
    for key, each in {(each.subject, picture_of(each.image)): each for each in pending}.items():
        if key in described:
            continue
        (sample, t), picture = key
        name = f"images/{sample}-{t}-{picture}.png"
        waiting[name] = each.subject
        if not (folder / name).is_file():
            is_png = each.image.path.suffix == ".png"
            write_bytes(folder / name, each.image.path.read_bytes() if is_png else png_bytes(each.image.open()))
        if key not in listed:
            by = each.annotator or annotator or ""
            missing.append({"sample": sample, "t": str(t), "image": name, "annotator": by})
    who = "your name" if any(each.annotator for each in pending) else annotator and f'"{annotator}"'
    _write(folder / "index.html", _page(waiting, prompt, who))
    if missing or not path.exists():
        rows = [[cells.get(column, "") for column in column_names(sheet.head)] for cells in missing]
        _write(path, table_text(sheet.head, sheet.rows + rows))
    return len(waiting), sum(1 for entry in mine if entry.text)


def _write(path: Path, text: str) -> None:
    data = text.encode("utf-8", "replace")
    if not path.is_file() or path.read_bytes() != data:
        write_bytes(path, data)


def _page(waiting: dict[str, Subject], prompt: str, who: str | None) -> str:
    figures = "\n".join(
        f"<figure><figcaption><b>{html.escape(subject.sample)}</b>, t = {subject.t}</figcaption>"
        f'<img src="{html.escape(name)}" alt="" loading="lazy"></figure>'
        for name, subject in waiting.items()
    )
    anyone = "Put your name or initials into the column <b>annotator</b>, spelt the same in every row."
    someone = f"Fill in the rows with {html.escape(who or '')} in the column <b>annotator</b>."
    return f"""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Images to describe</title>
<style>img {{ max-width: 100%; max-height: 90vh }} pre {{ white-space: pre-wrap }}</style>
<h1>Images to describe: {len(waiting)}</h1>
<p>Write the description of each image into {SHEET}, into the column <b>text</b> of the row with its sample and t. The
task is the one the models get, word for word:</p>
<pre>{html.escape(prompt)}</pre>
<ul>
<li>Describe what you see in the image, without searching for it and without help from a program.</li>
<li>{anyone if who is None else someone}</li>
<li>Leave the columns <b>sample</b>, <b>t</b> and <b>image</b> as they are: they say which image a text is about.</li>
<li>Line breaks inside a cell are fine. A ' at the start of a cell keeps a spreadsheet from taking it for a formula or a
number; it is not part of the text.</li>
<li>Save as CSV in UTF-8, with commas, semicolons or tabs. If a spreadsheet shows each row in one cell, import the file
with a comma as separator.</li>
</ul>
{figures}
</html>
"""
