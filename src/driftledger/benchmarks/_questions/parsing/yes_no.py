"""Yes or no, as MME asks for.

MME's own script (``calculation.py`` of its evaluation tools) lowers the reply, looks at its first four characters, and
takes ``yes`` or else ``no`` from anywhere in them: ``Now I see a dog`` and ``Nothing`` are a no, ``eyes`` is a yes, and
*The answer is yes* is neither. Here a reply says yes or no by a word that stands for itself: at the start of the reply
or of a sentence, or announced. On replies as MME's prompt asks for them the two agree.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.phrases import ANSWER, FINAL, taken_back
from driftledger.benchmarks._questions.parsing.refusal import refused_at
from driftledger.benchmarks._questions.parsing.spoken import is_error, without_thinking
from driftledger.benchmarks._questions.parsing.text import SYMBOL, WORD, folded, plain
from driftledger.core.types import Outcome

VERSION = "2"

YES = (
    *("yes", "yeah", "yep", "yup", "sí", "si", "sì", "oui", "ja"),
    *("sim", "да", "tak", "evet", "ya", "có", "نعم", "हाँ", "हां"),
    *("是的", "是", "有", "对的", "对", "はい", "ええ", "네", "예"),
)
NO = (
    *("no", "nope", "nah", "non", "nein", "não", "нет", "nie", "nee", "nej", "hayır", "tidak", "không", "لا", "नहीं"),
    *("不是的", "不是", "不对", "不", "否", "没有", "沒有", "いいえ", "いや", "아니요", "아니오", "아뇨"),
)
"""Longest first where one begins with another. ``no`` begins many sentences that say nothing of the kind: *No idea*."""

_SAYS = re.compile(
    rf"(?:[ \n,(\[{{<>\"'$:=|~]|-+>|{SYMBOL}|-(?= )){{0,12}}"
    rf"(?:(?P<yes>{'|'.join(YES)})|(?P<no>{'|'.join(NO)}))(?!{WORD})"
)
_CLOSED = re.compile(
    rf"[)\]}}>\"'|]{{0,3}} ?(?:$|[\n.,;:!?)\]}}<|/$]|{SYMBOL}|-(?= |$)|(?:because|since|as|but)\b|です|입니다)"
    r"| (?:and|or|und|oder|y|o|ou|et|nor) |和|或"
)
_GOES_ON = re.compile(r"(?<=yes)(?! ?[-/]| (?:and|or)\b)| (?:there|it|this|that|these|those|they|he|she|i|we|you)\b")
"""After a first word without its comma: ``Yes there is``, ``No it is not``."""
_ALSO = re.compile(r"[)\]}\"'.]{0,3} ?(?:,|/|&|and|or|und|oder|y|o|ou|et|nor|和|或) ?")
_SENTENCE = re.compile(r"[.!?] |\n")
_OPENER = re.compile(
    r"(?:(?:so|therefore|thus|hence|well|ok|okay|oh|hmm|unfortunately|probably|most likely|likely|clearly|i'm afraid"
    r"|looking at [^,.\n]{1,40}|(?:based|going) on [^,.\n]{1,40}|judging (?:by|from) [^,.\n]{1,40}"
    r"|according to [^,.\n]{1,40}"
    r"|(?:in|from) (?:the|this) (?:image|picture|photo|scene)|from what i can see|as far as i can (?:see|tell)"
    r"|(?:i|we)(?:'d| would| will|'ll)? (?:say|think|believe|guess|go with)(?: that)?|(?:final |my )?(?:answer"
    r"|response)|1[.)]"
    r"|(?:my|the) answer (?:to (?:the|this|your|that) question )?(?:is|would be))[ ,:]{1,3}){1,3}"
)
"""What may stand before a yes or a no."""
_IT = r"(?:it|there|he|she|they|this|that|you|we|these|those)"
_DOES = r"(?:is|are|was|were|does|do|did|has|have|can|could|will|would)"
_PHRASES = {
    True: rf"of course|true|correct|right|absolutely|definitely|certainly|sure(?:ly)?|indeed(?: (?:it|there) is)?"
    rf"|exactly|affirmative"
    rf"|that(?:'s| is) (?:right|correct|true|so)|i (?:think|believe) so|it (?:appears|seems) so|(?:it )?looks like it"
    rf"|{_IT} {_DOES}"
    r"|claro(?: que sí)?|por supuesto|natürlich|genau|bien sûr|certo|certamente"
    r"|конечно|没错|當然|当然|もちろん|정확합니다",
    False: rf"false|incorrect|wrong|negative|never|no way|not (?:really|at all)|(?:absolutely|definitely|certainly"
    rf"|of course|probably"
    rf"|most likely|likely|unfortunately) not|not|that(?:'s| is) (?:wrong|incorrect|false|not (?:right|correct|true"
    rf"|the case))"
    rf"|i (?:do not|don't) (?:think|believe) so|(?:i think|i'm afraid|i am afraid) not|{_IT} {_DOES}(?:n't| not)"
    rf"|it (?:does not|doesn't) (?:appear|seem|look)(?: so| like it| that way)?|there (?:are|is|were) none"
    r"|claro que no|en absoluto|auf keinen fall|pas du tout|neppure|assolutamente no|конечно нет|当然不|當然不",
}
_PHRASE = re.compile(
    rf"[ \"'(]{{0,3}}(?:(?P<no>{_PHRASES[False]})|(?P<yes>{_PHRASES[True]}))(?!{WORD})[)\"']{{0,2}}(?=$|[.!,;\n]| -|。"
    rf"|，)"
)
_VERDICT = re.compile(
    r"(?:statement|claim|answer|assertion|description|sentence|caption|it|that|this) (?:is|seems|appears)(?: to be)?"
    r"(?: (?:\"|')?(?P<not>not) )? ?[\"']?(?:(?P<true>true|correct|accurate)|(?P<false>false|incorrect|wrong"
    r"|inaccurate))\b(?= ?[\"']?(?:$|[.!,;\n]))"
    r"|^[\"'](?P<yes>yes)[\"'] (?:is|would be) (?:the|my)\b|^[\"']no[\"'] (?:is|would be) (?:the|my)\b"
)
_THING = r"(?:[\w'-]+ ){1,7}?"
_DENIAL = re.compile(
    rf"there (?:{_DOES}(?:n't| not)\b|(?:is|are|was|were) (?:no|none|neither|nobody|nothing)\b)"
    rf"|no (?!doubt|question|problem|reason|idea)(?:one|body)?\b ?{_THING}(?:is|are|can be|here"
    r"|there|visible|present|shown|seen|depicted|pictured)\b"
    rf"|no (?!idea|doubt|clue|answer|comment|information|problem|parking|entry|reason|wonder"
    rf"|thanks)[\w'-]+(?: [\w'-]+)?(?=[.!]?$)|no there\b"
    r"|(?:i|we) (?:do not|don't|can't|cannot|can not|could not|couldn't) (?:see|find|spot|notice|detect"
    r"|observe)\b(?! why)"
    r"|(?:the|this|that|your) (?:image|picture|photo|photograph|scene) (?:(?:does not|doesn't|do not) "
    r"(?:show|contain|include|depict|feature|have|display|portray)|(?:shows|contains|has|depicts) no)\b"
    rf"|(?:it|this|that|he|she|they|these|those|(?:the|an?|his|her|their|its) {_THING}|neither )(?: ?{_DOES})(?:n't\b"
    rf"| not\b)(?! only)"
    r"|(?:it|that|this|he|she|they|there)(?:'s|'re) (?:not|no)\b(?! (?:only|doubt|question|way))|neither (?:is"
    r"|are) there\b"
    r"|(?:图中|图片中|图里|画面中)?(?:并)?(?:没有|不存在|看不到)|no hay\b"
    r"|es gibt keine?n?\b|il n'y a (?:pas|aucune?)\b|non (?:c'è"
    r"|ci sono)\b"
    r"|não há\b|не видно\b|[\w]+ (?:на [\w]+ )?нет\b|not in (?:this|the) (?:image|picture|photo)\b"
)
"""A reply that begins so denies what it was asked about: ``There is no dog.``"""
_NO_DENIAL = re.compile(
    r"(?:\bnot|n't) (?:\w+ly )?(?:only|just|merely|simply|impossible|unlikely|uncommon|unusual|without|un\w+)\b"
    r"|\bno (?:doubt|denying|question|mistaking|problem|reason to doubt|exception|other)\b"
)
"""A denial that affirms: ``There is no doubt about it.``"""
_INITIAL = {"y": True, "n": False}


class ParsedYesNo(NamedTuple):
    """What was read. ``answer`` is True for yes where ``outcome`` is OK, else None; ``how`` names what decided."""

    outcome: Outcome
    answer: bool | None
    how: str


class _Parsed(NamedTuple):
    answer: bool | None  # None: yes and no at once
    how: str


def parse_yes_no(text: str) -> ParsedYesNo:
    """Whether ``text`` says yes or no; English and some twenty other languages.

    OK: one of the two was read. REFUSED: neither, and the text says in its own words that it does not answer. UNPARSED:
    anything else; ``how`` is ``several``, ``error``, ``unfinished`` (reasoning without end) or ``nothing``. Never
    raises, and takes time linear in the length of ``text``.

    >>> parse_yes_no("No, there isn't.")
    ParsedYesNo(outcome=<Outcome.OK: 'ok'>, answer=False, how='first_word')
    >>> parse_yes_no("Yes and no.")
    ParsedYesNo(outcome=<Outcome.UNPARSED: 'unparsed'>, answer=None, how='several')
    >>> parse_yes_no("There is no dog.")
    ParsedYesNo(outcome=<Outcome.OK: 'ok'>, answer=False, how='denial')
    """
    if is_error(text):
        return ParsedYesNo(Outcome.UNPARSED, None, "error")
    spoken = without_thinking(text)
    low = folded(plain(spoken.text))
    for rule in RULES if spoken.finished else RULES[:1]:
        if readings := list(rule(low)):
            answers = {reading.answer for reading in readings}
            if len(answers) > 1 or None in answers:
                return ParsedYesNo(Outcome.UNPARSED, None, "several")
            return ParsedYesNo(Outcome.OK, readings[0].answer, readings[0].how)
    if not spoken.finished:
        return ParsedYesNo(Outcome.UNPARSED, None, "unfinished")
    if refused_at(low):
        return ParsedYesNo(Outcome.REFUSED, None, "free_refusal")
    return ParsedYesNo(Outcome.UNPARSED, None, "nothing")


def _final(low: str) -> Iterator[_Parsed]:
    """Behind *final answer*, in ``\\boxed{}``, in a field or a tag named answer."""
    yield from _behind(FINAL, low, "final_answer")


def _said(low: str) -> Iterator[_Parsed]:
    """Behind *the answer is* and its like, and at the start of the reply or of any sentence."""
    yield from _behind(ANSWER, low, "answer_phrase")
    if (initial := low.strip(" .!()\"'")) in _INITIAL:
        yield _Parsed(_INITIAL[initial], "first_word")
    if reading := _at(low, 0, "first_word", first=True):
        yield reading
    for sentence in _SENTENCE.finditer(low):
        if reading := _at(low, sentence.end(), "sentence"):
            yield reading


def _phrased(low: str) -> Iterator[_Parsed]:
    """Yes or no in other words, at the start, behind words such as *based on the image*: *of course*, *it isn't*."""
    opener = _OPENER.match(low)
    for start in {0, opener.end() if opener else 0}:
        if (reading := _at(low, start, "phrase", first=True)) and start:
            yield reading
        elif match := _PHRASE.match(low, start):
            yield _Parsed(match["yes"] is not None, "phrase")
    for match in [] if "?" in low or refused_at(low, denials=False) else _VERDICT.finditer(low):
        yield _Parsed(bool(match["true"] or match["yes"]) != bool(match["not"]), "phrase")


def _denied(low: str) -> Iterator[_Parsed]:
    """A denial with which the reply begins, if nothing says that the answer is not known."""
    opener = _OPENER.match(low)
    denied = _DENIAL.match(low, opener.end() if opener else 0)
    if denied and not _NO_DENIAL.search(low, 0, denied.end() + 30) and not refused_at(low, denials=False):
        yield _Parsed(False, "denial")


RULES: tuple[Callable[[str], Iterator[_Parsed]], ...] = (_final, _said, _phrased, _denied)
"""Tried in this order: the first that finds anything decides, and what it finds has to agree. Errors and reasoning are
taken out before; a refusal is looked for after. Of reasoning that never ended only the first is tried."""


def _behind(pattern: re.Pattern[str], low: str, how: str) -> Iterator[_Parsed]:
    for match in pattern.finditer(low):
        reading = _at(low, match.end(), how)
        if reading and not taken_back(low, match.start()):
            yield reading


def _at(low: str, position: int, how: str, first: bool = False) -> _Parsed | None:
    """Yes or no at ``position``, with whatever is joined to it."""
    word = _SAYS.match(low, position)
    if word is None or not (_CLOSED.match(low, word.end()) or (first and _GOES_ON.match(low, word.end()))):
        return None
    answer = word["yes"] is not None
    also = _ALSO.match(low, word.end())
    other = _SAYS.match(low, also.end()) if also else None
    if other and _CLOSED.match(low, other.end()) and (other["yes"] is not None) != answer:
        return _Parsed(None, how)
    return _Parsed(answer, how)
