"""Reading one answer at one place: a letter, an option's text as it was shown, or both beside each other."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import (
    ALSO,
    AT_FIRST,
    BACK,
    BUT,
    CLOSED,
    CORRECTION,
    LINKED,
    NEGATION,
    NOT,
    NOUN,
    RETRACTION,
    SENTENCE_END,
    UNREAL,
    WHERE,
    WRONG,
    taken_back,
)
from driftledger.benchmarks._questions.parsing.refusal import refused_at
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded, plain

MOST = 26
"""As many options as there are letters."""

_ARTICLE = re.compile(rf"(?:an?|the) (?={WORD})")
_ARTICLE_BEFORE = re.compile(r"(?:\A|\b(?:an?|the) |[^\w ] ?)\Z")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_BOUND_BEFORE = re.compile(
    r"(?:\b(?:at (?:the )?(?:very )?(?:least|most)|as (?:many|few) as|half of"
    r"|(?:more|less|fewer|greater|larger|smaller|other|rather) than|over|under|above|below"
    r"|up to|nearly"
    r"|almost|minimum|maximum|min|max|minimum of|maximum of|upwards of|close to|between|between \d{1,4} and|not"
    r"|\d (?:to|or|x|of)) ?|[<>≥≤~/×$€£] ?|\d ?[-+] ?|\d x )$"
)
_BOUND_AFTER = re.compile(r" or (?:more|fewer|less|so|\d)|\+| ?[-+/x×] ?\d| (?:to|of|out of) \d|/")
_AROUND = " .,;:!?\"'|"
_SINGLE = re.compile(r"[a-z]")
_LAST_SINGLE = re.compile(r"[A-Za-z](?=[)\]\"'.]{0,3}(?:$|\n))")
_IN_WORD = re.compile(WORD)

SEVERAL, CONTRADICTION, NO_SUCH_LETTER = "several", "contradiction", "no_such_letter"

_OPENING = re.compile(rf"(?:[ \n,([{{<>\"'$:=|~]|-+>|{SYMBOL}|-(?= )){{0,12}}")
_LETTER = re.compile(rf"(?<!{WORD})[A-Za-z](?!{WORD}|[+#%°&@\\^](?! )|[-']{WORD}|[.:/]{WORD})")
_TIGHT = re.compile(r"[A-Za-z][.:)]")  # B.a blue truck
_SEPARATOR = re.compile(r"[ \n)\]}>\"'$|.,:;-]{0,6}")
_TEXT_CLOSED = re.compile(r"[ )\]}\"'|$]{0,4}(?:$|[\n.,;:!?<])")
_STRICTLY_CLOSED = re.compile(rf"[)\]}}\"'.,;:!?]{{0,3}} ?(?:$|[\n<]|[(\"']?[A-Z](?!{WORD}))")
_LISTING = (",", ";", "|")
_LABEL = re.compile(r"(?:^|[\n.,;!?] ?)\(?([A-Z])[.):](?= )")
_CLAUSE_STOP = re.compile(r"[.,;\n]")
_WHOLE = re.compile(
    r"[)\"'\]]{0,2}(?:$|[\n.,;:!?()/]| -| (?:in|on|at|with|by|for|from|to|under|over|near|next|behind|beside|between"
    r"|among"
    r"|and|or|but|so|as|because|since|while|which|that|who|whose|where|when|is|are|was|were|has|have|can|not|rather"
    r"|than"
    r"|made|parked|seen|shown|here|there|too|now|then|instead|without|inside|outside|against|along|across|into|through"
    r"|during|according|probably|likely|standing|lying)\b| \w{2,14}ing\b|[^\x00-\x7f])"
)
"""After an option's text: it ends there, or what follows says more of it."""
_MOST_JOINED = 32

_ASKED = re.compile(r"[)\]\"']{0,2} ?\?")


class Mention(NamedTuple):
    """Option ``option``'s text, from ``start`` up to ``end``."""

    option: int
    start: int
    end: int


class Options:
    """2–26 option texts, in the order in which they were shown as A, B, C, …

    Raises:
        ValueError: there are fewer or more.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        if not 2 <= len(texts) <= MOST:
            raise ValueError(f"there must be 2 to {MOST} options, but there are {len(texts)}")
        self._texts = tuple(text.strip() for text in texts)
        self._plain = tuple(plain(text).strip(_AROUND) for text in texts)
        self._needles = tuple(_without_article(folded(text)) for text in self._plain)
        self._articles = tuple(_ARTICLE.match(folded(text)) is not None for text in self._plain)
        known = (index for index, needle in enumerate(self._needles) if self._can_be_told(needle))
        self._longest_first = sorted(known, key=lambda index: -len(self._needles[index]))
        self._by_initial: dict[str, list[int]] = {}
        for index in self._longest_first:
            self._by_initial.setdefault(self._needles[index][0], []).append(index)
        self._letters = {text: index for index, text in enumerate(self._plain) if _SINGLE.fullmatch(folded(text))}

    def _can_be_told(self, needle: str) -> bool:
        return bool(needle) and not _SINGLE.fullmatch(needle) and self._needles.count(needle) == 1

    def __len__(self) -> int:
        return len(self._texts)

    def exact(self, said: str) -> int | None:
        """The option that ``said`` is as a whole: to the letter, else but for formatting, else but for case.

        A single letter that is an option's text has to have its case, or ``b`` could not be said for B.
        """
        bare = plain(said).strip(_AROUND)
        if _LETTER.fullmatch(folded(bare)):
            return self.letter(bare) if bare in self._letters else None
        if (found := _only(said.strip(), self._texts)) is not None:
            return found
        if (found := _only(bare, self._plain)) is not None:
            return found
        needle = _without_article(folded(bare))
        return None if _SINGLE.fullmatch(needle) else _only(needle, self._needles)

    def letter(self, letter: str) -> int | None:
        """The option that was shown as a single letter, or whose text it is.

        None: there is none, or there is no telling, as where one option was shown as B and another one's text is B.
        """
        index = ord(letter.upper()) - ord("A")
        shown = index if index < len(self) else None
        named = self._letters.get(letter, self._letters.get(letter.upper()))
        return (
            shown if named is None or named == shown else named if shown is None and letter in self._letters else None
        )

    def letter_at(self, text: str, position: int) -> Mention | None:
        """The option whose text is the single letter with which a line ends at ``position``."""
        letter = _LAST_SINGLE.match(text, position)
        index = self._letters.get(letter[0]) if letter else None
        return None if index is None else Mention(index, position, position + 1)

    def at(self, low: str, position: int) -> Mention | None:
        """The longest option text that begins at ``position``, with or without an article before it."""
        article = _ARTICLE.match(low, position)
        for start in (position, article.end()) if article else (position,):
            for index in self._by_initial.get(low[start : start + 1], ()):
                end = start + len(self._needles[index])
                if low.startswith(self._needles[index], start) and _ends(low, end) and not _bounded(low, start, end):
                    return Mention(index, position, end)
        return None

    def mentions(self, low: str) -> list[Mention]:
        """All places where an option's text stands, in order, but for those inside another's."""
        found = [mention for index in self._longest_first for mention in self._of(index, low)]
        found.sort(key=lambda mention: (mention.start, -mention.end))
        outer: list[Mention] = []
        for mention in found:
            if not outer or mention.end > outer[-1].end:
                outer.append(mention)
        return outer

    def _of(self, index: int, low: str) -> Iterator[Mention]:
        needle = self._needles[index]
        start = low.find(needle)
        while start >= 0:
            end = start + len(needle)
            whole = not self._articles[index] or _ARTICLE_BEFORE.search(low, max(0, start - 5), start)
            if whole and _begins(low, start) and _ends(low, end) and not _bounded(low, start, end):
                yield Mention(index, start, end)
            start = low.find(needle, end)


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

    def __init__(self, text: str, options: Options, refusal: int) -> None:
        self.text = text
        self.low = folded(text)
        self.options = options
        self.refusal = refusal

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
        """Where refusals end; where options are named, to deny that something is there is to deny one of them."""
        return refused_at(self.low, denials=not self.mentions)

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
        if WRONG.match(self.low, reading.end) or RETRACTION.match(self.low, reading.end):
            return True
        if self._held_before(reading.start, reading.end) or self._corrected(reading):
            return True
        if (asked := _ASKED.match(self.low, reading.end)) and (start > 0 or asked.end() < len(self.low)):
            return True
        doubts = bisect_left(self._doubts, start)
        return bool(doubts) and self._doubts[doubts - 1] >= start - BACK and taken_back(self.low, start)

    def correction(self, end: int) -> ParsedAnswer | None:
        """What is put in the place of the answer that ends at ``end``."""
        correction = CORRECTION.match(self.low, end)
        return self.read(correction.end(), bare=True) if correction else None

    def _corrected(self, reading: ParsedAnswer) -> bool:
        instead = self.correction(reading.end)
        return instead is not None and instead.option != reading.option

    def _held_before(self, start: int, end: int) -> bool:
        """Whether the clause around says *at first*."""
        begin = max(self.low.rfind(mark, max(0, start - BACK), start) for mark in ".;\n,") + 1
        until = _CLAUSE_STOP.search(self.low, end, end + BACK)
        return AT_FIRST.search(self.low, max(begin, start - BACK), until.start() if until else end) is not None

    @cached_property
    def _doubts(self) -> list[int]:
        """Where words begin that may take back what follows: mostly nowhere, which spares most of the looking back."""
        return sorted(match.start() for pattern in (NEGATION, UNREAL) for match in pattern.finditer(self.low))

    def is_whole(self, mention: Mention) -> bool:
        """Whether no noun follows, which would make another thing of it: *an umbrella stand*."""
        return self.low[mention.end - 1].isdigit() or _WHOLE.match(self.low, mention.end) is not None

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
            if (
                closed
                or not (strictly or bare or not self.is_whole(text))
                or (bare and not strictly and CLOSED.match(self.low, text.end))
            ):
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


def _only(said: str, texts: Sequence[str]) -> int | None:
    return texts.index(said) if texts.count(said) == 1 and said else None


def _without_article(text: str) -> str:
    article = _ARTICLE.match(text)
    return text[article.end() :] if article else text


def _is_word(text: str, position: int) -> bool:
    return 0 <= position < len(text) and _IN_WORD.match(text, position) is not None


def _begins(text: str, start: int) -> bool:
    """Whether no word and no number runs into ``start`` from the left."""
    if not _is_word(text, start) or start == 0:
        return True
    before = text[start - 1]
    if before in "-'.," and text[start].isdigit():
        return False
    return not (_is_word(text, start - 1) or (before in "-'" and _is_word(text, start - 2)))


def _bounded(text: str, start: int, end: int) -> bool:
    """Whether a number is only a bound, or part of a range or a sum: *at least 3*, *2-3*, *1 of 4*."""
    if not text[start:end].isdigit() and text[start:end] not in _NUMBERS:
        return False
    return bool(_BOUND_BEFORE.search(text, max(0, start - 24), start) or _BOUND_AFTER.match(text, end))


def _ends(text: str, end: int) -> bool:
    """Whether no word and no number runs on at ``end``."""
    if end >= len(text) or not _is_word(text, end - 1):
        return True
    after = text[end]
    if after in "%°" or (after in ".,:/" and text[end - 1].isdigit() and text[end + 1 : end + 2].isdigit()):
        return False
    return not (_is_word(text, end) or (after in "-'" and _is_word(text, end + 1)) or after in "+#")
