"""People as a model, as in the GenCeption paper's Table 5.

People get the prompt of the models. They need weeks, so no run waits for them: a missing text is a
failed call, and the next run tries it again.
"""

import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import Json, sha256_bytes, sha256_of
from driftledger.core.errors import ConfigError
from driftledger.core.paths import leads_out
from driftledger.core.types import Conversation, Medium, Outcome, Result, Subject
from driftledger.data.sheets import Cells, SheetForm, is_cut, name_in_sheet

SHEET = "sheet.csv"


def name_of(subject: Subject, image: Medium) -> str:
    """Return the name of an image in a sheet, whatever its encoding."""
    picture = image.open()
    digest = sha256_bytes(b"%dx%d:" % picture.size + picture.tobytes())
    return f"{subject.sample}-{subject.t}-{digest[:12]}"


def _read(where: str, cells: Cells) -> str:
    """Return the text of a row, empty for none.

    Raises:
        ConfigError: the row does not name its image, or a spreadsheet has cut the text.
    """
    if not re.fullmatch(r".+-[0-9a-f]{12}", cells["image"]):
        raise ConfigError(
            f"{where}: image is {cells['image']!r:.100}; write back the name that was there"
        )
    if is_cut(cells["text"]):
        raise ConfigError(
            f"{where}: a spreadsheet has cut the text; add its end, or less"
        )
    return cells["text"]


FORM = SheetForm(
    columns=("sample", "t", "image", "text", "annotator"),
    person="annotator",
    answer="text",
    subject=lambda cells: (cells["image"],),
    read=_read,
    about="human",
    command="driftledger people descriptions DATASET MODEL",
)
"""What sheets of descriptions have in common."""


Annotator = Annotated[
    str,
    AfterValidator(name_in_sheet),
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
                    f"human: {folder} is a file; name its folder, which holds {SHEET}"
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
    def _written(self) -> dict[str, Cells]:
        """The row in use of each image; read once, so that it fits the fingerprint."""
        chosen: dict[str, Cells] = {}
        for answer in FORM.table(self.sheet).answers.values():
            cells = answer.cells
            if not answer.text or self.annotator not in (None, cells["annotator"]):
                continue
            other = chosen.setdefault(cells["image"], cells)
            if other is not cells:
                names = [
                    repr(row["annotator"][:100]) if row["annotator"] else "no name"
                    for row in (other, cells)
                ]
                raise ConfigError(
                    f"human: {self.sheet} has several texts about {cells['image']!r:.200}, by "
                    f"{' and '.join(names)}; set annotator to choose one, or keep one row"
                )
        return chosen
