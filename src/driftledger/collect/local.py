"""Calls to components on this machine, a batch at a time; what to do when one does not fit into memory."""

import sys
import time
from collections.abc import Sequence
from dataclasses import replace

from driftledger.collect.call_result import Cost
from driftledger.collect.call_store import Finished
from driftledger.collect.steps import Ask, Call, Draw, result_of
from driftledger.components.base import Component, Model
from driftledger.core.errors import OutOfMemoryError
from driftledger.core.types import Generated, Reply


class LocalCalls:
    """Makes the batches of one run, one after the other.

    When memory runs out, the components that are not at work are released first, and from then on at every change of
    component; when that is not enough, the component's batches are halved for the rest of the run.
    """

    def __init__(self) -> None:
        self._loaded: dict[str, Component] = {}
        self._crowded = False
        self._most: dict[str, int] = {}

    def make(self, calls: Sequence[Call]) -> list[Finished]:
        """Make a batch of calls to one component.

        Raises:
            OutOfMemoryError: not even a batch of one fits.
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
                finished += _noted(_make(part), len(part), len(calls))
            except OutOfMemoryError as error:
                self._make_room(component, len(part), error)
        return finished

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


def _make(calls: Sequence[Call]) -> list[Finished]:
    component = calls[0].component
    started = time.perf_counter()
    made: list[Reply | Generated]
    if isinstance(component, Model):
        made = [*component.respond([call.conversation for call in calls if isinstance(call, Ask)])]
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        made = [*component.generate([draw.prompt for draw in draws], [draw.seed for draw in draws])]
    seconds = (time.perf_counter() - started) / len(calls)
    if len(made) != len(calls):
        raise ValueError(f"{component.provider} gave {len(made)} results for {len(calls)} calls")
    return [
        Finished(call.key, call.context, *result_of(answer), _cost(seconds, answer))
        for call, answer in zip(calls, made, strict=True)
    ]


def _cost(seconds: float, made: Reply | Generated) -> Cost:
    usage = made.usage
    return Cost(seconds, usage.input_tokens, usage.output_tokens) if usage else Cost(seconds)


def _noted(finished: list[Finished], size: int, whole: int) -> list[Finished]:
    """Say in each result of a part of a batch that it was made in other company than its fingerprint says."""
    if size == whole:
        return finished
    note = f"made in a batch of {size} instead of {whole}: out of memory"
    return [item._replace(result=replace(item.result, note=note)) for item in finished]


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
