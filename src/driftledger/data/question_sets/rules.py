"""What the questions of one benchmark must have, as the benchmark says it: its folder holds the rules, and whoever
builds a set is given them."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import ClassVar, NamedTuple

from driftledger.data.question_sets.base import SourceQuestion


class QuestionFacts(NamedTuple):
    """A question as far as a rule over all of them sees it."""

    name: str
    category: str | None


class QuestionRules(ABC):
    """The rules of one benchmark: which fields its questions have, what is wrong with one, and how it is stored."""

    needed: ClassVar[tuple[str, ...]]
    """Fields that a table of questions must have a column for."""
    optional: ClassVar[tuple[str, ...]]
    """Fields that are read where a table has a column for them."""
    forms: ClassVar[tuple[str, ...]] = ()
    """Settings of a column map that say how something is written in its column."""

    @abstractmethod
    def problem(self, question: SourceQuestion) -> str | None:
        """What is wrong with ``question`` by itself, and what to do; None where nothing is."""

    def problems_of_images(self, images: Iterable[Sequence[QuestionFacts]]) -> Iterator[str]:
        """What only the whole set shows, where every question is right by itself; ``images`` holds the questions about
        each."""
        return iter(())

    def answer(self, question: SourceQuestion) -> int | str | None:
        """What is right, as it is stored; ``question`` keeps the rules."""
        return question.answer

    def refusal(self, question: SourceQuestion) -> int | None:
        """The index of the option that refuses, where there is one; ``question`` keeps the rules."""
        return None


def folded(text: str) -> str:
    """``text`` as it is compared: without differences of case, of white space or of how Unicode composes it.

    >>> folded(" A  Blue\\nTruck ")
    'a blue truck'
    """
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()
