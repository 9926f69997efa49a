"""Which option a reply chooses.

The order in which the rules are tried stands in :data:`RULES`, and nowhere else. A rule looks for a kind of place
where an answer can stand and reads all of them. If they agree, that is the choice; if they do not, nothing was chosen:
a later rule never settles what an earlier one found to be several. A letter is never taken from the midst of a text.
"""

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import (
    ANOTHER,
    ANSWER,
    EXPLANATION,
    FINAL,
    HOWEVER,
    MAYBE,
    NOT_CONCLUDED,
    NOT_MINE,
    RIGHT,
    STATEMENT,
)
from driftledger.benchmarks._questions.parsing.reading import (
    CONTRADICTION,
    SEVERAL,
    Mention,
    Options,
    ParsedAnswer,
    Said,
)
from driftledger.benchmarks._questions.parsing.spoken import is_error, without_thinking
from driftledger.benchmarks._questions.parsing.text import WORD, folded, plain
from driftledger.core.types import Outcome

VERSION = "2"

_LINE_CLOSED = re.compile(r"[ )\]}\"'|$.,:;!?<-]{0,8}$", re.MULTILINE)
_LAST_SENTENCE = re.compile(r"[a-z]{3}[)\"']?[.!?] (?P<last>[^.!?\n]{1,80}[.!?]?)\Z")
_ABBREVIATION = re.compile(r"\b(?:mrs|prof|fig|figs|eq|sec|tab|approx)\.")
_RIGHT = re.compile(
    rf"(?P<joined>(?<!{WORD})[a-z][)\]]?(?:,|/| or| and|和|或)(?: option)? ?\(?)?"
    rf"(?<!{WORD})(?<!['+.-])(?P<letter>[a-z])[)\]\"']{{0,2}} ?(?:{RIGHT})(?! if\b)"
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
_ELSEWHERE = re.compile(
    r"\b(?:near|outside|outside of|than|reminds \w+ of|unlike|some\w+ like|such as|new|greater|east|west|north|south"
    r"|fake|(?:far|away) from|(?:any|no)\w+ but"
    r"|artificial|imitation|faux|toy|beyond|\w+-\w+) (?:an? |the )?[\"'(]{0,2}$"
)
"""Before an option's text: it is another place or thing that is told by it."""
_QUESTION = re.compile(r"[^.!?\n]{0,200}\?")
_BEFORE_TEXT = re.compile(r"[ \"'(]{0,3}(?:an? |the )?")
_ANSWERS = re.compile(
    r"(?:Q(?:uestion)?: ?[^\n]{1,400}\n[Aa]: ?|[Aa]: ?(?![(\[]?[A-Za-z][)\].]{0,2}$))(?=\S)(?![Bb]ecause|[Ss]ince"
    r"|[Aa]s )"
)
_LISTS = re.compile(r"(?:^|[\n.,;] ?)[B-Z][:.)] ?\S", re.MULTILINE)
_NEAR, _BACK = 14, 160
_OPTIONS_LISTED = re.compile(r"\b(?:options|choices|letters)\b")
_LETTER_SAID = re.compile(rf"(?<!{WORD})(?<!['-])[A-Z](?!{WORD}|['-]{WORD})")
_VERDICT = re.compile(
    r"(?:^|[\n;,.] ?)[(\[]?(?:[Oo]ption )?(?P<letter>[A-Z])(?:[)\].:]{1,2}| -)? ?"
    r"(?:(?P<yes>(?:[Yy]es|YES|[Cc]orrect|[Rr]ight|[Tt]rue|TRUE)\b|[✓✔✅☑])|(?:[Nn]o|NO|[Ww]rong|[Ii]ncorrect|[Ff]alse"
    r"|FALSE)\b|[✗✘❌×])"
    r"(?=[.,;! ]{0,2}(?:$|\n|[A-Z(]))",
)
_CONCLUSION = re.compile(r"(?:[\w'-]+,? ){2}[\w'-]+: ?[(\[]?(?P<letter>[A-Z])[)\].!]{0,2}$")


class ParsedChoice(NamedTuple):
    """What was read. ``option`` is an index where ``outcome`` is OK, else None; ``how`` names what decided."""

    outcome: Outcome
    option: int | None
    how: str


def parse_choice(text: str, options: Sequence[str], refusal: int) -> ParsedChoice:
    """The option that ``text`` chooses; ``options`` are the texts in the order in which they were shown as A, B, C, …

    OK: an option was read; choosing the option ``refusal`` is OK too. REFUSED: none was read, and the text says in its
    own words that it does not answer. UNPARSED: anything else, with ``how`` saying why: ``several``, ``contradiction``
    (a letter beside another option's text), ``no_such_letter``, ``error``, ``unfinished`` (reasoning without end),
    ``nothing``. Never raises for any ``text``, and takes time linear in its length.

    Raises:
        ValueError: there are fewer than 2 or more than 26 options, or ``refusal`` is not one of them.

    >>> options = ["a red car", "a blue truck", "It cannot be determined"]
    >>> parse_choice("The correct answer is **B**. The image …", options, refusal=2)
    ParsedChoice(outcome=<Outcome.OK: 'ok'>, option=1, how='answer_phrase')
    >>> parse_choice("It cannot be determined.", options, refusal=2)
    ParsedChoice(outcome=<Outcome.OK: 'ok'>, option=2, how='refusal_text')
    >>> parse_choice("I'm sorry, but I cannot tell.", options, refusal=2).outcome
    <Outcome.REFUSED: 'refused'>
    >>> parse_choice("A or B", options, refusal=2)
    ParsedChoice(outcome=<Outcome.UNPARSED: 'unparsed'>, option=None, how='several')
    """
    shown = Options(options)
    if not 0 <= refusal < len(options):
        raise ValueError(f"refusal must be one of the {len(options)} options, but is {refusal}")
    if (exact := shown.exact(text)) is not None:
        return _chosen(exact, "option_text", refusal)
    if is_error(text):
        return ParsedChoice(Outcome.UNPARSED, None, "error")
    spoken = without_thinking(text)
    if not spoken.finished:
        readings = list(_final(Said(plain(spoken.text), shown, refusal)))
        return _agreed(readings, refusal) if readings else ParsedChoice(Outcome.UNPARSED, None, "unfinished")
    if (exact := shown.exact(spoken.text)) is not None:
        return _chosen(exact, "option_text", refusal)
    return _by_rules(_said(plain(spoken.text), shown, refusal), refusal)


def _said(text: str, shown: Options, refusal: int) -> Said:
    """``text`` with an ``A:`` written out where it stands for *Answer*: no option's text and no reason follows it."""
    answers = _ANSWERS.match(text)
    if answers and not shown.at(folded(text), answers.end()) and not _LISTS.search(text, answers.end()):
        text = f"Answer: {text[answers.end() :]}"
    return Said(text, shown, refusal)


def _by_rules(said: Said, refusal: int) -> ParsedChoice:
    echo = _echo(said)
    if echo:
        said = Said(f"{said.text[: echo[0]]}\n{said.text[echo[1] :]}".strip(), said.options, refusal)
    if meant := _after_all(said, refusal):
        return meant
    for rule in RULES:
        if readings := list(rule(said)):
            return _weighed(said, readings, refusal)
    if said.refused:
        return ParsedChoice(Outcome.REFUSED, None, "free_refusal")
    many = echo or len({mention.option for mention in said.mentions}) > 1
    return ParsedChoice(Outcome.UNPARSED, None, SEVERAL if many else "nothing")


def _after_all(said: Said, refusal: int) -> ParsedChoice | None:
    """What is chosen behind the *but* of a refusal."""
    ends = [*said.refused, *(mention.end for mention in said.mentions if mention.option == refusal)]
    however = HOWEVER.search(said.low, min(ends)) if ends else None
    if however is None:
        return None
    chosen = _by_rules(Said(said.text[however.end() :].lstrip(" ,:"), said.options, refusal), refusal)
    return chosen if chosen.option not in (None, refusal) else None


def _weighed(said: Said, readings: Sequence[ParsedAnswer], refusal: int) -> ParsedChoice:
    """What ``readings`` agree on, unless it is only possible and something else is said beside it."""
    choice, last = _agreed(readings, refusal), max(readings, key=lambda reading: reading.end)
    if any(end > last.end for end in said.refused) and (choice.option is None or _possible(said, readings[0])):
        return ParsedChoice(Outcome.REFUSED, None, "free_refusal")
    if choice.option is not None and _possible(said, readings[0]):
        others = {reading.option for rule in RULES for reading in rule(said)} - {None}
        if len(others | {said.options.letter(letter) for letter in _letters_said(said)} - {None}) > 1:
            return ParsedChoice(Outcome.UNPARSED, None, SEVERAL)
    if choice.option is not None and ANOTHER.search(said.low, readings[0].start - 9 if readings[0].start > 9 else 0):
        return ParsedChoice(Outcome.UNPARSED, None, SEVERAL)
    return choice


def _possible(said: Said, reading: ParsedAnswer) -> bool:
    return MAYBE.search(said.low, max(0, reading.start - 60), reading.start) is not None


def _agreed(readings: Sequence[ParsedAnswer], refusal: int) -> ParsedChoice:
    first = readings[0]
    if any(reading.option != first.option for reading in readings):
        return ParsedChoice(Outcome.UNPARSED, None, SEVERAL)
    if first.option is None:
        return ParsedChoice(Outcome.UNPARSED, None, first.how)
    return _chosen(first.option, first.how, refusal)


def _chosen(option: int, how: str, refusal: int) -> ParsedChoice:
    named = option == refusal and how == "option_text"
    return ParsedChoice(Outcome.OK, option, "refusal_text" if named else how)


def _final(said: Said) -> Iterator[ParsedAnswer]:
    """Behind *final answer*, in ``\\boxed{}``, in a field or a tag named answer."""
    yield from _behind(FINAL, said, "final_answer")


def _announced(said: Said) -> Iterator[ParsedAnswer]:
    """Behind *the answer is* and its like; alone on a line; at the very start."""
    yield from _behind(ANSWER, said, "answer_phrase")
    yield from _alone(said)


def _corrected(said: Said) -> Iterator[ParsedAnswer]:
    """What is put in the place of an answer: *A... no, B*."""
    for mention in _LETTER_SAID.finditer(said.text):
        if reading := said.correction(mention.end()):
            yield _named(reading, "answer_phrase")


def _letters_said(said: Said) -> set[str]:
    """The capital letters that stand for themselves."""
    return {match[0] for match in _LETTER_SAID.finditer(said.text)} - {"I"}


def _verdicts(said: Said) -> Iterator[ParsedAnswer]:
    """The option that alone is called right where options are gone through, each with a yes or a no."""
    verdict = {match["letter"]: match["yes"] is not None for match in _VERDICT.finditer(said.text)}
    right = [letter for letter, yes in verdict.items() if yes]
    if len(verdict) > 1 and len(right) == 1 and (index := said.options.letter(right[0])) is not None:
        yield ParsedAnswer(index, "answer_phrase", 0, len(said.low))


def _concluded(said: Said) -> Iterator[ParsedAnswer]:
    """A letter with which the reply ends, behind a colon and some words."""
    end = _CONCLUSION.search(said.text, max(0, len(said.text) - 120))
    if end and not NOT_CONCLUDED.search(said.low, max(0, end.start() - 40)):
        reading = said.read(end.start("letter"), bare=True)
        if reading and reading.option is not None:
            yield reading


def _stated(said: Said) -> Iterator[ParsedAnswer]:
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


def _labelled(said: Said) -> Iterator[ParsedAnswer]:
    """A sentence that ends with a letter and its own text; in a refusal only behind its *but*."""
    for mention, label in _with_letters(said):
        reading = ParsedAnswer(mention.option, "letter", label, mention.end)
        if _SENTENCE_AFTER.match(said.low, mention.end) and not said.denied(reading, label) and _meant(said, label):
            yield reading


def _texts(said: Said) -> Iterator[ParsedAnswer]:
    """The text of an option, if it is the only one that is not denied, and begins, ends or is what a sentence says.

    In a refusal it counts only behind its *but*, unless it is the refusal option's; that one's text, if it is more than
    a word, may stand anywhere.
    """
    leads = {end.end() for match in STATEMENT.finditer(said.low) if (end := _BEFORE_TEXT.match(said.low, match.end()))}
    found: dict[int, ParsedAnswer] = {}
    placed = False
    for mention in said.mentions:
        anywhere = mention.option == said.refusal and " " in said.low[mention.start : mention.end]
        label = _LABEL_AFTER.match(said.text, mention.end)
        well = bool(
            anywhere or label or (mention.start in leads and said.is_whole(mention)) or _is_placed(said, mention)
        )
        if mention.option in found and (placed or not well):
            continue
        reading = ParsedAnswer(mention.option, "option_text", mention.start, mention.end, by_text=True)
        if said.denied(reading, mention.start) or _QUESTION.match(said.low, mention.end):
            continue
        if label and said.options.letter(label["letter"]) != mention.option:
            yield replace(reading, option=None, how=CONTRADICTION)
            return
        if mention.option == said.refusal or _meant(said, mention.start):
            found.setdefault(mention.option, reading)
            placed = placed or well
    if placed:
        yield from found.values()


def _echo(said: Said) -> tuple[int, int] | None:
    """Where all options are repeated in order, each with its letter: from where to where."""
    start = following = 0
    for mention, label in _with_letters(said):
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
        before = max(0, match.start() - 40)
        if NOT_MINE.search(said.low, before, match.start()) or _OPTIONS_LISTED.search(match[0]):
            continue
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


def _with_letters(said: Said) -> Iterator[tuple[Mention, int]]:
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
    if _ELSEWHERE.search(before):
        return False
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


RULES: tuple[Callable[[Said], Iterable[ParsedAnswer]], ...] = (
    _final,  # "Final answer: B", \boxed{B}, {"answer": "B"}
    _verdicts,  # "A: no. B: yes."
    _corrected,  # "A... no, B."
    _announced,  # "The answer is B", "B. Because …", "…\nB"
    _stated,  # "I think it's B", "B is correct"
    _labelled,  # "…, so (B) a blue truck."
    _texts,  # "It is a blue truck."
    _concluded,  # "This one is easy: B."
)
"""Tried in this order, after: the reply is exactly an option's text; it is an error; its reasoning is taken out; a
repetition of all options is taken out. If no rule finds anything, a refusal is looked for."""
