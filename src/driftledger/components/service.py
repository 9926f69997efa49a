"""Attempts and waits of calls to services."""

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
    Operational,
    Readiness,
    SightedModel,
)
from driftledger.components.budget import Limits, Meter, Prices
from driftledger.core.canonical import Json
from driftledger.core.errors import ServiceError
from driftledger.core.types import Conversation, Outcome, Result, Usage

Attempt: TypeAlias = Callable[..., Awaitable[Any]]
"""One attempt at a call to a service."""
NEVER_TWICE = "a service does not answer twice the same"

USUAL_TOKENS = 300
"""Tokens of a usual reply or prompt, for likely prices while no call is stored."""
BACKOFF = wait_random_exponential(multiplier=0.5, min=0.1, max=60.0)
"""Seconds between attempts, if the service does not ask for a wait."""
_FEW = 3
"""Equal refusals, before any answer, after which no further call is made."""
_MANY = 20
"""The same number for refusals that name nothing to change."""
_DAY = r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])(\.([2-9]|[1-9][0-9]))?$"
_NUMBER = re.compile(r"[\w.:-]*\d[\w.:-]*")
"""A number, a time or the name of a request in an error; errors are compared without them."""


@dataclass(eq=False)
class AttemptError(Exception):
    """One attempt failed."""

    message: str
    _: KW_ONLY
    advice: str = ""
    """What to change if every call fails like this; empty if only one call or one moment may."""
    billed: bool = False
    """Whether the service may have done the work."""


@dataclass(eq=False, kw_only=True)
class TransientError(AttemptError):
    """An error that may pass: 429, 5xx, a timeout, a lost connection."""

    retry_after: float | None = None
    """Seconds that the service asks to wait."""
    once_more: bool = False
    """Whether the same error again ends the attempts."""
    busy: bool = False
    """Whether the service has too many calls at once."""
    gone: bool = False
    """Whether no server answers: the run ends if this happens to all attempts at a call."""
    full: bool = False
    """Whether the service has refused this batch, and takes no others now."""

    @property
    def is_of_moment(self) -> bool:
        """True if the error counts only when all attempts at a call have ended with it."""
        return self.gone or not self.advice


@dataclass(eq=False, kw_only=True)
class RefusedError(AttemptError):
    """The service refuses this request; the call is not tried again."""

    names_setting: bool = False
    """Whether the error names a setting, so that every call would meet it."""
    of_input: bool = False
    """Whether the error is about the input of the call, so that other calls may not meet it."""


def time_after(seconds: float) -> str:
    """Return the time after a wait, of at most ten years."""
    later = time.time() + min(seconds, 10 * 365 * 86_400)
    return time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime(later))


@dataclass
class _Call:
    """A call under way, with the results and the cost of its attempts so far."""

    attempt: Callable[[], Awaitable[Result]]
    expected: Usage
    """The most that an attempt may consume."""
    held: float | None = None
    """The reservation of its first attempt in an earlier run."""
    attempts: int = 0
    seconds: float = 0.0
    """Duration of the last attempt."""
    cost: float | None = 0.0
    """Cost of its answers; None if the service did not count the tokens of one."""
    most_cost: float = 0.0
    result: Result | None = None
    error: str | None = None


class Slots(asyncio.Semaphore):
    """Slots for calls under way: half as many once a service is busy, then more.

    One is added after as many answers as there are slots.
    """

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = self.size = most
        self._to_take = self._answers = 0
        self._halved = -math.inf

    def halve(self, began: float) -> None:
        """Take half of the slots, unless this was done after the attempt ``began``."""
        if began >= self._halved:
            self._halved = time.monotonic()
            self._to_take += self.size // 2
            self.size -= self.size // 2

    def answered(self) -> None:
        """Count an answer, and add a slot if there are enough."""
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
    """The calls to a service in one run: paced, timed, retried, paid for."""

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
            answered: whether the component has answered before, so that its settings are right.
            in_batches: whether calls have the price of calls in batches.
        """
        self._limits = limits
        self._has_answered = answered
        self._failures = Counter[str]()
        self._dearest = 0.0
        """Largest cost of an answer so far: thoughts may exceed the limit of tokens."""
        self._under_way = set[object]()
        self._first = set[object]()
        """Attempts under way at the third equal refusal, as one of them may still be answered."""
        self._prices = prices
        self._in_batches = in_batches
        self._budget = budget
        self.slots = Slots(limits.concurrency)
        """A call keeps its slot for all its attempts."""
        self._turn = asyncio.Lock()
        self._next = 0.0
        """Time of the next request by the limit per minute."""
        self._held_until = 0.0
        """End of the break that the service has asked for."""
        self._refused: BaseException | None = None
        self._is_refused = asyncio.Event()

    def refuse(self, reason: BaseException) -> None:
        """Stop all further attempts; calls that would make one raise ``reason``."""
        self._refused = self._refused or reason
        self._is_refused.set()

    async def call(
        self,
        attempt: Callable[[], Awaitable[Result]],
        expected: Usage,
        held: float | None = None,
    ) -> Result:
        """Make one call in one of :attr:`slots`, with as many attempts as limits allow.

        After a :class:`TransientError` it waits as long as the service asks, and no other call
        starts a request meanwhile. If the service asks for nothing, the first retry follows at
        once, and others after exponentially longer times with jitter, up to a minute. After an
        empty reply it asks once more. The client's own retries are off, since the budget admits
        each attempt.

        Returns:
            The result; ``failed`` with the reason after the last attempt. Its usage has the
            duration of the last attempt, the cost of the answers if the service has counted
            tokens, and the most that all attempts may have cost.

        Raises:
            BudgetError: an attempt does not fit into the budget.
            ServiceError: ``attempt`` raises it; or every call seems to meet this error; or the
                service asks to wait longer than a call may take.
        """
        call = _Call(attempt, expected, held)

        def is_worth_another(state: RetryCallState) -> bool:
            """Return True if the attempt should be retried."""
            attempted = cast(Future, state.outcome)
            error = attempted.exception()
            if error is None:
                is_first = call.result is None
                # it is paid for, and is kept if asking once more fails
                call.result = attempted.result()
                call.error = None
                is_last = call.attempts >= self._limits.attempts
                return call.result.is_empty and is_first and not is_last
            is_same = str(error) == call.error
            call.error = str(error)
            is_final = isinstance(error, TransientError) and error.once_more and is_same
            return isinstance(error, TransientError) and not is_final

        retrying = AsyncRetrying(
            retry=is_worth_another,
            stop=stop_after_attempt(self._limits.attempts)
            | stop_before_delay(self._limits.deadline),
            wait=self._pause,
            sleep=self.pause,
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
        # an earlier run may have submitted a batch, so that its duration is unknown
        seconds = 0.0 if self._in_batches else call.seconds
        if self._prices is None:
            return result.took(seconds)
        return result.took(seconds, call.cost, call.most_cost)

    def _end_if_always(self, error: AttemptError, text: str) -> None:
        """Raise a ServiceError if it is likely that every call ends with ``error``."""
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
                f"{self._budget.title}: {text}; {advice} and run again"
            )
            self.refuse(reason)
            raise reason from error

    def _pause(self, state: RetryCallState) -> float:
        """Return the seconds until the next attempt."""
        error = state.outcome.exception() if state.outcome else None
        wait = error.retry_after if isinstance(error, TransientError) else None
        if wait is None:
            return 0.0 if state.attempt_number == 1 else BACKOFF(state)
        if wait > self._limits.deadline:
            reason = ServiceError(
                f"{self._budget.title}: {error}; the service asks to wait {wait:.6g} s, and "
                f"limits.deadline is {self._limits.deadline:g} s: finished calls are stored, run "
                f"again after {time_after(wait)}"
            )
            self.refuse(reason)
            raise reason
        self._held_until = max(self._held_until, time.monotonic() + wait)
        # calls that wait for the same time go on a little apart
        return wait * random.uniform(1.0, 1.1)

    async def pause(self, seconds: float) -> None:
        """Wait; raise the reason if attempts are stopped."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._is_refused.wait()
        if self._refused is not None:
            raise self._refused

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
                # the service may go on with the work of an attempt that is dropped
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
                # the service refuses every request: it has done no work
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
        """Wait for the turn of the next attempt; raise if attempts are stopped."""
        async with self._turn:
            while (start := max(self._next, self._held_until)) > time.monotonic():
                await self.pause(start - time.monotonic())
            apart = 60 / (self._limits.requests_per_minute or math.inf)
            self._next = max(self._next, time.monotonic()) + apart
        if self._refused is not None:
            raise self._refused

    async def _timed(self, call: _Call) -> Result:
        """Make an attempt within the time limit, and note its duration."""
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
        """Return the largest cost of an attempt that is expected to consume this."""
        return max(self._cost(expected), self._dearest)

    def cost_of(self, result: Result, expected: Usage) -> float:
        """Return the most that a result cost, with uncounted tokens as expected."""
        used = result.usage or expected
        if used.input_tokens is None:
            used = replace(used, input_tokens=expected.input_tokens)
        if used.output_tokens is None:
            used = replace(used, output_tokens=expected.output_tokens)
        return self._cost(used)

    def _cost(self, usage: Usage) -> float:
        if self._prices is None:
            return 0.0
        return self._prices.cost(usage, self._in_batches)


class RemoteComponent(Component):
    """A model or generator behind a service, whose calls are awaitable."""

    code_is_identity = False
    metered = True
    has_batches: ClassVar[bool] = False
    """Whether the service takes calls in batches."""

    batch_size: Operational[Literal[1]] = 1
    limits: Operational[Limits] = Limits()
    prices: Operational[Prices | None] = None
    as_of: Operational[str | None] = Field(default=None, pattern=_DAY)
    """The day on which all calls are made again: ``"2026-11-26"``, in quotes, and
    ``"2026-11-26.2"`` for the second time on a day. It is part of the identity. ``driftledger run
    --again`` sets it."""
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
        """Open a client, and yield a function that makes one attempt.

        The function takes a conversation, or a prompt and a seed, and returns a result. It raises
        :class:`TransientError` for errors that may pass, :class:`RefusedError` for those that will
        not, and :class:`ServiceError` for those that every call would meet. It does not retry and
        does not sleep.
        """

    @abstractmethod
    def expected(self, call: Any) -> Usage:
        """Estimate the most that a call with this conversation or prompt may consume."""

    def usual(self, call: Any) -> Usage:
        """Estimate the likely consumption of a call, while none is stored."""
        most = self.expected(call)
        return replace(most, output_tokens=min(most.output_tokens or 0, USUAL_TOKENS))

    async def ask_all(self, calls: Sequence[tuple[Any, ...]]) -> list[Result]:
        """Make calls side by side, each with its arguments."""
        client = ServiceClient(self.limits, self.prices, Meter(self.limits, self.title))
        async with self.connect() as once:

            async def answer(arguments: tuple[Any, ...]) -> Result:
                attempt = partial(once, *arguments)
                async with client.slots:
                    return await client.call(attempt, self.expected(arguments[0]))

            return await asyncio.gather(*map(answer, calls))


class RemoteModel(RemoteComponent, SightedModel):
    """A model behind a service."""

    def respond(self, conversations: Sequence[Conversation]) -> list[Result]:
        return asyncio.run(
            self.ask_all([(conversation,) for conversation in conversations])
        )


class RemoteGenerator(RemoteComponent, Generator):
    """A generator behind a service."""

    def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Result]:
        return asyncio.run(self.ask_all([*zip(prompts, seeds, strict=True)]))
