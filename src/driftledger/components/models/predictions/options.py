"""A prediction that was made with options in one order, where they are shown in another: the same letter is another
answer."""

import re
import unicodedata
from collections.abc import Sequence

_LETTER = re.compile(
    r"(?P<before>\W*(?:(?:the )?(?:correct |right )?(?:answer|option)(?: is)?:?\s*)?\W*)"
    r"(?P<letter>[A-Z])(?![\w'’])"
    r"(?P<between>[\s).:,\]-]*)(?P<rest>.*?)(?P<after>[.\s*]*)",
    re.IGNORECASE | re.DOTALL,
)
"""One letter, perhaps with words such as "The answer is" before it, and what may be its option's text after it."""

_ORDER = re.compile(
    r"\b(?:first|second|third|fourth|fifth|sixth|last|former|latter|above|below|options?|choices?)\b|\A\W*[0-9]+\W*\Z",
    re.IGNORECASE,
)
_ALONE = re.compile(r"(?<![A-Za-z0-9'’])([A-Za-z])(?![A-Za-z0-9'’])(?! (?<=a )[a-z])")
"""A letter that stands alone, but the article in "a dog"."""


def carried_over(text: str, theirs: Sequence[str], shown: Sequence[str]) -> str | None:
    """The prediction as it answers the options in the order shown; None where that cannot be known.

    Args:
        theirs: the options in the order in which the prediction was made; empty where nobody knows.
        shown: the options in the order in which they are shown now.

    >>> carried_over("B. a dog", ["a cat", "a dog"], ["a dog", "a cat"])
    'A. a dog'
    >>> carried_over("B", [], ["a dog", "a cat"]) is None
    True
    >>> carried_over("It is a dog.", [], ["a dog", "a cat"])
    'It is a dog.'
    """
    now, then = [_plain(option) for option in shown], [_plain(option) for option in theirs]
    if now == then or _plain(text) in now:
        return text
    match = _LETTER.fullmatch(text)
    if match is not None and (not match["rest"] or _place(match) < len(then)):
        return _relettered(match, now, then)
    letters = {chr(ord("A") + place) for place in range(len(shown))}
    normal = unicodedata.normalize("NFKC", text)
    names_a_place = _ORDER.search(normal) or letters & {letter.upper() for letter in _ALONE.findall(normal)}
    return None if names_a_place else text


def _relettered(match: re.Match[str], now: Sequence[str], then: Sequence[str]) -> str | None:
    place, same = _place(match), sorted(now) == sorted(then) and len(set(now)) == len(now)
    if not same or place >= len(then) or (match["rest"] and _plain(match["rest"]) != then[place]):
        return None
    letter = chr(ord("A") + now.index(then[place]))
    return match["before"] + letter + match["between"] + match["rest"] + match["after"]


def _place(match: re.Match[str]) -> int:
    return ord(match["letter"].upper()) - ord("A")


def _plain(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split()).rstrip(".")
