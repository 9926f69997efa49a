"""Where values stand: round ticks, and positions in pixels."""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_EVEN = 9
"""Decimals to which values are rounded before anything follows from them."""


class PlotPoint(NamedTuple):
    """A value at a place, with its interval where it has one."""

    x: float
    y: float
    low: float | None = None
    high: float | None = None

    @property
    def ends(self) -> list[float]:
        """All that must be seen."""
        return [each for each in (self.y, self.low, self.high) if each is not None]


class Scale(NamedTuple):
    """From values to pixels."""

    low: float
    high: float
    start: float
    end: float
    ticks: Sequence[float] = ()
    decimals: int = 0
    """Of the ticks."""

    def __call__(self, value: float) -> float:
        share = (round(value, _EVEN) - self.low) / (self.high - self.low) if self.high > self.low else 0.5
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def trimmed(self, low: float, high: float) -> "Scale":
        """From ``low`` to ``high``, with the ticks between; itself where these are fewer than two."""
        ticks = [tick for tick in self.ticks if low <= tick <= high]
        return self if len(ticks) < 2 else self._replace(low=low, high=high, ticks=ticks)

    def told(self, tick: float) -> str:
        return f"{tick:.{self.decimals}f}".replace("-", "−")


def round_scale(values: Iterable[float], start: float, end: float, most: int = 5, zero: bool = False) -> Scale:
    """From one round number to another, with all values between, in at most so many steps of 1, 2 or 5 times ten.

    >>> round_scale([0.31, 0.58], 0, 100).ticks
    [0.3, 0.4, 0.5, 0.6]
    """
    there = [round(value, _EVEN) for value in values] + ([0.0] if zero else [])
    low, high = (min(there), max(there)) if there else (0.0, 1.0)
    if high - low < 10**-6:
        low, high = (0.0, high) if low > 0 and zero else (low - 0.5, high + 0.5) if low else (low, 1.0)
    power = math.floor(math.log10((high - low) / most))
    for step, decimals in ((digit * 10.0 ** (power + more), -power - more) for more in (0, 1) for digit in (1, 2, 5)):
        first, last = math.floor(round(low / step, _EVEN)), math.ceil(round(high / step, _EVEN))
        if last - first <= most:
            ticks = [round(each * step, _EVEN) for each in range(first, last + 1)]
            return Scale(ticks[0], ticks[-1], start, end, ticks, max(0, decimals))
    raise AssertionError("ten times the smallest step spans ten times as much")
