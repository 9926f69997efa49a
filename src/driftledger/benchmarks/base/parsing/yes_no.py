"""Read yes or no, as MME asks for it.

:func:`read_literally` is the rule of MME's own script: ``Now I see a dog`` and ``Nothing`` are a
no, ``eyes`` is a yes, and *The answer is yes* is neither. To :func:`parse_yes_no` a reply says yes
or no by a word that means nothing else there: at the start of the reply or of a sentence, or
announced. On replies as MME's prompt asks for them they agree.
"""

from collections.abc import Iterator

from driftledger.benchmarks.base.parsing.refusal import (
    refused_at,
    says_none_arrived,
)
from driftledger.benchmarks.base.parsing.reply import (
    Parsed,
    PlainReply,
    Reading,
    meant,
    unparsed,
)
from driftledger.benchmarks.base.parsing.text import find, is_error, plain
from driftledger.components.thinking import without_thinking
from driftledger.core.types import Outcome

VERSION = "7"
LITERAL = "literal-1"
"""The version of :func:`read_literally`."""


def read_literally(text: str) -> Parsed[bool]:
    """Read yes (True) or no in the first four characters of ``text``.

    Source: calculation.py of the evaluation tool in
    github.com/BradyFU/Awesome-Multimodal-Large-Language-Models.

    >>> read_literally("No, there isn't.")
    Parsed(outcome=<Outcome.OK: 'ok'>, value=False, how='first_four', quote='no, ')
    >>> read_literally("The answer is yes.").explained("nothing")
    'nothing: no rule finds an answer'
    """
    first_four = text.lower()[:4]
    for word in ("yes", "no"):
        if word in first_four:
            return Parsed(Outcome.OK, word == "yes", "first_four", first_four)
    return unparsed("nothing")


def parse_yes_no(text: str, *, cut: bool = False) -> Parsed[bool]:
    """Read yes (True) or no, in English and some twenty other languages.

    OK: one of the two was read. REFUSED: neither, and the text says in its own words that it does
    not answer. UNPARSED: anything else; ``how`` is ``several``, ``error``, ``unfinished``
    (reasoning without end, or a reply that was cut) or ``nothing``. Never raises, and takes time
    linear in the length of ``text``.

    Args:
        cut: whether the reply met its length limit: then only an answer is read that is marked as
            finished.

    >>> parse_yes_no("No, there isn't.")
    Parsed(outcome=<Outcome.OK: 'ok'>, value=False, how='first_word', quote='No, …')
    >>> parse_yes_no("Yes. Wait, no.").value
    False
    >>> parse_yes_no("Yes and no.").explained("nothing")
    "nothing: several answers that differ, 'Yes and no.'"
    """
    if is_error(text):
        return unparsed("error")
    spoken, thoughts, finished = without_thinking(text)
    spoken = spoken if finished else thoughts
    reply = _YesNoReply(meant(plain(spoken)))
    if cut or not finished:
        return reply.unfinished(not finished)
    rules = [reply.final, reply.begun]
    lacks_image = says_none_arrived(reply.text)
    if not lacks_image:  # nobody asked whether the image is there
        rules += [reply.phrased, reply.begins_with_denial]
    for rule in rules:  # the first that reads anything
        if readings := list(rule()):
            return reply.agreed(readings)
    refusals = refused_at(reply.low)
    if lacks_image or refusals:
        return reply.declined(refusals[0] if refusals else len(reply.low))
    return unparsed("nothing")


class _YesNoReply(PlainReply[bool]):
    """A plain reply to a yes-or-no question."""

    def read(
        self, position: int, how: str = "", *, first: bool = False
    ) -> Reading[bool] | None:
        word = self.at("says", position)
        if not word or not (
            self.at("says_closed", word.end())
            or (first and self.at("goes_on", word.end()))
        ):
            return None
        reading = Reading(word["yes"] is not None, how, position, word.end())
        also = self.at("says_also", word.end())
        other = self.at("says", also.end()) if also else None
        both = (
            other
            and self.at("says_closed", other.end())
            and (other["yes"] is not None) != reading.value
        )
        return reading.several() if both else reading

    def begun(self) -> Iterator[Reading[bool]]:
        """Yield answers behind *the answer is*, or at the start of a sentence.

        A word such as *so* may come before.
        """
        yield from self.announced("answer", "answer_phrase")
        if (initial := self.low.strip(" .!()\"'")) in ("y", "n"):
            yield Reading(initial == "y", "first_word", 0, len(self.low))
        for start in (
            0,
            *(
                sentence.end()
                for sentence in find("sentence_begins").finditer(self.low)
            ),
        ):
            how = "sentence" if start else "first_word"
            for place in {start, self.skip("opener", start)}:
                yield from filter(None, [self.read(place, how, first=not start)])

    def phrased(self) -> Iterator[Reading[bool]]:
        """Yield answers in other words, such as *of course*, *it isn't*.

        They stand at the start or behind *based on the image*.
        """
        for start in {0, self.skip("opener", 0)}:
            if phrase := self.at("phrase", start):
                yield Reading(phrase["yes"] is not None, "phrase", *phrase.span())
        if not refused_at(self.low, denials=False):
            for call in find("called").finditer(self.low):
                yield Reading(
                    bool(call["true"] or call["yes"]) != bool(call["not"]),
                    "phrase",
                    *call.span(),
                )

    def begins_with_denial(self) -> Iterator[Reading[bool]]:
        """Yield a denial at the beginning of the reply, such as *no dog is there*.

        It must not call the answer unknown.
        """
        denied = self.at("denial", self.skip("opener", 0))
        affirmed = denied and find("affirms").search(self.low, 0, denied.end() + 30)
        if denied and not affirmed and not refused_at(self.low, denials=False):
            yield Reading(False, "denial", *denied.span())
