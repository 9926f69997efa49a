"""Limits, prices and budgets of the calls to a service."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from pydantic import Field, NonNegativeFloat, NonNegativeInt, PositiveFloat

from driftledger.core.errors import BudgetError
from driftledger.core.strict import Strict
from driftledger.core.types import Usage


class Limits(Strict):
    """Limits of calls to a service; none of them changes an answer."""

    concurrency: int = Field(default=32, ge=1, le=1024)
    """Calls on their way at once, at most; fewer while the service is busy."""
    requests_per_minute: int | None = Field(default=None, ge=1)
    """Requests are evenly spaced; retries count."""
    timeout: PositiveFloat = 120.0
    """Seconds for one attempt, at most."""
    deadline: PositiveFloat = 900.0
    """Seconds for one call, at most, with all its attempts and the waits between them."""
    attempts: int = Field(default=8, ge=1, le=100)
    max_calls: NonNegativeInt | None = None
    """Attempts with this version of the component, at most, over all runs of this call store."""
    max_cost: NonNegativeFloat | None = None
    """Their cost together, at most, in the currency of ``prices``."""


class Prices(Strict):
    """A service's list prices, for estimates, budgets and the spend in MLflow."""

    input: NonNegativeFloat = 0.0
    """Per million input tokens."""
    cached_input: NonNegativeFloat | None = None
    """Per million input tokens that the service had cached; ``null``: the same as ``input``."""
    output: NonNegativeFloat = 0.0
    """Per million output tokens."""
    image: NonNegativeFloat = 0.0
    """Per drawn image."""
    batch_discount: float = Field(default=0.5, ge=0, lt=1)
    """The share of all these prices that a call in a batch saves."""

    def cost(self, usage: Usage, in_batch: bool = False) -> float:
        """Return the cost of a call with this usage; uncounted tokens cost nothing."""
        read = usage.input_tokens or 0
        tokens = read * self.input + (usage.output_tokens or 0) * self.output
        if self.cached_input is not None:
            cached = min(usage.cached_tokens, read)
            tokens -= cached * (self.input - self.cached_input)
        cost = tokens / 1_000_000 + usage.images * self.image
        return cost * (1 - self.batch_discount) if in_batch else cost


@dataclass
class Reservation:
    """Room in a budget for one attempt."""

    cost: float | None = None
    """The cost of the attempt; None until it has begun."""


@dataclass
class Meter:
    """A budget in an event loop; ``calls`` and ``cost`` go on from earlier runs."""

    limits: Limits
    title: str
    calls: int = 0
    cost: float = 0.0
    note: Callable[[int, float, bool], Awaitable[None]] | None = None
    """Takes further calls, their cost, and whether to store both now.

    If there is a limit, an attempt is stored at its largest cost before it is made, so that a kill
    loses none.
    """
    _reserved: float = 0.0

    @asynccontextmanager
    async def reserve(
        self, most: float, held: float | None = None
    ) -> AsyncIterator[Reservation]:
        """Count an attempt at its largest cost, then, at the end, at its real cost.

        An attempt that has not begun by then is not counted. An attempt of an earlier run replaces
        ``held``, its reservation there, which is part of the cost so far.

        Raises:
            BudgetError: there is no room for it, with the attempts under way at their largest cost.
        """
        if held is None:
            self._refuse_beyond(most)
        else:
            self.calls -= 1
            self.cost -= held
        has_limit = (
            self.limits.max_calls is not None or self.limits.max_cost is not None
        )
        self.calls += 1
        self._reserved += most
        if self.note is not None:
            await self.note(1, most, has_limit)
        reservation = Reservation()
        try:
            yield reservation
        finally:
            cost = reservation.cost or 0.0
            unmade = 1 if reservation.cost is None else 0
            self._reserved -= most
            self.calls -= unmade
            self.cost += cost
            if self.note is not None:
                await self.note(-unmade, cost - most, False)

    def _refuse_beyond(self, most: float) -> None:
        limits = self.limits
        spent = self.cost + self._reserved
        if limits.max_calls is not None and self.calls >= limits.max_calls:
            why = f"limits.max_calls = {limits.max_calls} is used up"
        elif limits.max_cost is not None and spent + most > limits.max_cost:
            why = (
                f"{spent:.4f} is spent or under way, and the next call may cost {most:.4f}: more "
                f"than limits.max_cost = {limits.max_cost}"
            )
        else:
            return
        raise BudgetError(
            f"{self.title}: {why}; finished calls are stored: raise it in params.yaml and run again"
        )
