"""Percentile bootstrap intervals that repeat to the bit: the raw stream of PCG64 and sums of whole numbers.

A draw takes the upper half of 32 random bits times n. Groups are drawn in the order of their names, each from its
values in ascending order; clusters are drawn as a whole, in the order of their sums.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftledger_check.compute import given
from driftledger_check.compute.means import Array

Whole = NDArray[np.int64]

MOST_RESAMPLES = 100_000
MOST_DRAWS = 2**28
"""Of one interval; 2,000 resamples of 130,000 samples, some seconds."""
AT_ONCE = 2**18


class Bootstrap(NamedTuple):
    """How intervals are drawn."""

    resamples: int
    confidence: Fraction
    seed: int

    @classmethod
    def of(cls, settings: Mapping[str, Any]) -> "Bootstrap":
        drawn = given.mapping(settings["bootstrap"])
        confidence = given.number(drawn["confidence"])
        if not 0 < confidence < 1:
            raise ValueError(f"a confidence of {confidence} is not between 0 and 1")
        seed = given.whole(settings["seed"], 0, 2**128)
        return cls(given.whole(drawn["resamples"], 1, MOST_RESAMPLES), Fraction(str(confidence)), seed)

    def of_mean(self, key: str, values: Sequence[float], groups: Sequence[str], unit: float = 1.0) -> dict[str, float]:
        """Of the mean over groups of the mean over their values."""
        names, column, bits = np.array(groups, dtype=object), np.array(values, dtype=np.float64), self._bits()
        means = [self._means(np.sort(column[names == name]), bits) for name in sorted(set(groups))]
        drawn = means[0] if len(means) == 1 else [math.fsum(row) / len(row) for row in zip(*means, strict=True)]
        return self._ends(key, sorted(drawn), unit)

    def of_ratio(
        self, key: str, above: Sequence[int], below: Sequence[int], clusters: Sequence[str], unit: float
    ) -> dict[str, float]:
        """Of ``unit`` · Σ above / Σ below over questions, drawn by their images."""
        sums: dict[str, list[int]] = {}
        for cluster, p, q in zip(clusters, above, below, strict=True):
            both = sums.setdefault(cluster, [0, 0])
            both[0] += p
            both[1] += q
        # a sum of any draw must be exact in float64
        if len(sums) * max(max(abs(p), abs(q)) for p, q in sums.values()) >= 2**53:
            raise ValueError("the values are too large to be summed exactly")
        each = np.array(sorted(sums.values(), key=lambda both: both[::-1]), dtype=np.int64)
        ratios: list[float] = []
        for drawn in self._draws(len(each), self._bits()):
            p, q = (each[:, side].take(drawn).sum(axis=1) for side in (0, 1))
            ratios += (p[q > 0] / q[q > 0]).tolist()
        return self._ends(key, sorted(ratios), unit)

    def _bits(self) -> np.random.PCG64:
        return np.random.PCG64(self.seed)

    def _draws(self, n: int, bits: np.random.PCG64) -> Iterator[Whole]:
        if self.resamples * n > MOST_DRAWS:
            raise ValueError(f"{self.resamples} resamples of {n} are more than {MOST_DRAWS} draws")
        step = max(1, AT_ONCE // n)
        for start in range(0, self.resamples, step):
            raw = bits.random_raw((min(step, self.resamples - start), n)) >> np.uint64(32)
            yield ((raw * np.uint64(n)) >> np.uint64(32)).astype(np.int64)

    def _means(self, values: Array, bits: np.random.PCG64) -> list[float]:
        """As whole numbers of 2⁻ᵉ, so fine that n of them just stay within 63 bits: their sums have no order."""
        _, magnitude = math.frexp(float(np.abs(values).max()))
        exponent = 62 - magnitude - len(values).bit_length()
        fixed = np.rint(np.ldexp(values, exponent)).astype(np.int64)
        sums = np.concatenate([fixed.take(drawn).sum(axis=1) for drawn in self._draws(len(values), bits)])
        found: list[float] = (np.ldexp(sums.astype(np.float64), -exponent) / len(values)).tolist()
        return found

    def _ends(self, key: str, ascending: Sequence[float], unit: float) -> dict[str, float]:
        cut = int(len(ascending) * (1 - self.confidence) / 2)
        return {f"{key}_low": unit * ascending[cut], f"{key}_high": unit * ascending[-1 - cut]}
