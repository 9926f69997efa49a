"""A judge's grade, as MM-Vet's prompt asks for it: 0.0, 0.1, … 1.0.

MM-Vet's own evaluator takes whatever stands before the first blank, accepts any float from 0 to 1, asks up to five
times and then grades 0. Here a grade is one of the eleven that the prompt allows, or none: what cannot be read is not a
zero.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import FINAL
from driftledger.benchmarks._questions.parsing.spoken import is_error, without_thinking
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded, plain
from driftledger.core.types import Outcome

VERSION = "1"

_OPENING = re.compile(rf"(?:[ \n:=|(\[{{<>\"'$]|-+>|-(?= )|{SYMBOL}){{0,10}}")
_LABEL = re.compile(
    r"\b(?:correctness|score|grade|rating)(?:[ _]score)?\b(?: (?:is|of|as|at|would be|should be|will be|must be))?"
)
_NUMBER = re.compile(rf"[-+]?(?>[0-9]+(?:[.,][0-9]+)*|\.[0-9]+)(?!{WORD}|%| %|°)")  # all digits or none: 0.6% is no 0
_TENTHS = re.compile(r"(?P<one>1(?:\.0*)?)|0?\.(?P<tenth>[0-9])0*|(?P<zero>0(?:\.0*)?)")
_FRACTION = re.compile(r"0?\.[0-9]+")
_WHOLE = re.compile(r"[-+]?[0-9]+(?:\.[0-9]+)?")
_SCALE = re.compile(r" ?(?:/|out of|of) ?")
_ONE = re.compile(r"1(?:\.0*)?")
_REMARK = re.compile(r" ?\([^()\n]{0,80}\)")
_ALSO = re.compile(r"[)\]}\"']{0,2} ?(?:(?:,|;|/|~|\||-|to|or|and)(?: (?:or|and))? ?)?")
_CLOSED = re.compile(
    rf"(?![.:!?]{{1,2}} ?[0-9])[)\]}}\"'|]{{0,2}} ?(?:$|[\n.,;:!?)\]}}<|(]|-(?= )|{SYMBOL}|(?:because|since|as)\b)"
)
_LINE_END = re.compile(r"[ )\]}\"'|.<$]{0,6}$", re.MULTILINE)


class Grade(NamedTuple):
    """What was read. ``tenths`` is the grade times ten, 0..10, where ``outcome`` is OK, else None; higher is better."""

    outcome: Outcome
    tenths: int | None
    how: str


class _Parsed(NamedTuple):
    tenths: int | None
    how: str  # by what, or why there is none
    end: int


def parse_grade(text: str) -> Grade:
    """The grade in a judge's reply: 0.0–1.0 by tenths, written with a point, alone or out of 1.

    UNPARSED, with ``how`` saying why: ``not_a_tenth`` (0.65), ``out_of_range`` (1.5, -1), ``other_notation`` (0,6;
    6/10), ``several`` different ones, ``error``, ``unfinished`` (reasoning without end), ``nothing``. Never raises and
    takes time linear in the length of ``text``.

    >>> parse_grade("Correctness: 0.5")
    Grade(outcome=<Outcome.OK: 'ok'>, tenths=5, how='label')
    >>> parse_grade("0.65")
    Grade(outcome=<Outcome.UNPARSED: 'unparsed'>, tenths=None, how='not_a_tenth')
    >>> parse_grade("I cannot grade this.").tenths is None
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
    if len({reading.tenths for reading in readings}) > 1:
        return Grade(Outcome.UNPARSED, None, "several")
    outcome = Outcome.UNPARSED if readings[0].tenths is None else Outcome.OK
    return Grade(outcome, readings[0].tenths, readings[0].how)


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
    tenths, end = _tenths(number[0]), number.end()
    how = how if tenths is not None else _why_not(number[0])
    scale = _SCALE.match(low, end)
    if scale and (out_of := _NUMBER.match(low, scale.end())):
        end = out_of.end()
        tenths, how = (tenths, how) if _ONE.fullmatch(out_of[0]) else (None, "other_notation")
    if remark := _REMARK.match(low, end):
        end = remark.end()
    also = _ALSO.match(low, end)
    other = _NUMBER.match(low, also.end()) if also and also.end() > end else None
    if other and _tenths(other[0]) != tenths:
        return _Parsed(None, "several", other.end())
    return _Parsed(tenths, how, other.end() if other else end)


def _tenths(number: str) -> int | None:
    allowed = _TENTHS.fullmatch(number)
    if allowed is None:
        return None
    return 10 if allowed["one"] else int(allowed["tenth"] or 0)


def _why_not(number: str) -> str:
    if _FRACTION.fullmatch(number):
        return "not_a_tenth"
    return "out_of_range" if _WHOLE.fullmatch(number) else "other_notation"
