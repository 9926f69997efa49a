"""A model that was asked elsewhere: answers from a file.

Another tool's grading of the same answers can be compared with ours. An empty row is an empty
answer. A sample without a prediction is a failed call with its reason. A row that may be about
another question, image or order of options is never used.
"""

import re
import string
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import Field

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import Json, sha256_file
from driftledger.core.errors import ConfigError, DataError
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
"""Tool → the column of the id, and columns that may hold the answer, in the order of trial."""

_FAILED_THERE = "Failed to obtain answer"
"""The beginning of VLMEvalKit's prediction of a call that failed."""


class PredictionRow(NamedTuple):
    """A prediction in a file."""

    place: str
    """Its place, as sentences name it: ``line 3 of answers.csv``."""
    text: str
    trouble: str
    """Why the row holds no answer; empty if it holds one, which may be an empty text."""
    question: str
    """The question, if the file holds it; else empty."""
    options: list[str]
    """The options in the order A, B, C, …; empty if the file holds none."""


class Predictions(Model):
    """Answers from a file, found by the id of a question or a sample.

    The file is a table as :func:`~driftledger.data.tables.read_table` reads it, or MM-Vet's JSON
    object of id → answer.
    """

    version = "3"
    # the answers are those of the file; the code looks them up
    code_is_identity = False

    path: Operational[Path]
    """The file; its content is the identity."""
    format: FormatName | None = None
    """The tool that wrote the file, which decides the columns of ids and answers; ``null``: they
    are ``id`` and ``answer``."""
    id: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the question's or the sample's id, such as ``doc.question_id`` if it is nested,
    or a rule over columns, such as ``v1_{index}`` or ``{doc_id:04}``."""
    answer: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the prediction, if it is not the format's own."""
    same_question: bool = True
    """Whether a row that holds a question is used only if the question here has the same words."""

    def identity(self) -> Json:
        """Return the SHA-256 of the file, its format, and the number of predictions.

        Raises:
            ConfigError: the file is missing or damaged, or lacks an id or a prediction.
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
        if row is None:
            first = next(iter(self._content[1]))
            raise LookupError(
                f"{about} has no prediction in {self.path.name!r:.200}; its first id is "
                f"{first!r:.100}, and `id` says where ids are"
            )
        if row.trouble:
            raise LookupError(row.trouble)
        options = conversation.options
        texts = [part for part in conversation.turns[-1].parts if isinstance(part, str)]
        is_same = _is_same_question(row.question, " ".join(texts), options)
        if self.same_question and not is_same:
            raise LookupError(
                f"{row.place} answers another question than {about}: {row.question!r:.200}; set "
                "same_question: false if it is the same in other words"
            )
        if not options:
            return row.text
        answer = carried_over(row.text, row.options, options)
        if answer is None:
            raise LookupError(
                f"the prediction of {row.place} names an option by its place in another order"
            )
        return answer

    @cached_property
    def _content(self) -> tuple[str, dict[str, PredictionRow]]:
        """The file's SHA-256, and its rows by id; read once, so that both agree."""
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
            columns = [
                name for name in answers if _cell(cells, name, _MISSING) is not _MISSING
            ]
            if not columns:
                raise ConfigError(
                    f"{where} has no {answers[0]!r:.100}; set answer to its column: {names}"
                )
            name = id_of(cells, rule)
            if name is None:
                raise ConfigError(
                    f"{where} has no id by {rule!r:.100}; set id to its column: {names}"
                )
            text, trouble = _text(_cell(cells, columns[0]), place)
            question = _question_of(cells, without=(columns[0], rule))
            lettered = map(cells.get, string.ascii_uppercase)
            options = [*map(str, takewhile(_is_filled, lettered))]
            row = PredictionRow(place, text, trouble, question, options)
            # a call that failed may have been made again
            if name not in rows or (text and not rows[name].text):
                rows[name] = row
            elif text and row[1:] != rows[name][1:]:
                raise ConfigError(
                    f"{where} and {rows[name].place} have different predictions about "
                    f"{name!r:.100}; keep one, or set id to a column that differs"
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
"""Columns in which tools keep the question, in the order of trial."""


def _question_of(cells: Any, without: Sequence[str]) -> str:
    """Return the question in the first column that holds one; empty if none does.

    Args:
        without: columns that hold something else: the prediction, the id.
    """
    for name in _ASKED:
        for column in (name, f"doc.{name}"):
            value = _cell(cells, column)
            if column not in without and isinstance(value, str) and value.strip():
                return value
    return ""


def _is_same_question(theirs: str, ours: str, options: Sequence[str]) -> bool:
    """Return True if a row's question may be the one that is asked.

    The words of one must be a part of the other: the row may hold the question alone, or with
    another tool's instructions. Options, and the text after them, are no part of the question.
    """
    if not _words(theirs):
        return True
    body = ours
    if options:
        body = ours.partition(f"\nA. {' '.join(options[0].split())}")[0]
    is_part = f" {_words(theirs)} " in f" {_words(ours)} "
    return is_part or f" {_words(body)} " in f" {_words(theirs)} "


def id_of(cells: Any, rule: str) -> str | None:
    """Return the id in a column, or by a rule over columns; None if it is missing.

    >>> cells = {"index": 3, "doc": {"question_id": "v1_3"}}
    >>> [id_of(cells, rule) for rule in ("v1_{index}", "doc.question_id", "{index:04}", "name")]
    ['v1_3', 'v1_3', '0003', None]
    """

    def part(name: str, width: str | None = None) -> str:
        value = _cell(cells, name)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # spreadsheets turn whole numbers into floats
        if isinstance(value, bool) or not isinstance(value, str | int):
            raise LookupError(name)
        text = str(value).strip()
        if not text:
            raise LookupError(name)
        return text.zfill(int(width or 0))

    column = re.compile(r"\{([^{}]+?)(?::0([1-9][0-9]?))?\}")
    try:
        if column.search(rule):
            return column.sub(lambda match: part(*match.groups()), rule)
        return part(rule)
    except LookupError:
        return None


def _text(value: Any, place: str) -> tuple[str, str]:
    """Return a cell's text, and why it holds none."""
    if isinstance(value, list):
        texts = {"" if response is None else str(response) for response in _flat(value)}
        if len(texts) != 1:
            count = f"{len(texts)} different" if texts else "no"
            return "", f"{place} holds {count} responses to one question"
        [value] = texts
    if not _is_filled(value):
        return "", ""
    if isinstance(value, int | float) and not isinstance(value, bool):
        # an answer that is a number, in JSON and in sheets
        value = str(value).removesuffix(".0")
    if not isinstance(value, str):
        kind = not_text(value) or type(value).__name__
        return "", f"{place} holds {kind} where a text should be"
    text = value.strip()
    if not text:
        return "", ""
    if text.startswith(_FAILED_THERE):
        return "", f"the call of {place} failed there: {text!r:.200}"
    if is_cut(value):
        return "", (
            f"the prediction of {place} was cut by Excel, which keeps {LONGEST_CELL:,} characters "
            "in a cell"
        )
    return value, ""


def _flat(responses: list[Any]) -> Iterator[Any]:
    """Yield responses from nested lists, as lm-evaluation-harness logs them."""
    for response in responses:
        if isinstance(response, list):
            yield from _flat(response)
        else:
            yield response


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
"""A letter, perhaps after words such as "The answer is", and perhaps before an option's text."""
_ORDER = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|former|latter|above|below"
    r"|options?|choices?)\b|\A\W*[0-9]+\W*\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’])([A-Za-z])(?![A-Za-z0-9'’])(?! (?<=a )[a-z])")
"""A letter that is a word, except the article in "a dog"."""


def carried_over(text: str, theirs: Sequence[str], ours: Sequence[str]) -> str | None:
    """Return the prediction with the letter of its option now; None if unknown.

    A letter is another answer if options are shown in another order.

    Args:
        theirs: the options in the order of the prediction; empty if it is unknown.
        ours: the options in the order of the call.

    >>> carried_over("B. a dog", ["a cat", "a dog"], ["a dog", "a cat"])
    'A. a dog'
    >>> carried_over("B", [], ["a dog", "a cat"]) is None
    True
    >>> carried_over("It is a dog.", [], ["a dog", "a cat"])
    'It is a dog.'
    """
    now = [_plain(option) for option in ours]
    then = [_plain(option) for option in theirs]
    if now == then or _plain(text) in now:
        return text
    match = _LETTER.fullmatch(text)
    place = ord(match["letter"].upper()) - ord("A") if match else 0
    if match and (not match["rest"] or place < len(then)):
        are_same = sorted(now) == sorted(then) and len(set(now)) == len(now)
        if not are_same or place >= len(then):
            return None
        if match["rest"] and _plain(match["rest"]) != then[place]:
            return None
        at = match.start("letter")
        letter = string.ascii_uppercase[now.index(then[place])]
        return text[:at] + letter + text[at + 1 :]
    normal = unicodedata.normalize("NFKC", text)
    letters = set(string.ascii_uppercase[: len(ours)])
    named = {letter.upper() for letter in _ALONE.findall(normal)}
    return None if _ORDER.search(normal) or letters & named else text


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".")
