"""What a component may still spend. A call is admitted only if the budget holds even at its dearest."""

import asyncio

from driftledger.components.remote.limits import Limits
from driftledger.core.errors import BudgetError


class Meter:
    """Attempts and costs of one component against its limits; used inside one event loop."""

    def __init__(self, limits: Limits, name: str, calls: int = 0, cost: float = 0.0) -> None:
        """Go on from the ``calls`` and the ``cost`` of earlier runs; ``name`` says in errors whose budget it is."""
        self.calls = calls
        self.cost = cost
        self._limits = limits
        self._name = name
        self._reserved = 0.0
        self._under_way = 0
        self._settled = asyncio.Condition()

    async def admit(self, most: float) -> None:
        """Count an attempt that costs ``most`` at the most; wait while calls under way may turn out cheaper.

        Raises:
            BudgetError: it does not fit into the budget.
        """
        limits = self._limits
        async with self._settled:
            if limits.max_calls is not None and self.calls >= limits.max_calls:
                raise BudgetError(
                    f"{self._name}: limits.max_calls = {limits.max_calls} is used up; finished calls are stored: "
                    "raise it in params.yaml and run again"
                )
            while limits.max_cost is not None and self.cost + self._reserved + most > limits.max_cost:
                if not self._under_way:
                    raise BudgetError(
                        f"{self._name}: {self.cost:.4f} is spent and the next call may cost {most:.4f}: more than "
                        f"limits.max_cost = {limits.max_cost}; finished calls are stored: raise it in params.yaml and "
                        "run again"
                    )
                await self._settled.wait()
            self.calls += 1
            self._reserved += most
            self._under_way += 1

    async def settle(self, most: float, cost: float) -> None:
        """An attempt admitted at ``most`` is over and has cost ``cost``."""
        async with self._settled:
            self._reserved -= most
            self._under_way -= 1
            self.cost += cost
            self._settled.notify_all()
