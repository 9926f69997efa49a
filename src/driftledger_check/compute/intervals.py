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
from driftledger_check.compute.means import Array, places

Whole = NDArray[np.int64]

MOST_RESAMPLES = 100_000
MOST_DRAWS = 2**27
"""Of one interval: 2,000 resamples of 67,000 samples, some seconds."""
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
        resamples = given.whole(drawn["resamples"], 1, 10**6)
        if resamples > MOST_RESAMPLES:
            raise given.MissingError(f"{resamples} resamples are more than the checker draws")
        return cls(resamples, Fraction(str(confidence)), seed)

    def of_mean(self, key: str, values: Sequence[float], groups: Sequence[str], unit: float = 1.0) -> dict[str, float]:
        """Of the mean over groups of the mean over their values."""
        column, bits = np.array(values, dtype=np.float64), self._bits(len(values))
        means = np.stack([self._means(np.sort(column[rows]), bits) for rows in places(groups).values()], axis=1)
        return self._ends(key, sorted(math.fsum(row.tolist()) / len(row) for row in means), unit)

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
        for drawn in self._draws(len(each), self._bits(len(each))):
            p, q = (each[:, side].take(drawn).sum(axis=1) for side in (0, 1))
            ratios += (p[q > 0] / q[q > 0]).tolist()
        return self._ends(key, sorted(ratios), unit)

    def _bits(self, n: int) -> np.random.PCG64:
        if self.resamples * n > MOST_DRAWS:
            raise given.MissingError(f"{self.resamples} resamples of {n} are more than the checker draws")
        return np.random.PCG64(self.seed)

    def _draws(self, n: int, bits: np.random.PCG64) -> Iterator[Whole]:
        step = max(1, AT_ONCE // n)
        for start in range(0, self.resamples, step):
            raw = bits.random_raw((min(step, self.resamples - start), n)) >> np.uint64(32)
            yield ((raw * np.uint64(n)) >> np.uint64(32)).astype(np.int64)

    def _means(self, values: Array, bits: np.random.PCG64) -> Array:
        """As whole numbers of 2⁻ᵉ, so fine that n of them just stay within 63 bits: their sums have no order."""
        _, magnitude = math.frexp(float(np.abs(values).max()))
        exponent = 62 - magnitude - len(values).bit_length()
        fixed = np.rint(np.ldexp(values, exponent)).astype(np.int64)
        sums = np.concatenate([fixed.take(drawn).sum(axis=1) for drawn in self._draws(len(values), bits)])
        means: Array = np.ldexp(sums.astype(np.float64), -exponent) / len(values)
        return means

    def _ends(self, key: str, ascending: Sequence[float], unit: float) -> dict[str, float]:
        cut = int(len(ascending) * (1 - self.confidence) / 2)
        return {f"{key}_low": unit * ascending[cut], f"{key}_high": unit * ascending[-1 - cut]}
