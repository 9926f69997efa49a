"""Whose share of a budget is whose, where shards that know nothing of each other ask the same service."""

from collections import defaultdict
from typing import TYPE_CHECKING

from driftledger.collect.call_result import Spent
from driftledger.collect.shards import Shard
from driftledger.collect.spool_lines import SpooledAttempts
from driftledger.core.errors import BudgetError

if TYPE_CHECKING:
    from driftledger.components.service import Limits


class Shares:
    """Who spent what on each component, and the share of what is left that is this shard's.

    What the shards of one run spend counts against their own shares alone, also where it is merged already: the shares
    stay the same however often a shard is started again, and together they never exceed the whole.
    """

    def __init__(self, shard: Shard) -> None:
        self._shard = shard
        self._others: dict[str, Spent] = defaultdict(Spent)
        self._siblings: dict[str, Spent] = defaultdict(Spent)
        self._own: dict[str, Spent] = defaultdict(Spent)
        self._under_way: dict[int, tuple[str, float]] = {}
        self._begun = 0

    def of_others(self, component: str, spent: Spent) -> None:
        """What the call store knows of."""
        self._others[component] = _sum(self._others[component], spent)

    def add(self, record: SpooledAttempts, shard: Shard, *, is_merged: bool) -> None:
        """What a line of an earlier spool tells of; of one that is merged the call store told already."""
        spent = Spent(record.attempts, record.cost)
        if shard.of == self._shard.of:
            whose = self._own if shard == self._shard else self._siblings
            whose[record.component] = _sum(whose[record.component], spent)
            if is_merged:
                self.of_others(record.component, Spent(-spent.attempts, -spent.cost))
        elif not is_merged:
            self.of_others(record.component, spent)

    def so_far(self, component: str) -> Spent:
        return _sum(_sum(self._others[component], self._siblings[component]), self._own[component])

    def has_room(self, component: str, title: str, most: float, limits: "Limits") -> bool:

        own, reserved = self._own[component], self._reserved(component)
        spent = own.cost - sum(reserved)
        try:
            return check_budget(
                self._share(component, limits), title, own.attempts, spent, most, len(reserved), sum(reserved)
            )
        except BudgetError:
            raise BudgetError(
                f"{title}: shard {self._shard} has used up its share of the budget in limits ({own.attempts} attempts, "
                f"cost {spent:.4f}); finished calls are kept: raise the budget in params.yaml and run again"
            ) from None

    def _share(self, component: str, limits: "Limits") -> "Limits":
        others = self._others[component]
        calls, cost = limits.max_calls, limits.max_cost
        shares = {
            "max_calls": None if calls is None else self._shard.share(max(calls - others.attempts, 0)),
            "max_cost": None if cost is None else max(cost - others.cost, 0.0) / self._shard.of,
        }
        return limits.model_copy(update=shares)

    def _reserved(self, component: str) -> list[float]:
        return [most for each, most in self._under_way.values() if each == component]

    def begin(self, component: str, most: float) -> int:
        """Count an attempt at its dearest; its number is for :meth:`end`."""
        self._begun += 1
        self._under_way[self._begun] = component, most
        self._own[component] = _sum(self._own[component], Spent(1, most))
        return self._begun

    def end(self, number: int, cost: float | None) -> str:
        """Count what an attempt has cost, and return whose it was."""
        component, most = self._under_way.pop(number)
        less = Spent(-1 if cost is None else 0, (cost or 0.0) - most)
        self._own[component] = _sum(self._own[component], less)
        return component


def _sum(a: Spent, b: Spent) -> Spent:
    return Spent(a.attempts + b.attempts, a.cost + b.cost)


def check_budget(
    limits: "Limits", title: str, calls: int, cost: float, most: float, under_way: int, reserved: float
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
