"""Whether a description names a class: as whole words, whatever their case, accents, plurals and punctuation."""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from functools import cache, lru_cache

LONGEST = 100
"""Words of a name: with longer ones a text would take as long as both together are wide."""
_INDEX = re.compile(r"n\d{8}(?![^\W_])[\W_]*|(?:\d+[._]|0\d+[\s-])[\W_]*(?=[^\W\d_])")
"""A WordNet id, or a number that is no part of the name."""


class Names:
    """The names of classes: those in a label, parted by commas, and others."""

    def __init__(self, others: Mapping[str, Sequence[str]]) -> None:
        self._owners: dict[tuple[str, ...], set[str]] = {}
        """Beginnings of names as words → the classes of which this is a whole name."""
        for label, some in others.items():
            index = _INDEX.match(label)
            own = map(_folded, label[index.end() if index else 0 :].split(","))
            for name in [*(each for each in own if not _says_nothing(each)), *map(_folded, some)]:
                words = tuple(name.split())
                if len(words) > LONGEST:
                    raise ValueError(f"a name of {label!r:.60} has more than {LONGEST} words")
                for end in range(len(words) + 1):
                    self._owners.setdefault(words[:end], set())
                self._owners[words].add(label)
        self._owners.pop((), None)
        known = {word for words in self._owners for word in words}
        self._bases = cache(lambda word: [base for base in _singulars(word) if base in known])

    def named(self, text: str, label: str) -> tuple[bool, bool]:
        """Its own class, and another one; of names within each other the longest holds."""
        words = list(map(self._bases, _folded(text).split()))
        own, other, furthest = False, False, 0
        for start in (place for place, bases in enumerate(words) if bases):
            end, owners, here = start, set[str](), {tuple[str, ...]()}
            for at in range(start, len(words)):
                here = {(*begun, base) for begun in here for base in words[at] if (*begun, base) in self._owners}
                if not here:
                    break
                if whole := set().union(*(self._owners[name] for name in here)):
                    end, owners = at + 1, whole
            if owners and end > furthest:
                own, other, furthest = own or label in owners, other or label not in owners, end
        return own, other


def _singulars(word: str) -> Iterator[str]:
    """What it may be a regular plural or possessive of."""
    yield word
    for ending, instead in (("s", ""), ("es", ""), ("ies", "y")):
        if word.endswith(ending):
            yield word.removesuffix(ending) + instead


def _says_nothing(name: str) -> bool:
    """Only numbers, or a single letter of an alphabet."""
    return not name or name.replace(" ", "").isdigit() or (len(name) == 1 and name.islower())


def _folded(text: str) -> str:
    """Words of letters and digits, in lower case and without accents."""
    return " ".join("".join(map(_letter, text)).split())


@lru_cache(maxsize=2**12)
def _letter(letter: str) -> str:
    if letter in "'’‘ʼ`´′":  # a possessive, and at once like a plural
        return ""
    parts = unicodedata.normalize("NFKD", letter.casefold()).casefold()
    return "".join(_spelt(part) for part in parts)


def _spelt(part: str) -> str:
    category = unicodedata.category(part)
    if unicodedata.combining(part) or category == "Cf":
        return ""
    return part if part.isalnum() or category.startswith("M") else " "
