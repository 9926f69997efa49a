"""A model that was asked elsewhere: its answers come from a file, and are graded here like any
other's.

The same answers under another's grading and under ours settle which number is right. A row with
nothing in it is an empty answer. What was not predicted is a failed call with its reason; a row
that may be about another question, image or order of options is never taken.
"""

import re
import string
import unicodedata
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import Json, sha256_file
from driftledger.core.errors import ConfigError, DataError
from driftledger.core.media import ANY_MEDIUM
from driftledger.core.types import Conversation, Outcome, Result
from driftledger.data.datasets.base import reached
from driftledger.data.question_sets.places import PLACE
from driftledger.data.sheets import LONGEST_CELL, is_cut
from driftledger.data.tables import not_text, read_table

FormatName = Literal["vlmevalkit", "lmms_eval", "lm_eval", "mmvet"]

_LOGGED = ("doc_id", ("resps", "filtered_resps"))
PRESETS: dict[FormatName, tuple[str, tuple[str, ...]]] = {
    "vlmevalkit": ("index", ("prediction",)),
    "lmms_eval": _LOGGED,
    "lm_eval": _LOGGED,
    "mmvet": ("id", ("answer",)),
}
"""Tool → the column of the id, and those that may hold the answer, in the order in which they are
tried."""

_FAILED_THERE = "Failed to obtain answer"
"""How VLMEvalKit begins the prediction of a call that failed."""


class PredictionRow(NamedTuple):
    """One prediction as its file has it."""

    place: str
    """For people: ``line 3 of answers.csv``."""
    text: str
    trouble: str
    """Why there is no answer to take; empty if there is one, which may be an empty text."""
    question: str
    """What was asked, where the file holds it."""
    options: list[str]
    """In the order in which they were shown as A, B, C, …, where the file holds them."""


class Predictions(Model):
    """Answers with what a file holds about a question or a sample, found by its id.

    The file is a table that :func:`~driftledger.data.tables.read_table` reads: MM-Vet's JSON object
    of id → answer too.
    """

    media = ANY_MEDIUM
    version = "3"
    # what was predicted is the answer; the code looks it up
    code_is_identity = False

    path: Operational[Path]
    """The file; its content is the identity."""
    format: FormatName | None = None
    """The tool that wrote it, which sets ``id`` and ``answer``; without it, they are the columns
    ``id`` and ``answer``."""
    id: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the question's or the sample's id, ``doc.question_id`` for one inside of
    another; or a rule over columns, ``v1_{index}``, ``{doc_id:04}``."""
    answer: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the prediction, where it is not the format's own."""
    same_question: bool = True
    """Whether a row that holds its question answers only where its words are part of what is asked
    here."""

    def identity(self) -> Json:
        """Return the SHA-256 of the file, in which format, and how many predictions.

        Raises:
            ConfigError: it is missing or damaged, or does not say which prediction is about what.
        """
        digest, rows = self._content
        return {"sha256": digest, "format": self.format, "predictions": len(rows)}

    @property
    def mark(self) -> str:
        digest, rows = self._content
        kind = self.format or self.path.suffix.lower().removeprefix(".")
        return (
            f"made elsewhere: {len(rows)} predictions read from a file ({kind}, sha256 "
            f"{digest[:12]}); with which prompt, limits and order of options is not known here"
        )

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        replies = []
        for conversation in conversations:
            try:
                replies.append(Result(self._answer(conversation)))
            except LookupError as error:
                replies.append(Result("", Outcome.FAILED, error=str(error.args[0])))
        return replies

    def _answer(self, conversation: Conversation) -> str:
        """Return the text of a prediction; a LookupError says why it is missing."""
        subject = conversation.subject
        if subject is None:
            raise LookupError(
                "predictions are found by the id of a question or a sample, and this call has none"
            )
        about = f"{subject.sample!r:.200}"
        if any(turn.role == "assistant" for turn in conversation.turns):
            raise LookupError(
                f"{about} is asked after examples, and the predictions were made without, as far "
                "as is known"
            )
        if subject.t > 1 and not conversation.options:
            raise LookupError(
                f"at t={subject.t}, {about} is an image that was drawn here; ask for t=1 alone"
            )
        row = self._content[1].get(subject.sample)
        if row is None or row.trouble:
            first = (
                f"its first id is {next(iter(self._content[1]))!r:.100}, and `id` says where ids "
                "are"
            )
            raise LookupError(
                row.trouble
                if row
                else f"{about} has no prediction in {self.path.name!r:.200}; {first}"
            )
        text = " ".join(
            part for part in conversation.turns[-1].parts if isinstance(part, str)
        )
        if self.same_question and not _is_same_question(
            row.question, text, conversation.options
        ):
            raise LookupError(
                f"{row.place} answers another question than {about}: {row.question!r:.200}; set "
                "same_question: false if it is the same in other words"
            )
        answer = (
            carried_over(row.text, row.options, conversation.options)
            if conversation.options
            else row.text
        )
        if answer is None:
            raise LookupError(
                f"the prediction of {row.place} names an option by its place in another order"
            )
        return answer

    @cached_property
    def _content(self) -> tuple[str, dict[str, PredictionRow]]:
        """The file's SHA-256, and its rows by their ids. Read once: the answers are those of the
        fingerprint."""
        file = reached(self.path, "file", "path to the file", "predictions: ")
        try:
            digest = sha256_file(file)
            table = read_table(file)
        except (DataError, OSError) as error:
            raise ConfigError(f"predictions: {error}") from None
        if not table.rows:
            raise ConfigError(
                f"predictions: {table.name} holds no prediction; set path to a file that does"
            )
        rule, answers = PRESETS[self.format] if self.format else ("id", ("answer",))
        rule = self.id or rule
        answers = (self.answer,) if self.answer else answers
        rows: dict[str, PredictionRow] = {}
        for place, cells in table.rows:
            where = f"predictions: {place}"
            names = ", ".join(repr(name)[:50] for name in [*cells][:20])
            column = next(
                (
                    each
                    for each in answers
                    if _cell(cells, each, _MISSING) is not _MISSING
                ),
                None,
            )
            if column is None:
                raise ConfigError(
                    f"{where} has no {answers[0]!r:.100}; set answer to what holds it: {names}"
                )
            name = id_of(cells, rule)
            if name is None:
                raise ConfigError(
                    f"{where} has no id by {rule!r:.100}; set id to what holds it: {names}"
                )
            text, trouble = _text(_cell(cells, column), place)
            question = _question_of(cells, without=(column, rule))
            options = [
                str(each)
                for each in takewhile(
                    _is_filled, map(cells.get, string.ascii_uppercase)
                )
            ]
            row = PredictionRow(place, text, trouble, question, options)
            # what failed may have been asked again
            if name not in rows or (text and not rows[name].text):
                rows[name] = row
            elif text and row[1:] != rows[name][1:]:
                raise ConfigError(
                    f"{where} and {rows[name].place} have different predictions about "
                    f"{name!r:.100}; keep one, or set id to what tells them apart"
                )
        return digest, rows


_MISSING = object()


def _cell(cells: Any, name: str, otherwise: Any = None) -> Any:
    """Return a cell by its name, or by the path to it: ``doc.question_id``."""
    if not isinstance(cells, Mapping):
        return otherwise
    if name in cells:
        return cells[name]
    first, _, rest = name.partition(".")
    return _cell(cells.get(first), rest, otherwise) if rest else otherwise


_ASKED = ("question", "prompt", "input", "text")
"""Columns that tools keep what was asked in, in the order in which they are looked at."""


def _question_of(cells: Any, without: Sequence[str]) -> str:
    """Return what was asked, of the first column that holds it; empty where none does.

    Args:
        without: columns that hold something else: the prediction, the id.
    """
    for name in _ASKED:
        for column in (name, f"doc.{name}"):
            value = _cell(cells, column)
            if column not in without and isinstance(value, str) and value.strip():
                return value
    return ""


def _is_same_question(theirs: str, asked: str, options: Sequence[str]) -> bool:
    """Return whether a row's question is the one that is asked, as far as it shows.

    One must hold the words of the other: the row has the question alone, or the question with
    another tool's instructions. Options and what follows them are not a part of the question.
    """
    if not _words(theirs):
        return True
    body = asked
    if options:
        body = asked.partition(f"\nA. {' '.join(options[0].split())}")[0]
    is_part = f" {_words(theirs)} " in f" {_words(asked)} "
    return is_part or f" {_words(body)} " in f" {_words(theirs)} "


def id_of(cells: Any, rule: str) -> str | None:
    """Return the id that a column holds, or that a rule makes of several; None where one is
    missing.

    >>> cells = {"index": 3, "doc": {"question_id": "v1_3"}}
    >>> [id_of(cells, rule) for rule in ("v1_{index}", "doc.question_id", "{index:04}", "name")]
    ['v1_3', 'v1_3', '0003', None]
    """

    def part(name: str, width: str | None = None) -> str:
        value = _cell(cells, name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # what a spreadsheet makes of whole numbers
        text = (
            str(value).strip()
            if isinstance(value, str | int) and not isinstance(value, bool)
            else ""
        )
        if not text:
            raise LookupError(name)
        return text.zfill(int(width or 0))

    column = re.compile(r"\{([^{}]+?)(?::0([1-9][0-9]?))?\}")
    try:
        return (
            column.sub(lambda match: part(*match.groups()), rule)
            if column.search(rule)
            else part(rule)
        )
    except LookupError:
        return None


def _text(value: Any, place: str) -> tuple[str, str]:
    """Return a cell's text, or why it holds none."""
    # responses in lists of any depth, as lm-evaluation-harness and lmms-eval log them
    if isinstance(value, list):
        while any(isinstance(each, list) for each in value):
            value = [
                one
                for each in value
                for one in (each if isinstance(each, list) else [each])
            ]
        texts = {"" if each is None else str(each) for each in value}
        if len(texts) != 1:
            return (
                "",
                f"{place} holds {len(texts) or 'no'} {'different ' if texts else ''}responses to "
                "one question",
            )
        [value] = texts
    if (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and value == value
    ):
        # an answer that is a number, as JSON and sheets keep it
        value = str(value).removesuffix(".0")
    if not _is_filled(value) or (isinstance(value, str) and not value.strip()):
        return "", ""
    if not isinstance(value, str):
        return (
            "",
            f"{place} holds {not_text(value) or type(value).__name__} where a text should be",
        )
    if value.lstrip().startswith(_FAILED_THERE):
        return "", f"the call of {place} failed there: {value.strip()!r:.200}"
    if is_cut(value):
        return (
            "",
            f"the prediction of {place} was cut by Excel, which keeps {LONGEST_CELL:,} characters "
            "in a cell",
        )
    return value, ""


def _is_filled(value: Any) -> bool:
    return not (value is None or value == "" or value != value)  # a NaN is not itself


def _words(text: str) -> str:
    plain = unicodedata.normalize("NFKC", PLACE.sub(" ", text))
    return " ".join(re.findall(r"\w+", plain.casefold()))


_LETTER = re.compile(
    r"\W*(?:(?:the )?(?:correct |right )?(?:answer|option)(?: is)?:?\s*)?\W*"
    r"(?P<letter>[A-Z])(?![\w'’])[\s).:,\]-]*(?P<rest>.*?)[.\s*]*",
    re.IGNORECASE | re.DOTALL,
)
"""One letter, perhaps with words such as "The answer is" before it, and what may be its option's
text after it."""
_ORDER = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|former|latter|above|below"
    r"|options?|choices?)\b|\A\W*[0-9]+\W*\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’])([A-Za-z])(?![A-Za-z0-9'’])(?! (?<=a )[a-z])")
"""A letter that stands alone, but the article in "a dog"."""


def carried_over(text: str, theirs: Sequence[str], shown: Sequence[str]) -> str | None:
    """Return the prediction as it answers the options in the order shown; None where that cannot be
    known.

    The same letter is another answer where options are shown in another order.

    Args:
        theirs: the options in the order in which the prediction was made; empty if it is unknown.
        shown: the options in the order in which they are shown now.

    >>> carried_over("B. a dog", ["a cat", "a dog"], ["a dog", "a cat"])
    'A. a dog'
    >>> carried_over("B", [], ["a dog", "a cat"]) is None
    True
    >>> carried_over("It is a dog.", [], ["a dog", "a cat"])
    'It is a dog.'
    """
    now = [_plain(option) for option in shown]
    then = [_plain(option) for option in theirs]
    if now == then or _plain(text) in now:
        return text
    match = _LETTER.fullmatch(text)
    place = ord(match["letter"].upper()) - ord("A") if match else 0
    if match and (not match["rest"] or place < len(then)):
        same = (
            sorted(now) == sorted(then)
            and len(set(now)) == len(now)
            and place < len(then)
        )
        if not same or (match["rest"] and _plain(match["rest"]) != then[place]):
            return None
        at = match.start("letter")
        return (
            text[:at] + string.ascii_uppercase[now.index(then[place])] + text[at + 1 :]
        )
    normal = unicodedata.normalize("NFKC", text)
    letters = set(string.ascii_uppercase[: len(shown)])
    names_a_place = _ORDER.search(normal) or letters & {
        letter.upper() for letter in _ALONE.findall(normal)
    }
    return None if names_a_place else text


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".")
