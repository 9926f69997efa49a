"""Find refusals in free text.

English is read clause by clause: contractions are written out and quotations taken out, since what
a sign says is not what the model says. A clause then *refuses* (somebody cannot know, or something
cannot be told), *denies* (that something is there), *hedges* (is not sure) or *commits* (says what
it is). The last word counts; a hedge in the sentence of a commitment takes nothing back. Of other
languages some phrases are known.
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

from driftledger.benchmarks.base.parsing.text import find, folded, plain, replaced

Stance = Literal["refuses", "denies", "hedges", "commits"]
_WINDOW = 4_000
"""Only so many characters at the beginning and end of a very long text are read."""
_BEGINNING = 600
"""Only so many first characters can say that no image arrived."""


@lru_cache(maxsize=1024)  # options are read again in every order
def is_refusal(text: str) -> bool:
    """Return True if the text declines to answer.

    It may hold an answer all the same: look for that first.

    >>> is_refusal("I'm sorry, but I cannot determine the colour."), is_refusal("无法确定")
    (True, True)
    >>> is_refusal("A blue truck")
    False
    """
    return bool(refused_at(folded(plain(text))))


def refused_at(low: str, *, denials: bool = True) -> list[int]:
    """Return the ends of refusals, except English ones before an answer.

    ``denials``: whether to say that something is not in the image refuses.
    """
    ends: list[int] = []
    committed = -1
    if len(low) > 2 * _WINDOW:
        low = f"{low[:_WINDOW]}\n".ljust(len(low) - _WINDOW) + low[-_WINDOW:]
    text = find("quoted").sub(lambda quoted: "\x01" * len(quoted[0]), low)
    for begin, until in _between("sentence", text, 0, len(text)):
        reported = find("reported").search(text, begin, until)
        if reported:
            until = min(until, reported.end() + 1)
        for left, right in _between("clause", text, begin, until):
            stance = stance_of(text[left:right])
            if stance == "commits":
                committed = begin
                ends = []
            refuses = stance == "refuses" or (stance == "denies" and denials)
            if refuses or (stance == "hedges" and committed != begin):
                ends.append(right)
    ends += [match.end() for match in find("refuses_elsewhere").finditer(low)]
    return sorted(ends)


def says_none_arrived(text: str) -> bool:
    """Return True if the beginning of a reply says that no image reached the model.

    >>> says_none_arrived("I don't see an image attached.")
    True
    >>> says_none_arrived("I don't see a picture on the wall.")
    False
    """
    beginning = find("quoted").sub("", folded(plain(text[:_BEGINNING])))
    beginning = replaced("written_out", beginning)
    return bool(find("none_arrived").search(beginning))


def stance_of(clause: str) -> Stance | None:
    """Return the stance of a lower-case clause; None if it only describes.

    >>> [stance_of(clause) for clause in ("i can't tell", "no dog is shown", "i'm not sure")]
    ['refuses', 'denies', 'hedges']
    """
    clause = replaced("written_out", clause).strip(' .,!?"()*-:')
    if find("hedges").search(clause):
        return "hedges"
    refused = find("refuses").search(clause)
    if refused or find("not_there").search(clause):
        absent = not refused or find("denies").search(clause)
        return (
            "denies" if absent and not find("knowledge").search(clause) else "refuses"
        )
    return "commits" if find("commits").search(clause) else None


def _between(ends: str, text: str, begin: int, until: int) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each part between the matches of a list."""
    for match in find(ends).finditer(text, begin, until):
        yield begin, match.start()
        begin = match.end()
    yield begin, until
