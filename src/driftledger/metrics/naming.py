"""Label leak: descriptions that name the class instead of describing what is seen.

Open-Flamingo does so often (section 4.2 of the paper of TRAC), and retrieval then rewards recognition, not
description. Texts come from models and labels from files, so that everything here takes linear time, hostile text
included: no regular expression runs over a description, and characters are folded one by one, since normalizing a whole
text sorts runs of accents in quadratic time.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from driftledger.metrics._checks import check_same_lengths

_INDEX = re.compile(r"n\d{8}(?![^\W_])[\W_]*|(?:\d+[._]|0\d+[\s-])[\W_]*(?=[^\W\d_])")
"""At the start of a label: a WordNet id, or a number that a full stop, an underscore or its leading zero shows to be no
part of the name, as it is in "3 series"."""


class Named(NamedTuple):
    """Whether a description names its own class, and whether it names another one."""

    own: bool
    other: bool


def class_names(label: str, others: Sequence[str] = ()) -> tuple[str, ...]:
    """The names by which a description may name the class: those in its label, then ``others``; folded, each once.

    A leading index of the label is left out, and commas part synonyms. What is then only numbers or a single letter
    names nothing by itself, as the 3 in "3 wheels" does not; among ``others`` everything counts that has a letter or
    a digit.

    >>> class_names("001.Black_footed_Albatross"), class_names("n01440764 tench, Tinca tinca")
    (('black footed albatross',), ('tench', 'tinca tinca'))
    >>> class_names("3", others=["three", "Drei"])
    ('three', 'drei')
    """
    index = _INDEX.match(label)
    own = [_folded(part) for part in label[index.end() if index else 0 :].split(",")]
    every = [*(name for name in own if not _names_nothing(name)), *map(_folded, others)]
    return tuple(dict.fromkeys(name for name in every if name))


def leaks(descriptions: Sequence[str], labels: Sequence[str], names: Mapping[str, Sequence[str]]) -> list[Named]:
    """Per description, whether it names its own class, of ``labels``, and whether it names another one.

    ``names`` holds the names of each class, see :func:`class_names`. A name stands in a description as whole words.
    Case, accents, punctuation, hyphens and underscores do not matter, nor do regular plurals and possessives (s, es,
    ies for y). A script that writes no blanks has no words to be found whole. At one place the longest name holds:
    "house sparrow" does not name the class "sparrow". A name that classes share is taken for the own class, where that
    is one of them.

    Raises:
        ValueError: the lengths differ, or a label has no entry in ``names``.

    >>> birds = {"sparrow": ["sparrow"], "house": ["house sparrow"]}
    >>> leaks(["A house sparrow.", "House sparrows beside a sparrow."], ["house", "house"], birds)
    [Named(own=True, other=False), Named(own=True, other=True)]
    >>> leaks(["Two Brewer’s blackbirds.", "A scar."], ["b", "c"], {"b": ["Brewer_Blackbird"], "c": ["car"]})
    [Named(own=True, other=False), Named(own=False, other=False)]
    """
    check_same_lengths(descriptions=descriptions, labels=labels)
    unknown = [label for label in labels if label not in names]
    if unknown:
        raise ValueError(f"names has no entry for the label {unknown[0]!r}")
    known = _Names(names)
    return [_judged(known.found_in(text), label) for text, label in zip(descriptions, labels, strict=True)]


def _judged(found: Sequence[frozenset[str]], label: str) -> Named:
    return Named(any(label in classes for classes in found), any(label not in classes for classes in found))


@dataclass(slots=True)
class _Branch:
    following: "dict[str, _Branch]" = field(default_factory=dict)
    classes: frozenset[str] = frozenset()
    """Those that have the words up to here for a name."""


class _Names:
    """A tree of words in which every name is a way from the root."""

    def __init__(self, names: Mapping[str, Sequence[str]]) -> None:
        self._root = _Branch()
        self._words: set[str] = set()
        for owner, some in names.items():
            for name in some:
                self._add(_folded(name).split(), owner)

    def found_in(self, text: str) -> list[frozenset[str]]:
        """The classes of each name in ``text``, of which none lies within a longer one."""
        written = _folded(text).split()
        known = {word: [base for base in _singulars(word) if base in self._words] for word in set(written)}
        words = [known[word] for word in written]
        found = []
        furthest = 0
        for start in (place for place, bases in enumerate(words) if bases):
            end, classes = self._longest(words, start)
            if classes and end > furthest:
                found.append(classes)
                furthest = end
        return found

    def _add(self, words: list[str], owner: str) -> None:
        branch = self._root
        for word in words:
            branch = branch.following.setdefault(word, _Branch())
        if words:
            branch.classes |= {owner}
            self._words.update(words)

    def _longest(self, words: Sequence[Sequence[str]], start: int) -> tuple[int, frozenset[str]]:
        """Where the longest name that begins at ``start`` ends, and its classes; ``start`` itself if there is none."""
        end, classes = start, frozenset[str]()
        here = [self._root]
        for at in range(start, len(words)):
            here = [branch.following[word] for branch in here for word in words[at] if word in branch.following]
            if not here:
                break
            if any(branch.classes for branch in here):
                end, classes = at + 1, frozenset().union(*(branch.classes for branch in here))
        return end, classes


def _singulars(word: str) -> Iterator[str]:
    """What ``word`` may be a regular plural or possessive of, itself included."""
    yield word
    if word.endswith("s"):
        yield word[:-1]
    if word.endswith("es"):
        yield word[:-2]
    if word.endswith("ies"):
        yield f"{word[:-3]}y"


def _names_nothing(name: str) -> bool:
    """Only numbers, or a single letter of an alphabet; a Chinese character is a word."""
    return name.replace(" ", "").isdigit() or (len(name) == 1 and name.islower())


class _Folding(dict[int, str]):
    """What each character becomes, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        letters = unicodedata.normalize("NFKD", chr(code).casefold()).casefold()
        self[code] = "".join(_spelt(letter) for letter in letters)
        return self[code]


_FOLDING = _Folding(dict.fromkeys(map(ord, "'’‘ʼ`´′"), ""))  # Brewer's, at once a possessive and like a plural


def _spelt(letter: str) -> str:
    category = unicodedata.category(letter)
    if unicodedata.combining(letter) or category == "Cf":  # accents; soft hyphens, zero widths, marks of direction
        return ""
    return letter if letter.isalnum() or category.startswith("M") else " "


def _folded(text: str) -> str:
    """Words of letters and digits, in lower case, without accents, parted by single blanks."""
    return " ".join(text.translate(_FOLDING).split())
