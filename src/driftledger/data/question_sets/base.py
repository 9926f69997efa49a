"""The base of providers of questions, and the rules of a benchmark."""

import unicodedata
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from driftledger.core.strict import Name
from driftledger.data.datasets.base import Provider, first_of


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """One question at its source.

    ``read`` gives the image file's bytes, or a list of those of several images; errors call the
    question ``name``.

    Images stand where the question and its options have ``<image>`` or ``<image 2>``, or else in
    front.

    The benchmark says which other fields a question has: :class:`QuestionRules`.
    """

    id: str
    name: str
    image_id: str
    """Equal for questions about the same image, or the same images."""
    read: Callable[[], bytes | list[bytes]]
    question: str
    options: tuple[str, ...] = ()
    answer: str | None = None
    """The right option, a ground truth with ``<AND>`` and ``<OR>``, yes or no."""
    refusal: str | None = None
    """The option that refuses."""
    subset: str | None = None
    subtask: str | None = None
    capabilities: tuple[str, ...] = ()
    category: str | None = None
    source: dict[str, str] = field(default_factory=dict)
    numbers: tuple[int, ...] = ()
    """The number of each image in the text, where they are not counted from 1."""


class QuestionRules(ABC):
    """The rules of a benchmark's questions: their fields, checks and stored form."""

    needed: ClassVar[tuple[str, ...]]
    """Fields that a table of questions must have a column for."""
    optional: ClassVar[tuple[str, ...]]
    """Fields that are read where a table has a column for them."""

    def unit(self, question: SourceQuestion) -> str:
        """Return the id of what ``first`` counts: the question, unless a subclass joins several."""
        return question.id

    @abstractmethod
    def problem(self, question: SourceQuestion) -> str | None:
        """Say what is wrong with a question by itself and what to do; None if nothing is."""

    def problems_of_images(
        self, images: Iterable[Sequence[SourceQuestion]]
    ) -> Iterator[str]:
        """Say what is wrong with the whole set.

        ``images`` has the questions about each image, without its bytes.
        """
        return iter(())

    def stored(self, question: SourceQuestion) -> tuple[int | str | None, int | None]:
        """Return the right answer as it is stored, and the index of the refusal, if any.

        Args:
            question: one that keeps the rules.
        """
        return question.answer, None


class QuestionProvider(Provider, ABC):
    """A frozen specification of where questions come from."""

    protocol: Name
    """Which benchmark the questions are for, and so which fields they have."""

    def check(self, rules: QuestionRules) -> None:  # most have nothing to check
        """Refuse settings that mean nothing for these rules, by a ConfigError."""

    def kept_questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        """Return :meth:`questions`, thinned to ``first`` over subsets or categories."""
        if self.first is None:
            return self.questions(rules)
        categories = {}
        for question in self.questions(rules):
            categories[rules.unit(question)] = question.subset or question.category
        kept = first_of(categories, self.first)
        return (
            question
            for question in self.questions(rules)
            if rules.unit(question) in kept
        )

    @abstractmethod
    def questions(self, rules: QuestionRules) -> Iterator[SourceQuestion]:
        """Read the questions, in the order of their source.

        Args:
            rules: of the benchmark of :attr:`protocol`; they say which fields are read.

        Raises:
            ConfigError: the source is not where the settings say.
            DataError: the source cannot be read.
        """


def folded(text: str) -> str:
    """Return text to compare: case, white space and Unicode's composition are evened.

    >>> folded(" A  Blue\\nTruck ")
    'a blue truck'
    """
    return " ".join(unicodedata.normalize("NFC", text).split()).casefold()
