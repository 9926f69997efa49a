"""Yes or no, as MME asks for.

MME's own script (``calculation.py`` of its evaluation tools) lowers the reply, looks at its first four characters, and
takes ``yes`` or else ``no`` from anywhere in them: ``Now I see a dog`` and ``Nothing`` are a no, ``eyes`` is a yes, and
*The answer is yes* is neither. Here a reply says yes or no by a word that stands for itself: at the start of the reply
or of a sentence, or announced. On replies as MME's prompt asks for them the two agree.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import ANSWER, FINAL, taken_back
from driftledger.benchmarks._questions.parsing.refusal import REFUSAL
from driftledger.benchmarks._questions.parsing.spoken import is_error, without_thinking
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded, plain
from driftledger.core.types import Outcome

VERSION = "1"

YES = (
    *("yes", "yeah", "yep", "yup", "sí", "si", "sì", "oui", "ja"),
    *("sim", "да", "tak", "evet", "ya", "có", "نعم", "हाँ", "हां"),
    *("是的", "是", "有", "对的", "对", "はい", "ええ", "네", "예"),
)
NO = (
    *("no", "nope", "nah", "non", "nein", "não", "нет", "nie", "nee", "nej", "hayır", "tidak", "không", "لا", "नहीं"),
    *("不是的", "不是", "不对", "不", "否", "没有", "沒有", "いいえ", "いや", "아니요", "아니오", "아뇨"),
)
"""Longest first where one begins with another. ``no`` begins many sentences that say nothing of the kind: *No idea*."""

_SAYS = re.compile(
    rf"(?:[ \n,(\[{{<>\"'$:=|~]|-+>|{SYMBOL}|-(?= )){{0,12}}"
    rf"(?:(?P<yes>{'|'.join(YES)})|(?P<no>{'|'.join(NO)}))(?!{WORD})"
)
_CLOSED = re.compile(
    rf"[)\]}}>\"'|]{{0,3}} ?(?:$|[\n.,;:!?)\]}}<|/$]|{SYMBOL}|-(?= |$)|(?:because|since|as|but)\b|です|입니다)"
    r"| (?:and|or|und|oder|y|o|ou|et|nor) |和|或"
)
_GOES_ON = re.compile(r"(?<=yes)(?! ?[-/]| (?:and|or)\b)| (?:there|it|this|that|these|those|they|he|she|i|we|you)\b")
"""After a first word without its comma: ``Yes there is``, ``No it is not``."""
_ALSO = re.compile(r"[)\]}\"'.]{0,3} ?(?:,|/|&|and|or|und|oder|y|o|ou|et|nor|和|或) ?")
_SENTENCE = re.compile(r"[.!?] |\n")
_INITIAL = {"y": True, "n": False}


class ParsedYesNo(NamedTuple):
    """What was read. ``answer`` is True for yes where ``outcome`` is OK, else None; ``how`` names what decided."""

    outcome: Outcome
    answer: bool | None
    how: str


class _Parsed(NamedTuple):
    answer: bool | None  # None: yes and no at once
    how: str


def parse_yes_no(text: str) -> ParsedYesNo:
    """Whether ``text`` says yes or no; English and some twenty other languages.

    OK: one of the two was read. REFUSED: neither, and the text says in its own words that it does not answer. UNPARSED:
    anything else; ``how`` is ``several``, ``error``, ``unfinished`` (reasoning without end) or ``nothing``. Never
    raises, and takes time linear in the length of ``text``.

    >>> parse_yes_no("No, there isn't.")
    ParsedYesNo(outcome=<Outcome.OK: 'ok'>, answer=False, how='first_word')
    >>> parse_yes_no("Yes and no.")
    ParsedYesNo(outcome=<Outcome.UNPARSED: 'unparsed'>, answer=None, how='several')
    >>> parse_yes_no("No dogs are visible.").outcome
    <Outcome.UNPARSED: 'unparsed'>
    """
    if is_error(text):
        return ParsedYesNo(Outcome.UNPARSED, None, "error")
    spoken = without_thinking(text)
    low = folded(plain(spoken.text))
    for rule in RULES if spoken.finished else RULES[:1]:
        if readings := list(rule(low)):
            answers = {reading.answer for reading in readings}
            if len(answers) > 1 or None in answers:
                return ParsedYesNo(Outcome.UNPARSED, None, "several")
            return ParsedYesNo(Outcome.OK, readings[0].answer, readings[0].how)
    if not spoken.finished:
        return ParsedYesNo(Outcome.UNPARSED, None, "unfinished")
    if REFUSAL.search(low):
        return ParsedYesNo(Outcome.REFUSED, None, "free_refusal")
    return ParsedYesNo(Outcome.UNPARSED, None, "nothing")


def _final(low: str) -> Iterator[_Parsed]:
    """Behind *final answer*, in ``\\boxed{}``, in a field or a tag named answer."""
    yield from _behind(FINAL, low, "final_answer")


def _said(low: str) -> Iterator[_Parsed]:
    """Behind *the answer is* and its like, and at the start of the reply or of any sentence."""
    yield from _behind(ANSWER, low, "answer_phrase")
    if (initial := low.strip(" .!()\"'")) in _INITIAL:
        yield _Parsed(_INITIAL[initial], "first_word")
    if reading := _at(low, 0, "first_word", first=True):
        yield reading
    for sentence in _SENTENCE.finditer(low):
        if reading := _at(low, sentence.end(), "sentence"):
            yield reading


RULES: tuple[Callable[[str], Iterator[_Parsed]], ...] = (_final, _said)
"""Tried in this order: the first that finds anything decides, and what it finds has to agree. Errors and reasoning are
taken out before; a refusal is looked for after. Of reasoning that never ended only the first is tried."""


def _behind(pattern: re.Pattern[str], low: str, how: str) -> Iterator[_Parsed]:
    for match in pattern.finditer(low):
        reading = _at(low, match.end(), how)
        if reading and not taken_back(low, match.start()):
            yield reading


def _at(low: str, position: int, how: str, first: bool = False) -> _Parsed | None:
    """Yes or no at ``position``, with whatever is joined to it."""
    word = _SAYS.match(low, position)
    if word is None or not (_CLOSED.match(low, word.end()) or (first and _GOES_ON.match(low, word.end()))):
        return None
    answer = word["yes"] is not None
    also = _ALSO.match(low, word.end())
    other = _SAYS.match(low, also.end()) if also else None
    if other and _CLOSED.match(low, other.end()) and (other["yes"] is not None) != answer:
        return _Parsed(None, how)
    return _Parsed(answer, how)
