"""Calls to components on this machine, a batch at a time; what to do when one raises or does not fit into memory."""

import sys
import time
import traceback
from collections.abc import Sequence
from dataclasses import replace

from driftledger.collect.call_result import Cost, Finished
from driftledger.collect.steps import Ask, Call, Draw, failed, result_of
from driftledger.components.base import Component
from driftledger.core.errors import DriftledgerError, OutOfMemoryError
from driftledger.core.types import Generated, Reply

_MOST_SAID = 300
"""Characters of an exception's message in a record."""


class LocalCalls:
    """Makes the batches of one run, one after the other.

    When memory runs out, the components that are not at work are released first, and from then on at every change of
    component; when that is not enough, the component's batches are halved for the rest of the run.

    What a component raises about one call fails that call alone: the calls of its batch are made one by one, and the
    one that raises again is a result whose outcome is ``failed``, with the exception's class and message. The traceback
    of the first of each class goes to stderr.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Component] = {}
        self._crowded = False
        self._most: dict[str, int] = {}
        self._told: set[tuple[str, type[Exception]]] = set()

    def make(self, calls: Sequence[Call]) -> list[Finished]:
        """Make a batch of calls to one component.

        Raises:
            OutOfMemoryError: not even a batch of one fits.
            MemoryError, DriftledgerError: what no other call would be spared.
        """
        component = calls[0].component
        if self._crowded:
            self._release_all_but(component)
        self._loaded[component.fingerprint] = component
        finished: list[Finished] = []
        while len(finished) < len(calls):
            most = self._most.get(component.fingerprint, len(calls))
            part = calls[len(finished) : len(finished) + most]
            try:
                note = f"made in a batch of {len(part)} instead of {len(calls)}: out of memory"
                finished += _noted(self._each(part), note if len(part) < len(calls) else None)
            except OutOfMemoryError as error:
                self._make_room(component, len(part), error)
        return finished

    def _each(self, calls: Sequence[Call]) -> list[Finished]:
        """All of ``calls``, in one batch or, where that raises, each by itself."""
        try:
            return make_batch(calls)
        except (DriftledgerError, MemoryError, ContractError):
            raise
        except Exception as error:
            self._tell(calls[0].component, error)
            said = " ".join(f"{type(error).__name__}: {error}".split())[:_MOST_SAID]
        if len(calls) == 1:
            return [Finished(calls[0].key, calls[0].context, *result_of(failed(calls[0], said)), Cost(0.0))]
        alone = f"made alone instead of in a batch of {len(calls)}: another call of it raised"
        return [item for call in calls for item in _noted(self._each([call]), alone)]

    def _tell(self, component: Component, error: Exception) -> None:
        key = component.fingerprint, type(error)
        if key not in self._told:
            self._told.add(key)
            _say("".join(traceback.format_exception(error)))

    def _make_room(self, component: Component, tried: int, error: OutOfMemoryError) -> None:
        if len(self._loaded) > 1 and not self._crowded:
            self._crowded = True
            self._release_all_but(component)
            _say(f"{error}; {component.provider} now has the memory to itself, and others are loaded when needed")
        elif tried > 1:
            self._most[component.fingerprint] = tried // 2
            _say(f"{error}; going on with batches of {tried // 2} instead of {tried} for {component.provider}")
        else:
            raise OutOfMemoryError(
                f"{error}; not even one call to {component.provider} fits: take a smaller checkpoint, a smaller dtype "
                "or a larger device"
            ) from None

    def _release_all_but(self, component: Component) -> None:
        for fingerprint, other in list(self._loaded.items()):
            if fingerprint != component.fingerprint:
                other.release()
                del self._loaded[fingerprint]


class ContractError(ValueError):
    """A component gave something else than results for its calls, so that nobody knows which result is whose."""


def make_batch(calls: Sequence[Call]) -> list[Finished]:
    """Make calls to one component, in one batch; whatever it raises is raised.

    Raises:
        ContractError: it gave more or fewer results than there are calls, or a result without what it says it has.
    """
    first, component = calls[0], calls[0].component
    started = time.perf_counter()
    made: list[Reply | Generated]
    if isinstance(first, Ask):  # by what is asked, and not by whom: a unified model is asked both
        made = [*first.component.respond([call.conversation for call in calls if isinstance(call, Ask)])]
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        made = [*first.component.generate([draw.prompt for draw in draws], [draw.seed for draw in draws])]
    seconds = (time.perf_counter() - started) / len(calls)
    if len(made) != len(calls):
        raise ContractError(f"{component.provider} gave {len(made)} results for {len(calls)} calls")
    try:
        results = [result_of(answer) for answer in made]
    except ValueError as error:
        raise ContractError(str(error)) from None
    return [
        Finished(call.key, call.context, *result, _cost(seconds, answer))
        for call, answer, result in zip(calls, made, results, strict=True)
    ]


def _cost(seconds: float, made: Reply | Generated) -> Cost:
    usage = made.usage
    return Cost(seconds, usage.input_tokens, usage.output_tokens) if usage else Cost(seconds)


def _noted(finished: list[Finished], note: str | None) -> list[Finished]:
    """Say in each result that it was made in other company than its fingerprint says."""
    if note is None:
        return finished
    return [item._replace(result=replace(item.result, note=note)) for item in finished]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
