"""How a score moves when the same questions are asked again, with the options in another order or graded once more."""

import statistics
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.metrics._checks import check_finite


class Spread(NamedTuple):
    """A score over repeats."""

    mean: float
    std: float | None
    """√(Σ(x − mean)² / n); None where a single value shows no spread."""
    n: int
    """How many values there are."""


def spread(values: Sequence[float]) -> Spread:
    """The mean and standard deviation of one score over its repeats, both correctly rounded, in any order.

    The deviation divides by n and not by n − 1, as the papers' do: 99.40 ± 0.12 over five permutations of 400
    questions (MM-SAP, table 2) would be at least 0.14 with n − 1, and MM-Vet's own scorer calls ``numpy.std``.

    Raises:
        ValueError: there are no values, or one is not finite.

    >>> spread([0.25, 0.5, 0.75, 0.5])
    Spread(mean=0.5, std=0.1767766952966369, n=4)
    """
    check_finite(values)
    numbers = [float(value) for value in values]
    std = statistics.pstdev(numbers) if len(numbers) > 1 else None
    return Spread(statistics.mean(numbers), std, len(numbers))
