"""The options of a question, as a reply may name them: by a letter, or by their text."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from driftledger.benchmarks._questions.parsing.text import find, folded, plain

MOST = 26
"""As many options as there are letters."""
_AROUND = " .,;:!?\"'"


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
        self._texts = [text.strip() for text in texts]
        self._plain = [plain(text).strip(_AROUND) for text in texts]
        low = [folded(text) for text in self._plain]
        self._needles = [_without_article(text) for text in low]
        self._articles = [needle != text for needle, text in zip(self._needles, low, strict=True)]
        unique = [at for at, needle in enumerate(self._needles) if needle and self._needles.count(needle) == 1]
        known = [at for at in unique if not _is_letter(self._needles[at])]
        self._longest_first = sorted(known, key=lambda at: -len(self._needles[at]))
        self._letters = {text: at for at, text in enumerate(self._plain) if _is_letter(text.lower())}

    def __len__(self) -> int:
        return len(self._texts)

    def exact(self, said: str) -> int | None:
        """The option that ``said`` is as a whole: to the letter, else but for formatting, else but for case.

        A single letter that is an option's text has to have its case, or ``b`` could not be said for B.
        """
        bare = plain(said).strip(_AROUND)
        if find("letter").fullmatch(folded(bare)):
            return self.letter(bare) if bare in self._letters else None
        needle = _without_article(folded(bare))
        forms = ((said.strip(), self._texts), (bare, self._plain), (needle, self._needles))
        return next((texts.index(text) for text, texts in forms if text and texts.count(text) == 1), None)

    def letter(self, letter: str) -> int | None:
        """The option that was shown as a single letter, or whose text it is.

        None: there is none, or there is no telling, as where one option was shown as B and another one's text is B.
        """
        index = index_of(letter)
        shown = index if index < len(self) else None
        named = self._letters.get(letter, self._letters.get(letter.upper()))
        return named if shown is None else shown if named in (None, shown) else None

    def letter_at(self, text: str, position: int) -> Mention | None:
        """The option whose text is the single letter with which a line ends at ``position``."""
        letter = find("last_letter").match(text, position)
        index = self._letters.get(letter[0]) if letter else None
        return None if index is None else Mention(index, position, position + 1)

    def at(self, low: str, position: int) -> Mention | None:
        """The longest option text that begins at ``position``, with or without an article before it."""
        article = find("article").match(low, position)
        for start in (position, article.end()) if article else (position,):
            for index in self._longest_first:
                end = start + len(self._needles[index])
                if low.startswith(self._needles[index], start) and _ends(low, start, end):
                    return Mention(index, position, end)
        return None

    def mentions(self, low: str) -> list[Mention]:
        """All places where an option's text is, in order, but for those inside another's."""
        every = [mention for index in self._longest_first for mention in self._of(index, low)]
        outer: list[Mention] = []
        for mention in sorted(every, key=lambda mention: (mention.start, -mention.end)):
            if not outer or mention.end > outer[-1].end:
                outer.append(mention)
        return outer

    def _of(self, index: int, low: str) -> Iterator[Mention]:
        needle = self._needles[index]
        start = low.find(needle)
        while start >= 0:
            end = start + len(needle)
            article = not self._articles[index] or find("article_before").search(low, max(0, start - 5), start)
            begins = not find("runs_in").search(low, max(0, start - 2), start + 1)
            if article and begins and _ends(low, start, end):
                yield Mention(index, start, end)
            start = low.find(needle, end)


def index_of(letter: str) -> int:
    return ord(letter.upper()) - ord("A")


def _is_letter(text: str) -> bool:
    return len(text) == 1 and "a" <= text <= "z"


def _without_article(text: str) -> str:
    article = find("article").match(text)
    return text[article.end() :] if article else text


def _ends(low: str, start: int, end: int) -> bool:
    """Whether no word runs on at ``end``, and no number is only a bound or a part: *at least 3*, *1 of 4*."""
    if find("runs_on").match(low, end - 1):
        return False
    bounded = find("bound_before").search(low, max(0, start - 24), start) or find("bound_after").match(low, end)
    return not (bounded and find("is_number").fullmatch(low, start, end))
