"""What a question set provider is: where questions come from, before anything is decoded or checked."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import StringConstraints

from driftledger.core.strict import Strict

if TYPE_CHECKING:
    from driftledger.data.question_sets.rules import QuestionRules

Protocol = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,63}$")]
"""The name of the benchmark that a set's questions are for."""


@dataclass(frozen=True, slots=True)
class SourceQuestion:
    """One question at its source. ``read`` gives the image file's bytes; ``name`` says in errors which one it is.

    Which of the other fields a question has, its benchmark says: :class:`~.rules.QuestionRules`.
    """

    id: str
    name: str
    image_id: str
    """Equal for questions about the same image."""
    read: Callable[[], bytes]
    question: str
    options: tuple[str, ...] = ()
    """What is chosen among."""
    answer: str | None = None
    """What is right: one of the options, a ground truth with ``<AND>`` and ``<OR>``, yes or no."""
    refusal: str | None = None
    """The option that refuses."""
    subset: str | None = None
    subtask: str | None = None
    capabilities: tuple[str, ...] = ()
    category: str | None = None
    source: dict[str, str] = field(default_factory=dict)


class QuestionProvider(Strict, ABC):
    """A frozen specification of where questions come from. ``provider`` is its name in the registry."""

    provider: ClassVar[str]

    protocol: Protocol
    """Which benchmark the questions are for, and so which fields they have."""

    def check(self, rules: "QuestionRules") -> None:  # most have nothing to check
        """Refuse settings that mean nothing for the benchmark of these rules.

        Raises:
            ConfigError: there are such.
        """

    @abstractmethod
    def questions(self, rules: "QuestionRules") -> Iterator[SourceQuestion]:
        """The questions, in the order of their source.

        Args:
            rules: of the benchmark of :attr:`protocol`; they say which fields are read.

        Raises:
            ConfigError: the source is not where the settings say.
            DataError: the source cannot be read.
        """

    @abstractmethod
    def source_digest(self) -> str:
        """Hex SHA-256 that changes whenever what the source holds changes; errors as in :meth:`questions`."""

    @abstractmethod
    def source(self) -> dict[str, str]:
        """What ``question_set.json`` says about the origin; the same on every machine, so no absolute paths."""
