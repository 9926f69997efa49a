"""English refusals, clause by clause: who cannot know, what is not shown, and whether an answer is given after all.

A reply is cut into sentences and clauses, contractions are written out and quotations taken out: what a sign says is
not what the model says. A clause then *refuses* (who can tell is denied, or what could be told is), *denies* (that
something is there), *hedges* (is not sure) or *commits* (says what it is). The last word counts; a hedge beside a
commitment of its own sentence takes nothing back.
"""

import re
from collections.abc import Iterable, Iterator
from enum import Enum
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.english import COMMITS, HEDGES, REFUSES, WORDS


class Stance(Enum):
    REFUSES = "refuses"
    DENIES = "denies"
    HEDGES = "hedges"
    COMMITS = "commits"


class Clause(NamedTuple):
    """What a clause does, where it ends, and in which sentence it stands."""

    stance: Stance
    end: int
    sentence: int


_NAME = re.compile(r"\{([A-Z_]+)\}")


def _lines(table: str) -> list[str]:
    return re.sub(r"\n {8}(?: +|(?=\|))", "", table.rstrip()).split("\n        ")[1:]


def _filled(pattern: str) -> str:
    return _NAME.sub(lambda name: _WORDS[name[1]], pattern)


_WORDS: dict[str, str] = {}
for _name, _table in WORDS.items():
    _WORDS[_name] = _filled(f"(?:{'|'.join(word for line in _lines(_table) for word in line.split(' | '))})")


def _pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(_filled, patterns)))


_REFUSES = {kind: _pattern(_lines(table)) for kind, table in REFUSES.items()}
_HEDGES, _COMMITS = _pattern(_lines(HEDGES)), _pattern(_lines(COMMITS))
_NOT_THERE = "what is not there"
_ABSENT = _pattern(
    [
        r"\b(?:i|we|you) (?:do not|can not|could not) (?:see|find|spot|notice|detect|observe) (?:an?|any|the|no)\b"
        r"|\b(?<!in )(?<!of )(?<!on ){IMAGE} (?:(?:do|does|did) not (?:show|contain|include|depict|feature|have"
        r"|display|portray)|(?:shows|contains|has|depicts) no)\b"
        r"|\bnot (?:present|there|visible|shown|depicted|pictured|in {IMAGE})\b"
    ]
)
_KNOWLEDGE = _pattern(
    [
        r"\b(?:tell|determin\w+|say|know\w*|answer\w*|identif\w+|infer\w*|possible|impossible|read|legible|unclear"
        r"|clear(?:ly)?|unknown|specif\w+|{INFO})\b"
    ]
)
_REPORTED = re.compile(
    r"\b(?:sign|label|caption|poster|text|message|screen|shirt|t-shirt|bubble|note|button|sticker|board|title|notice"
    r"|book|banner|writing|display|it|which|tag|headline|he|she|man|woman|plate|card|page|panel)s? (?:clearly "
    r")?(?:says?|reads?|warns?|states|means|reading|saying|announces|that says|that reads|is titled|titled|called) "
    r"(?!(?:nothing|no(?: |t )|is|cannot))"
    r"|\b(?:titled|called|named|labell?ed|captioned) (?=[\"\u0001])"
)

_SENTENCE = re.compile(r"(?<=[^.\d][.!?])[)\"']{0,2}(?= |$)|(?<=[!?])(?= )|\n")
_CLAUSE = re.compile(
    r";|(?<=\w) - |(?:, ?)?(?<!help )(?<!nothing )(?<!anything )\b(?:but|however|although|though|yet|whereas"
    r"|nevertheless|nonetheless|still(?=,))\b|, (?=(?:and|so|or|as|because|since|which|while|therefore|then) )|, "
    r"(?=(?:it|he|she|they|i|we|this|that|there|the|one|you|nothing|no)\b)|\bso (?=(?:i|we|it|the|there|its?|his"
    r"|her) )|: "
)
_QUOTED = re.compile(r"\"[^\"\n]{0,200}\"|(?<![\w])'(?:[^'\n]|(?<=\w)'(?=\w)){1,120}'(?!\w)")
_WRITTEN_OUT = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"\bcan't\b|\bcannot\b|\bcant\b|\bcan ´t\b", "can not"),
        (r"\bwon't\b", "will not"),
        (r"\bain't\b", "is not"),
        (r"\bdont\b", "do not"),
        (r"n't\b", " not"),
        (r"\bi'm\b|\bim\b", "i am"),
        (r"'re\b", " are"),
        (r"'ve\b", " have"),
        (r"'ll\b", " will"),
        (r"\b(i|we|you|they|he|she|it)'d\b", r"\1 would"),
        (r"\b(it|that|this|there|what|he|she|who|where|how|here|one)'s\b", r"\1 is"),
        (
            r"\b(is|are|was|were|do|does|did|can|could|would|will|have|has) (it|he|she|they|there|i|we) not\b",
            r"\2 \1 not",
        ),
        (r" {2,}", " "),
    )
)
_LONGEST, _WINDOW = 420, 4_000


def stances(low: str) -> Iterator[Clause]:
    """The clauses of ``low`` that refuse, hedge or commit, in order; of a very long text its beginning and end "
    "only."""
    if len(low) > 2 * _WINDOW:
        yield from _stances(low, 0, _WINDOW)
        yield from _stances(low, len(low) - _WINDOW, len(low))
    else:
        yield from _stances(low, 0, len(low))


def _stances(low: str, start: int, end: int) -> Iterator[Clause]:
    text = _QUOTED.sub(lambda quoted: "\x01" * len(quoted[0]), low[start:end])
    for number, (begin, until) in enumerate(_pieces(_SENTENCE, text, 0, len(text))):
        reported = _REPORTED.search(text, begin, until)
        for left, right in _pieces(_CLAUSE, text, begin, min(until, reported.end() + 1) if reported else until):
            if (stance := stance_of(text[left:right])) is not None:
                yield Clause(stance, start + right, start * 1000 + number)


def _pieces(pattern: re.Pattern[str], text: str, begin: int, until: int) -> Iterator[tuple[int, int]]:
    for cut in pattern.finditer(text, begin, until):
        if cut.start() > begin:
            yield from _short(begin, cut.start())
        begin = cut.end()
    if begin < until:
        yield from _short(begin, until)


def _short(begin: int, until: int) -> Iterator[tuple[int, int]]:
    for start in range(begin, until, _LONGEST):
        yield start, min(until, start + _LONGEST)


def written_out(clause: str) -> str:
    for pattern, replacement in _WRITTEN_OUT:
        clause = pattern.sub(replacement, clause)
    return clause.strip(' .,!?"()*-:\x01') if "\x01" not in clause else clause.strip(' .,!?"()*-:')


def stance_of(clause: str) -> Stance | None:
    clause = written_out(clause)
    if _HEDGES.search(clause):
        return Stance.HEDGES
    kinds = [kind for kind, pattern in _REFUSES.items() if pattern.search(clause)]
    if kinds:
        absent = kinds == [_NOT_THERE] or _ABSENT.search(clause)
        return Stance.DENIES if absent and not _KNOWLEDGE.search(clause) else Stance.REFUSES
    if _COMMITS.search(clause):
        return Stance.COMMITS
    return None


def refuses(low: str, *, denials: bool = True) -> list[int]:
    """Where the clauses end in which ``low`` refuses, if its last word is a refusal; else nothing."""
    ends: list[int] = []
    committed: int | None = None
    for clause in stances(low):
        if clause.stance is Stance.COMMITS:
            committed = clause.sentence
            ends.clear()
        elif clause.stance is Stance.DENIES:
            if denials:
                ends.append(clause.end)
        elif clause.stance is Stance.REFUSES or committed != clause.sentence:
            ends.append(clause.end)
    return ends
