"""What of a reply may be an answer, in one spelling.

A wrapper may return an exception's message in the place of a reply, which may name any letter or number. A model that
thinks aloud weighs options that it does not choose: some templates put the opening mark into the prompt, so that the
reply holds only the closing one, and reasoning that met the length limit never ends.
"""

import re
import unicodedata
from functools import cache

from driftledger.benchmarks._questions.parsing.patterns import find, replaced, source


def plain(text: str) -> str:
    """``text`` without formatting: NFKC, one kind of quote, bracket and dash, no emphasis, single blanks and newlines.

    >>> plain("**（Ｂ）**  “a\\tblue truck”。\\n\\n- because …")
    '(B) "a blue truck".\\nbecause ...'
    """
    spelled = replaced("spelling", replaced("markup", text))
    spelled = replaced("spelling", unicodedata.normalize("NFKC", spelled))
    return replaced("layout", spelled).strip()


def folded(text: str) -> str:
    """Lower case, of the same length, so that a place in one is the same place in the other."""
    lower = text.lower()
    if len(lower) == len(text):
        return lower
    return "".join(c.lower() if len(c.lower()) == 1 else c for c in text)


def is_error(text: str) -> bool:
    """Whether ``text`` is the message of an error of HTTP, an SDK or a program, and no reply.

    >>> is_error("Error code: 429 - {'error': {'message': 'Rate limit reached for A'}}")
    True
    >>> is_error("B. Error bars are shown.")
    False
    """
    begins = find("error_begins", re.IGNORECASE).match(text.lstrip())
    return bool(begins or find("error_holds", re.IGNORECASE).search(text))


@cache
def _thinking() -> re.Pattern[str]:
    return re.compile(f"(?P<open>{source('thinking_begins')})|{source('thinking_ends')}", re.IGNORECASE)


def without_thinking(text: str) -> tuple[str, bool]:
    """What was said outside of reasoning, and whether all reasoning ended; if not, what follows its beginning.

    >>> without_thinking("<think>A seems right</think>C"), without_thinking("A seems right</think>C")
    (('C', True), ('C', True))
    >>> without_thinking("<think>A seems right")
    ('A seems right', False)
    """
    said: list[str] = []
    position, thinking = 0, False
    for mark in _thinking().finditer(text):
        if not mark["open"]:
            if not thinking:
                said.clear()
            thinking, position = False, mark.end()
        elif not thinking:
            said.append(text[position : mark.start()])
            thinking, position = True, mark.end()
    return (text[position:], False) if thinking else ("\n".join([*said, text[position:]]).strip("\n"), True)
