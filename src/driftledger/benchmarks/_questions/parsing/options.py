"""The options as they were shown, found again in what was said."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.text import WORD, folded, plain

MOST = 26
"""As many options as there are letters."""

_ARTICLE = re.compile(rf"(?:an?|the) (?={WORD})")
_ARTICLE_BEFORE = re.compile(r"(?:\A|\b(?:an?|the) |[^\w ] ?)\Z")
_AROUND = " .,;:!?\"'|"
_LETTER = re.compile(r"[a-z]")
_LAST_LETTER = re.compile(r"[A-Za-z](?=[)\]\"'.]{0,3}(?:$|\n))")
_IN_WORD = re.compile(WORD)


class Mention(NamedTuple):
    """Option ``option``'s text, from ``start`` up to ``end``."""

    option: int
    start: int
    end: int


class Options:
    """2–26 option texts, in the order in which they were shown as A, B, C, …

    Raises:
        ValueError: there are fewer or more.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        if not 2 <= len(texts) <= MOST:
            raise ValueError(f"there must be 2 to {MOST} options, but there are {len(texts)}")
        self._texts = tuple(text.strip() for text in texts)
        self._plain = tuple(plain(text).strip(_AROUND) for text in texts)
        self._needles = tuple(_without_article(folded(text)) for text in self._plain)
        self._articles = tuple(_ARTICLE.match(folded(text)) is not None for text in self._plain)
        known = (index for index, needle in enumerate(self._needles) if self._can_be_told(needle))
        self._longest_first = sorted(known, key=lambda index: -len(self._needles[index]))
        self._by_initial: dict[str, list[int]] = {}
        for index in self._longest_first:
            self._by_initial.setdefault(self._needles[index][0], []).append(index)
        self._letters = {text: index for index, text in enumerate(self._plain) if _LETTER.fullmatch(folded(text))}

    def _can_be_told(self, needle: str) -> bool:
        return bool(needle) and not _LETTER.fullmatch(needle) and self._needles.count(needle) == 1

    def __len__(self) -> int:
        return len(self._texts)

    def exact(self, said: str) -> int | None:
        """The option that ``said`` is as a whole: to the letter, else but for formatting, else but for case.

        A single letter that is an option's text has to have its case, or ``b`` could not be said for B.
        """
        if (found := _only(said.strip(), self._texts)) is not None:
            return found
        bare = plain(said).strip(_AROUND)
        if (found := _only(bare, self._plain)) is not None:
            return found
        needle = _without_article(folded(bare))
        return None if _LETTER.fullmatch(needle) else _only(needle, self._needles)

    def letter(self, letter: str) -> int | None:
        """The option that a single letter stands for: the one whose text it is, else the one that was shown as it.

        None: there is none, or there is no telling, as where ``b`` is the answer and the text of one option is ``B``.
        """
        if letter in self._letters:
            return self._letters[letter]
        index = ord(letter.upper()) - ord("A")
        return index if index < len(self) and letter.upper() not in self._letters else None

    def letter_at(self, text: str, position: int) -> Mention | None:
        """The option whose text is the single letter with which a line ends at ``position``."""
        letter = _LAST_LETTER.match(text, position)
        index = self._letters.get(letter[0]) if letter else None
        return None if index is None else Mention(index, position, position + 1)

    def at(self, low: str, position: int) -> Mention | None:
        """The longest option text that begins at ``position``, with or without an article before it."""
        article = _ARTICLE.match(low, position)
        for start in (position, article.end()) if article else (position,):
            for index in self._by_initial.get(low[start : start + 1], ()):
                end = start + len(self._needles[index])
                if low.startswith(self._needles[index], start) and _ends(low, end):
                    return Mention(index, position, end)
        return None

    def mentions(self, low: str) -> list[Mention]:
        """All places where an option's text stands, in order, but for those inside another's."""
        found = [mention for index in self._longest_first for mention in self._of(index, low)]
        found.sort(key=lambda mention: (mention.start, -mention.end))
        outer: list[Mention] = []
        for mention in found:
            if not outer or mention.end > outer[-1].end:
                outer.append(mention)
        return outer

    def _of(self, index: int, low: str) -> Iterator[Mention]:
        needle = self._needles[index]
        start = low.find(needle)
        while start >= 0:
            end = start + len(needle)
            whole = not self._articles[index] or _ARTICLE_BEFORE.search(low, max(0, start - 5), start)
            if whole and _begins(low, start) and _ends(low, end):
                yield Mention(index, start, end)
            start = low.find(needle, end)


def _only(said: str, texts: Sequence[str]) -> int | None:
    return texts.index(said) if texts.count(said) == 1 and said else None


def _without_article(text: str) -> str:
    article = _ARTICLE.match(text)
    return text[article.end() :] if article else text


def _is_word(text: str, position: int) -> bool:
    return 0 <= position < len(text) and _IN_WORD.match(text, position) is not None


def _begins(text: str, start: int) -> bool:
    """Whether no word and no number runs into ``start`` from the left."""
    if not _is_word(text, start) or start == 0:
        return True
    before = text[start - 1]
    if before in "-'.," and text[start].isdigit():
        return False
    return not (_is_word(text, start - 1) or (before in "-'" and _is_word(text, start - 2)))


def _ends(text: str, end: int) -> bool:
    """Whether no word and no number runs on at ``end``."""
    if end >= len(text) or not _is_word(text, end - 1):
        return True
    after = text[end]
    if after in "%°" or (after in ".,:/" and text[end - 1].isdigit() and text[end + 1 : end + 2].isdigit()):
        return False
    return not (_is_word(text, end) or (after in "-'" and _is_word(text, end + 1)) or after in "+#")
