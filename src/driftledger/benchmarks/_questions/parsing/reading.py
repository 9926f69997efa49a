"""Reading one answer at one place: a letter, an option's text, or both beside each other."""

import re
from bisect import bisect_left
from dataclasses import dataclass, replace
from functools import cached_property

from driftledger.benchmarks._questions.parsing.options import Mention, Options
from driftledger.benchmarks._questions.parsing.phrases import (
    ALSO,
    BUT,
    CLOSED,
    LINKED,
    NEGATION,
    NOT,
    NOUN,
    UNREAL,
    WHERE,
    WRONG,
)
from driftledger.benchmarks._questions.parsing.refusal import REFUSAL
from driftledger.benchmarks._questions.parsing.taken_back import BACK, SENTENCE_END, taken_back
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded

SEVERAL, CONTRADICTION, NO_SUCH_LETTER = "several", "contradiction", "no_such_letter"

_OPENING = re.compile(rf"(?:[ \n,([{{<>\"'$:=|~]|-+>|{SYMBOL}|-(?= )){{0,12}}")
_LETTER = re.compile(rf"(?<!{WORD})[A-Za-z](?!{WORD}|[+#%°&@\\^](?! )|[-']{WORD}|[.:/]{WORD})")
_TIGHT = re.compile(r"[A-Za-z][.:)]")  # B.a blue truck
_SEPARATOR = re.compile(r"[ \n)\]}>\"'$|.,:;-]{0,6}")
_TEXT_CLOSED = re.compile(r"[ )\]}\"'|$]{0,4}(?:$|[\n.,;:!?<])")
_STRICTLY_CLOSED = re.compile(rf"[)\]}}\"'.,;:!?]{{0,3}} ?(?:$|[\n<]|[(\"']?[A-Z](?!{WORD}))")
_LISTING = (",", ";", "|")
_LABEL = re.compile(r"(?:^|[\n.;!?] ?)\(?([A-Z])[.):](?= )")
_MOST_JOINED = 32

_ASKED = re.compile(r"[)\]\"']{0,2} ?\?")


@dataclass(frozen=True, slots=True)
class ParsedAnswer:
    """What stands from ``start`` up to ``end``: an option, or None, and ``how``: by what, or why there is none."""

    option: int | None
    how: str
    start: int
    end: int
    by_text: bool = False
    linked: bool = False
    """Only if a letter follows, it is one itself."""


class Said:
    """What was said, with the options it is about: where the rules look things up."""

    def __init__(self, text: str, options: Options) -> None:
        self.text = text
        self.low = folded(text)
        self.options = options

    @cached_property
    def mentions(self) -> list[Mention]:
        """Where the options' texts stand."""
        return self.options.mentions(self.low)

    @cached_property
    def labels(self) -> set[str]:
        """The letters with which a line or sentence begins, as in a list of the options."""
        return set(_LABEL.findall(self.text))

    @cached_property
    def refused(self) -> list[int]:
        """Where refusals end."""
        return [match.end() for match in REFUSAL.finditer(self.low)]

    def read(self, position: int, *, bare: bool = False) -> ParsedAnswer | None:
        """The answer at ``position``, behind brackets and words such as *option*, and all that are joined to it.

        ``bare``: nothing announces an answer here, so that whatever is read has to stand for itself.
        """
        denied = NOT.match(self.low, position)
        if denied and not self.options.at(self.low, self._opened(position)):
            sentence = SENTENCE_END.search(self.low, denied.end(), position + 99)
            until = sentence.start() if sentence else position + 99
            meant = BUT.search(self.low, denied.end(), until)
            return self._joined(self._one(meant.end(), bare), bare) if meant else None
        return self._joined(self._one(position, bare), bare)

    def denied(self, reading: ParsedAnswer, start: int) -> bool:
        """Whether the clause around denies, asks or only imagines it; ``start``: where the statement begins."""
        if WRONG.match(self.low, reading.end):
            return True
        if (asked := _ASKED.match(self.low, reading.end)) and (start > 0 or asked.end() < len(self.low)):
            return True
        doubts = bisect_left(self._doubts, start)
        return bool(doubts) and self._doubts[doubts - 1] >= start - BACK and taken_back(self.low, start)

    @cached_property
    def _doubts(self) -> list[int]:
        """Where words begin that may take back what follows: mostly nowhere, which spares most of the looking back."""
        return sorted(match.start() for pattern in (NEGATION, UNREAL) for match in pattern.finditer(self.low))

    def closes(self, end: int) -> bool:
        """Whether a line, sentence or clause ends at ``end``."""
        return _TEXT_CLOSED.match(self.low, end) is not None

    def _one(self, position: int, bare: bool, strictly: bool = False) -> ParsedAnswer | None:
        position = self._opened(position)
        noun = NOUN.match(self.low, position)
        if noun and not self.text.startswith("A ", position):  # a capital A is no Portuguese article
            sure = noun["noun"] is not None
            if reading := self._at(self._opened(noun.end()), bare, strictly, sure):
                return reading
        return self._at(position, bare, strictly)

    def _opened(self, position: int) -> int:
        opening = _OPENING.match(self.low, position)
        return opening.end() if opening else position

    def _at(self, position: int, bare: bool, strictly: bool, sure: bool = False) -> ParsedAnswer | None:
        if text := self.options.at(self.low, position):
            closed = self.closes(text.end)
            if closed or not (strictly or bare) or (bare and not strictly and CLOSED.match(self.low, text.end)):
                return ParsedAnswer(text.option, "option_text", position, text.end, by_text=True)
            return None
        return self._labelled(position) or self._letter(position, bare, strictly, sure)

    def _labelled(self, position: int) -> ParsedAnswer | None:
        """A letter and an option's text beside it; they must not contradict each other."""
        letter = _LETTER.match(self.text, position) or _TIGHT.match(self.text, position)
        separator = letter and _SEPARATOR.match(self.low, position + 1)
        if letter is None or separator is None or separator.end() == position + 1:
            return None
        text = self.options.at(self.low, separator.end())
        if text is None and any(mark in separator[0] for mark in ".):"):
            text = self.options.letter_at(self.text, separator.end())
        index = ord(letter[0][0].upper()) - ord("A")
        if text is None or (text.option != index and not self.closes(text.end)):
            return None
        option, how = (index, "letter") if text.option == index else (None, CONTRADICTION)
        return ParsedAnswer(option, how, position, text.end)

    def _letter(self, position: int, bare: bool, strictly: bool, sure: bool) -> ParsedAnswer | None:
        """A letter; ``sure``: a noun before it says that it is one, so that it is no article and no pronoun."""
        letter = _LETTER.match(self.text, position)
        if letter is None or (strictly and not _STRICTLY_CLOSED.match(self.text, letter.end())):
            return None
        plain_letter = letter[0].isupper() and (sure or not (bare or letter[0] in "AI"))
        patterns = (CLOSED, WRONG) if bare else (CLOSED, WRONG, WHERE)
        linked = not (plain_letter or any(pattern.match(self.low, letter.end()) for pattern in patterns))
        index = self.options.letter(letter[0])
        if (linked and not LINKED.match(self.low, letter.end())) or (index is None and letter[0] == "I"):
            return None
        how = "letter" if index is not None else NO_SUCH_LETTER
        return ParsedAnswer(index, how, position, letter.end(), linked=linked)

    def _joined(self, reading: ParsedAnswer | None, bare: bool) -> ParsedAnswer | None:
        """``reading`` with all that is joined to it: the same again is the same, another makes it several."""
        for _ in range(_MOST_JOINED):
            also = ALSO.match(self.text, reading.end) if reading and reading.how != CONTRADICTION else None
            if reading is None or also is None or also.end() == reading.end:
                break
            listed = (also["joined"] or ",").strip() in _LISTING
            new_sentence = not also["joined"] and any(mark in also[0] for mark in ".:")
            other = self._one(also.end(), bare or listed, strictly=new_sentence)
            if other is None:
                break
            if other.option != reading.option:
                reading = replace(reading, option=None, how=SEVERAL)
            reading = replace(reading, end=other.end, linked=other.linked and reading.how != SEVERAL)
        return None if reading and reading.linked else reading
