"""Read a judge's grade, as MM-Vet's prompt asks for it.

:func:`strict_grade` is the rule of MM-Vet's own evaluator, which asks up to five times and then
grades 0. :func:`parse_grade` reads the same grade in a reply that is such a float, and also a
number behind a label, alone on a line, or out of another number. What cannot be read is left
without a grade, which is not a zero.
"""

from driftledger.benchmarks.base.parsing.reply import (
    Parsed,
    PlainReply,
    Reading,
    unparsed,
)
from driftledger.benchmarks.base.parsing.text import find, is_error, plain
from driftledger.components.thinking import without_thinking
from driftledger.core.types import Outcome

VERSION = "4"
STRICT = "strict-1"
"""The version of :func:`strict_grade`."""


def strict_grade(text: str) -> Parsed[float]:
    """Read the text before the first blank as a grade, if it is a float from 0 to 1.

    Source: mm-vet_evaluator.ipynb in github.com/yuweihao/MM-Vet at acde843, which lets NaN through.

    >>> [strict_grade(text).value for text in ("0.5 of it", "8/10", "50%")]
    [0.5, None, None]
    """
    number = text.split(" ")[0]
    try:
        grade = float(number)
    except ValueError:
        return unparsed("nothing")
    if not 0 <= grade <= 1:
        return unparsed("out_of_range")
    return Parsed(Outcome.OK, abs(grade), "number", number)


def parse_grade(text: str, *, cut: bool = False) -> Parsed[float]:
    """Read the grade in a judge's reply: a number from 0 to 1, or on a scale (8/10).

    UNPARSED, with ``how`` saying why: ``out_of_range`` (1.5, -1), ``other_notation`` (0,6; 0.5/5,
    which may be either), ``several`` different ones, ``error``, ``unfinished`` (reasoning without
    end, or a cut reply), ``nothing``.

    Args:
        cut: whether the reply met its length limit: then digits behind the point may be missing.

    >>> parse_grade("Correctness: 0.75")
    Parsed(outcome=<Outcome.OK: 'ok'>, value=0.75, how='label', quote='Correctness: 0.75')
    >>> parse_grade("1.5").explained("nothing")
    "nothing: a number out of range, '1.5'"
    """
    spoken, _, finished = without_thinking(text)
    if is_error(text):
        return unparsed("error")
    if not finished or (cut and find("cut_number").search(text)):
        return unparsed("unfinished")
    reply = _GradeReply(plain(spoken))
    readings = []
    for name in ("grade_label", "final"):
        for label in find(name).finditer(reply.low):
            reading = reply.read(label.end())
            if reading and (not cut or reply.at("another_sentence", reading.end)):
                readings.append(reading.named("label"))
    for line in find("line").finditer(reply.low):
        reading = reply.read(line.start())
        if reading and (line.start() == 0 or reply.at("grade_line_end", reading.end)):
            readings.append(reading)
    if not readings:
        return unparsed("unfinished" if cut else "nothing")
    return reply.agreed(readings)


class _GradeReply(PlainReply[float]):
    """A judge's plain reply."""

    def read(self, position: int) -> Reading[float] | None:
        """Return the number at ``position``, with its scale and a number joined to it."""
        number = self.at("number", self.skip("grade_opening", position))
        if number is None:
            return None
        end = number.end()
        most = "1"
        scale = self.at("scale", end)
        if scale:
            end = scale.end()
            most = scale["most"] or "100"
        of_one = (scale or "." in number[0]) and find("one").fullmatch(most)
        if not of_one and not self.at("grade_closed", end):  # 3 of 5 elements
            return None
        grade, how = _grade(number[0], most)
        end = self.skip("remark", end)
        other = self.at("number", self.skip("grade_also", end))
        if other is None:
            return Reading(grade, how, position, end)
        reading = Reading(grade, how, position, other.end())
        return reading if _grade(other[0])[0] == grade else reading.several()


def _grade(number: str, most: str = "1") -> tuple[float | None, str]:
    """Return a number out of ``most`` as a grade, or why it is none."""
    if not (
        find("float").fullmatch(number) and find("most").fullmatch(most) and float(most)
    ):
        return None, "other_notation"
    value = float(number) + 0.0  # -0.0 is 0.0
    scale = float(most)
    if scale > 1 and value <= 1 and "." in number:  # 0.5/5: either may be meant
        return None, "other_notation"
    if not 0 <= value <= scale:
        return None, "out_of_range"
    return value / scale, "number"
