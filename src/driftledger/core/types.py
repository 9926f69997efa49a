"""Shared value types: samples, conversations, results."""

from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from enum import StrEnum
from typing import Annotated, ClassVar, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from PIL import Image
from pydantic import ConfigDict, Field, InstanceOf

from driftledger.core.media import Medium as Medium

Float32: TypeAlias = NDArray[np.float32]
Float64: TypeAlias = NDArray[np.float64]
Limit = TypeVar("Limit", int, int | None)
T = TypeVar("T")
Unwritten: TypeAlias = Annotated[InstanceOf[T] | None, Field(exclude=True)]
"""Marks a field of a result that is written neither to the store nor to records."""

Split = Literal["support", "test"]
"""Which half of a labelled dataset: the support set is retrieved from, the test set is what is
asked about."""


class Outcome(StrEnum):
    """The outcome of a component call. Every record has exactly one."""

    OK = "ok"
    REFUSED = "refused"  # declined in free text
    FILTERED = "filtered"  # stopped by a safety filter
    TRUNCATED = "truncated"  # stopped at the length limit; kept and flagged
    EMPTY = "empty"  # nothing, or reasoning alone
    UNPARSED = "unparsed"  # no option or grade could be read
    FAILED = (
        "failed"  # never got an answer; not stored, so that the next run tries again
    )

    @property
    def goes_on(self) -> bool:
        """Return True if the call left something that a next step can work with."""
        return self in (Outcome.OK, Outcome.TRUNCATED)


@dataclass(frozen=True, slots=True)
class Sample:
    """One unlabelled item of a dataset, with its category if it has one."""

    id: str
    medium: Medium
    category: str | None = None
    label: str | None = None
    split: Split | None = None


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a conversation: texts and images in the order in which they are shown."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[str | Medium, ...]

    @property
    def text(self) -> str:
        """All its texts, joined."""
        return "".join(part for part in self.parts if isinstance(part, str))


class Subject(NamedTuple):
    """The subject of a call: a sample at iteration ``t``.

    It serves messages and look-ups, and is not part of the call's key.
    """

    sample: str
    t: int
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The input of a model: the turns of a conversation.

    The last turn is the user's, or the assistant's if the model is to continue it.
    """

    turns: tuple[Turn, ...]
    subject: Subject | None = field(default=None, compare=False)
    """For models that look their answers up, in a sheet or a file of predictions. It is no part of
    the prompt: a model must not know it."""
    max_tokens: int | None = None
    """The most tokens of a reply, as the model counts them; a lower limit of the model also holds.
    """
    options: tuple[str, ...] = field(default=(), compare=False)
    """The options of a question in the order shown, for models that look answers up; others read
    them in the text."""

    @classmethod
    def ask(
        cls,
        text: str,
        medium: Medium,
        subject: Subject | None = None,
        max_tokens: int | None = None,
        options: Sequence[str] = (),
        prefix: str | None = None,
    ) -> "Conversation":
        """Make one user turn with ``medium`` and ``text``, and the reply's beginning."""
        begun = (Turn("assistant", (prefix,)),) if prefix else ()
        return cls(
            (Turn("user", (medium, text)), *begun), subject, max_tokens, tuple(options)
        )

    @property
    def prefix(self) -> str:
        """The beginning of the reply, which the model continues; empty if there is none."""
        if not self.turns or self.turns[-1].role != "assistant":
            return ""
        return self.turns[-1].text

    def whole(self, text: str) -> str:
        """Return a reply together with the :attr:`prefix` that it continues.

        >>> Conversation((Turn("assistant", ("It has",)),)).whole("long ears.")
        'It has long ears.'
        """
        blank = " " if self.prefix and text[:1] not in ".,;:!?)" else ""
        return self.prefix + blank + text

    def most_tokens(self, own: Limit) -> Limit:
        """Return the lower of a model's ``own`` limit of tokens and this one, if any."""
        return min(
            (limit for limit in (own, self.max_tokens) if limit is not None),
            default=own,
        )

    def with_media(self, change: Callable[[Medium], Medium | None]) -> "Conversation":
        """Return the same conversation with each image replaced by ``change`` of it.

        None leaves the image out.
        """
        turns = []
        for turn in self.turns:
            parts = [
                part if isinstance(part, str) else change(part) for part in turn.parts
            ]
            turns.append(
                replace(turn, parts=tuple(part for part in parts if part is not None))
            )
        return replace(self, turns=tuple(turns))

    @property
    def parts(self) -> list[str | Medium]:
        """The texts and images of all turns, in order."""
        return [part for turn in self.turns for part in turn.parts]

    @property
    def media(self) -> list[Medium]:
        """The images of all turns, in order."""
        return [part for part in self.parts if isinstance(part, Medium)]

    @property
    def last_medium(self) -> Medium | None:
        """The last image, or None if the conversation has none."""
        return self.media[-1] if self.media else None


@dataclass(frozen=True, slots=True)
class Usage:
    """The consumption of one call, as far as the service reports it."""

    input_tokens: int | None = None
    output_tokens: int | None = None
    images: int = 0
    cached_tokens: int = 0
    """Tokens among those of the input that the service had cached."""
    seconds: float = 0.0
    """Duration of the attempt that succeeded; a batch's time is shared evenly."""
    cost: float | None = None
    """Price of the answers that the service has counted; None if it counted none, or without
    prices."""
    most_cost: float | None = None
    """The most that all attempts may have cost, failed ones included; None without prices."""


@dataclass(frozen=True, slots=True)
class PromptUsage:
    """The tokens of a text, and how many were read before a limit cut it off."""

    tokens: int
    read: int

    @property
    def cut(self) -> bool:
        return self.read < self.tokens


@dataclass(frozen=True)
class Result:
    """The result of a call: a text of a model, or an image of a generator.

    A component returns it, the store keeps it, and a record holds it. The fields marked
    ``Unwritten`` are in neither: an image becomes ``data``, and that becomes the file ``medium``.
    """

    __pydantic_config__: ClassVar = ConfigDict(extra="forbid")

    text: str | None = None
    outcome: Outcome = Outcome.OK
    _: KW_ONLY
    served_model: str | None = None
    error: str | None = None
    system_fingerprint: str | None = None
    """The version of the backend that answered, where a service gives it."""
    reasoning: str | None = None
    """The model's reasoning before its answer; not in ``text``."""
    revised_prompt: str | None = None
    reading: PromptUsage | None = None
    """How much of the prompt the generator's text encoder read, where that is known."""
    note: str | None = None
    """An unusual circumstance of the call, e.g. a smaller batch than the fingerprint says."""
    usage: Unwritten[Usage] = None
    image: Unwritten[Image.Image] = None
    """A drawn RGB image."""
    data: Unwritten[bytes] = None
    """The PNG, JPEG or WebP that becomes ``medium``; a service's own bytes if they hold ``image``
    unchanged."""
    medium: Unwritten[Medium] = None
    """The file of the image."""

    @property
    def is_empty(self) -> bool:
        """Return True if it reports success and holds nothing."""
        has_text = bool((self.text or "").strip() or self.reasoning)
        return self.outcome is Outcome.OK and self.image is None and not has_text

    def took(
        self,
        seconds: float,
        cost: float | None = None,
        most_cost: float | None = None,
    ) -> "Result":
        """Return the result with the duration and costs of its call."""
        usage = replace(
            self.usage or Usage(), seconds=seconds, cost=cost, most_cost=most_cost
        )
        return replace(self, usage=usage)
