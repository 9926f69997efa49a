"""Calls to components on this machine: which of them form a batch, and how they are made.

A batch holds what units at neighbouring positions ask of one component at the same step: with a batch size of 4, the
third calls of units 8 to 11. Where a component wants calls of like length together, it holds those of more neighbours
that are next to each other in length, as their texts and images have it. It depends neither on timing nor on which
other calls are stored, so that a resumed run, and a shard, form the batches that an uninterrupted run forms. This
matters because in reduced precision a call's result depends on the other calls of its batch. An engine with a queue of
its own forms its batches itself.
"""

import asyncio
import sys
import time
import traceback
from collections import Counter, deque
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import count
from operator import itemgetter
from typing import Any, TypeAlias, TypeVar

from PIL import Image

from driftledger.collect.call import Ask, Call, Draw
from driftledger.components.base import Component, QueueModel
from driftledger.components.checkpoints import CheckpointComponent
from driftledger.core.errors import ConfigError, DriftledgerError, OutOfMemoryError
from driftledger.core.grouping import grouped
from driftledger.core.media import encoded
from driftledger.core.terminal import Progress
from driftledger.core.text import say
from driftledger.core.thinking import separated
from driftledger.core.types import Generated, Medium, Outcome, Reply, Result, Usage

R = TypeVar("R")

ENDED = sys.maxsize
"""The step of a unit that makes no more calls."""
_LONGEST_ERROR = 300
"""Characters of an exception's message in a record."""
_BLACK = 3
"""The first of 256 levels that is not black."""
_QUEUED_AT_ONCE = 32
"""Calls that are put into an engine's queue before it is looked at again."""
_LOOK = 0.1
"""Seconds after which an engine that has nothing to give is asked whether it takes further calls."""

Waiting: TypeAlias = tuple[Call, asyncio.Future[Result]]
"""A call and the future of its result."""


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
        self._sizes: dict[tuple[str, type[Call]], tuple[int, int]] = {}
        """Component and what is asked of it (a unified model both answers and draws) → the size of a batch, and of how
        many neighbours it is formed."""
        self._batches: dict[tuple[str, type[Call], int], dict[int, dict[int, Waiting]]] = {}
        """The same, and the first of the neighbours → step → position → the call that waits."""

    def add(self, position: int, call: Call, size: int, neighbours: int) -> asyncio.Future[Result]:
        """Let a unit's call wait until its batch is complete; the unit has moved to this step."""
        kind = call.component.fingerprint, type(call)
        self._sizes[kind] = size, neighbours
        steps = self._batches.setdefault((*kind, position - position % neighbours), {})
        result: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        steps.setdefault(self.step[position], {})[position] = call, result
        return result

    def complete(self, position: int) -> Iterator[list[Waiting]]:
        """Yield each batch that this unit completes, now that it has come to its step: in the order of the units, or
        the longest first."""
        for kind, (size, neighbours) in self._sizes.items():
            first = position - position % neighbours
            steps = self._batches.get((*kind, first), {})
            members = [self.step.get(member, ENDED) for member in range(first, first + neighbours)] if steps else []
            for step in [step for step in steps if min(members) >= step]:
                calls = [waiting for _, waiting in sorted(steps.pop(step).items())]
                measured = [(length(call[0]) if size < neighbours else (0, 0, 0), call) for call in calls]
                measured.sort(key=itemgetter(0), reverse=True)
                for alike in grouped(measured, lambda call: call[0][:2]).values():
                    for start in range(0, len(alike), size):
                        batch = [call for _, call in alike[start : start + size]]
                        if not all(result.done() for _, result in batch):  # else all are stored
                            yield batch

    def stop(self, error: BaseException) -> None:
        """Start no more calls, and give every waiting one an error in place of its result."""
        self.stopped = self.stopped or error
        for batch in (batch for steps in self._batches.values() for batch in steps.values()):
            set_error((result for _, result in batch.values()), error)
        self._batches.clear()


def length(call: Call) -> tuple[int, int, int]:
    """The most tokens of an answer, the number of images or sounds, and about how many tokens a prompt has.

    It is a guess, by characters and pixels alone: it has to be there before a checkpoint is, and the same each time.
    """
    if isinstance(call, Draw):
        return 0, 0, len(call.prompt) // 4
    parts = [part for turn in call.conversation.turns for part in turn.parts]
    media, tokens = [part for part in parts if isinstance(part, Medium)], 0
    for medium in media:
        with suppress(OSError, ValueError, Image.DecompressionBombError):
            if medium.kind == "sound":
                tokens += medium.path.stat().st_size // 1280  # 25 a second of 16 kHz
            else:
                with Image.open(medium.path) as image:
                    tokens += image.width * image.height // 28**2  # as Qwen-VL has it
    tokens += sum(len(part) for part in parts if isinstance(part, str)) // 4
    return call.conversation.max_tokens or 0, len(media), tokens


def set_error(futures: Iterable[asyncio.Future[Any]], error: BaseException) -> None:
    """Give an error to each future without a result; nothing has to await it."""
    for future in futures:
        if not future.done():
            future.set_exception(error)
            future.exception()


class ContractError(ValueError):
    """A component did not give one result per call, so that results cannot be matched to calls."""


def ask_batch(calls: Sequence[Call]) -> list[Result]:
    """Make calls to one component in one batch; whatever it raises is raised.

    Raises:
        ContractError: it gave more or fewer results than there are calls.
    """
    first, component = calls[0], calls[0].component
    started = time.perf_counter()
    results: Sequence[Result]
    if isinstance(first, Ask):  # by what is asked: a unified model both answers and draws
        results = first.component.respond([call.conversation for call in calls if isinstance(call, Ask)])
    else:
        draws = [call for call in calls if isinstance(call, Draw)]
        results = first.component.generate([draw.prompt for draw in draws], [draw.seed for draw in draws])
    seconds = (time.perf_counter() - started) / len(calls)
    if len(results) != len(calls):
        raise ContractError(f"{component.provider} gave {len(results)} results for {len(calls)} calls")
    return [timed(result, seconds) for result in results]


def timed(result: Result, seconds: float, cost: float | None = None) -> Result:
    """Return a result with what it took."""
    return replace(result, usage=replace(result.usage or Usage(), seconds=seconds, cost=cost))


def finished(call: Call, result: Result) -> Result:
    """Return a result as it is stored: text that UTF-8 can hold, without reasoning, and the bytes of a medium.

    Raises:
        ValueError: a generator gave nothing and reports success.
    """
    if isinstance(call, Ask):
        result = separated(result, call.conversation)
    values = result.shared() | {"data": None}
    for name, value in values.items():
        if type(value) is str:  # an outcome is none
            values[name] = value.encode("utf-8", "replace").decode()
    if isinstance(call, Draw) and result.outcome.goes_on:
        medium = None
        if isinstance(result, Generated):
            medium = result.sound if result.image is None else result.image
        if medium is None:
            raise ValueError(f"a generator reported {result.outcome} and gave no image or sound")
        if isinstance(medium, Image.Image) and not any(medium.convert("L").histogram()[_BLACK:]):
            values["note"] = "the image is wholly black, as services draw what they filter"
        values["data"] = result.data or encoded(medium)
    return Result(**values)


@dataclass
class LocalCalls:
    """Makes calls one batch after the other, and copes with errors and with a lack of memory.

    When memory runs out, the components that are not at work are released first, and from then on at every change of
    component; when that is not enough, the component's batches are halved for the rest of the run. Where like lengths
    are together, shorter ones go on in whole batches.

    When a component raises, the calls of the batch are made one by one. A call that raises again has the outcome
    ``failed``, with the exception's class and message. The first traceback of each class goes to stderr.
    """

    _loaded: dict[str, Component] = field(default_factory=dict)
    is_crowded: bool = False
    _most: dict[str, int] = field(default_factory=dict)
    """Component → the calls that fit into a batch; times their length, where like lengths are together."""
    _shown: set[tuple[str, type[Exception]]] = field(default_factory=set)

    def make(self, calls: Sequence[Call]) -> list[Result]:
        """Make a batch of calls to one component.

        Raises:
            OutOfMemoryError: not even a batch of one fits.
            MemoryError, DriftledgerError, ContractError: errors that every call would meet.
        """
        component = calls[0].component
        if self.is_crowded:
            self._release_others(component)
        self._loaded[component.fingerprint] = component
        results: list[Result] = []
        longest = max([1, *(length(call)[2] for call in calls if component.batch_size < component.neighbours)])
        while len(results) < len(calls):
            most = max(1, self._most.get(component.fingerprint, len(calls) * longest) // longest)
            part = calls[len(results) : len(results) + most]
            note = f"made in a batch of {len(part)} instead of {len(calls)}: out of memory"
            try:
                results += self._each(part, note if len(part) < len(calls) else None)
            except OutOfMemoryError as error:
                self._make_room(component, error, len(part), longest)
        return results

    def queue(self, component: QueueModel, calls: Mapping[int, Call], new: Mapping[int, Call]) -> dict[int, Reply]:
        """Put calls into an engine's queue, and let it compute until some have ended, or for :data:`_LOOK` seconds.

        What it raises comes after its release, so that none of its calls is under way.

        Args:
            calls: all that are under way, by number; they begin again where the engine was released meanwhile.
            new: those of them that are not in the queue yet.
        """
        if self.is_crowded:
            self._release_others(component)
        if component.fingerprint not in self._loaded:
            new = calls
        self._loaded[component.fingerprint] = component
        ended, until = dict[int, Reply](), time.monotonic() + _LOOK
        try:
            for number, call in new.items():
                try:
                    reply = component.begin(number, call.conversation)  # type: ignore[union-attr]  # an Ask
                except (DriftledgerError, MemoryError):
                    raise
                except Exception as error:
                    reply = Reply(outcome=Outcome.FAILED, error=self._message(component, error))
                if reply is not None:
                    ended[number] = reply
            while not ended:
                ended = component.step()
                if time.monotonic() >= until:
                    break
        except BaseException as error:
            self.release(component)
            if not isinstance(error, OutOfMemoryError):
                raise
            self._make_room(component, error, 1, 1)
        return ended

    def _make_room(self, component: Component, error: OutOfMemoryError, size: int, longest: int) -> None:
        """Release other components, or halve the component's batches; OutOfMemoryError if neither is left to do."""
        name, half = component.provider, size // 2
        if self._loaded.keys() - {component.fingerprint} and not self.is_crowded:
            self.is_crowded = True
            self._release_others(component)
            say(f"{error}; {name} now has the memory to itself, and others are loaded when needed")
        elif half:
            self._most[component.fingerprint] = half * longest
            say(f"{error}; going on with batches of {half} instead of {size} for {name}")
        else:
            smaller = "take a smaller checkpoint, a smaller dtype or a larger device"
            raise OutOfMemoryError(f"{error}; not even one call to {name} fits: {smaller}") from None

    def release(self, component: Component) -> None:
        """Let a component free its memory; the next call loads it again."""
        self._loaded.pop(component.fingerprint, None)
        component.release()

    def _each(self, calls: Sequence[Call], note: str | None) -> list[Result]:
        """Make all of ``calls`` in one batch or, if that raises, each alone."""
        try:
            return [replace(result, note=note) for result in ask_batch(calls)]
        except (DriftledgerError, MemoryError, ContractError):
            raise
        except Exception as error:
            message = self._message(calls[0].component, error)
        if len(calls) == 1:
            return [Result(outcome=Outcome.FAILED, error=message, note=note)]
        alone = f"made alone instead of in a batch of {len(calls)}: another call of it raised"
        return [result for call in calls for result in self._each([call], alone)]

    def _message(self, component: Component, error: Exception) -> str:
        if (key := (component.fingerprint, type(error))) not in self._shown:
            self._shown.add(key)
            say("".join(traceback.format_exception(error)))
        return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_ERROR]

    def _release_others(self, component: Component) -> None:
        for other in list(self._loaded.values()):
            if other.fingerprint != component.fingerprint:
                self.release(other)


class Workers:
    """Makes calls in this process, inside one event loop.

    One thread computes. Others decode the images of the next batch meanwhile, and encode what the last one has drawn.
    """

    def __init__(self) -> None:
        self._local = LocalCalls()
        self._device = ThreadPoolExecutor(1, thread_name_prefix="local-calls")
        self._turns: dict[str, tuple[Component, deque[asyncio.Future[None]]]] = {}
        """Batches that wait, by their component's fingerprint; the component at work comes first."""
        self._computing = Counter[str]()
        self._due: dict[str, deque[tuple[Call, asyncio.Future[Result]]]] = {}
        """Calls that are to be put into an engine's queue, by the component's fingerprint."""
        self._engines: dict[str, asyncio.Task[None]] = {}

    def batches(self, component: Component) -> tuple[int, int]:
        """The size of a batch, and of how many neighbours it is formed: 1 where an engine forms its batches itself."""
        return (1, 1) if isinstance(component, QueueModel) else (component.batch_size, component.neighbours)

    @asynccontextmanager
    async def _turn(self, component: Component) -> AsyncIterator[None]:
        """Wait until a batch may be computed; the component at work goes on as long as it has some."""
        own, turn = component.fingerprint, asyncio.get_running_loop().create_future()
        self._turns.setdefault(own, (component, deque()))[1].append(turn)
        self._next()
        await turn
        try:
            yield
        finally:
            self._computing[own] -= 1
            self._next()

    def _next(self) -> None:
        while own := next((each for each, (_, turns) in self._turns.items() if turns and self._has_room(each)), None):
            self._turns = {own: self._turns[own], **self._turns}
            if not (turn := self._turns[own][1].popleft()).done():  # else it was dropped
                self._computing[own] += 1
                turn.set_result(None)

    def _has_room(self, own: str) -> bool:
        if self._local.is_crowded and self._computing.total() > self._computing[own]:
            return False
        component = self._turns[own][0]
        if isinstance(component, QueueModel):
            return self._computing[own] < component.batch_size
        batches = (self._computing[each] for each, (kind, _) in self._turns.items() if not isinstance(kind, QueueModel))
        return sum(batches) < 2  # one is prepared

    async def make(self, calls: Sequence[Call], run: Run | None = None) -> list[Result]:
        """Make one batch of calls to one component; the next begins before this one is encoded.

        Raises:
            BaseException: why the run was stopped before.
            DriftledgerError, MemoryError, ContractError: as :meth:`LocalCalls.make`.
        """
        component = calls[0].component

        def compute(prepared: Sequence[Call]) -> list[Result]:
            if run is not None and run.stopped is not None:  # while it waited for the batch before
                raise run.stopped
            return self._local.make(prepared)

        async with self._turn(component):
            if run is not None and run.stopped is not None:
                raise run.stopped
            if isinstance(component, CheckpointComponent) and len(component.devices) > 1:
                devices = f"device {component.device!r} names {len(component.devices)} devices"
                way = "name one, or set collect.where to 'ray' to use all"
                raise ConfigError(f"{component.provider}: {devices}; {way}")
            if isinstance(component, QueueModel):
                results = await asyncio.gather(*(self._queued(component, call) for call in calls))
            else:
                results = await self.on_device(compute, await _decoded(calls))
        if isinstance(calls[0], Ask):
            return list(map(finished, calls, results))
        return await asyncio.gather(*map(asyncio.to_thread, [finished] * len(calls), calls, results))  # they write PNGs

    async def on_device(self, work: Callable[..., R], *given: Any) -> R:
        """Do something in the thread that computes."""
        return await asyncio.get_running_loop().run_in_executor(self._device, work, *given)

    def _queued(self, component: QueueModel, call: Call) -> asyncio.Future[Result]:
        answer: asyncio.Future[Result] = asyncio.get_running_loop().create_future()
        due = self._due.setdefault(component.fingerprint, deque())
        due.append((call, answer))
        if component.fingerprint not in self._engines:
            self._engines[component.fingerprint] = asyncio.create_task(self._drive(component, due))
        return answer

    async def _drive(self, component: QueueModel, due: deque[tuple[Call, asyncio.Future[Result]]]) -> None:
        """Let an engine compute for as long as it has calls; each goes into its queue as soon as it is due."""
        under_way, numbers, since = dict[int, tuple[Call, asyncio.Future[Result]]](), count(), time.perf_counter()
        try:
            while due or under_way:
                new = {next(numbers): due.popleft() for _ in range(min(len(due), _QUEUED_AT_ONCE))}
                under_way |= new
                calls = {number: call for number, (call, _) in under_way.items()}
                fresh = dict(zip(new, await _decoded([call for call, _ in new.values()]), strict=True))
                ended = await self.on_device(self._local.queue, component, calls, fresh)
                for number, reply in ended.items():
                    under_way.pop(number)[1].set_result(timed(reply, (time.perf_counter() - since) / len(ended)))
                since = time.perf_counter() if ended else since
        except BaseException as error:
            set_error((answer for _, answer in (*under_way.values(), *due)), error)
            due.clear()
        finally:
            del self._engines[component.fingerprint]

    async def release(self, component: Component) -> None:
        """Free the memory and devices of a component; the next call loads it again."""
        await self.on_device(self._local.release, component)

    def close(self) -> None:
        """Release everything."""
        self._device.shutdown(wait=False, cancel_futures=True)


async def _decoded(calls: Sequence[Call]) -> Sequence[Call]:
    """Calls with their files decoded, where all are needed; one that cannot be decoded is left to the component."""

    def decoded(medium: Medium) -> Medium:
        with suppress(OSError, ValueError):
            return replace(medium, content=medium.open())
        return medium

    def prepared(call: Any) -> Any:
        return replace(call, conversation=call.conversation.with_media(decoded))

    if not all(isinstance(call, Ask) and isinstance(call.component, CheckpointComponent) for call in calls):
        return calls
    with_contents: list[Call] = await asyncio.gather(*(asyncio.to_thread(prepared, call) for call in calls))
    return with_contents
