"""One bootstrap for several scores at once: all are computed anew of the same samples, so that their order can be seen.

Intervals of single scores say how far each could have come out otherwise; whether their *order* could is another
matter, since what is easy for one is easy for all.
"""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from lab.validity.units import Unit, Units

DRAWS_AT_ONCE = 2**20
"""Bounds the memory; the answer does not depend on it."""
_MICRO = 10**6
"""Values are taken to six decimals, so that sums are of integers and the same bits everywhere."""
_DECIMALS = 9
"""Scores that differ later are equal: it is the division that makes the difference."""


def common_units(columns: Sequence[Units]) -> list[str]:
    """Ids, sorted, of what all scores have a value for and count in the same category and cluster."""
    first, *others = columns
    return sorted(
        name for name, unit in first.items() if all(name in other and other[name][1:] == unit[1:] for other in others)
    )


def resampled_scores(columns: Sequence[Units], common: Sequence[str], *, resamples: int, seed: int) -> Float64:
    """Scores of samples drawn with replacement, ``resamples`` × scores.

    Each resample draws, inside every category, as many clusters as it has, with all that is in them, and the same for
    every score. A score is the mean over categories of the mean over what was drawn. The same bits everywhere.

    Args:
        columns: per score, what it is a mean of.
        common: the ids that take part.

    Raises:
        ValueError: there are no ids.

    >>> one, other = ({"a": Unit(value, "all", "a"), "b": Unit(value + 2, "all", "b")} for value in (1.0, 5.0))
    >>> sorted(set(map(tuple, resampled_scores([one, other], ["a", "b"], resamples=99, seed=1).tolist())))
    [(1.0, 5.0), (2.0, 6.0), (3.0, 7.0)]
    """
    if not common:
        raise ValueError("there is nothing to draw from")
    bits = np.random.PCG64(seed)
    strata = sorted({columns[0][name].stratum for name in common})
    total = np.zeros((resamples, len(columns)))
    for stratum in strata:
        sums, sizes = _clusters([_of(column, common, stratum) for column in columns])
        start = 0
        for indices in draw_indices(len(sizes), resamples, bits):
            means = sums[:, indices].sum(axis=2) / sizes[indices].sum(axis=1)
            total[start : start + len(indices)] += means.T
            start += len(indices)
    scores: Float64 = np.round(total / (len(strata) * _MICRO), _DECIMALS)
    return scores


def draw_indices(n: int, rows: int, bits: np.random.PCG64) -> Iterator[NDArray[np.intp]]:
    """Draw ``rows`` × n indices below n, some rows at a time.

    An index is the upper half of 32 random bits times n: off from uniform by less than n / 2³². Unlike
    ``Generator.integers`` this cannot change with the version of numpy.
    """
    step = max(1, DRAWS_AT_ONCE // n)
    for start in range(0, rows, step):
        shape = (min(step, rows - start), n)
        yield ((bits.random_raw(shape) >> np.uint64(32)) * np.uint64(n) >> np.uint64(32)).astype(np.intp)


def _of(column: Units, common: Sequence[str], stratum: str) -> list[Unit]:
    return [column[name] for name in common if column[name].stratum == stratum]


def _clusters(columns: Sequence[Sequence[Unit]]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The sum of the values in each cluster, in millionths, scores × clusters; and how many they are."""
    number = {name: place for place, name in enumerate(sorted({unit.cluster for unit in columns[0]}))}
    rows = [number[unit.cluster] for unit in columns[0]]
    sums = np.zeros((len(columns), len(number)), dtype=np.int64)
    for line, column in zip(sums, columns, strict=True):
        np.add.at(line, rows, [round(unit.value * _MICRO) for unit in column])
    return sums, np.bincount(rows, minlength=len(number))
