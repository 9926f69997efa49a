"""A model that was asked elsewhere: its answers come from a file, and are graded here like any other's.

The same answers under another's grading and under ours settle whose number is right. What nobody predicted is a failed
call with its reason; a row that may be about another question, image or order of options is never taken.
"""

import os
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from driftledger.components.base import Model, Operational
from driftledger.components.models.predictions import description_pickles
from driftledger.components.models.predictions.formats import FOLDERS, FORMATS, FormatName, told_by
from driftledger.components.models.predictions.matching import by_id, is_part_of, unmatched
from driftledger.components.models.predictions.options import carried_over
from driftledger.components.models.predictions.rows import LARGEST_FILE, PredictionRow
from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.errors import ConfigError, may_be_missing
from driftledger.core.types import Conversation, Outcome, Reply


class _Content(NamedTuple):
    sha256: str
    format: FormatName
    rows: dict[str, PredictionRow]


class Predictions(Model):
    """Answers with what a file holds about a question or a sample, found by its id."""

    provider: ClassVar[str] = "predictions"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False  # what was predicted is the answer; the code looks it up

    path: Operational[Path]
    """A file, or the folder of GenCeption's results; what is in there is the identity."""
    format: FormatName | None = None
    """Whose format it is; without it, the content tells."""
    id: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the question's or the sample's id, ``doc.question_id`` for one inside of another; or a rule over
    columns, ``v1_{index}``, ``{doc_id:04}``. Without it, the format's own: ``index``, ``doc_id``, the key, the image's
    name."""
    answer: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the prediction, where it is not the format's own."""
    same_question: bool = True
    """Whether a row that tells its question answers only where its words are part of what is asked here."""

    def identity(self) -> dict[str, Any]:
        """The SHA-256 of the file, or of all results in the folder; in which format, and how many predictions.

        Raises:
            ConfigError: it is missing or damaged, or does not say which prediction is about what.
        """
        content = self._content
        return {"sha256": content.sha256, "format": content.format, "predictions": len(content.rows)}

    @property
    def mark(self) -> str:
        content = self._content
        return (
            f"made elsewhere: {len(content.rows)} predictions read from a file ({content.format}, sha256 "
            f"{content.sha256[:12]}); with which prompt, limits and order of options is not known here"
        )

    def check_subjects(self, asked: Collection[str]) -> str | None:
        return unmatched(self._content.rows, asked, f"predictions in {self._name}")

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        return [self._reply(conversation) for conversation in conversations]

    def _reply(self, conversation: Conversation) -> Reply:
        row = self._row(conversation)
        if isinstance(row, PredictionRow):
            text = carried_over(row.text, row.options, conversation.options) if conversation.options else row.text
            if text is not None:
                return Reply(text)
            row = f"the prediction of {row.place} names an option by its place in another order than the one shown"
        return Reply("", Outcome.FAILED, error=f"{row} ({self._name})")

    def _row(self, conversation: Conversation) -> PredictionRow | str:
        """The prediction, or why there is none."""
        subject = conversation.subject
        if subject is None:
            return "predictions are found by the id of a question or a sample, and this call is about neither"
        about = f"{subject.sample!r:.200}"
        if any(turn.role == "assistant" for turn in conversation.turns):
            return f"{about} is asked after examples, which the predictions were not made with as far as is known"
        if subject.t > 1 and not conversation.options:
            return f"what is asked about {about} at t={subject.t} is an image that was drawn here; ask for t=1 alone"
        row = self._content.rows.get(subject.sample)
        if row is None:
            return f"there is no prediction for {about}"
        if row.trouble:
            return row.trouble
        if self.same_question and row.question and not is_part_of(row.question, _asked(conversation)):
            other = f"{row.place} answers another question than {about}: {row.question!r:.200}"
            return f"{other}; set same_question: false if it is the same in other words"
        return row

    @property
    def _name(self) -> str:
        return repr(self.path.name)[:200]

    @cached_property
    def _content(self) -> _Content:
        """Read once, so that the answers are what the fingerprint stands for."""
        where = f"predictions: {str(self.path)!r:.300}"
        with may_be_missing(self.path):
            path = self._reached(where)
        if path.is_dir():
            if self.format not in (None, FOLDERS):
                raise ConfigError(f"{where} is a folder, and {self.format} is a format of files; name the file")
            return self._of_folder(path, where)
        if self.format == FOLDERS:
            raise ConfigError(f"{where} is no folder, and {FOLDERS} is the format of one; name the folder")
        data = _read(path, where)
        name = self.format or told_by(data, where)
        reader = FORMATS[name]
        rows = by_id(reader.read(data, where, self.answer), self.id or reader.id, where)
        return _Content(sha256_bytes(data), name, rows)

    def _of_folder(self, path: Path, where: str) -> _Content:
        if self.answer is not None:
            raise ConfigError(f"{where} has no columns, as GenCeption's results have none; remove answer")
        files = list(_results(path, where))
        if not files:
            raise ConfigError(
                f"{where} holds no results of GenCeption (*{description_pickles.SUFFIX}); set path to their folder"
            )
        rows = by_id(description_pickles.read(files, where), self.id or "id", where)
        return _Content(
            sha256_of([[file.name, sha256_bytes(file.data)] for file in files]), "description_pickles", rows
        )

    def _reached(self, where: str) -> Path:
        try:
            path = self.path.expanduser()
            if path.is_file() or path.is_dir():
                return path
            trouble = "is no file" if path.exists() else "is missing"
        except (OSError, RuntimeError, ValueError) as error:
            trouble = f"cannot be reached ({error!s:.200})"
        raise ConfigError(f"{where} {trouble}; set path to the file of predictions")


def _results(folder: Path, where: str) -> Iterator[description_pickles.ResultFile]:
    total = 0
    for path in sorted(folder.rglob(f"*{description_pickles.SUFFIX}")):
        data = _read(path, where)
        total += len(data)
        if total > LARGEST_FILE:
            raise _too_large(where, total)
        name = os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")
        yield description_pickles.ResultFile(name, data)


def _read(path: Path, where: str) -> bytes:
    try:
        count = path.stat().st_size
        if count > LARGEST_FILE:
            raise _too_large(where, count)
        return path.read_bytes()
    except OSError as error:
        raise ConfigError(f"{where} cannot be read ({error.strerror or error}); mend path or its rights") from None


def _too_large(where: str, count: int) -> ConfigError:
    return ConfigError(
        f"{where} has {count // 2**20:,} MB, more than the {LARGEST_FILE // 2**20:,} MB that are read; keep the ids "
        "and the predictions"
    )


def _asked(conversation: Conversation) -> str:
    return "\n".join(part for part in conversation.turns[-1].parts if isinstance(part, str))
