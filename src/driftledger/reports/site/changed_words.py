"""Which words of a text are new, and which of the text before it are gone."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MOST_WORDS = 2000
"""Of either text; longer ones, which take seconds to compare, are shown unmarked."""


class WordRun(NamedTuple):
    """Neighbouring words that share a fate."""

    fate: Literal["same", "gone", "new"]
    text: str


def unmarked(text: str) -> list[WordRun]:
    """A text that is compared with nothing."""
    return [WordRun("same", text)] if text else []


def changed_words(before: str, after: str) -> list[WordRun]:
    """The words of both texts in reading order; without those that are gone they are ``after``, to the blank.

    >>> changed_words("a red cup", "a blue cup")
    [WordRun(fate='same', text='a '), WordRun(fate='gone', text='red '), WordRun(fate='new', text='blue '), \
WordRun(fate='same', text='cup')]
    """
    if before == after:
        return unmarked(after)
    old, new = (re.findall(r"^\s+|\S+\s*", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return unmarked(after)
    found: list[WordRun] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(
        None, _bare(old), _bare(new), autojunk=False
    ).get_opcodes():
        gone, come = "".join(old[start:end]), "".join(new[new_start:new_end])
        if tag == "equal":
            found.append(WordRun("same", come))
        else:
            found += [*([WordRun("gone", gone)] if gone else []), *([WordRun("new", come)] if come else [])]
    return found


def _bare(words: Sequence[str]) -> list[str]:
    return [word.strip() for word in words]
