"""What all answer readers share: corrections, denials, announcements."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar

from driftledger.benchmarks.base.parsing.text import find, folded, replaced
from driftledger.core.text import for_line
from driftledger.core.types import Outcome

V = TypeVar("V")

SEVERAL = "several"
BACK = 160
"""How many characters before an answer are looked at."""
QUOTED = 60
"""How many characters of an answer are quoted, and how many before it."""
RULES = {
    "final_answer": "given as the final answer",
    "answer_phrase": "announced as the answer",
    "statement": "stated as the choice",
    "letter": "a letter in the place of an answer",
    "option_text": "the text of the option",
    "refusal_text": "the text of the option that refuses",
    "first_four": "in the first four characters",
    "first_word": "first word",
    "sentence": "first word of a sentence",
    "phrase": "a phrase that means it",
    "denial": "begins by denying it",
    "free_refusal": "declines in its own words",
    "grade": "the judge's grade",
    "grade, asked again": "the judge's grade, asked a second time",
    "several": "several answers that differ",
    "contradiction": "a letter with the text of another option",
    "no_such_letter": "a letter that no option has",
    "label": "behind a label",
    "out_of_range": "a number out of range",
    "other_notation": "a number in another notation",
    "error": "an error message in place of a reply",
    "unfinished": "the reply ends before its answer is finished",
    "nothing": "no rule finds an answer",
}
"""``how`` of a reading → the same in words; a missing one is clear as it is."""


class Parsed(NamedTuple, Generic[V]):
    """A reading: its value if ``outcome`` is OK, else None; ``how`` is the rule."""

    outcome: Outcome
    value: V | None
    how: str
    quote: str = ""
    """The words of the reply that were read."""

    def explained(self, value: str) -> str:
        """Return the value in words, the rule and the quoted words.

        >>> Parsed(Outcome.OK, True, "first_word", "Yes, it is").explained("yes")
        "yes: first word, 'Yes, it is'"
        """
        rule = f"{value.removesuffix('.')}: {RULES.get(self.how, self.how)}"
        return f"{rule}, '{self.quote}'" if self.quote else rule


class Reading(NamedTuple, Generic[V]):
    """A reading of ``start`` to ``end``; ``how`` is the rule, or why it has no value."""

    value: V | None
    how: str
    start: int
    end: int

    def named(self, how: str) -> "Reading[V]":
        return self if self.value is None else self._replace(how=how)

    def several(self) -> "Reading[V]":
        return self._replace(value=None, how=SEVERAL)


def unparsed(how: str, quote: str = "") -> Parsed[V]:
    """Return that nothing was read, and why."""
    return Parsed(Outcome.UNPARSED, None, how, quote)


def quoted(text: str, start: int, end: int) -> str:
    """Return a part of a text on one line, with the words before it.

    >>> quoted("It has no wheels. So (B). Its colour is blue.", 22, 23)
    'It has no wheels. So (B). …'
    """
    begin = max(0, start - QUOTED)
    if begin:
        begin = text.find(" ", begin, start) + 1 or begin
    until = min(end, start + QUOTED)
    rest_of_word = re.split(r"\s", text[until : until + 20], maxsplit=1)[0]
    until += len(rest_of_word)
    words = for_line(text[begin:until])
    if begin:
        words = f"… {words}"
    return f"{words} …" if until < len(text) else words


class PlainReply(ABC, Generic[V]):
    """A plain reply, searched for answers by the lists of ``patterns.yaml``."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.low = folded(text)

    @abstractmethod
    def read(self, position: int) -> Reading[V] | None:
        """Return the announced answer at ``position``, with all that are joined to it."""

    def at(self, name: str, position: int) -> re.Match[str] | None:
        """Match a list of patterns at ``position``."""
        return find(name).match(self.low, position)

    def skip(self, name: str, position: int) -> int:
        """Return the end of a match of a list at ``position``, or ``position``."""
        match = self.at(name, position)
        return match.end() if match else position

    def agreed(self, readings: Sequence[Reading[V]]) -> Parsed[V]:
        """Return the value of all ``readings``, if it is the same."""
        value, how, start, _ = readings[0]
        end = max(reading.end for reading in readings)
        if any(reading.value != value for reading in readings):
            value = None
            how = SEVERAL
        if value is None:
            return unparsed(how, quoted(self.text, start, end + QUOTED))
        return Parsed(Outcome.OK, value, how, quoted(self.text, start, end))

    def declined(self, end: int) -> Parsed[V]:
        """Return the refusal whose words end at ``end``."""
        quote = quoted(self.text, end, end)
        return Parsed(Outcome.REFUSED, None, "free_refusal", quote)

    def denied(self, reading: Reading[V], start: int) -> bool:
        """Return True if the words around deny or only imagine a reading.

        The statement begins at ``start``.
        """
        sentence = after_last(
            "but", after_last("sentence_end", self.low[max(0, start - BACK) : start])
        )
        return bool(
            find("unreal").search(sentence)
            or find("negation").search(after_last("clause_end", sentence))
        )

    def announced(self, name: str, how: str) -> Iterator[Reading[V]]:
        """Yield answers behind the announcements of a list.

        An announcement of something else does not count: *the wrong answer is*.
        """
        for match in find(name).finditer(self.low):
            mine = not before("not_mine", self.low, match.start())
            if (
                mine
                and (reading := self.read(match.end()))
                and not self.denied(reading, match.start())
            ):
                yield reading.named(how)

    def final(self) -> Iterator[Reading[V]]:
        """Yield final answers: behind *final answer*, in ``\\boxed{}``, in a tag."""
        return self.announced("final", "final_answer")

    def unfinished(self, thinking: bool) -> Parsed[V]:
        """Read the answer of a reply that was cut.

        It must be a final answer, or stand in a complete sentence without a later doubt.
        """
        length = len(self.low)
        doubted = max(
            (doubt.start() for doubt in find("doubt").finditer(self.low)), default=-1
        )
        may_go_on = before("cut_word", self.low, length)
        readings = [
            reading for reading in self.final() if reading.end < length or not may_go_on
        ]
        for reading in () if thinking else self.announced("answer", "answer_phrase"):
            certain = doubted < reading.end and not before(
                "maybe", self.low, reading.start
            )
            if certain and self.at("another_sentence", reading.end):
                readings.append(reading)
        return self.agreed(readings) if readings else unparsed("unfinished")


@lru_cache(maxsize=1024)  # options are read again in every order
def meant(text: str) -> str:
    """Return a plain reply without parts that it retracts: *A. No, wait*."""
    kept = after_last("retraction", folded(text))
    return replaced("passed_over", text[len(text) - len(kept) :]).lstrip(" .,:;!?…\n")


def before(name: str, text: str, position: int) -> re.Match[str] | None:
    """Match a list that ends right before ``position``."""
    return find(name).search(text, max(0, position - BACK), position)


def after_last(name: str, text: str) -> str:
    ends = [match.end() for match in find(name).finditer(text)]
    return text[ends[-1] :] if ends else text
