"""How small a difference between two models a comparison can find, and how many images it takes to find a given one.

A comparison is a t test of a paired difference. Its *power* is the probability that it finds a difference that is
there; the *minimum detectable difference* is the one that it finds with a given power, 80 % by custom. Both follow from
the standard error of the difference and its degrees of freedom, and say nothing about what was found.

What that standard error will be in a run that is yet to be planned follows from the components of variance of runs that
are there (:func:`noise_of_a_difference`). Of one model's difference from another, images and repeats are drawn anew;
generators are, too, where the question is about any generator like these and not about those that were used. Encoders
and categories stay as they are: a score is seen through one encoder, and is a mean over these categories.

Sources: Cohen 1988, "Statistical Power Analysis for the Behavioral Sciences", chapter 2; Card et al. 2020, "With Little
Power Comes Great Responsibility"; Miller 2024, "Adding Error Bars to Evals", section 5; Satterthwaite 1946.
"""

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from driftledger.metrics.exact import round_significant
from driftledger.metrics.intervals.student import t_quantile
from driftledger.metrics.variance import CATEGORY, REPEAT, SAMPLE, Decomposition, Ends, Term

DIGITS = 6
"""What is computed by iteration is the same on every machine to so many significant digits."""

POWER = 0.8
"""By custom."""

MANY = 10**6
"""Degrees of freedom beyond which t is normal to 6 digits."""

MOST_IMAGES = 10**7
"""Beyond which no design is looked for."""


def power(difference: float, standard_error: float, df: float, *, confidence: float = 0.95) -> float:
    """The probability that a two-sided t test finds a difference, in [1 − confidence, 1].

    Args:
        difference: that there is, of either sign.
        standard_error: of its estimate, above 0.
        df: degrees of freedom, at least 1; need not be whole.

    Raises:
        ValueError: an argument is out of its range.

    Source: Johnson, Kotz and Balakrishnan 1995, "Continuous Univariate Distributions 2", chapter 31 (noncentral t).

    >>> power(0.5, 0.5 / 2.5, 20)
    0.662304
    """
    _check(standard_error, df, confidence)
    if not math.isfinite(difference):
        raise ValueError(f"a difference of {difference} is no number")
    return round_significant(_power(abs(difference) / standard_error, df, confidence), DIGITS)


def minimum_detectable_difference(
    standard_error: float, df: float, *, power: float = POWER, confidence: float = 0.95
) -> float:
    """The difference that a two-sided t test finds with this power, in the unit of the standard error.

    0 where the standard error is 0: every difference is found.

    Raises:
        ValueError: an argument is out of its range; the power must be above 1 − confidence and below 1.

    >>> minimum_detectable_difference(0.01, 29)
    0.0289874
    """
    if standard_error == 0:
        return 0.0
    _check(standard_error, df, confidence)
    if not 1 - confidence < power < 1:
        raise ValueError(f"power must be between {1 - confidence:g} and 1, but is {power}")
    return round_significant(_detectable(df, power, confidence) * standard_error, DIGITS)


class Noise(NamedTuple):
    """How far a difference between two models varies from one run of a design to another."""

    variance: float
    """Of the difference, from the components as they are estimated."""
    between: Callable[[], Ends]
    """What gives the interval of that variance, for whoever asks: it takes quantiles, and a variance by itself none."""
    df: float
    """Degrees of freedom that its estimate will have in such a run."""

    @property
    def interval(self) -> Ends:
        """Of that variance, from how well the components are known."""
        return self.between()

    def detectable(self, *, power: float, confidence: float) -> float:
        """The minimum detectable difference."""
        return minimum_detectable_difference(math.sqrt(self.variance), self.df, power=power, confidence=confidence)

    def shows(self, difference: float, *, power: float, confidence: float) -> bool:
        """Whether a difference is found with at least this power."""
        if self.variance == 0:
            return True
        return _power(difference / math.sqrt(self.variance), self.df, confidence) >= power


class Plan(NamedTuple):
    """What a comparison of two models is made of."""

    images: float
    """In all categories together, spread evenly over them."""
    categories: int = 1
    repeats: int = 1
    generators: int = 1
    samples: int | None = None
    """How many images there are, where they are not spread evenly."""

    @classmethod
    def of_categories(cls, sizes: Sequence[int], repeats: int = 1) -> "Plan":
        """Of categories of these sizes, of which small ones are as noisy as they are small.

        >>> Plan.of_categories([2, 6])
        Plan(images=6.0, categories=2, repeats=1, generators=1, samples=8)
        """
        typical = len(sizes) / math.fsum(1 / size for size in sizes)
        return cls(len(sizes) * typical, len(sizes), repeats, samples=sum(sizes))


def noise_of_a_difference(
    found: Decomposition,
    plan: Plan,
    *,
    model: str = "model",
    generator: str = "generator",
    any_generator: bool = False,
) -> Noise | None:
    """The variance of the difference between two models' scores in a planned run.

    Both are measured on the same images, with the same seeds, so that what they share cancels: 2·Σ σ² over the
    components with the model and something that is drawn anew, each over how much of that there is.

    Args:
        found: of runs that are there, at least two models.
        model: the factor whose levels are compared.
        generator: the factor of which scores are means over ``plan.generators``.
        any_generator: whether the difference is meant through any generator, so that these are drawn anew, too.

    Returns:
        None where the runs do not tell: too few images for their categories, or fewer than two generators, in the plan
        or in what is there, where any is meant.

    Raises:
        ValueError: ``found`` is not of several models.
    """
    if model not in found.layout.levels:
        raise ValueError(f"the components of variance know nothing of a factor {model}")
    if any_generator and (generator not in found.layout.levels or plan.generators < 2):
        return None
    df_images = (plan.images if plan.samples is None else plan.samples) - plan.categories
    if df_images < 1:
        return None
    counts = {SAMPLE: plan.images, REPEAT: plan.images * plan.repeats}
    weights: dict[Term, float] = {}
    for term in found.layout.terms:
        inner = next((name for name in (REPEAT, SAMPLE) if name in term), None)
        drawn = inner is not None or (any_generator and generator in term)
        if model in term and drawn and CATEGORY not in term:
            weights[term] = 2 / counts.get(inner or "", 1) / (plan.generators if generator in term else 1)
    if not any_generator:
        return Noise(max(found.weighed(weights), 0.0), partial(found.interval, weights), df_images)
    # as mean squares of the planned run: those of generators, of images, and of both
    parts: list[dict[Term, float]] = [{}, {}, {}]
    for term, weight in weights.items():
        parts[1 if generator not in term else 2 if {SAMPLE, REPEAT}.intersection(term) else 0][term] = weight
    of_generators, of_images, of_both = (max(found.weighed(part), 0.0) if part else 0.0 for part in parts)
    variance = of_generators + of_images + of_both
    squares = [
        (of_generators + of_both, plan.generators - 1),
        (of_images + of_both, df_images),
        (of_both, (plan.generators - 1) * df_images),
    ]
    spread = math.fsum(square**2 / df for square, df in squares)
    df = max(1.0, variance**2 / spread) if spread else df_images
    return Noise(variance, partial(found.interval, weights), df)


def images_needed(
    noise: Callable[[int], Noise | None], detect: float, *, categories: int, power: float, confidence: float
) -> int | None:
    """The fewest images, a multiple of ``categories``, at which a difference of ``detect`` is found with this power.

    Args:
        noise: of a difference, given the number of images; falls as they become more.

    Returns:
        None where :data:`MOST_IMAGES` do not suffice, as where generators differ by more than that.

    Raises:
        ValueError: ``detect`` is not above 0.
    """
    if not detect > 0:
        raise ValueError(f"the difference to detect must be above 0, but is {detect}")

    def suffice(each: int) -> bool:
        of = noise(each * categories)
        return of is not None and of.shows(detect, power=power, confidence=confidence)

    most = MOST_IMAGES // categories
    high = 1
    while not suffice(high):
        if high >= most:
            return None
        high = min(2 * high, most)
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if suffice(middle) else (middle, high)
    return high * categories


def _check(standard_error: float, df: float, confidence: float) -> None:
    if not (standard_error > 0 and math.isfinite(standard_error)):
        raise ValueError(f"a standard error must be above 0, but is {standard_error}")
    if not df >= 1:
        raise ValueError(f"degrees of freedom must be at least 1, but are {df}")
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")


def _power(shift: float, df: float, confidence: float) -> float:
    """By the difference in standard errors, not negative.

    t is a normal variable over s, the root of χ² over its degrees of freedom, and the integral over s is taken: the
    functions for the noncentral t in scipy give NaN far out.
    """
    bound = _bound(df, confidence)
    s, weights = ([1.0], [1.0]) if df > MANY else _estimated_deviations(df)
    found = (
        weight * (math.erfc((bound * each - shift) / _ROOT) + math.erfc((bound * each + shift) / _ROOT)) / 2
        for each, weight in zip(s, weights, strict=True)
    )
    return min(1.0, math.fsum(found))


_ROOT = math.sqrt(2)


@lru_cache(maxsize=10_000)
def _bound(df: float, confidence: float) -> float:
    """Beyond which a t is significant."""
    return t_quantile((1 + Fraction(str(confidence))) / 2, math.inf if df > MANY else df)


@lru_cache(maxsize=1000)
def _estimated_deviations(df: float) -> tuple[list[float], list[float]]:
    """Values of s, √(χ²/df), and what each weighs in an integral over its distribution."""
    nodes, parts = np.polynomial.legendre.leggauss(8)
    low, high = (max(0.0, 1 + side / math.sqrt(2 * df)) ** 0.5 for side in (-10, 10))
    edges = np.linspace(low, high, 97)  # of √s, whose density is smooth where s is 0
    middles, half = (edges[1:] + edges[:-1]) / 2, (edges[1] - edges[0]) / 2
    roots = (middles[:, None] + half * nodes).ravel()
    s = np.square(roots)
    density = (df - 1) * np.log(s) - df * np.square(s) / 2 + np.log(roots)
    weights = np.tile(parts, len(middles)) * np.exp(density - density.max())
    return s.tolist(), (weights / weights.sum()).tolist()


@lru_cache(maxsize=10_000)
def _detectable(df: float, power: float, confidence: float) -> float:
    """By bisection, in standard errors."""
    low, high = 0.0, 4.0
    while _power(high, df, confidence) < power:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if _power(middle, df, confidence) < power else (low, middle)
    return high
