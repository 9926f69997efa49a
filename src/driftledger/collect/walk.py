"""How far a protocol gets on what is known already: what a run would still have to do, found without doing it."""

from collections.abc import Callable
from typing import Generic, NamedTuple, TypeVar

from driftledger.collect.call_result import Result
from driftledger.collect.call_store import CallStore
from driftledger.collect.steps import Call, Steps

R = TypeVar("R")


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


def stored_in(store: CallStore) -> Callable[[Call], Result | None]:
    """The results that ``store`` holds."""

    def answer(call: Call) -> Result | None:
        digest = call.key.digest
        return store.get([digest]).get(digest)

    return answer
