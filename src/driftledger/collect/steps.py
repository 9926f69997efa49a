"""What a protocol yields, what it is sent for it, and how far it gets on what is known already."""

from collections.abc import Callable, Sequence
from collections.abc import Generator as PythonGenerator
from dataclasses import dataclass, replace
from typing import Any, Generic, NamedTuple, Protocol, TypeAlias, TypeVar

from driftledger.collect.call_key import CallKey
from driftledger.collect.call_result import Context, Result
from driftledger.components.base import Component, Generator, Model
from driftledger.core.images import png_bytes
from driftledger.core.types import Conversation, Generated, Outcome, Reply

R = TypeVar("R")


@dataclass(frozen=True)
class Ask:
    """Ask ``component`` to answer a conversation. ``role`` says what for: describe, answer, grade."""

    component: Model
    role: str
    conversation: Conversation
    context: Context
    repeat: int | None = None
    """Which of several askings of the same: each is a call of its own."""

    @property
    def key(self) -> CallKey:
        component = self.component
        key = CallKey.of_conversation(component.fingerprint, self.role, self.conversation, component.spec)
        return key if self.repeat is None else replace(key, seed=self.repeat)


@dataclass(frozen=True)
class Draw:
    """Ask ``component`` to draw a prompt."""

    component: Generator
    prompt: str
    seed: int
    context: Context

    @property
    def key(self) -> CallKey:
        return CallKey.of_prompt(self.component.fingerprint, self.prompt, self.seed, self.component.spec)


Call: TypeAlias = Ask | Draw
Steps: TypeAlias = PythonGenerator[Call, Result, R]

Uncounted = tuple[Component, Conversation | str, int]
"""Calls that nobody can put together yet: to whom, a stand-in for what is asked, and how many at most."""


class NotStoredError(Exception):
    """What comes next depends on calls that are still to be made; ``rest`` are those that come next at most."""

    def __init__(self, rest: Sequence[Uncounted] = ()) -> None:
        super().__init__("some calls are still to be made")
        self.rest = rest


class Walked(NamedTuple, Generic[R]):
    """``known`` calls need not be made; then ``pending`` has to be, or the protocol is at its end."""

    known: int
    pending: Call | None
    returned: R | None


def walk(protocol: Steps[R], answer: Callable[[Call], Result | None]) -> Walked[R]:
    """Drive a protocol as far as ``answer`` has results."""
    known = 0
    try:
        call = next(protocol)
        while (result := answer(call)) is not None:
            known += 1
            call = protocol.send(result)
    except StopIteration as stop:
        return Walked(known, None, stop.value)
    protocol.close()
    return Walked(known, call, None)


def walk_together(
    protocols: Sequence[Steps[R]], answers: Callable[[Sequence[Call]], Sequence[Result | None]]
) -> list[Walked[R]]:
    """The same of several, call by call side by side, so that ``answers`` is asked of many calls at once."""
    walked: dict[int, Walked[R]] = {}
    known = [0] * len(protocols)
    results: list[tuple[int, Any]] = [(number, None) for number in range(len(protocols))]
    while results:
        waiting: list[tuple[int, Call]] = []
        for number, result in results:
            try:
                waiting.append((number, protocols[number].send(result)))
            except StopIteration as stop:
                walked[number] = Walked(known[number], None, stop.value)
        results = []
        for (number, call), result in zip(waiting, answers([call for _, call in waiting]), strict=True):
            if result is None:
                protocols[number].close()
                walked[number] = Walked(known[number], call, None)
            else:
                known[number] += 1
                results.append((number, result))
    return [walked[number] for number in range(len(protocols))]


class Stored(Protocol):
    """As much of a store as a protocol is walked by: how calls are claimed and kept is no part of a stage's code."""

    def get(self, digests: Sequence[str]) -> dict[str, Result]:
        """The stored results among ``digests``."""


def stored_in(store: Stored) -> Callable[[Call], Result | None]:
    """The results that ``store`` holds."""

    def answer(call: Call) -> Result | None:
        digest = call.key.digest
        return store.get([digest]).get(digest)

    return answer


def failed(call: Call, error: str | None) -> Reply | Generated:
    """What stands for the answer to a call that could not be made."""
    if isinstance(call, Ask):
        return Reply("", Outcome.FAILED, error=error)
    return Generated(None, Outcome.FAILED, error=error)


def result_of(made: Reply | Generated) -> tuple[Result, bytes | None]:
    """What a component gave as it is stored: text as UTF-8 can hold it, an image as the bytes of a PNG."""
    served: dict[str, Any] = {
        "served_model": _utf8(made.served_model),
        "system_fingerprint": _utf8(made.system_fingerprint),
        "error": _utf8(made.error),
    }
    if isinstance(made, Reply):
        return Result(made.outcome, text=_utf8(made.text), **served), None
    if made.outcome.goes_on and made.image is None:
        raise ValueError(f"a generator said {made.outcome} and gave no image")
    png = png_bytes(made.image) if made.image is not None and made.outcome.goes_on else None
    return Result(made.outcome, revised_prompt=_utf8(made.revised_prompt), reading=made.reading, **served), png


def _utf8(text: str | None) -> str | None:
    """A lone surrogate becomes a question mark."""
    return None if text is None else text.encode("utf-8", "replace").decode()
