"""People as a row in every table, as in the GenCeption paper's Table 5: they are given the models' prompt and a sheet.

People answer in weeks where models answer in seconds, so nobody waits for them here: what is not written yet is a
failed call, which the next run tries again.
"""

import hashlib
import re
from collections import defaultdict
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar, NamedTuple, Self

from pydantic import AfterValidator, Field, model_validator

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import sha256_of
from driftledger.core.errors import ConfigError, may_be_missing
from driftledger.core.paths import leads_out
from driftledger.core.sheets import cleaned, read_table, table_text
from driftledger.core.types import Conversation, ImageFile, Outcome, Reply, Subject

SHEET = "sheet.csv"
COLUMNS = ("sample", "t", "image", "text", "annotator")
REQUIRED = ("sample", "t", "text", "annotator")
LONGEST_TEXT = 100_000


class SheetEntry(NamedTuple):
    """What a row says. ``text`` is empty where nobody has written yet."""

    subject: Subject
    picture: str
    """:func:`picture_of` the image it describes; empty in a sheet that does not say."""
    annotator: str
    text: str


class Sheet(NamedTuple):
    """A sheet's cells, without quoting, each row as long as ``head``; and the entry of each row."""

    head: list[str]
    rows: list[list[str]]
    entries: list[SheetEntry]
    separator: str = ","


def picture_of(image: ImageFile) -> str:
    """The first 12 hex digits of the SHA-256 of size and pixels: equal for one picture in two encodings."""
    picture = image.open()
    return hashlib.sha256(b"%dx%d:" % picture.size + picture.tobytes()).hexdigest()[:12]


def read_sheet(path: Path) -> Sheet:
    """Read a sheet as spreadsheets save it; :mod:`driftledger.core.sheets` says how that is.

    Raises:
        ConfigError: it is missing, is no CSV file with the :data:`REQUIRED` columns, or a row cannot be understood.
    """
    table = read_table(path, REQUIRED, "human", "driftledger people descriptions DATASET MODEL")
    entries = [_entry(cells, f"{path}, line {number}") for number, cells in table.entries()]
    return Sheet(table.head, table.rows, entries, table.separator)


def _entry(cells: dict[str, str], where: str) -> SheetEntry:
    sample, t, text = cells["sample"], cells["t"], cells["text"]
    if not sample:
        raise ConfigError(f"human: {where}: the row names no sample; fill in which one it is about")
    if not re.fullmatch(r"0*[1-9][0-9]{0,8}", t):
        raise ConfigError(f"human: {where}: t is {t!r:.100}; it must be a whole number from 1 on")
    if len(text) > LONGEST_TEXT:
        raise ConfigError(f"human: {where}: the text has {len(text):,} characters; shorten it to {LONGEST_TEXT:,}")
    named = re.fullmatch(rf"images/{re.escape(sample)}-{int(t)}-([0-9a-f]{{12}})\.png", cells.get("image", ""))
    return SheetEntry(Subject(sample, int(t)), named[1] if named else "", cells["annotator"], text)


def sheet_text(sheet: Sheet) -> str:
    """The CSV file's text. Its byte order mark makes spreadsheets read UTF-8."""
    return table_text(sheet.head, sheet.rows, sheet.separator)


def _name(text: str) -> str:
    return cleaned(text).strip()


Annotator = Annotated[str, AfterValidator(_name), Field(min_length=1, max_length=100)]


class Human(Model):
    """Answers with what people wrote into a sheet about a sample at iteration ``t``.

    A row whose image is named after its picture answers for that picture only: at t ≥ 2 it differs from generator to
    generator, and when an earlier description was edited. What a person wrote is never cut: a conversation's
    ``max_tokens`` is ignored.
    """

    provider: ClassVar[str] = "human"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False  # what people wrote is the answer; the code looks it up

    path: Operational[Path]
    """A CSV file, or the folder that ``driftledger people descriptions`` writes; its content is in the identity."""
    annotator: Annotator | None = None
    """Whose rows are used. Without one there must be one row per sample and ``t``, whoever wrote it."""
    annotators: Operational[tuple[Annotator, ...]] = ()
    """Whom a new sheet asks: in turn within each category, so that nobody gets two images of one before all have one.
    Who wrote a text is in its row, and so in the identity."""

    @model_validator(mode="after")
    def _one_or_several(self) -> Self:
        if self.annotator is not None and self.annotators:
            raise ValueError("annotator takes one person's rows, and annotators divides images among several; set one")
        if len(set(self.annotators)) < len(self.annotators):
            raise ValueError(f"annotators lists somebody twice: {', '.join(self.annotators)}")
        return self

    @property
    def sheet(self) -> Path:
        """The CSV file, whether it is there or not.

        Raises:
            ConfigError: the path cannot be reached, or is a folder whose sheet is a link out of it.
        """
        try:
            path = self.path.expanduser()
            if path.is_file() or (path.suffix.lower() == ".csv" and not path.is_dir()):
                return path
            if leads_out(path / SHEET, path):  # the folder comes back from somebody else
                raise ConfigError(f"human: {path / SHEET} is a link out of its folder; put the sheet itself there")
            return path / SHEET
        except (OSError, RuntimeError) as error:
            raise ConfigError(f"human: {str(self.path)!r:.200} cannot be reached ({error}); mend path") from None

    def identity(self) -> dict[str, Any]:
        """What the chosen rows say: neither their order, nor the file's form, nor rows without a text.

        Raises:
            ConfigError: the sheet is missing or damaged, or does not say which text is meant.
        """
        entries = {entry for entries in self._written.values() for entry in entries}
        said = sorted((*entry.subject, entry.text, entry.annotator, entry.picture) for entry in entries)
        return {"texts": len(said), "sha256": sha256_of(said)}

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [self._reply(conversation) for conversation in conversations]

    def _reply(self, conversation: Conversation) -> Reply:
        subject = conversation.subject
        if subject is None:
            raise ValueError("a conversation without a subject cannot be looked up in a sheet")
        entries = self._written.get(subject, [])
        image = conversation.last_image
        picture = picture_of(image) if image is not None and any(entry.picture for entry in entries) else ""
        for entry in entries:
            if entry.picture in ("", picture):
                return Reply(entry.text)
        return Reply("", Outcome.FAILED, error=self._trouble(subject, bool(entries)))

    def _trouble(self, subject: Subject, elsewhere: bool) -> str:
        by = f" by {self.annotator!r}" if self.annotator else ""
        sought = f"for sample {subject.sample!r:.200}, t={subject.t}{by} in {self.sheet.name}"
        if elsewhere:
            return f"what is written {sought} is about another image; run driftledger people descriptions for a row"
        return f"nothing is written {sought}; fill it in (driftledger people descriptions)"

    @cached_property
    def _written(self) -> dict[Subject, list[SheetEntry]]:
        """The chosen rows that have a text. Read once, so that the answers are what the fingerprint stands for."""
        found: dict[Subject, list[SheetEntry]] = defaultdict(list)
        with may_be_missing(self.path):
            entries = read_sheet(self.sheet).entries
        for entry in entries:
            if entry.text and self.annotator in (None, entry.annotator):
                for other in found[entry.subject]:
                    if _contradict(entry, other):
                        raise self._ambiguous(other, entry)
                found[entry.subject].append(entry)
        return found

    def _ambiguous(self, one: SheetEntry, other: SheetEntry) -> ConfigError:
        where = f"human: {self.sheet} has several texts for sample {one.subject.sample!r:.200}, t={one.subject.t}"
        if one.annotator == other.annotator:
            by = f"by {one.annotator!r:.200}" if one.annotator else "by the same annotator"
            return ConfigError(f"{where} {by}; remove all rows of them but one")
        names = " and ".join(
            repr(name[:100]) if name else "one without a name" for name in (one.annotator, other.annotator)
        )
        return ConfigError(f"{where}, by {names}; set annotator to choose one")


def _contradict(one: SheetEntry, other: SheetEntry) -> bool:
    """Whether two rows of one subject could answer for the same picture, and are not the same answer."""
    overlap = one.picture == other.picture or not one.picture or not other.picture
    return overlap and (one.annotator, one.text) != (other.annotator, other.text)
