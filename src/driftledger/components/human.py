"""People as a row in every table, as in the GenCeption paper's Table 5: they get the models' prompt
and a sheet.

People answer in weeks where models answer in seconds, so no run waits for them: what is not written
yet is a failed call, which the next run tries again. What a person wrote is worth more than
anything a program could write: a sheet is only ever added to, and in one step.
"""

import hashlib
import html
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.files import write_bytes, write_folder
from driftledger.core.media import png_bytes
from driftledger.core.paths import leads_out
from driftledger.core.types import Conversation, Medium, Outcome, Result, Subject
from driftledger.data.sheets import (
    SheetTable,
    cleaned,
    column_names,
    is_cut,
    read_table,
    table_text,
)

SHEET = "sheet.csv"
COLUMNS = ("sample", "t", "image", "text", "annotator")


def name_of(subject: Subject, image: Medium) -> str:
    """Return the name of an image beside a sheet: one picture in two encodings has one name."""
    picture = image.open()
    digest = hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()
    return f"images/{subject.sample}-{subject.t}-{digest[:12]}.png"


def read_sheet(path: Path) -> tuple[SheetTable, list[dict[str, str]]]:
    """Read a sheet as spreadsheets save it, and each row's cells by column; see
    :mod:`driftledger.data.sheets`.

    Raises:
        ConfigError: it is missing, is not a CSV file with the :data:`COLUMNS`, or a row cannot be
            understood.
    """
    table = read_table(
        path, COLUMNS, "human", "driftledger people descriptions DATASET MODEL"
    )
    entries = [*table.entries()]
    for number, cells in entries:
        if not re.fullmatch(r"images/.+-[0-9a-f]{12}\.png", cells["image"]):
            raise ConfigError(
                f"human: {path}, line {number}: image is {cells['image']!r:.100}; leave it as it "
                "was"
            )
        if is_cut(cells["text"]):
            raise ConfigError(
                f"human: {path}, line {number}: a spreadsheet has cut the text; write its end, or "
                "less"
            )
    return table, [cells for _, cells in entries]


Annotator = Annotated[
    str,
    AfterValidator(lambda text: cleaned(text).strip()),
    Field(min_length=1, max_length=100),
]


class Human(Model):
    """Answers with what people wrote into a sheet about an image.

    At t ≥ 2 the image differs from generator to generator, and when an earlier description was
    edited: a row answers for the image that it names. What a person wrote is never cut: it ignores
    a conversation's ``max_tokens``.
    """

    version = "1"
    # what people wrote is the answer; the code looks it up
    code_is_identity = False

    path: Operational[Path]
    """The folder that ``driftledger people descriptions`` writes; what its sheet says is in the
    identity."""
    annotator: Annotator | None = None
    """The person who wrote the rows to use. Without one there must be one row per image, by anyone.
    """
    annotators: Operational[tuple[Annotator, ...]] = ()
    """Whom a new sheet asks: in turn within each category, so that no one gets two images of one
    before all have one. Who wrote a text is in its row, and so in the identity."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.annotator is not None and self.annotators:
            raise ValueError(
                "annotator takes one person's rows, and annotators divides images among several; "
                "set one"
            )
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError(
                f"annotators lists a person twice: {', '.join(self.annotators)}"
            )
        return self

    @property
    def sheet(self) -> Path:
        """The CSV file, whether it is there or not.

        Raises:
            ConfigError: the folder cannot be reached, or the sheet is a link out of it.
        """
        try:
            folder = self.path.expanduser()
            if folder.is_file():
                raise ConfigError(
                    f"human: {folder} is a file; name its folder, which holds {SHEET} and the "
                    "images"
                )
            if leads_out(
                folder / SHEET, folder
            ):  # the folder comes back from other people
                raise ConfigError(
                    f"human: {folder / SHEET} is a link out of its folder; put the sheet itself "
                    "there"
                )
            return folder / SHEET
        except (OSError, RuntimeError) as error:
            raise ConfigError(
                f"human: {str(self.path)!r:.200} cannot be reached ({error}); correct path"
            ) from None

    def identity(self) -> Json:
        """Return the digest of the chosen rows, whatever their order, the file's form, and rows
        without a text.

        Raises:
            ConfigError: the sheet is missing or damaged, or does not say which text is meant.
        """
        rows = sorted(
            (each["image"], each["text"], each["annotator"])
            for each in self._written.values()
        )
        return {"texts": len(rows), "sha256": sha256_of(rows)}

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        replies = []
        for conversation in conversations:
            subject = conversation.subject
            image = conversation.last_medium
            if subject is None or image is None:
                raise ValueError(
                    "a conversation without a sample's image cannot be looked up in a sheet"
                )
            name = name_of(subject, image)
            by = f" by {self.annotator!r}" if self.annotator else ""
            error = f"nothing is written about {name!r:.200}{by} in {self.sheet.name}"
            error += "; fill it in (driftledger people descriptions)"
            cells = self._written.get(name)
            replies.append(
                Result(cells["text"])
                if cells
                else Result("", Outcome.FAILED, error=error)
            )
        return replies

    @cached_property
    def _written(self) -> dict[str, dict[str, str]]:
        """Image → the chosen row with a text. Read once, so that the answers are those of the
        fingerprint."""
        chosen: dict[str, dict[str, str]] = {}
        for cells in read_sheet(self.sheet)[1]:
            if not cells["text"] or self.annotator not in (None, cells["annotator"]):
                continue
            other = chosen.setdefault(cells["image"], cells)
            if any(other[column] != cells[column] for column in ("text", "annotator")):
                names = [
                    repr(each["annotator"][:100]) if each["annotator"] else "no name"
                    for each in (other, cells)
                ]
                raise ConfigError(
                    f"human: {self.sheet} has several texts about {cells['image']!r:.200}, by "
                    f"{' and '.join(names)}; set annotator to choose one, or keep one row"
                )
        return chosen


class Pending(NamedTuple):
    """An image that waits for its description."""

    subject: Subject
    image: Medium
    annotator: str | None = None
    """Who is asked, if not anyone."""


def write_sheet(
    folder: Path, pending: Sequence[Pending], annotator: str | None, prompt: str
) -> tuple[int, int]:
    """Write the folder that people work in, or add to the one that is there.

    ``sheet.csv`` gets a row for each pending image that has none yet, by ``annotator`` if one is
    named, otherwise by the person asked for that image, or by anyone; what it holds stays, columns
    of its own included. Beside it are the images and a page with instructions that shows those that
    still wait. A second call with the same arguments changes nothing.

    Args:
        prompt: what the models are asked, word for word.

    Returns:
        How many images wait for a description, and how many rows have one, both for the annotator
        asked about.

    Raises:
        ConfigError: the sheet that is there cannot be read; it stays as it is.
        DataError: what is to be written is a link out of the folder.
    """
    for written in (SHEET, "images", "index.html"):
        if leads_out(folder / written, folder):
            raise DataError(
                f"{folder / written} is a link out of its folder; remove it"
            )
    path = folder / SHEET
    sheet, rows = (
        read_sheet(path) if path.exists() else (SheetTable(list(COLUMNS), [], []), [])
    )
    mine = {
        (cells["image"], bool(cells["text"]))
        for cells in rows
        if annotator in (None, cells["annotator"])
    }
    waiting = {}
    missing = []
    for name, each in {
        name_of(each.subject, each.image): each for each in pending
    }.items():
        if (name, True) in mine:
            continue
        waiting[name] = each.subject
        if not (folder / name).is_file():
            is_png = each.image.path.suffix == ".png"
            write_bytes(
                folder / name,
                each.image.path.read_bytes()
                if is_png
                else png_bytes(each.image.open()),
            )
        if (name, False) not in mine:
            by = each.annotator or annotator or ""
            about = {"sample": each.subject.sample, "t": str(each.subject.t)}
            missing.append(about | {"image": name, "annotator": by})
    who = (
        "your name"
        if any(each.annotator for each in pending)
        else annotator and f'"{annotator}"'
    )
    files = {"index.html": _page(waiting, prompt, who)}
    if missing or not path.exists():
        new = [
            [cells.get(column, "") for column in column_names(sheet.head)]
            for cells in missing
        ]
        files[SHEET] = table_text(sheet.head, sheet.rows + new)
    contents = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    write_folder(folder, contents, within=())
    return len(waiting), sum(
        1 for cells in rows if cells["text"] and annotator in (None, cells["annotator"])
    )


def _page(waiting: dict[str, Subject], prompt: str, who: str | None) -> str:
    figures = "\n".join(
        f"<figure><figcaption><b>{html.escape(subject.sample)}</b>, t = {subject.t}</figcaption>"
        f'<img src="{html.escape(name)}" alt="" loading="lazy"></figure>'
        for name, subject in waiting.items()
    )
    by = (
        "your name or initials, spelt the same in every row"
        if who is None
        else html.escape(who)
    )
    return f"""\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Images to describe</title>
<style>img {{ max-width: 100%; max-height: 90vh }} pre {{ white-space: pre-wrap }}</style>
<h1>Images to describe: {len(waiting)}</h1>
<p>Write the description of each image into {SHEET}, into the column <b>text</b> of\
 the row with its sample and t. The
task is the one the models get, word for word:</p>
<pre>{html.escape(prompt)}</pre>
<ul>
<li>Describe what you see in the image, without searching for it and without help from\
 a program.</li>
<li>The column <b>annotator</b> of your rows holds {by}. Leave the other columns as they are.</li>
<li>A ' before a text keeps a spreadsheet from taking it for a formula or a number; it is\
 not part of the text.</li>
<li>Save as CSV in UTF-8. If a spreadsheet shows each row in one cell, import the\
 file with a comma as separator.</li>
</ul>
{figures}
</html>
"""
