"""A line to one service in one run: every attempt is paced, timed, retried and counted here."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from driftledger.components.remote.budget import Meter
from driftledger.components.remote.limits import Limits, Prices
from driftledger.components.remote.rate_limit import Pace
from driftledger.components.remote.retry import TransientError, patiently
from driftledger.core.errors import ServiceError
from driftledger.core.types import Generated, Reply, Usage

R = TypeVar("R", Reply, Generated)


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


class ServiceClient:
    """Used inside one event loop."""

    def __init__(self, limits: Limits, prices: Prices | None, meter: Meter) -> None:
        self._limits = limits
        self._prices = prices or Prices()
        self._meter = meter
        self._pace = Pace(limits)
        self._refused: BaseException | None = None

    def refuse(self, reason: BaseException) -> None:
        """Start no further attempt; whoever asks for one gets ``reason``."""
        self._refused = self._refused or reason

    async def call(self, attempt: Callable[[], Awaitable[R]], expected: Usage) -> Answered[R]:
        """Make one call with as many attempts as it takes and the limits allow.

        Raises:
            BudgetError: an attempt does not fit into the budget.
            ServiceError: as ``attempt`` raises it.
        """
        bill = Bill()
        async with self._pace.slot():
            try:
                answer = await patiently(lambda: self._attempt(attempt, expected, bill), self._limits, self._pace.hold)
            except TransientError as error:
                return Answered(None, f"{error} ({bill.attempts} attempts)", bill)
        return Answered(answer, None, bill)

    async def _attempt(self, attempt: Callable[[], Awaitable[R]], expected: Usage, bill: Bill) -> R:
        most = self._prices.cost(expected)
        self._go_on()
        await self._meter.admit(most)
        cost = 0.0
        try:
            taken = await self._pace.start(_tokens(expected) or 0)
            self._go_on()
            bill.attempts += 1
            started = time.perf_counter()
            try:
                answer = await self._timed(attempt)
            finally:
                bill.seconds = time.perf_counter() - started
            used = answer.usage
            cost = most if used is None else self._prices.cost(used)
            self._pace.settle(taken, _tokens(used) if used else None)
            return answer
        except TransientError as error:
            cost = most if error.billed else 0.0
            raise
        except ServiceError as error:
            self.refuse(error)
            raise
        finally:
            bill.cost += cost
            await self._meter.settle(most, cost)

    def _go_on(self) -> None:
        if self._refused is not None:
            raise self._refused

    async def _timed(self, attempt: Callable[[], Awaitable[R]]) -> R:
        try:
            async with asyncio.timeout(self._limits.timeout):
                return await attempt()
        except TimeoutError:
            raise TransientError(f"no answer within {self._limits.timeout:g} s", billed=True) from None


def _tokens(usage: Usage) -> int | None:
    counted = [tokens for tokens in (usage.input_tokens, usage.output_tokens) if tokens is not None]
    return sum(counted) if counted else None
