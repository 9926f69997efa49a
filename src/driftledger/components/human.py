"""People as a model, as in the GenCeption paper's Table 5.

People get the prompt of the models. They need weeks, so no run waits for them: a missing text is a
failed call, and the next run tries it again. No text of a person may be lost: a sheet is only
extended, in one step.
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
    """Return the file name of an image in a sheet's folder, whatever its encoding."""
    picture = image.open()
    digest = hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()
    return f"images/{subject.sample}-{subject.t}-{digest[:12]}.png"


def read_sheet(path: Path) -> tuple[SheetTable, list[dict[str, str]]]:
    """Read a sheet as spreadsheets save it, and each row's cells by column.

    See :mod:`driftledger.data.sheets`.

    Raises:
        ConfigError: it is missing, is not a CSV file with the :data:`COLUMNS`, or has a row that
            cannot be read.
    """
    table = read_table(
        path, COLUMNS, "human", "driftledger people descriptions DATASET MODEL"
    )
    entries = [*table.entries()]
    for number, cells in entries:
        if not re.fullmatch(r"images/.+-[0-9a-f]{12}\.png", cells["image"]):
            raise ConfigError(
                f"human: {path}, line {number}: image is {cells['image']!r:.100}; write back "
                "the name that was there"
            )
        if is_cut(cells["text"]):
            raise ConfigError(
                f"human: {path}, line {number}: a spreadsheet has cut the text; add its end, or "
                "less"
            )
    return table, [cells for _, cells in entries]


Annotator = Annotated[
    str,
    AfterValidator(lambda text: cleaned(text).strip()),
    Field(min_length=1, max_length=100),
]


class Human(Model):
    """Answers with the texts that people wrote into a sheet about an image.

    At t ≥ 2 the image depends on the generator and on earlier descriptions, so each row names its
    image. Texts are never cut: a conversation's ``max_tokens`` is ignored.
    """

    version = "1"
    # the answers are those of the sheet; the code looks them up
    code_is_identity = False

    path: Operational[Path]
    """The folder that ``driftledger people descriptions`` writes; the texts are in the identity."""
    annotator: Annotator | None = None
    """The person whose rows are used; ``null``: there is one row per image, by anyone."""
    annotators: Operational[tuple[Annotator, ...]] = ()
    """The people whom a new sheet asks, in turn within each category. The author of a text is in
    its row, and so in the identity."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.annotator is not None and self.annotators:
            raise ValueError(
                "set annotator, to use one person's rows, or annotators, to divide images among "
                "several people, but not both"
            )
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError(
                f"annotators lists a person twice: {', '.join(self.annotators)}"
            )
        return self

    @property
    def sheet(self) -> Path:
        """The CSV file, which may not exist yet.

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
            # the folder comes back from other people
            if leads_out(folder / SHEET, folder):
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
        """Return the digest of the rows in use; order and form of the file are free.

        Raises:
            ConfigError: the sheet is missing or damaged, or has several texts about an image.
        """
        rows = sorted(
            (cells["image"], cells["text"], cells["annotator"])
            for cells in self._written.values()
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
            reply = Result("", Outcome.FAILED, error=error)
            if name in self._written:
                reply = Result(self._written[name]["text"])
            replies.append(reply)
        return replies

    @cached_property
    def _written(self) -> dict[str, dict[str, str]]:
        """The row in use of each image; read once, so that it fits the fingerprint."""
        chosen: dict[str, dict[str, str]] = {}
        for cells in read_sheet(self.sheet)[1]:
            if not cells["text"] or self.annotator not in (None, cells["annotator"]):
                continue
            other = chosen.setdefault(cells["image"], cells)
            if any(other[column] != cells[column] for column in ("text", "annotator")):
                names = [
                    repr(row["annotator"][:100]) if row["annotator"] else "no name"
                    for row in (other, cells)
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
    """The person who is asked; None: anyone."""


def write_sheet(
    folder: Path, pending: Sequence[Pending], annotator: str | None, prompt: str
) -> tuple[int, int]:
    """Write the folder that people work in, or add to an existing one.

    ``sheet.csv`` gets a row for each pending image without one: of ``annotator``, else of the
    person who is asked about that image, else of anyone. Existing rows and further columns stay.
    The folder also has the images, and a page with instructions and the images that still wait. A
    second call with the same arguments changes nothing.

    Args:
        prompt: the prompt of the models.

    Returns:
        The number of images that wait for a description, and the number of rows with one; of the
        annotator, if one is named.

    Raises:
        ConfigError: the existing sheet cannot be read; it stays as it is.
        DataError: a file to write is a link out of the folder.
    """
    for name in (SHEET, "images", "index.html"):
        if leads_out(folder / name, folder):
            raise DataError(f"{folder / name} is a link out of its folder; remove it")
    path = folder / SHEET
    sheet = SheetTable([*COLUMNS], [], [])
    rows: list[dict[str, str]] = []
    if path.exists():
        sheet, rows = read_sheet(path)
    mine = [cells for cells in rows if annotator in (None, cells["annotator"])]
    described = {cells["image"] for cells in mine if cells["text"]}
    listed = {cells["image"] for cells in mine}
    waiting = {}
    missing = []
    for item in pending:
        name = name_of(item.subject, item.image)
        if name in described or name in waiting:
            continue
        waiting[name] = item.subject
        if not (folder / name).is_file():
            data = item.image.path.read_bytes()
            if item.image.path.suffix != ".png":
                data = png_bytes(item.image.open())
            write_bytes(folder / name, data)
        if name not in listed:
            by = item.annotator or annotator or ""
            about = {"sample": item.subject.sample, "t": str(item.subject.t)}
            missing.append(about | {"image": name, "annotator": by})
    who = annotator and f'"{annotator}"'
    if any(item.annotator for item in pending):
        who = "your name"
    files = {"index.html": _page(waiting, prompt, who)}
    if missing or not path.exists():
        columns = column_names(sheet.head)
        new = [[cells.get(column, "") for column in columns] for cells in missing]
        files[SHEET] = table_text(sheet.head, sheet.rows + new)
    contents = {name: text.encode("utf-8", "replace") for name, text in files.items()}
    write_folder(folder, contents, within=())
    return len(waiting), sum(bool(cells["text"]) for cells in mine)


def _page(waiting: dict[str, Subject], prompt: str, who: str | None) -> str:
    """Return the page with the instructions and the images that wait."""
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
