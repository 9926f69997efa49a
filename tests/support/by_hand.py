"""Compare a score with what a case says of it that was worked by hand."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import pytest

from driftledger.scoring.number import Number, NumberName
from driftledger.scoring.score import Row, Score


def assert_holds(found: Any, expected: Any, place: str = "score") -> None:
    """Assert some values of a mapping (null: it has none), all of a list, numbers to 6 digits.

    A number may be a fraction such as "200/3", and what is empty has to be empty.
    """
    if isinstance(expected, dict) and expected:
        for key, value in expected.items():
            assert_holds(found.get(key), value, f"{place}.{key}")
    elif isinstance(expected, list) and expected:
        assert len(found) == len(expected), place
        for number, value in enumerate(expected):
            assert_holds(found[number], value, f"{place}.{number}")
    elif expected and isinstance(found, int | float):
        assert found == pytest.approx(float(Fraction(expected)), rel=1e-6), place
    else:
        assert found == expected, place


def named(score: Score) -> dict[str, float]:
    """Return name → number of a score, with ends of intervals and counts."""
    return named_of(score.by_place.values())


def named_of(numbers: Iterable[Number]) -> dict[str, float]:
    """Return name → number, with ends of intervals and counts."""
    by_name = {}
    for number in numbers:
        for end in ("value", "low", "high", "std", "n"):
            value = getattr(number, end)
            if value is not None:
                name = NumberName(*number.place, end=end.removeprefix("value"))
                by_name[str(name)] = value
    return by_name


def assert_score(case: Mapping[str, Any], score: Score, rows: Sequence[Row]) -> None:
    """Assert what a case says of a score, of its rows by their units, and of its flags.

    Its ``numbers`` are by their names, an end of an interval and the count too, and so is ``why``
    they lack something.
    """
    why = {}
    for number in score.by_place.values():
        if number.why is not None:
            why[number.name] = number.why
        if number.interval is not None and number.value is not None:
            low, high = number.interval
            assert low <= number.value <= high, number.name
    found = score.to_dict() | {"numbers": named(score), "why": why}
    assert_holds(found, case["score"])
    by_unit = {row.unit: row.to_dict() for row in rows}
    for unit, expected in case.get("rows", {}).items():
        assert_holds(by_unit[unit], expected, unit)
    for flag in case.get("flags", ()):
        assert any(flag in each.text for each in score.flags), (flag, score.flags)
    for flag in case.get("no_flags", ()):
        assert not any(flag in each.text for each in score.flags), (flag, score.flags)
