"""Where an answer can stand in a reply. Each rule yields every answer that stands in places of its kind."""

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import replace

from driftledger.benchmarks._questions.parsing.options import Mention
from driftledger.benchmarks._questions.parsing.phrases import ANSWER, EXPLANATION, FINAL, HOWEVER, RIGHT, STATEMENT
from driftledger.benchmarks._questions.parsing.reading import CONTRADICTION, SEVERAL, ParsedAnswer, Said
from driftledger.benchmarks._questions.parsing.text import WORD

_LINE_CLOSED = re.compile(r"[ )\]}\"'|$.,:;!?<-]{0,8}$", re.MULTILINE)
_LAST_SENTENCE = re.compile(r"[a-z]{3}[)\"']?[.!?] (?P<last>[^.!?\n]{1,80}[.!?]?)\Z")
_ABBREVIATION = re.compile(r"\b(?:mrs|prof|fig|figs|eq|sec|tab|approx)\.")
_RIGHT = re.compile(
    rf"(?P<joined>(?<!{WORD})[a-z][)\]]?(?:,|/| or| and|和|或)(?: option)? ?\(?)?"
    rf"(?<!{WORD})(?<!['+.-])(?P<letter>[a-z])[)\]\"']{{0,2}} ?(?:{RIGHT})"
)
_LABEL_BEFORE = re.compile(
    r"(?:^|[^\w.+-])(?P<letter>[B-Z](?= )|[A-Z](?=[)\].:,\"]| -)|[a-z](?=\)))"
    r"[)\].:,\"-]{0,2} ?-? ?[(\"']{0,2}(?:[Aa]n? |[Tt]he )?$"
)
_LABEL_AFTER = re.compile(r"[)\"']? ?[(\[](?:[Oo]ption )?(?P<letter>[A-Z])[)\]]")
_SENTENCE_BEFORE = re.compile(r"(?:^|[\n.!?:])[ \"'(]{0,3}(?:an? |the )?$")
_SENTENCE_AFTER = re.compile(r"[)\"'\]]{0,2}(?:$|\n|[.!](?=[ \n]|$))")
_COPULA_BEFORE = re.compile(
    r"\b(?:is|are|was|were|looks|appears|seems|shows|says|reads) (?:to be |an? |the ){0,2}[\"'(]{0,2}$"
)
_VERB_AFTER = re.compile(r"[)\"'\]]{0,2}(?:$|[\n.,;!]| (?:is|are|was|were|can be|appears|seems|because|since)\b)")
_QUESTION = re.compile(r"[^.!?\n]{0,200}\?")
_BEFORE_TEXT = re.compile(r"[ \"'(]{0,3}(?:an? |the )?")
_NEAR, _BACK = 14, 160


def final(said: Said) -> Iterator[ParsedAnswer]:
    """Behind *final answer*, in ``\\boxed{}``, in a field or a tag named answer."""
    yield from _behind(FINAL, said, "final_answer")


def announced(said: Said) -> Iterator[ParsedAnswer]:
    """Behind *the answer is* and its like; alone on a line; at the very start."""
    yield from _behind(ANSWER, said, "answer_phrase")
    yield from _alone(said)


def stated(said: Said) -> Iterator[ParsedAnswer]:
    """A letter behind *it is* or *I think*, or before *is correct*."""
    for match in STATEMENT.finditer(said.low):
        reading = said.read(match.end(), bare=True)
        capital = reading and not reading.by_text and said.text[reading.start].isupper()
        if reading and capital and not said.denied(reading, match.start()):
            yield _named(reading, "statement")
    for match in _RIGHT.finditer(said.low):
        start = match.start("letter")
        reading = ParsedAnswer(said.options.letter(said.text[start]), "statement", start, start + 1)
        if said.text[start].isupper() and reading.option is not None and not said.denied(reading, start):
            yield replace(reading, option=None, how=SEVERAL) if match["joined"] else reading


def labelled(said: Said) -> Iterator[ParsedAnswer]:
    """A sentence that ends with a letter and its own text; in a refusal only behind its *but*."""
    for mention, label in _labelled(said):
        reading = ParsedAnswer(mention.option, "letter", label, mention.end)
        if _SENTENCE_AFTER.match(said.low, mention.end) and not said.denied(reading, label) and _meant(said, label):
            yield reading


def texts(said: Said, refusal: int) -> Iterator[ParsedAnswer]:
    """The text of an option, if it is the only one that is not denied, and begins, ends or is what a sentence says.

    In a refusal it counts only behind its *but*, unless it is the refusal option's; that one's text, if it is more than
    a word, may stand anywhere.
    """
    leads = {end.end() for match in STATEMENT.finditer(said.low) if (end := _BEFORE_TEXT.match(said.low, match.end()))}
    found: dict[int, ParsedAnswer] = {}
    placed = False
    for mention in said.mentions:
        anywhere = mention.option == refusal and " " in said.low[mention.start : mention.end]
        label = _LABEL_AFTER.match(said.text, mention.end)
        well = bool(anywhere or label or mention.start in leads or _is_placed(said, mention))
        if mention.option in found and (placed or not well):
            continue
        reading = ParsedAnswer(mention.option, "option_text", mention.start, mention.end, by_text=True)
        if said.denied(reading, mention.start) or _QUESTION.match(said.low, mention.end):
            continue
        if label and said.options.letter(label["letter"]) != mention.option:
            yield replace(reading, option=None, how=CONTRADICTION)
            return
        if mention.option == refusal or _meant(said, mention.start):
            found.setdefault(mention.option, reading)
            placed = placed or well
    if placed:
        yield from found.values()


def echo(said: Said) -> tuple[int, int] | None:
    """Where all options are repeated in order, each with its letter: from where to where."""
    start = following = 0
    for mention, label in _labelled(said):
        if mention.option == 0:
            start, following = label, 1
        elif mention.option == following:
            following += 1
            if following == len(said.options):
                return start, mention.end
        else:
            following = 0
    return None


def _behind(pattern: re.Pattern[str], said: Said, how: str) -> Iterator[ParsedAnswer]:
    for match in pattern.finditer(said.low):
        reading = said.read(match.end())
        if reading and not said.denied(reading, match.start()):
            next_line = "\n" in said.low[match.end() : reading.start]
            if not (next_line and not _LINE_CLOSED.match(said.low, reading.end) and _is_listed(said, reading)):
                yield _named(reading, how)


def _named(reading: ParsedAnswer, how: str) -> ParsedAnswer:
    return reading if reading.option is None else replace(reading, how=how)


def _alone(said: Said) -> Iterator[ParsedAnswer]:
    explained = EXPLANATION.search(said.low)
    until = explained.start() if explained and explained.start() > 0 else len(said.low)
    found, seen = False, set()
    for start, end in _lines(said):
        if start >= until and found:
            return
        if (line := said.text[start:end]) in seen:
            continue
        seen.add(line)
        reading = said.read(start, bare=True)
        alone = reading and reading.end <= end and _LINE_CLOSED.match(said.low, reading.end)
        if reading and (alone or start == 0) and not said.denied(reading, reading.start):
            found = True
            yield replace(reading, option=None, how=SEVERAL) if not alone and _is_listed(said, reading) else reading


def _is_listed(said: Said, reading: ParsedAnswer) -> bool:
    """``A: wrong. B: right.`` goes through the options and chooses none of them."""
    return any(ord(letter) - ord("A") != reading.option for letter in said.labels)


def _lines(said: Said) -> Iterator[tuple[int, int]]:
    start = 0
    for line in said.low.split("\n"):
        yield start, start + len(line)
        start += len(line) + 1
    tail = max(0, len(said.low) - 120)
    last = _LAST_SENTENCE.search(said.low, tail)
    if last and not _ABBREVIATION.search(said.low, tail, last.start("last")):
        yield last.start("last"), len(said.low)


def _labelled(said: Said) -> Iterator[tuple[Mention, int]]:
    """Every option text that has its own letter before it, and where that letter stands."""
    for mention in said.mentions:
        back = max(0, mention.start - _NEAR)
        label = _LABEL_BEFORE.search(said.text[back : mention.start])
        if label and ord(label["letter"].lower()) - ord("a") == mention.option:
            yield mention, back + label.start("letter")


def _is_placed(said: Said, mention: Mention) -> bool:
    """Whether it begins a sentence, ends one, or is what a clause says of its subject."""
    back = max(0, mention.start - 2 * _NEAR)
    before = said.low[back : mention.start] if back == 0 else f" {said.low[back : mention.start]}"
    return bool(
        _SENTENCE_AFTER.match(said.low, mention.end)
        or (_SENTENCE_BEFORE.search(before) and _VERB_AFTER.match(said.low, mention.end))
        or (_COPULA_BEFORE.search(before) and said.closes(mention.end))
    )


def _meant(said: Said, start: int) -> bool:
    """Whether what stands at ``start`` may answer: the reply is no refusal, or a *but* stands between."""
    before = bisect_right(said.refused, start)
    if not said.refused or not before:
        return not said.refused
    return HOWEVER.search(said.low, max(said.refused[before - 1], start - _BACK), start) is not None
