"""Shares of the variance of a table: its rows, its columns, and what only both together explain."""

from collections.abc import Sequence

import numpy as np

from driftledger.metrics.ranks import DECIMALS


def variance_shares(table: Sequence[Sequence[float]]) -> list[float]:
    """Return the shares of rows, of columns and of both together in the variance of a table.

    Both are random effects, with one value in each cell of r rows and c columns, so that "together"
    holds all noise. From the mean squares of a two-way analysis of variance, the components are
    (MS(rows) − MS(both)) / c, (MS(columns) − MS(both)) / r and MS(both); a negative estimate is 0.

    Source: Searle, Casella and McCulloch 1992, "Variance Components", chapter 4.

    Returns:
        Three shares that sum to 1, to 9 decimals; all 0 if all values are equal.

    Raises:
        ValueError: there are fewer than two rows or columns.

    >>> variance_shares([[1.0, 2.0], [3.0, 4.0]])
    [0.8, 0.2, 0.0]
    """
    values = np.round(np.array(table), DECIMALS)
    if min(values.shape) < 2:
        raise ValueError("a table needs two rows and two columns at least")
    rows, columns = values.shape
    of_rows = values.mean(axis=1)
    of_columns = values.mean(axis=0)
    rest = values - of_rows[:, None] - of_columns
    both = rest.var() * values.size / ((rows - 1) * (columns - 1))
    own = of_rows.var(ddof=1) - both / columns
    other = of_columns.var(ddof=1) - both / rows
    components = np.maximum([own, other, both], 0.0).round(2 * DECIMALS)
    shares: list[float] = (components / (components.sum() or 1.0)).round(9).tolist()
    return shares
