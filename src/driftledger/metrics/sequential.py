"""A mean difference that may be tested after every sample.

Testing again after each new sample finds a difference in the end even if there is none. A
*confidence sequence* contains the true mean at all looks at once, with probability 1 − α.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from driftledger.core.types import Float64

STAKES = (0.9, 0.3)
"""Shares of the wealth to bet each time, for large and small differences."""
STEPS = 20_000
"""The grid of means that are tested, between the bounds."""


def mean_sequence(
    differences: Mapping[str, Sequence[float]],
    *,
    alpha: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Return low and high of the unweighted mean over categories.

    The true mean is between them at every look with probability 1 − ``alpha``, however many looks
    there are. Each end keeps the best of all looks so far.

    A player bets that the mean is above m. Of its wealth, 1 at first, a share g turns into g·y/m at
    a difference y, counted from the lower bound; the rest is kept. If the mean is at most m, the
    wealth does not grow in expectation, and ever reaches 2/α with probability α/2 at most (Ville
    1939). So all m at which it did are too low. The wealth is the average of two players, with the
    ``STAKES``; two who bet that the mean is below m give the higher end.

    Round j takes difference j of *each* category, and a look follows each round: what is left of
    longer categories waits for the shortest. Stakes are equal within a round, so its expected
    factor is Π (1 + λ(μₖ − m)) ≤ (1 + λ(μ − m))ᴷ by the inequality of geometric and arithmetic
    means: at most 1 where μ ≤ m, whatever the means μₖ of the categories. Larger stakes in a short
    category cannot be had, as a player may not lose more than it has. So take images from the
    categories in turn: further ones of a long category add nothing.

    Differences must be independent of each other, within a round too: with the same scenes in every
    category, a race errs in a third of all cases or more (``lab/race.py``). Each category's order
    must be random. Its differences are draws from all images like these, as
    for Student's t. Of a fixed set, drawn without replacement, the expected wealth is at most 1 at
    each look, too (Maclaurin's inequality), and the errors over all looks are fewer in simulations
    (``lab/race.py``); what is known of a set that is nearly used up is not used.

    Args:
        differences: category → paired differences in the order in which they were taken.
        alpha: the probability of an error at any look.
        bounds: the least and the largest possible difference.

    Returns:
        Low and high, which are excluded, on a grid of 20,000 steps; the bounds if nothing is shown.
        Low is above high, with probability ``alpha`` at most, where no mean is left.

    Raises:
        ValueError: there is no category, ``alpha`` is not between 0 and 1, or a difference is not
            within the bounds.

    Source: Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by betting",
    the hedged capital process with a grid of constant bets.

    >>> mean_sequence({"scene": [0.5] * 20, "people": [0.25] * 30}, alpha=0.05)
    (0.2156, 0.4555)
    >>> mean_sequence({"scene": [0.5] * 20, "people": []}, alpha=0.05)
    (-1.0, 1.0)
    """
    if not differences:
        raise ValueError("there are no categories to compare")
    if not 0 < alpha < 1:
        raise ValueError(f"alpha is {alpha}, which is not between 0 and 1")
    least, most = bounds
    rounds = min(map(len, differences.values()))
    taken = []
    for category, values in sorted(differences.items()):
        for value in values:
            if not least <= value <= most:
                raise ValueError(
                    f"a difference of {category} is {value}, not within {least} to {most}"
                )
        taken.append(values[:rounds])
    table = np.array(taken, dtype=np.float64).T
    width = most - least
    low = _steps((table - least) / width, 2 / alpha)
    high = STEPS - _steps((most - table) / width, 2 / alpha)
    return (
        round(least + width * low / STEPS, 9),
        round(least + width * high / STEPS, 9),
    )


def _steps(gains: Float64, wealth: float) -> int:
    """Return the highest mean (in grid steps) that a bet has refuted with this wealth.

    The wealth falls with the mean, so halving the range finds it. Products and sums in a fixed
    order have the same bits on every machine.

    Args:
        gains: rounds × categories, 0 to 1.
    """
    refuted = 0
    open_ = STEPS
    while open_ - refuted > 1:
        middle = (refuted + open_) // 2
        if _most_wealth(gains, middle / STEPS) >= wealth:
            refuted = middle
        else:
            open_ = middle
    return refuted


def _most_wealth(gains: Float64, mean: float) -> float:
    """Return the largest average wealth after any round of bets on a higher mean."""
    wealth = np.zeros(len(gains))
    with np.errstate(over="ignore"):
        for stake in STAKES:
            factors = 1 - stake + stake * gains / mean
            wealth += np.cumprod(factors)[gains.shape[1] - 1 :: gains.shape[1]]
    return float(wealth.max(initial=0.0)) / len(STAKES)


def smallest_difference(count: int, alpha: float) -> float:
    """Estimate the smallest difference that ``count`` equal ones would show.

    The wealth of a bet that the mean is above 0 is then about half of (1 + 0.9 d)ⁿ.

    >>> [round(smallest_difference(count, alpha=0.05), 2) for count in (21, 30, 200)]
    [0.26, 0.17, 0.02]
    """
    return float((4 / alpha) ** (1 / max(1, count)) - 1) / max(STAKES)
