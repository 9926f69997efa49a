"""A judge's grade, as MM-Vet's prompt asks for it: 0.0, 0.1, … 1.0, or a number between two of them.

MM-Vet's own evaluator takes whatever stands before the first blank, accepts any float from 0 to 1, asks up to five
times and then grades 0. A reply that is such a float is the same grade here (NaN, which it lets through, is none); a
number is also found behind a label or alone on a line; and what cannot be read is no grade, which is not a zero.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import FINAL
from driftledger.benchmarks._questions.parsing.spoken import is_error, without_thinking
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded, plain
from driftledger.core.types import Outcome

VERSION = "2"

_OPENING = re.compile(rf"(?:[ \n:=|(\[{{<>\"'$]|-+>|-(?= )|{SYMBOL}){{0,10}}")
_LABEL = re.compile(
    r"\b(?:correctness|score|grade|rating)(?:[ _]score)?\b(?: (?:is|of|as|at|would be|should be|will be|must be))?"
)
_EXPONENT = "(?:e[-+]?[0-9]{1,4})?"
_NUMBER = re.compile(
    rf"[-+]?(?>(?:[0-9]+(?:[.,][0-9]+)*|\.[0-9]+){_EXPONENT})(?!{WORD}|%| %|°)"  # all digits or none: 0.6% is no 0
)
_FLOAT = re.compile(rf"[-+]?(?:[0-9]+(?:\.[0-9]+)?|\.[0-9]+){_EXPONENT}")
_SCALE = re.compile(r" ?(?:/|out of|of) ?")
_ONE = re.compile(r"1(?:\.0*)?")
_REMARK = re.compile(r" ?\([^()\n]{0,80}\)")
_ALSO = re.compile(r"[)\]}\"']{0,2} ?(?:(?:,|;|/|~|\||-|to|or|and)(?: (?:or|and))? ?)?")
_CLOSED = re.compile(
    rf"(?![.:!?]{{1,2}} ?[0-9])[)\]}}\"'|]{{0,2}} ?(?:$|[\n.,;:!?)\]}}<|(]|-(?= )|{SYMBOL}|(?:because|since|as)\b)"
)
_LINE_END = re.compile(r"[ )\]}\"'|.<$]{0,6}$", re.MULTILINE)


class Grade(NamedTuple):
    """What was read. ``grade`` is from 0 to 1 where ``outcome`` is OK, else None; higher is better."""

    outcome: Outcome
    grade: float | None
    how: str


class _Parsed(NamedTuple):
    grade: float | None
    how: str  # by what, or why there is none
    end: int


def parse_grade(text: str) -> Grade:
    """The grade in a judge's reply: any number from 0 to 1, written with a point, alone or out of 1.

    UNPARSED, with ``how`` saying why: ``out_of_range`` (1.5, -1), ``other_notation`` (0,6; 6/10), ``several`` different
    ones, ``error``, ``unfinished`` (reasoning without end), ``nothing``. Never raises and takes time linear in the
    length of ``text``.

    >>> parse_grade("Correctness: 0.75")
    Grade(outcome=<Outcome.OK: 'ok'>, grade=0.75, how='label')
    >>> parse_grade("1.5")
    Grade(outcome=<Outcome.UNPARSED: 'unparsed'>, grade=None, how='out_of_range')
    >>> parse_grade("I cannot grade this.").grade is None
    True
    """
    if is_error(text):
        return Grade(Outcome.UNPARSED, None, "error")
    spoken = without_thinking(text)
    if not spoken.finished:
        return Grade(Outcome.UNPARSED, None, "unfinished")
    low = folded(plain(spoken.text))
    readings = [*_labelled(low), *_leading(low)]
    if not readings:
        return Grade(Outcome.UNPARSED, None, "nothing")
    if len({reading.grade for reading in readings}) > 1:
        return Grade(Outcome.UNPARSED, None, "several")
    outcome = Outcome.UNPARSED if readings[0].grade is None else Outcome.OK
    return Grade(outcome, readings[0].grade, readings[0].how)


def _labelled(low: str) -> Iterator[_Parsed]:
    """Behind *correctness*, *score*, *grade*, *rating*, *final answer*; in a field or a tag of such a name."""
    for pattern in (_LABEL, FINAL):
        for match in pattern.finditer(low):
            if reading := _at(low, match.end(), "label"):
                yield reading


def _leading(low: str) -> Iterator[_Parsed]:
    """At the very start, or alone on a line."""
    start = 0
    for line in low.split("\n"):
        reading = _at(low, start, "number")
        if reading and (start == 0 or _LINE_END.match(low, reading.end)):
            yield reading
        start += len(line) + 1


def _at(low: str, position: int, how: str) -> _Parsed | None:
    """The number at ``position`` with its scale, and whatever is joined to it."""
    opening = _OPENING.match(low, position)
    number = _NUMBER.match(low, opening.end() if opening else position)
    if number is None or not ("." in number[0] or _SCALE.match(low, number.end()) or _CLOSED.match(low, number.end())):
        return None
    grade, end = _grade(number[0]), number.end()
    how = how if grade is not None else _why_not(number[0])
    scale = _SCALE.match(low, end)
    if scale and (out_of := _NUMBER.match(low, scale.end())):
        end = out_of.end()
        grade, how = (grade, how) if _ONE.fullmatch(out_of[0]) else (None, "other_notation")
    if remark := _REMARK.match(low, end):
        end = remark.end()
    also = _ALSO.match(low, end)
    other = _NUMBER.match(low, also.end()) if also and also.end() > end else None
    if other and _grade(other[0]) != grade:
        return _Parsed(None, "several", other.end())
    return _Parsed(grade, how, other.end() if other else end)


def _grade(number: str) -> float | None:
    value = float(number) if _FLOAT.fullmatch(number) else -1.0
    return value + 0.0 if 0 <= value <= 1 else None  # -0.0 is 0.0


def _why_not(number: str) -> str:
    return "out_of_range" if _FLOAT.fullmatch(number) else "other_notation"
