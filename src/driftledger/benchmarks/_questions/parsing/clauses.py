"""English refusals, clause by clause: who cannot know, what is not shown, and whether an answer is given after all.

A reply is cut into sentences and clauses, contractions are written out and quotations taken out: what a sign says is
not what the model says. A clause then *refuses* (who can tell is denied, or what could be told is), *denies* (that
something is there), *hedges* (is not sure) or *commits* (says what it is). The last word counts; a hedge beside a
commitment of its own sentence takes nothing back.
"""

import re
from collections.abc import Iterator
from enum import Enum
from functools import cache
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.english import (
    COMMITS,
    DENIES,
    HEDGES,
    KNOWLEDGE,
    NOT_THERE,
    REFUSES,
    WORDS,
)


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


class _Patterns(NamedTuple):
    refuses: tuple[re.Pattern[str], ...]
    not_there: re.Pattern[str]
    denies: re.Pattern[str]
    knowledge: re.Pattern[str]
    hedges: re.Pattern[str]
    commits: re.Pattern[str]


@cache
def _patterns() -> _Patterns:
    """The tables of :mod:`.english`, compiled when the first reply is read: it takes longer than many commands."""
    words: dict[str, str] = {}
    for name, table in WORDS.items():
        alternatives = "|".join(word for line in _lines(table) for word in line.split(" | "))
        words[name] = _filled(f"(?:{alternatives})", words)
    refuses = [_compiled(table, words) for table in REFUSES.values()]
    others = (_compiled(table, words) for table in (NOT_THERE, DENIES, KNOWLEDGE, HEDGES, COMMITS))
    return _Patterns(tuple(refuses), *others)


def _lines(table: str) -> list[str]:
    return _GOES_ON.sub("", table.rstrip()).split("\n        ")[1:]


def _filled(pattern: str, words: dict[str, str]) -> str:
    return _NAME.sub(lambda name: words[name[1]], pattern)


def _compiled(table: str, words: dict[str, str]) -> re.Pattern[str]:
    return re.compile("|".join(_filled(line, words) for line in _lines(table)))


_NAME = re.compile(r"\{([A-Z_]+)\}")
_GOES_ON = re.compile(r"\n {8}(?: +|(?=\|))")
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
    """``clause`` without contractions and the marks around it."""
    for pattern, replacement in _WRITTEN_OUT:
        clause = pattern.sub(replacement, clause)
    return clause.strip(' .,!?"()*-:')


def stance_of(clause: str) -> Stance | None:
    """What ``clause``, in lower case, does; None where it only describes.

    >>> [stance_of(clause).value for clause in ("i can't tell", "no dog is shown", "i'm not sure", "it is a fox")]
    ['refuses', 'denies', 'hedges', 'commits']
    """
    clause, patterns = written_out(clause), _patterns()
    if patterns.hedges.search(clause):
        return Stance.HEDGES
    refused = any(pattern.search(clause) for pattern in patterns.refuses)
    if refused or patterns.not_there.search(clause):
        absent = not refused or patterns.denies.search(clause)
        return Stance.DENIES if absent and not patterns.knowledge.search(clause) else Stance.REFUSES
    return Stance.COMMITS if patterns.commits.search(clause) else None


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
