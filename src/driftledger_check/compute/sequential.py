"""The confidence sequence of a race: the mean difference of two models, at any look.

Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by betting": the hedged
capital process, with a grid of constant bets.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence

_STAKES = (0.9, 0.3)
_STEPS = 20_000


def mean_sequence(
    differences: Mapping[str, Sequence[float]],
    alpha: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Return low and high of the unweighted mean over categories.

    Args:
        differences: category → differences in the order in which they were taken. A round has one
            of each category; what is left of longer ones is not used.
        alpha: the probability that the mean is ever outside.
        bounds: the least and the largest difference.
    """
    least, most = bounds
    width = most - least
    ups = []
    downs = []
    for values in zip(
        *(differences[name] for name in sorted(differences)), strict=False
    ):
        if min(values) < least or max(values) > most:
            raise ValueError(f"a difference is outside {least} to {most}")
        ups.append([(value - least) / width for value in values])
        downs.append([(most - value) / width for value in values])
    low = _excluded(ups, alpha)
    high = _STEPS - _excluded(downs, alpha)
    return (
        round(least + width * low / _STEPS, 9),
        round(least + width * high / _STEPS, 9),
    )


def _excluded(rounds: Sequence[Sequence[float]], alpha: float) -> int:
    """Return the highest step, as a mean, at which a bet on more has won 2/α."""

    def is_open(step: int) -> bool:
        mean = step / _STEPS
        wealths = [1.0] * len(_STAKES)
        for gains in rounds:
            for number, stake in enumerate(_STAKES):
                for gain in gains:
                    wealths[number] *= 1 - stake + stake * gain / mean
            if sum(wealths) / len(wealths) >= 2 / alpha:
                return False
        return True

    return bisect_left(range(1, _STEPS), True, key=is_open)
