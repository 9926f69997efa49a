"""Components behind a service: what their calls may cost, how fast they follow one another, and
when one is retried."""

import asyncio
import math
import random
import re
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, Literal, Self, TypeAlias, cast

from pydantic import Field, model_validator
from tenacity import (
    AsyncRetrying,
    Future,
    RetryCallState,
    stop_after_attempt,
    stop_before_delay,
)
from tenacity.wait import wait_random_exponential

from driftledger.components.base import (
    Component,
    Generator,
    Model,
    Operational,
    Readiness,
)
from driftledger.components.budget import Limits, Meter, Prices
from driftledger.core.canonical import Json
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Outcome, Result, Usage

Attempt: TypeAlias = Callable[..., Awaitable[Any]]
"""One attempt at a call to a service."""
NEVER_TWICE = "a service does not answer twice the same"

USUAL_TOKENS = 300
"""In a text that a model writes or a generator reads, for likely prices while no call is stored."""
_BACKOFF = wait_random_exponential(multiplier=0.5, min=0.1, max=60.0)
_FEW = 3
"""Equal refusals, before any answer, after which no further call is tried."""
_MANY = 20
"""The same where each refusal is about the input of its call."""
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(\.([2-9]|[1-9][0-9]))?$"
_NUMBER = re.compile(r"[\w.:-]*\d[\w.:-]*")
"""A number, a time or the name of a request in an error; errors that differ in it are equal."""


@dataclass(eq=False)
class AttemptError(Exception):
    """One attempt failed."""

    message: str
    _: KW_ONLY
    advice: str = ""
    """What to change where every call fails like this; empty for what has to do with one call or
    one moment."""
    billed: bool = False
    """Whether the service may have done the work."""


@dataclass(eq=False, kw_only=True)
class TransientError(AttemptError):
    """An error that may pass: 408, 409, 429, 5xx, a timeout, a lost connection, half an answer."""

    retry_after: float | None = None
    """Seconds that the service asks to wait."""
    once_more: bool = False
    """Whether a second attempt with the same end is the last."""
    busy: bool = False
    """Whether the service has too many calls at once."""
    gone: bool = False
    """Whether no server is there: the run ends once all attempts at a call have met it."""
    full: bool = False
    """Whether the service takes no more batches now, and has not taken this one."""

    @property
    def is_of_moment(self) -> bool:
        """Return True if it counts only where all attempts at a call have met it."""
        return self.gone or not self.advice


@dataclass(eq=False, kw_only=True)
class RefusedError(AttemptError):
    """The service takes no such request: this call has failed, and is not tried again."""

    names_setting: bool = False
    """Whether it is about a setting, so that the first refusal is enough."""
    of_input: bool = False
    """Whether calls with another input get past it, however many meet it."""


def moment(seconds: float) -> str:
    """Return the time after a wait; after ten years where it is longer."""
    later = time.time() + min(seconds, 10 * 365 * 86_400)
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(later))


@dataclass
class _Call:
    """A call under way: how it is attempted, and what its attempts gave and cost so far."""

    attempt: Callable[[], Awaitable[Result]]
    expected: Usage
    """The most that an attempt may consume."""
    held: float | None = None
    """What its first attempt has reserved in an earlier run."""
    attempts: int = 0
    seconds: float = 0.0
    """Duration of the last attempt."""
    cost: float | None = 0.0
    """Of its answers; None where one was not counted."""
    most_cost: float = 0.0
    result: Result | None = None
    error: str | None = None


class Slots(asyncio.Semaphore):
    """One for each call on its way: half as many when a service is busy, one more after as many
    answers as slots."""

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = self.size = most
        self._to_take = self._answers = 0
        self._halved = -math.inf

    def halve(self, began: float) -> None:
        """Take half of the slots: once for all attempts that have begun before."""
        if began >= self._halved:
            self._halved = time.monotonic()
            self._to_take += self.size // 2
            self.size -= self.size // 2

    def answered(self) -> None:
        self._answers += 1
        if self.size < self.most and self._answers >= self.size:
            self.size = self.size + 1
            self._answers = 0
            self.release()

    def release(self) -> None:
        if self._to_take:
            self._to_take -= 1
        else:
            super().release()


class ServiceClient:
    """The calls to one service in one run: paced, timed, retried and paid for; used inside one
    event loop."""

    def __init__(
        self,
        limits: Limits,
        prices: Prices | None,
        budget: Meter,
        *,
        answered: bool = False,
        in_batches: bool = False,
    ) -> None:
        """
        Args:
            in_batches: whether calls cost what they cost in batches.
            answered: whether the component has answered before, so that its settings are taken.
        """
        self._limits = limits
        self._has_answered = answered
        self._failures = Counter[str]()
        self._dearest = 0.0
        """Cost of an answer, so far: thoughts may take more tokens than the answer is allowed."""
        self._under_way = set[object]()
        self._first = set[object]()
        """Attempts that were under way when there were a few equal refusals: one may still be
        answered."""
        self._prices = prices
        self._in_batches = in_batches
        self._budget = budget
        self.slots = Slots(limits.concurrency)
        """A call keeps one for all its attempts."""
        self._turn = asyncio.Lock()
        self._next = 0.0
        """When the next request may start, by the limit per minute."""
        self._held_until = 0.0
        """When one may start again after a break that the service has asked for."""
        self._refused: BaseException | None = None
        self._is_refused = asyncio.Event()

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt: calls that ask for one, or wait for one, get ``reason``."""
        self._refused = self._refused or reason
        self._is_refused.set()

    async def call(
        self,
        attempt: Callable[[], Awaitable[Result]],
        expected: Usage,
        held: float | None = None,
    ) -> Result:
        """Make one call in one of :attr:`slots`, with the attempts that it takes and limits allow.

        After a :class:`TransientError` it waits as long as the service asks for, and no other call
        starts a request meanwhile. If the service asks for nothing, the first retry follows at
        once, and others after exponentially longer times with jitter, up to a minute. The client's
        own retries are off, since a budget admits each attempt. An empty reply is asked for once
        more.

        Returns:
            The result; ``failed`` with the reason after the last attempt. Its usage has the
            duration of the last attempt, the cost of the answers where the service has counted
            it, and the most that all attempts may have cost.

        Raises:
            BudgetError: an attempt does not fit into the budget.
            ServiceError: as ``attempt`` raises it, no call has got past what this one met, or the
                service asks to wait longer than a call may take at all.
        """
        call = _Call(attempt, expected, held)

        def is_worth_another(state: RetryCallState) -> bool:
            """Return True if the attempt should be retried."""
            attempted = cast(Future, state.outcome)
            error = attempted.exception()
            if error is not None:
                is_same = str(error) == call.error
                call.error = str(error)
                return isinstance(error, TransientError) and not (
                    error.once_more and is_same
                )
            is_first = call.result is None
            # it is paid for, and stays where asking once more fails
            result: Result = attempted.result()
            call.result = result
            call.error = None
            return (
                result.is_empty and is_first and call.attempts < self._limits.attempts
            )

        retrying = AsyncRetrying(
            retry=is_worth_another,
            stop=stop_after_attempt(self._limits.attempts)
            | stop_before_delay(self._limits.deadline),
            wait=self._pause,
            sleep=self._sleep,
            retry_error_callback=lambda state: cast(Future, state.outcome).result(),
        )
        try:
            await retrying(self._attempt, call)
        except RefusedError:
            pass
        except TransientError as error:
            call.error = f"{error} ({call.attempts} attempts)"
            if call.result is None and error.is_of_moment:
                self._end_if_always(error, call.error)
        except ServiceError:
            if call.result is None:
                raise
        result = call.result or Result(outcome=Outcome.FAILED, error=call.error)
        # an earlier run may have submitted a batch: its time is unknown
        seconds = 0.0 if self._in_batches else call.seconds
        if self._prices is None:
            return result.took(seconds)
        return result.took(seconds, call.cost, call.most_cost)

    def _end_if_always(self, error: AttemptError, shown: str) -> None:
        """Raise a :class:`ServiceError` where it is likely that no call gets past ``error``."""
        gone = isinstance(error, TransientError) and error.gone
        of_input = isinstance(error, RefusedError) and error.of_input
        if of_input or (self._has_answered and not gone):
            return
        words = _NUMBER.sub("", str(error))
        self._failures[words] += 1
        enough = _FEW
        at_once = gone
        if isinstance(error, RefusedError):
            enough = _FEW if error.advice else _MANY
            at_once = error.names_setting
        if self._failures[words] == enough:
            self._first = {*self._under_way}
        if at_once or (
            self._failures[words] >= enough and not self._first & self._under_way
        ):
            advice = error.advice or "no call was answered so far: correct it, or wait,"
            reason = ServiceError(
                f"{self._budget.title}: {shown}; {advice} and run again"
            )
            self.refuse(reason)
            raise reason from error

    def _pause(self, state: RetryCallState) -> float:
        """Seconds until the next attempt."""
        error = state.outcome.exception() if state.outcome else None
        wait = error.retry_after if isinstance(error, TransientError) else None
        if wait is None:
            return 0.0 if state.attempt_number == 1 else _BACKOFF(state)
        if wait > self._limits.deadline:
            reason = ServiceError(
                f"{self._budget.title}: {error}; the service asks to wait {wait:.6g} s, and "
                f"limits.deadline is {self._limits.deadline:g} s: finished calls are stored, run "
                f"again after {moment(wait)}"
            )
            self.refuse(reason)
            raise reason
        self._held_until = max(self._held_until, time.monotonic() + wait)
        # calls that wait for the same moment come back a little apart
        return wait * random.uniform(1.0, 1.1)

    async def pause(self, seconds: float) -> None:
        """Wait; raise the reason if no attempt may be made any more."""
        await self._sleep(seconds)
        if self._refused is not None:
            raise self._refused

    async def _sleep(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_refused.wait()

    async def _attempt(self, call: _Call) -> Result:
        """Make one attempt, and count what it costs."""
        if self._refused is not None:
            raise self._refused
        most = self.most(call.expected)
        held = call.held
        call.held = None
        async with self._budget.reserve(most, held) as reservation:
            try:
                await self._pace()
                # of an attempt that is dropped, the service may go on with the work
                reservation.cost = most
                began = time.monotonic()
                result = await self._timed(call)
                reservation.cost = self.cost_of(result, call.expected)
                is_counted = reservation.cost == self.cost_of(result, Usage())
                if is_counted and call.cost is not None:
                    call.cost += reservation.cost
                else:
                    call.cost = None
            except AttemptError as error:
                reservation.cost = most if error.billed else 0.0
                if isinstance(error, TransientError) and error.busy:
                    self.slots.halve(began)
                if not (isinstance(error, TransientError) and error.is_of_moment):
                    self._end_if_always(error, str(error))
                raise
            except ServiceError as error:
                # a request that is refused whatever it asks has consumed nothing
                reservation.cost = None
                self.refuse(error)
                raise
            finally:
                call.most_cost += reservation.cost or 0.0
        self._has_answered = True
        self._dearest = max(self._dearest, reservation.cost)
        self.slots.answered()
        return result

    async def _pace(self) -> None:
        """Wait until the next attempt may start; raise the reason if none may any more."""
        async with self._turn:
            while self._refused is None:
                seconds = max(self._next, self._held_until) - time.monotonic()
                if seconds <= 0:
                    break
                await self._sleep(seconds)
            apart = 60 / (self._limits.requests_per_minute or math.inf)
            self._next = max(self._next, time.monotonic()) + apart
        if self._refused is not None:
            raise self._refused

    async def _timed(self, call: _Call) -> Result:
        """Make an attempt within the time that it may take, and note how long it took."""
        call.attempts += 1
        this = object()
        self._under_way.add(this)
        began = time.monotonic()
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await call.attempt()
        except TimeoutError:
            seconds = self._limits.timeout
            raise TransientError(
                f"no answer within {seconds:g} s", billed=True
            ) from None
        finally:
            self._under_way.discard(this)
            call.seconds = time.monotonic() - began

    def most(self, expected: Usage) -> float:
        """Return the largest cost of an attempt that may consume this."""
        return max(self._cost(expected), self._dearest)

    def cost_of(self, result: Result, expected: Usage) -> float:
        """Return the most that a result cost: tokens that were not counted cost what was
        expected."""
        used = result.usage or expected
        tokens_in = used.input_tokens
        tokens_out = used.output_tokens
        if tokens_in is None:
            tokens_in = expected.input_tokens
        if tokens_out is None:
            tokens_out = expected.output_tokens
        return self._cost(
            replace(used, input_tokens=tokens_in, output_tokens=tokens_out)
        )

    def _cost(self, usage: Usage) -> float:
        if self._prices is None:
            return 0.0
        return self._prices.cost(usage, self._in_batches)


class RemoteComponent(Component):
    """A model or a generator behind a service: the same interface, with one call as an awaitable
    underneath."""

    code_is_identity = False
    metered = True
    has_batches: ClassVar[bool] = False
    """Whether its service takes calls in batches."""

    batch_size: Operational[Literal[1]] = 1
    limits: Operational[Limits] = Limits()
    prices: Operational[Prices | None] = None
    as_of: Operational[str | None] = Field(default=None, pattern=_DAY)
    """The day on which the service was asked again: ``"2026-11-26"``, in quotes, and
    ``"2026-11-26.2"`` for the second time on it. It is part of the identity, so that all calls are
    made once more. ``driftledger run --again`` sets it."""
    batch: Operational[bool] = False
    """Whether calls are made in batches, which take up to a day and cost about half."""

    @model_validator(mode="after")
    def _takes_batches(self) -> Self:
        if self.batch and not self.has_batches:
            raise ValueError(
                f"batch: batches of {self.provider} are not supported; take `batch` out, or ask "
                "through `provider: openai` or `openai_images`"
            )
        return self

    @cached_property
    def spec(self) -> Json:
        spec = super().spec
        if self.as_of:
            spec["identity"]["as_of"] = self.as_of
        return spec

    @property
    @abstractmethod
    def title(self) -> str:
        """The name in sentences, e.g. ``openai gpt-4o-2024-08-06``."""

    @property
    def unrepeatable(self) -> str:
        return NEVER_TWICE

    def readiness(self) -> Readiness:
        return [], [] if self.prices else [
            f"{self.title}: no price is known; set prices in its entry for an estimate"
        ]

    @abstractmethod
    def connect(self) -> AbstractAsyncContextManager[Attempt]:
        """Open a client for as long as the context lasts; what it yields makes one attempt at one
        call.

        That function takes a conversation, or a prompt and a seed. It raises
        :class:`TransientError` for what may pass, :class:`RefusedError` for what will not,
        :class:`ServiceError` for what would meet every call, and answers with an outcome for
        everything else. It does not retry and does not sleep.
        """

    @abstractmethod
    def expected(self, call: Any) -> Usage:
        """Estimate the most that a call may consume, given its conversation or its prompt."""

    def usual(self, call: Any) -> Usage:
        """Estimate what a call is likely to consume, while none is stored."""
        most = self.expected(call)
        return replace(most, output_tokens=min(most.output_tokens or 0, USUAL_TOKENS))

    async def ask_all(self, calls: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Make calls side by side, each given by its arguments."""
        client = ServiceClient(self.limits, self.prices, Meter(self.limits, self.title))
        async with self.connect() as once:

            async def answer(given: tuple[Any, ...]) -> Result:
                async with client.slots:
                    return await client.call(
                        partial(once, *given), self.expected(given[0])
                    )

            return await asyncio.gather(*map(answer, calls))


class RemoteModel(RemoteComponent, Model):
    """A model behind a service."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return asyncio.run(self.ask_all([(each,) for each in conversations]))


class RemoteGenerator(RemoteComponent, Generator):
    """A generator behind a service."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        return asyncio.run(self.ask_all([*zip(prompts, seeds, strict=True)]))
