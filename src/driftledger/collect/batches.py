"""Batches of calls to components on this machine.

A batch holds the calls of units at neighbouring positions to one component at the same step: with
a batch size of 4, the third calls of units 8 to 11. Batches do not depend on timing, so that a
resumed run, and a shard, form the same batches as an uninterrupted run. This matters because in
reduced precision a call's result depends on the other calls of its batch.
"""

import asyncio
import sys
import time
import traceback
from collections import deque
from collections.abc import (
    Callable,
    Iterable,
    Iterator,
    Sequence,
)
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from driftledger.collect.call import Ask, Call, Draw
from driftledger.components.base import Component, Encoder
from driftledger.components.checkpoints import CUDA_ERROR, CheckpointComponent
from driftledger.components.thinking import separated
from driftledger.core.errors import (
    ComponentError,
    DataError,
    DriftledgerError,
    OutOfMemoryError,
)
from driftledger.core.media import MOST_PIXELS, png_bytes
from driftledger.core.text import for_line, say
from driftledger.core.types import Medium, Outcome, Result
from driftledger.data.datasets.decode import NOTHING_DRAWN, decode, shows_nothing

if TYPE_CHECKING:
    from driftledger.collect.progress import Progress

R = TypeVar("R")

ENDED = sys.maxsize
"""The step of a unit that makes no more calls."""
_LONGEST_ERROR = 300
"""The most characters of an exception's message in a record."""
_BLACK = 3
"""The first of 256 levels that is not black."""

Waiting: TypeAlias = tuple[Call, asyncio.Future[Result]]
"""A call and the future of its result."""


class Units:
    """Units that are driven together, with calls that wait for their batch."""

    def __init__(self, progress: "Progress", positions: Sequence[int]) -> None:
        """Take the positions of the units among all that are planned."""
        self.progress = progress
        # It is made in a task.
        self.task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]
        self.stopped: BaseException | None = None
        """The reason that no more calls are started."""
        self.step = dict.fromkeys(positions, -1)
        """Position → the number of the unit's current call, or :data:`ENDED`."""
        self.span = max(positions, default=0) + 1
        """The size of a batch that holds all units."""
        self._sizes: dict[tuple[str, type[Call]], int] = {}
        """Component and kind of call (a unified model both answers and draws) → batch size."""
        self._batches: dict[
            tuple[str, type[Call], int], dict[int, dict[int, Waiting]]
        ] = {}
        """Component, kind of call, first unit of a batch → step → position → waiting call."""

    def add(self, position: int, call: Call, size: int) -> asyncio.Future[Result]:
        """Let a unit's call wait for its batch; the unit has moved to this step."""
        kind = call.component.fingerprint, type(call)
        self._sizes[kind] = size
        steps = self._batches.setdefault((*kind, position - position % size), {})
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        steps.setdefault(self.step[position], {})[position] = call, result
        return result

    def complete(self, position: int) -> Iterator[list[Waiting]]:
        """Yield each batch that this unit completes, now that it has come to its step."""
        for kind, size in self._sizes.items():
            first = position - position % size
            steps = self._batches.get((*kind, first), {})
            # Units mostly come in order, so that the last shows soonest that some are missing.
            members = range(first + size - 1, first - 1, -1)
            for step in sorted(steps):
                if all(self.step.get(member, ENDED) >= step for member in members):
                    waiting = steps.pop(step)
                    yield [waiting[place] for place in sorted(waiting)]

    def check(self) -> None:
        """Raise the reason that no more calls are started, if there is one."""
        if self.stopped is not None:
            raise self.stopped

    def stop(self, error: BaseException) -> None:
        """Start no more calls, and give every waiting one an error in place of its result."""
        self.stopped = self.stopped or error
        for steps in self._batches.values():
            for batch in steps.values():
                set_error((result for _, result in batch.values()), error)
        self._batches.clear()


def set_error(futures: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    """Give an error to each future without a result; nothing has to await it."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()


class ContractError(ValueError):
    """A component did not give one result per call.

    The results cannot be matched to the calls.
    """


def ask_batch(calls: Sequence[Call]) -> list[Result]:
    """Make calls to one component in one batch; whatever it raises is raised.

    Raises:
        ContractError: it gave more or fewer results than there are calls.
    """
    first = calls[0]
    started = time.perf_counter()
    results: Sequence[Result]
    if isinstance(
        first, Ask
    ):  # by what is asked: a unified model both answers and draws
        asks = [call.conversation for call in calls if isinstance(call, Ask)]
        results = first.component.respond(asks)
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        prompts = [draw.prompt for draw in draws]
        results = first.component.generate(prompts, [draw.seed for draw in draws])
    seconds = (time.perf_counter() - started) / len(calls)
    if len(results) != len(calls):
        provider = first.component.provider
        raise ContractError(
            f"{provider} gave {len(results)} results for {len(calls)} calls"
        )
    return [result.took(seconds) for result in results]


def finished(call: Call, result: Result) -> Result:
    """Return a result as it is stored: UTF-8 without reasoning, images as bytes.

    A drawing without an 8-bit form is a failed call.

    Raises:
        ValueError: a generator gave nothing and reports success.
    """
    if isinstance(call, Ask):
        result = separated(result, call.conversation)
    values = vars(result) | {"data": None, "image": None}
    for name, value in values.items():
        if type(value) is str:  # an outcome is none
            values[name] = value.encode("utf-8", "replace").decode()
    if isinstance(call, Draw) and result.outcome.goes_on:
        if result.image is None:
            raise ValueError(f"a generator reported {result.outcome} and gave no image")
        try:
            image, notes = decode(result.image, "its image", MOST_PIXELS)
        except DataError as error:
            failed = replace(result, image=None, data=None)
            return replace(failed, outcome=Outcome.FAILED, error=str(error))
        if shows_nothing(notes):
            values["note"] = NOTHING_DRAWN
        elif not any(image.convert("L").histogram()[_BLACK:]):
            values["note"] = (
                "the image is wholly black, as services draw what they filter"
            )
        values["data"] = result.data or png_bytes(image)
    return Result(**values)


def _prepared(component: Any, call: Call) -> Call:
    """Return a call with its files decoded; the component itself meets a broken file."""

    def decoded(medium: Medium) -> Medium:
        with suppress(OSError, ValueError):
            return replace(medium, content=medium.open())
        return medium

    call = replace(call, component=component)
    if isinstance(call, Draw):
        return call
    return replace(call, conversation=call.conversation.with_media(decoded))


def _check_device(component: Component, error: Exception) -> None:
    """Raise a :class:`ComponentError` if an error says that the device is lost."""
    problem = for_line(str(error))
    if isinstance(error, RuntimeError) and CUDA_ERROR in problem:
        name = component.entry_name or component.provider
        raise ComponentError(f"{name} has lost its device: {problem:.300}") from None


@dataclass
class LocalCalls:
    """Calls that are made batch by batch, in spite of errors and a lack of memory.

    When memory runs out, the components that are not at work are released first, and from then on
    at every change of component; when that is not enough, the component's batches are halved for
    the rest of the run.

    When a component raises, the calls of the batch are made one by one. A call that raises again
    has the outcome ``failed``, with the exception's class and message. The first traceback of each
    class goes to stderr.
    """

    _loaded: dict[str, Component] = field(default_factory=dict)
    _is_crowded: bool = False
    _most: dict[str, int] = field(default_factory=dict)
    """Component → calls that fit into a batch."""
    _printed: set[tuple[str, type[Exception]]] = field(default_factory=set)
    _threads: ThreadPoolExecutor = field(default_factory=ThreadPoolExecutor)
    """Threads that decode files."""

    def make(self, calls: Sequence[Call]) -> list[Result]:
        """Make a batch of calls to one component.

        Raises:
            OutOfMemoryError: not even a batch of one fits.
            ComponentError: the device cannot be used any more.
            MemoryError, DriftledgerError, ContractError: errors that every call would meet.
        """
        first = calls[0].component
        # of equal ones, the one with the weights
        component = self._loaded.setdefault(first.fingerprint, first)
        if self._is_crowded:
            self._release_others(component)
        if isinstance(component, CheckpointComponent):
            calls = [*self._threads.map(partial(_prepared, component), calls)]
        results: list[Result] = []
        while len(results) < len(calls):
            most = self._most.get(component.fingerprint, len(calls))
            part = calls[len(results) : len(results) + most]
            note = (
                f"made in a batch of {len(part)} instead of {len(calls)}: out of memory"
            )
            try:
                results += self._each(part, note if len(part) < len(calls) else None)
            except OutOfMemoryError as error:
                self._make_room(component, error, len(part))
        return results

    def _make_room(
        self, component: Component, error: OutOfMemoryError, size: int
    ) -> None:
        """Release other components, or halve the component's batches.

        Raises:
            OutOfMemoryError: neither is possible.
        """
        name = component.provider
        half = size // 2
        if self._loaded.keys() - {component.fingerprint} and not self._is_crowded:
            self._is_crowded = True
            self._release_others(component)
            say(
                f"{error}; {name} now has the memory to itself, and others are loaded when needed"
            )
        elif half:
            self._most[component.fingerprint] = half
            say(
                f"{error}; going on with batches of {half} instead of {size} for {name}"
            )
        else:
            raise OutOfMemoryError(
                f"{error}; not even one call to {name} fits: "
                "take a smaller checkpoint, a smaller dtype or a larger device"
            ) from None

    def encode(self, encoder: Encoder, method: str, batch: Sequence[Any]) -> Any:
        """Return the result of an encoder's method for a batch.

        Raises:
            ComponentError: the device cannot be used any more.
        """
        loaded = self._loaded.setdefault(encoder.fingerprint, encoder)
        try:
            return getattr(loaded, method)(batch)
        except RuntimeError as error:
            _check_device(encoder, error)
            raise

    def release(self, component: Component) -> None:
        """Let a component free its memory; the next call loads it again."""
        self._loaded.pop(component.fingerprint, component).release()

    def close(self) -> None:
        """End the process that makes calls, if there is one."""

    def _each(self, calls: Sequence[Call], note: str | None) -> list[Result]:
        """Make all of ``calls`` in one batch or, if that raises, each alone."""
        try:
            return [replace(result, note=note) for result in ask_batch(calls)]
        except (DriftledgerError, MemoryError, ContractError):
            raise
        except Exception as error:
            component = calls[0].component
            _check_device(component, error)
            message = self._message(component, error)
        if len(calls) == 1:
            return [Result(outcome=Outcome.FAILED, error=message, note=note)]
        alone = f"made alone instead of in a batch of {len(calls)}: another call of it raised"
        return [result for call in calls for result in self._each([call], alone)]

    def _message(self, component: Component, error: Exception) -> str:
        key = component.fingerprint, type(error)
        if key not in self._printed:
            self._printed.add(key)
            say("".join(traceback.format_exception(error)))
        return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR]

    def _release_others(self, component: Component) -> None:
        for other in list(self._loaded.values()):
            if other.fingerprint != component.fingerprint:
                self.release(other)


class Workers:
    """Calls that are made in this process, inside one event loop.

    One thread computes. Others encode what the last batch has drawn meanwhile.
    """

    def __init__(self, local: LocalCalls | None = None) -> None:
        self._local = local or LocalCalls()
        self._device = ThreadPoolExecutor(1, thread_name_prefix="local-calls")
        self._turns: dict[str, deque[asyncio.Future[None]]] = {}
        """Waiting batches, by their component's fingerprint; the component at work comes first."""
        self._is_computing = False

    def _next(self) -> None:
        for fingerprint, turns in self._turns.items():
            while turns and not self._is_computing:
                batch_turn = turns.popleft()
                if not batch_turn.done():  # else it was dropped
                    self._is_computing = True
                    self._turns = {fingerprint: turns, **self._turns}
                    batch_turn.set_result(None)

    async def make(self, calls: Sequence[Call], units: Units) -> list[Result]:
        """Make one batch of calls to one component.

        The next batch begins before the results of this one are finished.

        The component at work goes on while it has batches.

        Raises:
            BaseException: the reason for which the units were stopped.
            DriftledgerError, MemoryError, ContractError: as :meth:`LocalCalls.make`.
        """
        turn = asyncio.get_running_loop().create_future()
        self._turns.setdefault(calls[0].component.fingerprint, deque()).append(turn)
        self._next()
        await turn
        try:
            units.check()  # they may have stopped during the batch before
            results = await self.on_device(self._local.make, calls)
        finally:
            self._is_computing = False
            self._next()
        pairs = zip(calls, results, strict=True)
        # PNGs take time
        return await asyncio.gather(
            *(asyncio.to_thread(finished, *pair) for pair in pairs)
        )

    async def on_device(self, work: Callable[..., R], *arguments: Any) -> R:
        """Do something in the thread that computes."""
        return await asyncio.get_running_loop().run_in_executor(
            self._device, work, *arguments
        )

    async def release(self, component: Component) -> None:
        """Free the memory and devices of a component; the next call loads it again."""
        await self.on_device(self._local.release, component)

    def close(self) -> None:
        """Drop what waits, and end what was started."""
        self._device.shutdown(wait=False, cancel_futures=True)
        self._local.close()
