"""A judge's grade, as MM-Vet's prompt asks for it: 0.0, 0.1, … 1.0, or a number between two of them.

MM-Vet's own evaluator takes the text before the first blank, accepts any float from 0 to 1, asks up to five times and
then grades 0. A reply that is such a float is the same grade here (NaN, which it lets through, is none); a number is
also read behind a label or alone on a line; and what cannot be read is no grade, which is not a zero.
"""

from driftledger.benchmarks._questions.parsing.patterns import find
from driftledger.benchmarks._questions.parsing.said import SEVERAL, Parsed, Reading, agreed
from driftledger.benchmarks._questions.parsing.text import folded, is_error, plain, without_thinking
from driftledger.core.types import Outcome

VERSION = "2"


def parse_grade(text: str, *, cut: bool = False) -> Parsed[float]:
    """The grade in a judge's reply: any number from 0 to 1, written with a point, alone or out of 1.

    UNPARSED, with ``how`` saying why: ``out_of_range`` (1.5, -1), ``other_notation`` (0,6; 6/10), ``several`` different
    ones, ``error``, ``unfinished`` (reasoning without end, or a number at the end of a cut reply), ``nothing``.

    Args:
        cut: whether the reply met its length limit: then digits behind the point may be missing.

    >>> parse_grade("Correctness: 0.75")
    Parsed(outcome=<Outcome.OK: 'ok'>, value=0.75, how='label')
    >>> parse_grade("1.5")
    Parsed(outcome=<Outcome.UNPARSED: 'unparsed'>, value=None, how='out_of_range')
    """
    spoken, finished = without_thinking(text)
    if is_error(text) or not finished or (cut and find("cut_number").search(text)):
        return Parsed(Outcome.UNPARSED, None, "error" if is_error(text) else "unfinished")
    low = folded(plain(spoken))
    labels = [match.end() for name in ("grade_label", "final") for match in find(name).finditer(low)]
    readings = [reading for label in labels if (reading := _at(low, label, "label"))]
    start = 0
    for line in low.split("\n"):
        reading = _at(low, start, "number")
        if reading and (start == 0 or find("grade_line_end").match(low, reading.end)):
            readings.append(reading)
        start += len(line) + 1
    return agreed(readings) if readings else Parsed(Outcome.UNPARSED, None, "nothing")


def _at(low: str, position: int, how: str) -> Reading[float] | None:
    """The number at ``position`` with its scale, and what is joined to it."""
    opening = find("grade_opening").match(low, position)
    number = find("number").match(low, opening.end() if opening else position)
    if number is None:
        return None
    scale = find("scale").match(low, number.end())
    if not (scale or "." in number[0] or find("grade_closed").match(low, number.end())):
        return None
    grade, end = _grade(number[0]), number.end()
    if grade is None:
        how = "out_of_range" if find("float").fullmatch(number[0]) else "other_notation"
    if scale and (out_of := find("number").match(low, scale.end())):
        end = out_of.end()
        grade, how = (grade, how) if find("one").fullmatch(out_of[0]) else (None, "other_notation")
    if remark := find("remark").match(low, end):
        end = remark.end()
    also = find("grade_also").match(low, end)
    other = find("number").match(low, also.end()) if also and also.end() > end else None
    grade, how = (grade, how) if other is None or _grade(other[0]) == grade else (None, SEVERAL)
    return Reading(grade, how, position, other.end() if other else end)


def _grade(number: str) -> float | None:
    value = float(number) if find("float").fullmatch(number) else -1.0
    return value + 0.0 if 0 <= value <= 1 else None  # -0.0 is 0.0
