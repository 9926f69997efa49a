"""A model that was asked elsewhere: its answers come from a file, and are graded here like any other's.

The same answers under another's grading and under ours settle whose number is right. What nobody predicted is a failed
call with its reason; a row that may be about another question, image or order of options is never taken.
"""

import io
import json
import re
import string
import unicodedata
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

from pydantic import Field

from driftledger.components.base import Model, Operational
from driftledger.core.canonical import sha256_bytes
from driftledger.core.errors import ConfigError, first_few, may_be_missing
from driftledger.core.registry import import_extra
from driftledger.core.types import Conversation, Outcome, Reply

FormatName = Literal["vlmevalkit", "lmms_eval", "lm_eval", "mmvet"]

_LOGGED = ("doc_id", ("resps", "filtered_resps"))
PRESETS: dict[FormatName, tuple[str, tuple[str, ...]]] = {
    "vlmevalkit": ("index", ("prediction",)),
    "lmms_eval": _LOGGED,
    "lm_eval": _LOGGED,
    "mmvet": ("id", ("answer",)),
}
"""Tool → the column of the id, and those of the answer, of which the first that is there is taken."""

_SUFFIXES = (".jsonl", ".json", ".csv", ".tsv", ".xlsx")
_FAILED_THERE = "Failed to obtain answer"
"""How VLMEvalKit begins the prediction of a call that failed."""
_LARGEST_CELL = 32_767
"""Characters of a cell in Excel, which cuts what is longer without a word."""


class PredictionRow(NamedTuple):
    """One prediction as its file has it."""

    place: str
    """For people: ``line 3``."""
    text: str
    trouble: str
    """Why there is no text, where there is none."""
    question: str
    """What was asked, where the file holds it."""
    options: list[str]
    """In the order in which they were shown as A, B, C, …, where the file holds them."""


class Predictions(Model):
    """Answers with what a file holds about a question or a sample, found by its id.

    The file is JSON lines, a JSON list of records, a JSON object of id → answer, or a table: CSV, TSV or Excel.
    """

    provider: ClassVar[str] = "predictions"
    version: ClassVar[str] = "1"
    code_is_identity: ClassVar[bool] = False  # what was predicted is the answer; the code looks it up

    path: Operational[Path]
    """The file; its content is the identity."""
    format: FormatName | None = None
    """The tool that wrote it, which sets ``id`` and ``answer``; without it, they are the columns ``id`` and
    ``answer``."""
    id: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the question's or the sample's id, ``doc.question_id`` for one inside of another; or a rule over
    columns, ``v1_{index}``, ``{doc_id:04}``."""
    answer: str | None = Field(default=None, min_length=1, max_length=200)
    """The column of the prediction, where it is not the format's own."""
    same_question: bool = True
    """Whether a row that holds its question answers only where its words are part of what is asked here."""

    def identity(self) -> dict[str, Any]:
        """The SHA-256 of the file, in which format, and how many predictions.

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
            f"made elsewhere: {len(rows)} predictions read from a file ({kind}, sha256 {digest[:12]}); with which "
            "prompt, limits and order of options is not known here"
        )

    def check_subjects(self, asked: Collection[str]) -> str | None:
        where, rows = f"predictions in {self.path.name!r:.200}", self._content[1]
        sought = dict.fromkeys(asked)
        missing = [name for name in sought if name not in rows]
        spare = [name for name in rows if name not in sought]

        def few(names: Sequence[str]) -> str:
            return first_few([repr(name)[:100] for name in names], 3)

        if len(missing) == len(sought):
            raise ConfigError(
                f"{where}: none of its {len(rows)} predictions is about any of the {len(missing)} that are asked for: "
                f"their ids are such as {few(spare)} and those asked for {few(missing)}; set id to the column that "
                "holds those, or to a rule such as 'v1_{index}'"
            )
        parts = []
        if missing:
            parts.append(f"{len(missing)} of {len(sought)} that are asked for have no prediction ({few(missing)})")
        if spare:
            parts.append(f"{len(spare)} of its {len(rows)} predictions are about none of them ({few(spare)})")
        return f"{where}: {', and '.join(parts)}" if parts else None

    def respond(self, conversations: Sequence[Conversation]) -> list[Reply]:
        replies = []
        for conversation in conversations:
            text, trouble = self._answer(conversation)
            failed = Reply("", Outcome.FAILED, error=f"{trouble} ({self.path.name!r:.200})")
            replies.append(failed if trouble else Reply(text))
        return replies

    def _answer(self, conversation: Conversation) -> tuple[str, str]:
        """The text of a prediction, or why there is none."""
        subject = conversation.subject
        if subject is None:
            return "", "predictions are found by the id of a question or a sample, and this call is about neither"
        about = f"{subject.sample!r:.200}"
        if any(turn.role == "assistant" for turn in conversation.turns):
            return "", f"{about} is asked after examples, which the predictions were not made with as far as is known"
        if subject.t > 1 and not conversation.options:
            return (
                "",
                f"what is asked about {about} at t={subject.t} is an image that was drawn here; ask for t=1 alone",
            )
        row = self._content[1].get(subject.sample)
        if row is None or row.trouble:
            return "", row.trouble if row else f"there is no prediction for {about}"
        asked = " ".join(part for part in conversation.turns[-1].parts if isinstance(part, str))
        if self.same_question and f" {_words(row.question)} " not in f" {_words(asked)} " and _words(row.question):
            other = f"{row.place} answers another question than {about}: {row.question!r:.200}"
            return "", f"{other}; set same_question: false if it is the same in other words"
        text = carried_over(row.text, row.options, conversation.options) if conversation.options else row.text
        if text is None:
            return "", f"the prediction of {row.place} names an option by its place in another order than the one shown"
        return text, ""

    @cached_property
    def _content(self) -> tuple[str, dict[str, PredictionRow]]:
        """The file's SHA-256, and its rows by their ids. Read once: the answers are those of the fingerprint."""
        where = f"predictions: {str(self.path)!r:.300}"
        with may_be_missing(self.path):
            try:
                data = self.path.expanduser().read_bytes()
            except (OSError, RuntimeError, ValueError) as error:
                said = getattr(error, "strerror", None) or error
                raise ConfigError(f"{where} cannot be read ({said!s:.200}); set path to the file") from None
        kind = self.path.suffix.lower()
        if kind not in _SUFFIXES:
            raise ConfigError(f"{where} must end with one of {', '.join(_SUFFIXES)}, as its content is; rename it")
        if kind == ".xlsx":
            import_extra("openpyxl")
        try:
            records = [*_records(data, kind)]
        except Exception as error:  # damaged bytes bring about all kinds of errors in the libraries that read sheets
            said = " ".join(str(error).split())
            raise ConfigError(f"{where} cannot be read as {kind[1:]} ({said:.200}); write it again") from None
        if not records:
            raise ConfigError(f"{where} holds no prediction; set path to a file that does")
        return sha256_bytes(data), self._by_id(records, where)

    def _by_id(self, records: Sequence[tuple[str, Any]], where: str) -> dict[str, PredictionRow]:
        """Rows by their ids; equal ones are one, and what failed first may have been asked again."""
        rule, answers = PRESETS[self.format] if self.format else ("id", ("answer",))
        rule, answers = self.id or rule, (self.answer,) if self.answer else answers
        found: dict[str, PredictionRow] = {}
        for place, cells in records:
            names = ", ".join(repr(name)[:50] for name in [*cells][:20]) if isinstance(cells, dict) else ""
            column = next((each for each in answers if _cell(cells, each, _MISSING) is not _MISSING), None)
            if column is None:
                raise ConfigError(f"{where}, {place} has no {answers[0]!r:.100}; set answer to what holds it: {names}")
            name = id_of(cells, rule)
            if name is None:
                raise ConfigError(f"{where}, {place} has no id by {rule!r:.100}; set id to what holds it: {names}")
            text, trouble = _text(_cell(cells, column), place, self.path.suffix.lower() == ".xlsx")
            asked = _cell(cells, "question") or _cell(cells, "doc.question")
            options = [str(each) for each in takewhile(_is_filled, map(cells.get, string.ascii_uppercase))]
            row = PredictionRow(place, text, trouble, asked if isinstance(asked, str) else "", options)
            if name not in found or (found[name].trouble and not trouble):
                found[name] = row
            elif not trouble and row[1:] != found[name][1:]:
                raise ConfigError(
                    f"{where}: {name!r:.100} has different predictions in {found[name].place} and {place}; keep one, "
                    "or set id to what tells them apart"
                )
        return found


def _records(data: bytes, kind: str) -> Iterator[tuple[str, Any]]:
    """The place and the cells of each prediction in a file."""
    if kind == ".jsonl":
        for number, line in enumerate(data.decode("utf-8-sig").split("\n"), 1):
            if line.strip():
                yield f"line {number}", json.loads(line)
    elif kind == ".json":
        content = json.loads(data.decode("utf-8-sig"))
        if isinstance(content, dict):  # MM-Vet's results: github.com/yuweihao/MM-Vet, results/
            content = [{"id": key, "answer": value} for key, value in content.items()]
        yield from ((f"record {number}", cells) for number, cells in enumerate(content, 1))
    else:
        import pandas

        text: dict[str, Any] = {"keep_default_na": False, "na_filter": False}
        if kind == ".xlsx":  # an answer that begins with "=" is kept as a formula: its text is what was meant
            options: Any = {"data_only": False}
            table = pandas.read_excel(io.BytesIO(data), dtype=object, engine="openpyxl", engine_kwargs=options, **text)
        else:
            separator = "\t" if kind == ".tsv" else ","
            with warnings.catch_warnings(action="error"):  # cells that no column has a name for
                table = pandas.read_csv(
                    io.BytesIO(data), sep=separator, dtype=str, encoding="utf-8-sig", index_col=False, **text
                )
        for number, cells in enumerate(table.to_dict("records"), 2):
            yield f"row {number}", {str(name).strip(): value for name, value in cells.items()}


_MISSING = object()


def _cell(cells: Any, name: str, otherwise: Any = None) -> Any:
    """A cell by its name, or by the path to it: ``doc.question_id``."""
    if not isinstance(cells, Mapping):
        return otherwise
    if name in cells:
        return cells[name]
    first, _, rest = name.partition(".")
    return _cell(cells.get(first), rest, otherwise) if rest else otherwise


def id_of(cells: Any, rule: str) -> str | None:
    """The id that a column holds, or that a rule makes of several; None where one is missing.

    >>> cells = {"index": 3, "doc": {"question_id": "v1_3"}}
    >>> [id_of(cells, rule) for rule in ("v1_{index}", "doc.question_id", "{index:04}", "name")]
    ['v1_3', 'v1_3', '0003', None]
    """
    places = re.findall(r"\{([^{}:]+)(?::0([1-9][0-9]?))?\}", rule)
    name = rule if not places else re.sub(r"\{[^{}]+\}", "{}", rule)
    values = []
    for column, width in places or [(rule, "")]:
        value = _cell(cells, column)
        if isinstance(value, float) and value.is_integer():
            value = int(value)  # what a spreadsheet makes of whole numbers
        said = str(value).strip() if isinstance(value, str | int) and not isinstance(value, bool) else ""
        if not said:
            return None
        values.append(said.zfill(int(width or 0)))
    return name.format(*values) if places else values[0]


def _text(value: Any, place: str, of_excel: bool) -> tuple[str, str]:
    """A cell's text, or why it holds none."""
    if isinstance(value, list):  # responses in lists of any depth, as lm-evaluation-harness and lmms-eval log them
        said = [*_responses(value)]
        if None in said:
            return "", f"{place} holds likelihoods of given answers and no text"
        if len(set(said)) > 1:
            return "", f"{place} holds {len(set(said))} different responses to one question"
        value = said[0] if said else None
    if isinstance(value, int | float) and not isinstance(value, bool) and value == value:
        value = str(value).removesuffix(".0")  # an answer that is a number, as JSON and sheets keep it
    if not _is_filled(value):
        return "", f"{place} holds no prediction"
    if not isinstance(value, str):
        return "", f"{place} holds a {type(value).__name__} where a text should be"
    if not value.strip():
        return "", f"the prediction of {place} is empty"
    if value.lstrip().startswith(_FAILED_THERE):
        return "", f"the call of {place} failed there: {value.strip()!r:.200}"
    if of_excel and len(value) >= _LARGEST_CELL:
        return "", f"the prediction of {place} was cut by the sheet, which holds {_LARGEST_CELL:,} characters in a cell"
    return value, ""


def _is_filled(value: Any) -> bool:
    return not (value is None or value == "" or value != value)  # a NaN is not itself


def _responses(value: Any) -> Iterator[str | None]:
    """The texts in nested lists; None for what is no text, and for a likelihood with whether it is greedy."""
    if not isinstance(value, list):
        yield value if isinstance(value, str) else None
    elif len(value) == 2 and str(value[1]) in ("True", "False") and re.fullmatch(r"-?[\d.e+-]+|-?inf", str(value[0])):
        yield None
    else:
        for each in value:
            yield from _responses(each)


def _words(text: str) -> str:
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold()))


_LETTER = re.compile(
    r"(?P<before>\W*(?:(?:the )?(?:correct |right )?(?:answer|option)(?: is)?:?\s*)?\W*)"
    r"(?P<letter>[A-Z])(?![\w'’])"
    r"(?P<between>[\s).:,\]-]*)(?P<rest>.*?)(?P<after>[.\s*]*)",
    re.IGNORECASE | re.DOTALL,
)
"""One letter, perhaps with words such as "The answer is" before it, and what may be its option's text after it."""
_ORDER = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|former|latter|above|below|options?|choices?)\b|\A\W*[0-9]+\W*\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’])([A-Za-z])(?![A-Za-z0-9'’])(?! (?<=a )[a-z])")
"""A letter that stands alone, but the article in "a dog"."""


def carried_over(text: str, theirs: Sequence[str], shown: Sequence[str]) -> str | None:
    """The prediction as it answers the options in the order shown; None where that cannot be known.

    The same letter is another answer where options are shown in another order.

    Args:
        theirs: the options in the order in which the prediction was made; empty where nobody knows.
        shown: the options in the order in which they are shown now.

    >>> carried_over("B. a dog", ["a cat", "a dog"], ["a dog", "a cat"])
    'A. a dog'
    >>> carried_over("B", [], ["a dog", "a cat"]) is None
    True
    >>> carried_over("It is a dog.", [], ["a dog", "a cat"])
    'It is a dog.'
    """
    now, then = [_plain(option) for option in shown], [_plain(option) for option in theirs]
    if now == then or _plain(text) in now:
        return text
    match = _LETTER.fullmatch(text)
    place = ord(match["letter"].upper()) - ord("A") if match else 0
    if match and (not match["rest"] or place < len(then)):
        same = sorted(now) == sorted(then) and len(set(now)) == len(now) and place < len(then)
        if not same or (match["rest"] and _plain(match["rest"]) != then[place]):
            return None
        letter = string.ascii_uppercase[now.index(then[place])]
        return match["before"] + letter + match["between"] + match["rest"] + match["after"]
    normal = unicodedata.normalize("NFKC", text)
    letters = set(string.ascii_uppercase[: len(shown)])
    names_a_place = _ORDER.search(normal) or letters & {letter.upper() for letter in _ALONE.findall(normal)}
    return None if names_a_place else text


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".")
