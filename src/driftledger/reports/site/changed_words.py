"""Which words of a text are new, and which of the text before it are gone."""

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Literal, NamedTuple

MOST_WORDS = 2000
"""Of either text; longer ones, which take seconds to compare, are shown unmarked."""


class Words(NamedTuple):
    """Neighbouring words that share a fate."""

    fate: Literal["same", "gone", "new"]
    text: str


def unmarked(text: str) -> list[Words]:
    """A text that is compared with nothing."""
    return [Words("same", text)] if text else []


def changed_words(before: str, after: str) -> list[Words]:
    """The words of both texts in reading order; without those that are gone they are ``after``, to the blank.

    >>> changed_words("a red cup", "a blue cup")
    [Words(fate='same', text='a '), Words(fate='gone', text='red '), Words(fate='new', text='blue '), \
Words(fate='same', text='cup')]
    """
    old, new = (re.findall(r"^\s+|\S+\s*", text) for text in (before, after))
    if max(len(old), len(new)) > MOST_WORDS:
        return unmarked(after)
    found: list[Words] = []
    for tag, start, end, new_start, new_end in SequenceMatcher(
        None, _bare(old), _bare(new), autojunk=False
    ).get_opcodes():
        gone, come = "".join(old[start:end]), "".join(new[new_start:new_end])
        if tag == "equal":
            found.append(Words("same", come))
        else:
            found += [*([Words("gone", gone)] if gone else []), *([Words("new", come)] if come else [])]
    return found


def _bare(words: Sequence[str]) -> list[str]:
    return [word.strip() for word in words]
