"""Whether the words before an answer take it back."""

import re

from driftledger.benchmarks._questions.parsing.phrases import BUT, NEGATION, UNREAL

SENTENCE_END = re.compile(r"[.!?](?=[ \n]|$)|[\n;]")
_CLAUSE_END = re.compile(r",|:")
BACK = 160
"""How many characters before an answer are looked at."""


def taken_back(low: str, start: int) -> bool:
    """Whether what begins at ``start`` is denied or only imagined by the words before it."""
    sentence = _after_last(BUT, _after_last(SENTENCE_END, low[max(0, start - BACK) : start]))
    return bool(UNREAL.search(sentence) or NEGATION.search(_after_last(_CLAUSE_END, sentence)))


def _after_last(pattern: re.Pattern[str], text: str) -> str:
    end = 0
    for match in pattern.finditer(text):
        end = match.end()
    return text[end:]
