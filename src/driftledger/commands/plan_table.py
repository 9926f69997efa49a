"""A plan as a table for the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from driftledger.core.terminal import line, table

_COLUMNS = ("", "stored", "to make", "tokens in, at most", "out, at most", "cost, likely", "cost, at most", "spent")
_NOTHING = "–"


def plan_table(plan: Mapping[str, Mapping[str, Any]]) -> Table:
    """One line per component, and the sum of what costs money; without columns that say nothing."""
    rows: list[tuple[str, ...]] = [
        (
            name,
            f"{calls['stored']:,}",
            f"{calls['to_make']:,}",
            _count(calls["most_input_tokens"]),
            _count(calls["most_output_tokens"]),
            _money(calls["likely_cost"]),
            _money(calls["most_cost"]),
            _money(calls["spent"] if calls["attempts_so_far"] else None),
        )
        for name, calls in plan.items()
    ]
    told = [number for number, cells in enumerate(zip(*rows, strict=True)) if set(cells) != {_NOTHING}]
    sums = {key: sum(calls[key] or 0.0 for calls in plan.values()) for key in ("most_cost", "spent")}
    if any(calls["most_cost"] is not None for calls in plan.values()):
        rows.append(("all", *[""] * 5, _money(sums["most_cost"]), _money(sums["spent"])))
    columns = [_COLUMNS[number] for number in told]
    planned = table(*columns, numbers=columns[1:])
    for row in rows:
        planned.add_row(*(line(row[number]) for number in told))
    return planned


def _count(value: int) -> str:
    return f"{value:,}" if value else _NOTHING


def _money(value: float | None) -> str:
    return _NOTHING if value is None else f"{value:,.2f}"
