"""Calls to components on this machine: which of them form a batch, and how a batch is made.

A batch holds what units at neighbouring positions ask of one component at the same step: with a batch size of 4, the
third calls of units 8 to 11. It depends neither on timing nor on which other calls are stored, so that a resumed run,
and a shard, form the batches that an uninterrupted run forms. This matters because in reduced precision a call's result
depends on the other calls of its batch.
"""

import asyncio
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

from driftledger.collect.call import Ask, Call, Cost, Draw, Finished, Result
from driftledger.components.base import Component
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import ConfigError, DriftledgerError, OutOfMemoryError
from driftledger.core.media import encoded
from driftledger.core.terminal import Progress
from driftledger.core.text import say
from driftledger.core.thinking import separated
from driftledger.core.types import Generated, Outcome, Reply, Usage

ENDED = sys.maxsize
"""The step of a unit that makes no more calls."""
_LONGEST_ERROR = 300
"""Characters of an exception's message in a record."""

Waiting: TypeAlias = tuple[Call, asyncio.Future[Result]]
"""A call and the future of its result."""


class Place(NamedTuple):
    """Which batch a call belongs to."""

    fingerprint: str
    kind: type[Call]
    """A unified model both answers and draws."""
    first: int
    """The first position that it may hold."""
    step: int


class Run:
    """Units that are driven together, with the calls to local components that wait until their batch is complete."""

    def __init__(self, progress: Progress, positions: Sequence[int]) -> None:
        """``positions``: of the units, among all that are planned."""
        self.progress = progress
        self.task: asyncio.Task[Any] = asyncio.current_task()  # type: ignore[assignment]  # it is made in one
        self.stopped: BaseException | None = None
        """Why no more calls are started."""
        self.step = dict.fromkeys(positions, -1)
        """Position → the number of the unit's current call, or :data:`ENDED`."""
        self.waiting: dict[Place, dict[int, Waiting]] = {}
        """The calls of each batch, by their units' positions."""

    def add(self, position: int, call: Call, result: asyncio.Future[Result]) -> None:
        """Let a unit's call wait; the unit has moved to this step."""
        component = call.component
        first = position - position % component.batch_size
        place = Place(component.fingerprint, type(call), first, self.step[position])
        self.waiting.setdefault(place, {})[position] = call, result

    def complete(self) -> Iterator[tuple[Place, Component]]:
        """Yield each batch with units that have all come to its step or passed it, and its component."""
        for place, calls in self.waiting.items():
            component = next(iter(calls.values()))[0].component
            members = range(place.first, place.first + component.batch_size)
            if all(self.step.get(member, ENDED) >= place.step for member in members):
                yield place, component

    def stop(self, error: BaseException) -> None:
        """Start no more calls, and give every waiting one an error in place of its result."""
        self.stopped = self.stopped or error
        set_error((result for calls in self.waiting.values() for _, result in calls.values()), error)
        self.waiting.clear()


def set_error(futures: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    """Give an error to each future without a result; nothing has to await it."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()


class Answer(NamedTuple):
    """What a component gave for one call."""

    given: Reply | Generated
    seconds: float
    note: str | None = None
    cost: float | None = None


class ContractError(ValueError):
    """A component did not give one result per call, so that results cannot be matched to calls."""


def ask_batch(calls: Sequence[Call]) -> list[Answer]:
    """Make calls to one component in one batch; whatever it raises is raised.

    Raises:
        ContractError: it gave more or fewer results than there are calls.
    """
    first, component = calls[0], calls[0].component
    started = time.perf_counter()
    given: list[Reply | Generated]
    if isinstance(first, Ask):  # by what is asked: a unified model both answers and draws
        given = [*first.component.respond([call.conversation for call in calls if isinstance(call, Ask)])]
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        given = [*first.component.generate([draw.prompt for draw in draws], [draw.seed for draw in draws])]
    seconds = (time.perf_counter() - started) / len(calls)
    if len(given) != len(calls):
        raise ContractError(f"{component.provider} gave {len(given)} results for {len(calls)} calls")
    return [Answer(each, seconds) for each in given]


def finished(call: Call, answer: Answer) -> Finished:
    """Return an answer as it is stored: text that UTF-8 can hold, without reasoning, and the bytes of a medium.

    Raises:
        ValueError: a generator gave nothing and reports success.
    """
    given, usage, data = answer.given, answer.given.usage or Usage(), None
    if isinstance(given, Reply) and isinstance(call, Ask):
        given = separated(given, call.conversation)
    texts: dict[str, str | None] = {
        "served_model": given.served_model,
        "system_fingerprint": given.system_fingerprint,
        "error": given.error,
    }
    if isinstance(given, Reply):
        texts |= {"text": given.text, "reasoning": given.reasoning}
    else:
        texts["revised_prompt"] = given.revised_prompt
        if given.outcome.goes_on:
            medium = given.image if given.image is not None else given.sound
            if medium is None:
                raise ValueError(f"a generator reported {given.outcome} and gave no image or sound")
            data = given.data or encoded(medium)
    whole: dict[str, Any] = {name: text and text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    result = Result(given.outcome, note=answer.note, reading=getattr(given, "reading", None), **whole)
    cost = Cost(answer.seconds, usage.input_tokens, usage.output_tokens, answer.cost)
    return Finished(call.key, call.context, result, data, cost)


@dataclass
class LocalCalls:
    """Makes batches one after the other, and copes with errors and with a lack of memory.

    When memory runs out, the components that are not at work are released first, and from then on at every change of
    component; when that is not enough, the component's batches are halved for the rest of the run.

    When a component raises, the calls of the batch are made one by one. A call that raises again has the outcome
    ``failed``, with the exception's class and message. The first traceback of each class goes to stderr.
    """

    _loaded: dict[str, Component] = field(default_factory=dict)
    _crowded: bool = False
    _most: dict[str, int] = field(default_factory=dict)
    _shown: set[tuple[str, type[Exception]]] = field(default_factory=set)

    def make(self, calls: Sequence[Call]) -> list[Answer]:
        """Make a batch of calls to one component.

        Raises:
            OutOfMemoryError: not even a batch of one fits.
            MemoryError, DriftledgerError, ContractError: errors that every call would meet.
        """
        component = calls[0].component
        if self._crowded:
            self._release_others(component)
        self._loaded[component.fingerprint] = component
        answers: list[Answer] = []
        while len(answers) < len(calls):
            most = self._most.get(component.fingerprint, len(calls))
            part = calls[len(answers) : len(answers) + most]
            note = f"made in a batch of {len(part)} instead of {len(calls)}: out of memory"
            try:
                answers += self._each(part, note if len(part) < len(calls) else None)
            except OutOfMemoryError as error:
                name, half = component.provider, len(part) // 2
                if len(self._loaded) > 1 and not self._crowded:
                    self._crowded = True
                    self._release_others(component)
                    say(f"{error}; {name} now has the memory to itself, and others are loaded when needed")
                elif half:
                    self._most[component.fingerprint] = half
                    say(f"{error}; going on with batches of {half} instead of {len(part)} for {name}")
                else:
                    smaller = "take a smaller checkpoint, a smaller dtype or a larger device"
                    raise OutOfMemoryError(f"{error}; not even one call to {name} fits: {smaller}") from None
        return answers

    def release(self, component: Component) -> None:
        """Let a component free its memory; the next call loads it again."""
        self._loaded.pop(component.fingerprint, None)
        component.release()

    def _each(self, calls: Sequence[Call], note: str | None) -> list[Answer]:
        """Make all of ``calls`` in one batch or, if that raises, each alone."""
        try:
            return [answer._replace(note=note) for answer in ask_batch(calls)]
        except (DriftledgerError, MemoryError, ContractError):
            raise
        except Exception as error:
            key = calls[0].component.fingerprint, type(error)
            if key not in self._shown:
                self._shown.add(key)
                say("".join(traceback.format_exception(error)))
            message = " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR]
        if len(calls) == 1:
            return [Answer(calls[0].answer(outcome=Outcome.FAILED, error=message), 0.0, note)]
        alone = f"made alone instead of in a batch of {len(calls)}: another call of it raised"
        return [answer for call in calls for answer in self._each([call], alone)]

    def _release_others(self, component: Component) -> None:
        for other in list(self._loaded.values()):
            if other.fingerprint != component.fingerprint:
                self.release(other)


class Workers:
    """Makes batches one after the other, in a thread of this process; used inside one event loop."""

    def __init__(self) -> None:
        self._local = LocalCalls()
        self._device = ThreadPoolExecutor(1, thread_name_prefix="local-calls")

    def has_room(self, component: Component, under_way: Counter[str]) -> bool:
        """Whether one more batch of it may begin beside those under way, counted by their component's fingerprint."""
        return not under_way.total()

    async def make(self, calls: Sequence[Call]) -> list[Finished]:
        """Make one batch of calls to one component.

        Raises:
            DriftledgerError, MemoryError, ContractError: as :meth:`LocalCalls.make`.
        """
        component = calls[0].component
        if isinstance(component, CheckpointComponent) and len(component.devices) > 1:
            devices = f"device {component.device!r} names {len(component.devices)} devices"
            raise ConfigError(f"{component.provider}: {devices}; name one, or set collect.where to 'ray' to use all")
        answers = await asyncio.get_running_loop().run_in_executor(self._device, self._local.make, calls)
        if isinstance(calls[0], Ask):
            return list(map(finished, calls, answers))
        return await asyncio.gather(*map(asyncio.to_thread, [finished] * len(calls), calls, answers))  # they write PNGs

    async def release(self, component: Component) -> None:
        """Free the memory and devices of a component; the next call loads it again."""
        await asyncio.get_running_loop().run_in_executor(self._device, self._local.release, component)

    def close(self) -> None:
        """Release everything."""
        self._device.shutdown(wait=False, cancel_futures=True)
