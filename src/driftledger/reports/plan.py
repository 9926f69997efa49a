"""A plan as a table for the terminal."""

import io
from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.table import Table

_COLUMNS = ("", "stored", "to make", "tokens in, at most", "out, at most", "cost, likely", "cost, at most", "spent")


def plan_table(plan: Mapping[str, Mapping[str, Any]]) -> str:
    """One line per component, and the sum of what costs money."""
    table = Table(*_COLUMNS, box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for name, calls in plan.items():
        table.add_row(
            name,
            f"{calls['stored']:,}",
            f"{calls['to_make']:,}",
            _count(calls["most_input_tokens"]),
            _count(calls["most_output_tokens"]),
            _money(calls["likely_cost"]),
            _money(calls["most_cost"]),
            _money(calls["spent"] if calls["attempts_so_far"] else None),
        )
    sums = {key: sum(calls[key] or 0.0 for calls in plan.values()) for key in ("most_cost", "spent")}
    if any(calls["most_cost"] is not None for calls in plan.values()):
        table.add_row("all", *[""] * 5, _money(sums["most_cost"]), _money(sums["spent"]))
    console = Console(file=io.StringIO(), width=160, color_system=None)
    console.print(table)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines())


def _count(value: int) -> str:
    return f"{value:,}" if value else "–"


def _money(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
