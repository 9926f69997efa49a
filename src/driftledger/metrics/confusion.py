"""Which two classes the descriptions do not tell apart."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from driftledger.metrics._checks import check_same_lengths


class ConfusedPair(NamedTuple):
    """Two classes, in the order of their names, some samples of which were taken for the other."""

    first: str
    second: str
    first_as_second: int
    """Samples of ``first`` that were taken for ``second``."""
    second_as_first: int
    samples: int
    """Samples of both classes."""

    @property
    def confused(self) -> int:
        return self.first_as_second + self.second_as_first

    @property
    def rate(self) -> float:
        """``confused`` / ``samples``, in (0, 1]; higher is worse."""
        return self.confused / self.samples


def confused_pairs(labels: Sequence[str], predicted: Sequence[str | None]) -> list[ConfusedPair]:
    """Return the pairs of classes that were taken for each other at least once.

    Ordered by rate, then by how many were confused, highest first, then by names. ``labels`` holds the class of each
    test sample, ``predicted`` what it was taken for, or None. Raises ValueError if there are no samples, or if the
    lengths differ.

    >>> confused_pairs(["robin", "robin", "wren", "wren", "owl"], ["wren", "robin", "robin", "wren", "owl"])
    [ConfusedPair(first='robin', second='wren', first_as_second=1, second_as_first=1, samples=4)]
    """
    check_same_lengths(labels=labels, predicted=predicted)
    if len(labels) == 0:
        raise ValueError("labels are empty: without samples no classes are confused")
    samples = Counter(labels)
    taken = Counter(zip(labels, predicted, strict=True))
    pairs = {(min(label, other), max(label, other)) for label, other in taken if other is not None and other != label}
    found = [ConfusedPair(a, b, taken[a, b], taken[b, a], samples[a] + samples[b]) for a, b in pairs]
    return sorted(found, key=lambda pair: (-pair.rate, -pair.confused, pair.first, pair.second))
