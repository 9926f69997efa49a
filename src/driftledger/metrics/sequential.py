"""A mean difference that may be looked at after every sample, by betting.

Who adds samples and tests again finds a difference sooner or later, where there is none. A
*confidence sequence* holds at all looks at once: with probability 1 − α it contains the true mean
at every one of them.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from driftledger.core.types import Float64

STAKES = (0.9, 0.3)
"""Shares of the wealth that are bet each time: for large and small differences."""
STEPS = 20_000
"""The grid of means that are tested, between the bounds."""


def mean_sequence(
    differences: Mapping[str, Sequence[float]],
    *,
    alpha: float,
    bounds: tuple[float, float] = (-1.0, 1.0),
) -> tuple[float, float]:
    """Return the ends of the confidence sequence for the unweighted mean over categories.

    The true mean is between them at every look with probability 1 − ``alpha``, however many looks
    there are. Both ends keep the best of all former looks.

    A player bets that the mean is above m. A share g of the wealth becomes g·y/m at a difference
    of y, both counted from the lower bound; the rest is kept. If the mean is at most m, no such
    game gains in the mean, so wealth 2/α is reached with probability α/2 at most (Ville 1939):
    all m at which it was reached are below the mean. The wealth is the average of one player for
    each of ``STAKES``. Players who bet that the mean is below m give the higher end.

    Round j takes difference j of *each* category; a look takes place after whole rounds, and
    differences beyond the shortest category wait for it. Within a round the stakes are equal, so
    the wealth grows in the mean by Π (1 + λ(μₖ − m)) ≤ (1 + λ(μ − m))ᴷ, as a geometric mean is at
    most the arithmetic one: at most by 1, whatever the means μₖ of the categories. To weigh a short
    category more instead would gain little: the most that its largest weight loses limits the bet.

    The samples of a category must be in random order. They count as draws from all images like
    them, as in Student's t of the letters.

    Args:
        differences: category → paired differences in the order in which they were taken.
        alpha: the probability of an error at any look.
        bounds: the least and the largest possible difference.

    Returns:
        Low and high, on a grid of 20,000 steps; the bounds themselves if nothing is shown. Low is
        above high if the samples contradict one another, with probability ``alpha`` at most.

    Raises:
        ValueError: there is no category, ``alpha`` is not between 0 and 1, or a difference is not
            within the bounds.

    Source: Waudby-Smith and Ramdas 2023, "Estimating means of bounded random variables by betting",
    the hedged capital process with a grid of constant bets.

    >>> mean_sequence({"scene": [0.5] * 20, "people": [0.25] * 30}, alpha=0.05)
    (0.2022, 0.4615)
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


def _steps(gains: Float64, wanted: float) -> int:
    """Return the highest mean, in steps, at which a bet on a higher one gained so much.

    The wealth falls with the mean, so halving the range finds it. Products and sums in a fixed
    order have the same bits on every machine.

    Args:
        gains: rounds × categories, 0 to 1.
    """
    shown, open_ = 0, STEPS
    while open_ - shown > 1:
        middle = (shown + open_) // 2
        if _most_wealth(gains, middle / STEPS) >= wanted:
            shown = middle
        else:
            open_ = middle
    return shown


def _most_wealth(gains: Float64, mean: float) -> float:
    """Return the largest average wealth after any round, from bets on a higher mean."""
    wealth = np.zeros(len(gains))
    with np.errstate(over="ignore"):
        for stake in STAKES:
            factors = 1 - stake + stake * gains / mean
            wealth += np.cumprod(factors)[gains.shape[1] - 1 :: gains.shape[1]]
    return float(wealth.max(initial=0.0)) / len(STAKES)
