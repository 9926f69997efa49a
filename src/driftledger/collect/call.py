"""Calls to components, their keys, and protocols that yield them."""

from collections.abc import Callable, Iterable, Sequence
from collections.abc import Generator as PythonGenerator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

from driftledger.components.base import Component, Generator, Model
from driftledger.core.canonical import sha256_of
from driftledger.core.types import Conversation, Result, Subject

R = TypeVar("R")


class Spent(NamedTuple):
    """Attempts at one version of a component, and the most that they may have cost.

    Failed attempts are included.
    """

    attempts: int = 0
    cost: float = 0.0


class Batch(NamedTuple):
    """Calls that are submitted to a service together."""

    file: str
    """The service's id of the file with its requests."""
    sent: float
    """When it was sent, in seconds since 1970."""
    id: str | None
    """The service's id; None until its answer is stored."""
    keys: dict[str, float]
    """Key → largest cost, of its calls that have no result yet."""


@dataclass(frozen=True)
class Ask:
    """A question to a model; ``role`` names its purpose: describe, answer, grade."""

    component: Model
    role: str
    conversation: Conversation
    """As the model gets it: without images if it sees nothing."""
    context: Subject
    repeat: int | None = None
    """Number of this repetition of the same question; each is a call of its own."""

    def __post_init__(self) -> None:
        # only models that look have the setting
        if getattr(self.component, "sees", None) == "nothing":
            shown = self.conversation.with_media(lambda _: self.component.blank)
            object.__setattr__(self, "conversation", shown)

    @property
    def arguments(self) -> tuple[Conversation]:
        """The positional arguments of the service call."""
        return (self.conversation,)

    @cached_property
    def key(self) -> str:
        """Hex SHA-256 of all that the result depends on; equal keys are the same call."""
        turns = []
        for turn in self.conversation.turns:
            parts = [
                {"text": part} if isinstance(part, str) else {"image": part.sha256}
                for part in turn.parts
            ]
            turns.append({"role": turn.role, "parts": parts})
        images = [medium.sha256 for medium in self.conversation.media]
        limit = self.conversation.max_tokens
        rendered = turns if limit is None else {"turns": turns, "max_tokens": limit}
        return sha256_of(
            [self.component.fingerprint, self.role, rendered, images, self.repeat]
        )


@dataclass(frozen=True)
class Draw:
    """A prompt to a generator."""

    component: Generator
    prompt: str
    seed: int
    context: Subject

    @property
    def arguments(self) -> tuple[str, int]:
        """The positional arguments of the service call."""
        return self.prompt, self.seed

    @cached_property
    def key(self) -> str:
        """Hex SHA-256 of all that its result depends on."""
        return sha256_of(
            [self.component.fingerprint, "generate", self.prompt, [], self.seed]
        )


Call: TypeAlias = Ask | Draw
StandIn: TypeAlias = tuple[Component, Conversation | str | None]
"""A component, and what it is asked at most; None if it is asked the same as before."""
Steps: TypeAlias = PythonGenerator[Call, Result, R]
"""A protocol of one unit: it yields calls, is sent their results, and returns its own."""


@dataclass(frozen=True)
class Planned(Generic[R]):
    """One unit's protocol, and the most calls that it makes, in order.

    Stand-ins take the place of inputs that are not known yet.
    """

    steps: Steps[R]
    """Not started."""
    calls: Sequence[StandIn]
    after: Sequence[tuple[Component, Conversation | str]] = ()
    """The most calls of later protocols, which need the results of all that run with this one."""
    is_check: bool = False
    """True if the calls check the component itself, and are the same for every model."""


RunSteps: TypeAlias = Callable[[Iterable[Planned[Any]]], Iterable[Any]]
"""A driver of protocols: it makes their calls, or only counts them, and raises
:class:`NotStoredError` if some are still to be made."""


class NotStoredError(Exception):
    """The next step depends on calls that are not stored."""


class Walked(NamedTuple, Generic[R]):
    """Progress of a protocol: calls with results, and the first call without one."""

    answered: int
    pending: Call | None
    returned: R | None


def walk(protocol: Steps[R], answer: Callable[[Call], Result | None]) -> Walked[R]:
    """Drive a protocol as long as ``answer`` has results."""
    answered = 0
    try:
        call = next(protocol)
        while (result := answer(call)) is not None:
            answered += 1
            call = protocol.send(result)
    except StopIteration as stop:
        return Walked(answered, None, stop.value)
    protocol.close()
    return Walked(answered, call, None)
