"""Ranks as in the GenCeption paper: ties share the best rank."""

from collections.abc import Sequence

from driftledger.metrics._checks import check_finite

DECIMALS = 12
"""Values are rounded to so many decimals before they are compared, so that rounding errors do not
break a tie."""


def competition_ranks(values: Sequence[float], higher_is_better: bool) -> list[int]:
    """Return the rank of each value: 1 + how many are better.

    Ties share a rank and the next are skipped.

    Raises:
        ValueError: ``values`` is empty, or holds a NaN or an infinity; says which.

    >>> competition_ranks([0.3, 0.5, 0.5, 0.1], higher_is_better=True)
    [3, 1, 1, 4]
    """
    check_finite(values, "rank")
    compared = [round(float(value), DECIMALS) for value in values]
    best_first = sorted(compared, reverse=higher_is_better)
    return [1 + best_first.index(value) for value in compared]
