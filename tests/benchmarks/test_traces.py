"""Which units are worth showing step by step."""

from dataclasses import dataclass
from typing import Any

from driftledger.benchmarks.base import Input, Metric
from driftledger.benchmarks.score import Row
from driftledger.benchmarks.traces import values_of, worth_showing
from driftledger.core.types import Outcome

METRIC = Metric("score", "the score", "", "", frozenset(Input), headline=True, row="score")


@dataclass
class Spec:
    """As much of a benchmark as is asked."""

    def headlines(self, score: Any) -> dict[str, float]:
        return {"score": 0.5}

    def metric(self, key: str) -> Metric:
        return METRIC


def row(unit: str, *values: float | None) -> Row:
    return Row(unit=unit, group="all", cluster=unit, outcome=Outcome.OK, values={"score": list(values)})


def shown(rows: list[Row], at_most: int | None) -> list[str]:
    spec: Any = Spec()
    return [each.unit for each in worth_showing(spec, spec, rows, at_most)]


def test_the_worst_the_best_and_some_between() -> None:
    rows = [row(f"{number:02d}", number / 100) for number in range(100)]
    assert shown(rows[::-1], 9) == ["00", "01", "02", "03", "34", "65", "97", "98", "99"]
    assert shown(rows, 1) == ["00"]


def test_few_are_all_shown_and_those_without_a_value_last() -> None:
    rows = [row("none", None), row("b", 0.9), row("a", 0.1)]
    assert shown(rows, 3) == shown(rows, None) == ["a", "b", "none"]
    assert shown(rows, 2) == ["a", "b"]


def test_a_unit_is_worth_the_mean_over_orders_that_have_a_value() -> None:
    spec: Any = Spec()
    assert values_of(spec, spec)(row("a", 1.0, None, 0.0)) == {"the score": 0.5}
    assert values_of(spec, spec)(row("a", None)) == {}
