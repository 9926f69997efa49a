"""A line to one service in one run: every attempt is paced, timed, retried and paid for here."""

import asyncio
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Generic, NamedTuple, Protocol, TypeVar

from tenacity import AsyncRetrying, RetryCallState, retry_if_exception_type, stop_after_attempt, stop_before_delay
from tenacity.wait import wait_random_exponential

from driftledger.components.remote.limits import Limits, Prices
from driftledger.components.remote.rate_limit import Pace
from driftledger.core.errors import BudgetError, ServiceError
from driftledger.core.types import Generated, Reply, Usage

R = TypeVar("R", Reply, Generated)

_BACKOFF = wait_random_exponential(multiplier=0.5, min=0.1, max=60.0)
_SOON = 0.1
"""Seconds after which a call comes back for the second time at the latest while the service answers others: it is
there. From then on, twice as many each time."""
_LATEST = 2.0
"""After which it comes back every time."""
_SHORT = 0.5
"""A slot that is given away for fewer seconds is rarely back in time: others keep it for as long as a call takes."""
_APART = 0.1
"""Calls that were told to come back at the same time come back a little apart."""


class TransientError(Exception):
    """One attempt failed for a reason that may pass: 408, 409, 429, 5xx, a timeout, a lost connection, half an answer.

    ``retry_after`` is how many seconds the service asks to wait. ``billed`` says that it may have done the work.
    """

    def __init__(self, message: str, retry_after: float | None = None, *, billed: bool = False) -> None:
        super().__init__(message)
        self.retry_after = retry_after
        self.billed = billed


@dataclass
class Bill:
    """What one call took, its failed attempts included."""

    attempts: int = 0
    seconds: float = 0.0
    """Of the last attempt."""
    cost: float = 0.0


@dataclass(frozen=True)
class Answered(Generic[R]):
    """What a call gave: an answer, or after the last attempt the reason why there is none."""

    answer: R | None
    error: str | None
    bill: Bill


class Admission(NamedTuple):
    """An attempt that a budget has room for."""

    most: float
    """What it may cost."""
    number: int = 0


class Budget(Protocol):
    """Attempts and costs of one component against its limits.

    An attempt is admitted only if the budget holds even at its dearest.
    """

    async def admit(self, most: float) -> Admission:
        """Count an attempt that costs ``most`` at the most; wait while calls under way may turn out cheaper.

        Raises:
            BudgetError: it does not fit into the budget.
        """

    async def settle(self, admission: Admission, cost: float | None) -> None:
        """An attempt is over and has cost ``cost``; None: it was not made after all."""


def check_budget(
    limits: Limits, title: str, calls: int, cost: float, most: float, under_way: int, reserved: float
) -> bool:
    """Whether one more attempt fits into a budget now; False while what is under way may turn out cheaper.

    Args:
        title: whose budget it is.
        calls: attempts so far, those under way included.
        cost: of those that are over.
        most: what the attempt may cost.
        reserved: what those under way may cost.

    Raises:
        BudgetError: it will not fit.
    """
    if limits.max_calls is not None and calls >= limits.max_calls:
        raise BudgetError(
            f"{title}: limits.max_calls = {limits.max_calls} is used up; finished calls are stored: raise it in "
            "params.yaml and run again"
        )
    if limits.max_cost is None or cost + reserved + most <= limits.max_cost:
        return True
    if not under_way:
        raise BudgetError(
            f"{title}: {cost:.4f} is spent and the next call may cost {most:.4f}: more than limits.max_cost = "
            f"{limits.max_cost}; finished calls are stored: raise it in params.yaml and run again"
        )
    return False


class Meter:
    """The budget of calls that no store keeps; used inside one event loop."""

    def __init__(self, limits: Limits, title: str, calls: int = 0, cost: float = 0.0) -> None:
        """Go on from the ``calls`` and the ``cost`` of earlier runs; ``title`` says in errors whose budget it is."""
        self.calls = calls
        self.cost = cost
        self._limits = limits
        self._title = title
        self._reserved = 0.0
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def admit(self, most: float) -> Admission:
        async with self._settled:
            while not check_budget(
                self._limits, self._title, self.calls, self.cost, most, self._under_way, self._reserved
            ):
                await self._settled.wait()
            self.calls += 1
            self._reserved += most
            self._under_way += 1
        return Admission(most)

    async def settle(self, admission: Admission, cost: float | None) -> None:
        async with self._settled:
            self._reserved -= admission.most
            self._under_way -= 1
            self.calls -= cost is None
            self.cost += cost or 0.0
            self._settled.notify_all()


class ServiceClient:
    """Used inside one event loop."""

    def __init__(self, limits: Limits, prices: Prices | None, budget: Budget) -> None:
        self._limits = limits
        self._prices = prices or Prices()
        self._budget = budget
        self._pace = Pace(limits)
        self._refused: BaseException | None = None
        self._answers = 0

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt; whoever asks for one, or sleeps before one, gets ``reason``."""
        self._refused = self._refused or reason
        self._pace.wake()

    def slot(self) -> AbstractAsyncContextManager[None]:
        """One of the calls that may be on their way at once, with its attempts."""
        return self._pace.slot()

    async def call(self, attempt: Callable[[], Awaitable[R]], expected: Usage) -> Answered[R]:
        """Make one call in a slot of its own; otherwise as :meth:`call_in_slot`."""
        async with self.slot():
            return await self.call_in_slot(attempt, expected)

    async def call_in_slot(self, attempt: Callable[[], Awaitable[R]], expected: Usage) -> Answered[R]:
        """Make one call, inside a :meth:`slot`, with as many attempts as it takes and the limits allow.

        Before a :class:`TransientError` is tried again, it waits as long as the service asks for. Otherwise the first
        retry follows at once, and the others after exponentially longer times with jitter, up to a minute. Where the
        service has answered another call since the attempt before the last, these begin with :data:`_SOON` and end
        with :data:`_LATEST`, and others have the slot meanwhile, unless it is for less than :data:`_SHORT`; where it
        has not, others would only use up their attempts.

        Raises:
            BudgetError: an attempt does not fit into the budget.
            ServiceError: as ``attempt`` raises it, or the service asks to wait longer than a call may take at all.
        """
        bill = Bill()
        answers = [self._answers] * 2  # before the attempt before the last, and before the last
        is_there = False

        async def once() -> R:  # tenacity awaits what it can see to be a coroutine function
            answers[:] = answers[1], self._answers
            return await self._attempt(attempt, expected, bill)

        def pause(state: RetryCallState) -> float:
            nonlocal is_there
            is_there = self._answers > answers[0]
            return self._pause(state, is_there)

        async def rest(seconds: float) -> None:
            await (self._pace.rest(seconds) if is_there and seconds >= _SHORT else self._pace.sleep(seconds))

        retrying = AsyncRetrying(
            retry=retry_if_exception_type(TransientError),
            stop=stop_after_attempt(self._limits.attempts) | stop_before_delay(self._limits.deadline),
            wait=pause,
            sleep=rest,
            reraise=True,
        )
        try:
            return Answered(await retrying(once), None, bill)
        except TransientError as error:
            return Answered(None, f"{error} ({bill.attempts} attempts)", bill)

    def _pause(self, state: RetryCallState, is_there: bool) -> float:
        """Seconds until the next attempt; ``is_there``: the service answers others."""
        error = state.outcome.exception() if state.outcome else None
        asked = error.retry_after if isinstance(error, TransientError) else None
        if asked is None:
            if state.attempt_number == 1:
                return 0.0
            longer = _BACKOFF(state)
            return min(longer, _SOON * 2 ** (state.attempt_number - 2), _LATEST) if is_there else longer
        if asked > self._limits.deadline:
            raise ServiceError(
                f"{error}; the service asks to wait {asked:.0f} s, and limits.deadline is "
                f"{self._limits.deadline:g} s: finished calls are stored, run again later"
            )
        self._pace.hold(asked)
        return asked * (1 + random.uniform(0, _APART))

    async def _attempt(self, attempt: Callable[[], Awaitable[R]], expected: Usage, bill: Bill) -> R:
        most = self._prices.cost(expected)
        self._go_on()
        admission = await self._budget.admit(most)
        cost: float | None = None
        try:
            taken = await self._pace.start(_tokens(expected) or 0)
            self._go_on()
            cost = 0.0
            bill.attempts += 1
            started = time.perf_counter()
            try:
                answer = await self._timed(attempt)
            except asyncio.CancelledError:
                cost = most  # the service may go on with the work
                raise
            finally:
                bill.seconds = time.perf_counter() - started
            self._answers += 1
            used = answer.usage
            cost = self._prices.cost(_completed(used, expected))
            self._pace.settle(taken, _tokens(used) if used else None)
            return answer
        except TransientError as error:
            cost = most if error.billed else 0.0
            raise
        except ServiceError as error:
            cost = None  # who is refused like everybody has asked for nothing
            self.refuse(error)
            raise
        finally:
            bill.cost += cost or 0.0
            await self._budget.settle(admission, cost)

    def _go_on(self) -> None:
        if self._refused is not None:
            raise self._refused

    async def _timed(self, attempt: Callable[[], Awaitable[R]]) -> R:
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await attempt()
        except TimeoutError:
            raise TransientError(f"no answer within {self._limits.timeout:g} s", billed=True) from None


def _completed(used: Usage | None, expected: Usage) -> Usage:
    """What a call used; of what the service does not count, what was expected."""
    if used is None:
        return expected
    tokens_in = expected.input_tokens if used.input_tokens is None else used.input_tokens
    tokens_out = expected.output_tokens if used.output_tokens is None else used.output_tokens
    return Usage(tokens_in, tokens_out, used.images)


def _tokens(usage: Usage) -> int | None:
    counted = [tokens for tokens in (usage.input_tokens, usage.output_tokens) if tokens is not None]
    return sum(counted) if counted else None
