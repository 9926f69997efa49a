"""Two versions of a score file or of its rows, value by value: what is stored, and what the records give."""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

from driftledger.core.escaping import for_line
from driftledger.core.files import Record

R = TypeVar("R", bound=Record)

Place: TypeAlias = tuple[str, ...]
"""Where a value stands: ``("metrics", "gc_at_5")``."""

RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""How far a number may be off that was seen through weights: torch gives other last bits on another processor, and in
sums of many terms these reach the fifth digit. Embedded encoders give the same bits everywhere."""

_LONGEST = 80
_NOTHING = object()
"""Where one of the two has no value."""


class ValueDifference(NamedTuple):
    """One value that is not what the records give."""

    place: Place
    what: str

    @property
    def where(self) -> str:
        return for_line(".".join(self.place))


class ValueComparison(NamedTuple):
    """What differs, and how many numbers were looked at."""

    differences: list[ValueDifference]
    numbers: int


def compare(
    stored: Record, made: Record, *, exact: bool, leave_out: Callable[[Place], bool] = lambda place: False
) -> ValueComparison:
    """Every value that differs.

    Args:
        exact: whether numbers must be equal; else they may be off by :data:`RELATIVE` of the larger one or by
            :data:`ABSOLUTE`.
        leave_out: what is not looked at.
    """
    before, after = _flat(stored.to_dict()), _flat(made.to_dict())
    found, numbers = [], 0
    for place in dict.fromkeys((*before, *after)):
        if leave_out(place):
            continue
        one, other = before.get(place, _NOTHING), after.get(place, _NOTHING)
        numbers += isinstance(one, int | float) and not isinstance(one, bool)
        if not exact and isinstance(one, float) and isinstance(other, float):
            equal = math.isclose(one, other, rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        else:
            equal = type(one) is type(other) and bool(one == other)
        if not equal:
            found.append(ValueDifference(place, _said(one, other)))
    return ValueComparison(found, numbers)


def compare_rows(
    stored: Sequence[R],
    made: Sequence[R],
    key: Callable[[R], str],
    *,
    exact: bool,
    leave_out: Callable[[Place], bool] = lambda place: False,
) -> ValueComparison:
    """The first value of each row that differs, rows that are only on one side, and another order of the same rows."""
    names, expected = [key(row) for row in stored], [key(row) for row in made]
    if names != expected:
        return ValueComparison(_other_rows(names, expected), 0)
    found, numbers = [], 0
    for name, one, other in zip(names, stored, made, strict=True):
        compared = compare(one, other, exact=exact, leave_out=leave_out)
        numbers += compared.numbers
        if compared.differences:
            first, *more = compared.differences
            rest = f"; and {len(more)} more of this row" if more else ""
            found.append(ValueDifference((name, *first.place), first.what + rest))
    return ValueComparison(found, numbers)


def _other_rows(names: Sequence[str], expected: Sequence[str]) -> list[ValueDifference]:
    stored, made = set(names), set(expected)
    found = [ValueDifference((name,), "its row is missing") for name in expected if name not in stored]
    found += [ValueDifference((name,), "has a row, and the records give none") for name in names if name not in made]
    return found or [ValueDifference(("rows",), "their order is not that of the records, or one stands there twice")]


def _flat(value: Any) -> dict[Place, Any]:
    found: dict[Place, Any] = {}
    _put(found, (), value)
    return found


def _put(found: dict[Place, Any], place: Place, value: Any) -> None:
    if isinstance(value, dict):
        for name, each in value.items():
            _put(found, (*place, str(name)), each)
    elif isinstance(value, list):
        for index, each in enumerate(value):
            _put(found, (*place, str(index)), each)
    else:
        found[place] = value


def _said(one: Any, other: Any) -> str:
    shown = _shown(one), _shown(other)
    if isinstance(one, float) and isinstance(other, float):  # with as few digits as tell them apart, but four at least
        shorter = ((f"{one:.{digits}g}", f"{other:.{digits}g}") for digits in range(4, 17))
        shown = next((short for short in shorter if short[0] != short[1]), shown)
    return f"{shown[0]} is stored, the records give {shown[1]}"


def _shown(value: Any) -> str:
    if value is _NOTHING:
        return "nothing"
    text = for_line(str(value)) if isinstance(value, str) else repr(value)
    return text if len(text) <= _LONGEST else text[:_LONGEST] + "…"
