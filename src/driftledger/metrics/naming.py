"""Label leak: descriptions that name the class instead of describing what is seen.

Open-Flamingo does so often (section 4.2 of the paper of TRAC), and retrieval then rewards recognition, not
description. Everything here takes linear time, also for hostile text: no regular expression runs over a description,
and characters are folded one by one, since normalizing a whole text sorts runs of accents in quadratic time.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from driftledger.metrics._checks import check_same_lengths

_INDEX = re.compile(r"n\d{8}(?![^\W_])[\W_]*|(?:\d+[._]|0\d+[\s-])[\W_]*(?=[^\W\d_])")
"""At the start of a label: a WordNet id, or a number that is followed by a full stop or an underscore, or starts with
0, and so is not part of the name as in "3 series"."""


class Named(NamedTuple):
    """Whether a description names its own class, and whether it names another one."""

    own: bool
    other: bool


def class_names(label: str, others: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the names by which a description may name the class: those in its label, then ``others``, folded.

    A leading index of the label is left out, and commas part synonyms. Numbers or a single letter alone name nothing,
    as the 3 in "3 wheels" does not; among ``others`` everything counts that has a letter or a digit.

    >>> class_names("001.Black_footed_Albatross"), class_names("n01440764 tench, Tinca tinca")
    (('black footed albatross',), ('tench', 'tinca tinca'))
    >>> class_names("3", others=["three", "Drei"])
    ('three', 'drei')
    """
    index = _INDEX.match(label)
    own = [_folded(part) for part in label[index.end() if index else 0 :].split(",")]
    # A single Chinese character is a word; it has no lower case.
    own = [name for name in own if not name.replace(" ", "").isdigit() and not (len(name) == 1 and name.islower())]
    return tuple(dict.fromkeys(name for name in (*own, *map(_folded, others)) if name))


def leaks(descriptions: Sequence[str], labels: Sequence[str], names: Mapping[str, Sequence[str]]) -> list[Named]:
    """Return, per description, whether it names its own class, of ``labels``, and whether it names another one.

    ``names`` holds the names of each class, see :func:`class_names`. A name must be in a description as whole words.
    Case, accents, punctuation, hyphens and underscores do not matter, nor do regular plurals and possessives (s, es,
    ies for y). At one place the longest name counts: "house sparrow" does not name the class "sparrow". A name that
    classes share counts for the own class if that is one of them. Raises ValueError if a label has no names.

    >>> birds = {"sparrow": ["sparrow"], "house": ["house sparrow"], "car": ["car"]}
    >>> leaks(["A house sparrow.", "House sparrows beside a sparrow.", "A scar."], ["house", "house", "car"], birds)
    [Named(own=True, other=False), Named(own=True, other=True), Named(own=False, other=False)]
    """
    check_same_lengths(descriptions=descriptions, labels=labels)
    unknown = [label for label in labels if label not in names]
    if unknown:
        raise ValueError(f"names has no entry for the label {unknown[0]!r}")
    classes: dict[tuple[str, ...], set[str]] = {(): set()}
    """Of each name, and no class for the beginnings of names."""
    for owner, some in names.items():
        for words in (tuple(_folded(name).split()) for name in some):
            for end in range(1, len(words) + 1):
                classes.setdefault(words[:end], set())
            if words:
                classes[words].add(owner)
    known = {word for words in classes for word in words}
    named = []
    for text, label in zip(descriptions, labels, strict=True):
        found = list(_named(_folded(text).split(), classes, known))
        named.append(Named(any(label in some for some in found), any(label not in some for some in found)))
    return named


def _named(written: Sequence[str], classes: Mapping[tuple[str, ...], set[str]], known: set[str]) -> Iterator[set[str]]:
    """Yield the classes of each name, except names within a longer one."""
    words = [[base for base in _singulars(word) if base in known] for word in written]
    furthest = 0
    for start in range(len(words)):
        paths: list[tuple[str, ...]] = [()]
        longest, end = set[str](), start
        for at in range(start, len(words)):
            paths = [(*path, base) for path in paths for base in words[at] if (*path, base) in classes]
            if not paths:
                break
            if owners := set[str]().union(*(classes[path] for path in paths)):
                longest, end = owners, at + 1
        if longest and end > furthest:
            yield longest
            furthest = end


def _singulars(word: str) -> Iterator[str]:
    """Yield what ``word`` may be a regular plural or possessive of, itself included."""
    yield word
    for ending, singular in (("s", ""), ("es", ""), ("ies", "y")):
        if word.endswith(ending):
            yield word[: -len(ending)] + singular


def _folded(text: str) -> str:
    """Return words of letters and digits, in lower case, without accents, parted by single blanks."""
    return " ".join("".join(map(_folded_character, text)).split())


@cache
def _folded_character(character: str) -> str:
    if character in "'’‘ʼ`´′":  # so that Brewer's is folded like a plural
        return ""
    letters = unicodedata.normalize("NFKD", character.casefold()).casefold()
    # Accents go, and soft hyphens, zero widths, marks of direction.
    kept = [each for each in letters if not unicodedata.combining(each) and unicodedata.category(each) != "Cf"]
    return "".join(each if each.isalnum() or unicodedata.category(each).startswith("M") else " " for each in kept)
