"""Ratings by people beside a metric: do raters agree, does the metric follow them, and what would
all samples be rated?

Samples are chosen at random within strata, more of them where they tell more. So each weighs as
many samples as it stands for.
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import Values
from driftledger.metrics.correlation import fisher_interval
from driftledger.metrics.intervals import ConfidenceInterval, Estimate, t_quantile
from driftledger.metrics.paired import POWER


class ChosenSample(NamedTuple):
    """A sample that was chosen to be rated."""

    value: float
    """By the metric."""
    ratings: Sequence[float]
    """One by each rater; empty as long as nobody has rated it."""
    chance: float
    """The probability of its choice, above 0. Samples with the same one are a stratum."""


class RatedCorrelation(NamedTuple):
    """How far a metric follows the ratings."""

    r: float
    interval: ConfidenceInterval | None
    smallest: float
    """The correlation that this many ratings show four times out of five."""

    @property
    def is_shown(self) -> bool:
        """True if the metric is not noise: the interval holds positive values alone."""
        return self.interval is not None and self.interval.low > 0


class _Stratum(NamedTuple):
    size: float
    """How many samples its chosen ones stand for."""
    values: Float64
    ratings: Float64
    """The mean rating of each rated sample."""


def allocation(sizes: Sequence[int], shares: Sequence[float], total: int) -> list[int]:
    """Return how many samples to take of each stratum: in proportion to ``shares``, as far as it
    has so many.

    Source: Sainte-Laguë 1910, for whole numbers.

    >>> allocation([40, 40, 40], [4, 3, 2], 30), allocation([5, 40, 40], [4, 3, 2], 30)
    ([13, 10, 7], [5, 15, 10])
    """
    counts = [0] * len(sizes)
    for _ in range(min(total, sum(sizes))):
        places = [place for place, size in enumerate(sizes) if counts[place] < size]
        most = max(places, key=lambda place: shares[place] / (2 * counts[place] + 1))
        counts[most] += 1
    return counts


def agreement(
    samples: Sequence[Sequence[Sequence[float]]], confidence: float
) -> Estimate | None:
    """Return Krippendorff's alpha of ratings on an interval scale, with an interval over samples.

    1 is perfect agreement, 0 is what chance gives. Texts with a single rating do not count. The
    interval is Student's, with the jackknife's standard error, which leaves out each sample in
    turn.

    Args:
        samples: the ratings of each text about each sample.

    Returns:
        None without two ratings of one text, or where all ratings are alike.

    Source: Krippendorff 2004, "Content Analysis", chapter 11; Efron and Stein 1981.

    >>> texts = [[[1, 1]], [[2, 3]], [[4, 4]], [[5, 4], [2]], [[1, 2]], [[3, 3]]]
    >>> found = agreement(texts, 0.95)
    >>> round(found.value, 4), [round(end, 4) for end in found.interval]
    """
    paired = []
    for texts in samples:
        shared = [ratings for ratings in texts if len(ratings) > 1]
        if shared:
            paired.append(shared)
    value = _alpha(paired)
    if value is None:
        return None
    others = []
    for place in range(len(paired)):
        alpha = _alpha([*paired[:place], *paired[place + 1 :]])
        if alpha is None:
            reason = "too few texts have several ratings"
            return Estimate(value, math.inf, df=0.0, reason=reason)
        others.append(alpha)
    n = len(others)
    spread = (n - 1) / n * float(np.square(np.array(others) - np.mean(others)).sum())
    return _estimate(value, spread, n - 1, confidence).within(-1, 1)


def _alpha(samples: Sequence[Sequence[Sequence[float]]]) -> float | None:
    """Return 1 − observed / expected disagreement, both mean squared differences."""
    pooled = []
    observed = 0.0
    for texts in samples:
        for ratings in texts:
            pooled.extend(ratings)
            observed += len(ratings) * float(np.var(ratings, ddof=1))
    if not pooled or min(pooled) == max(pooled):
        return None
    return 1 - observed / len(pooled) / float(np.var(pooled, ddof=1))


def rated_correlation(
    chosen: Sequence[ChosenSample], confidence: float
) -> RatedCorrelation | None:
    """Return Pearson's r of a metric and mean ratings, each sample with the weight 1 / chance.

    The interval is Fisher's, for (Σ w)² / Σ w² samples (Kish 1965).

    Returns:
        None for fewer than four rated samples, or where either is constant.

    >>> chosen = [ChosenSample(v, [r], 0.5) for v, r in enumerate([1, 2, 2, 4, 5, 3, 5, 5])]
    >>> found = rated_correlation(chosen, 0.95)
    >>> round(found.r, 6), round(found.smallest, 2), found.is_shown
    """
    weights = []
    values = []
    ratings = []
    for stratum in _strata(chosen):
        count = len(stratum.ratings)
        weights += [stratum.size / max(count, 1)] * count
        values += [*stratum.values]
        ratings += [*stratum.ratings]
    if len(weights) < 4:
        return None
    matrix = np.cov(values, ratings, aweights=weights)
    spreads = np.diag(matrix)
    if not spreads.min() > 0:
        return None
    r = round(float(matrix[0, 1] / math.sqrt(spreads.prod())), 6)
    n = sum(weights) ** 2 / sum(weight * weight for weight in weights)
    smallest = smallest_correlation(n, confidence)
    return RatedCorrelation(r, fisher_interval(r, n, confidence), smallest)


def smallest_correlation(n: float, confidence: float) -> float:
    """Return the correlation that an interval over n samples shows four times out of five.

    1 where n is too small for any.

    >>> [round(smallest_correlation(n, 0.95), 2) for n in (3, 20, 30, 50)]
    [1.0, 0.59, 0.49, 0.39]
    """
    if n <= 3:
        return 1.0
    normal = NormalDist()
    distance = normal.inv_cdf((1 + confidence) / 2) + normal.inv_cdf(POWER)
    return math.tanh(distance / math.sqrt(n - 3))


def corrected_mean(
    chosen: Sequence[ChosenSample], values: Values, confidence: float
) -> Estimate | None:
    """Return the mean rating that all samples would get, by prediction-powered inference.

    A metric is known of all samples and ratings of some, so what the metric predicts of all is
    corrected by how far it is wrong about the rated ones: the mean over strata, by their sizes, of
    rating − b·(value − mean value of all). b is the slope that gives the smallest variance (PPI++),
    of each sample over the others, so that no sample has a part in its own prediction. Of noise b
    is about 0. The interval is Student's with Satterthwaite's degrees of freedom. Where a share f
    of a stratum is rated, its variance is 1 − f times what it would be, but for the raters' noise,
    which texts with several ratings show; f is taken to be 0 without any.

    Args:
        values: of all samples, by the metric.

    Returns:
        None where a stratum has fewer than two rated samples.

    Source: Angelopoulos et al. 2023, arXiv 2301.09633; Angelopoulos, Duchi and Zrnic 2023, arXiv
    2311.01453; Cochran 1977, "Sampling Techniques", section 5.3, for strata.

    >>> values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]
    >>> chosen = [ChosenSample(v, [r], 0.4) for v, r in zip(values, [1, 2, 2, 3])]
    >>> found = corrected_mean(chosen, values, 0.95)
    >>> round(found.value, 4), [round(end, 4) for end in found.interval]
    """
    strata = _strata(chosen)
    if min((len(stratum.ratings) for stratum in strata), default=0) < 2:
        return None
    total = math.fsum(stratum.size for stratum in strata)
    noise = _noise(chosen)
    centre = float(np.mean(values))
    squares = 0.0
    products = 0.0
    for stratum in strata:
        x, y, weight = _centred(stratum, total)
        squares += weight * float(x @ x)
        products += weight * float(x @ y)
    means = []
    variances = []
    weights = []
    for stratum in strata:
        n = len(stratum.ratings)
        x, y, weight = _centred(stratum, total)
        own = weight * n / (n - 1)
        rest = squares - own * x * x
        is_known = rest > 1e-12 * squares
        slopes = np.where(is_known, products - own * x * y, 0.0)
        slopes /= np.where(is_known, rest, 1.0)
        corrected = stratum.ratings - slopes * (stratum.values - centre)
        share = stratum.size / total
        means.append(share * float(corrected.mean()))
        variance = float(corrected.var(ddof=1)) / n
        if noise is not None:
            rated = n / stratum.size
            variance = (1 - rated) * variance + rated * noise / n
        variances.append(share * share * variance)
        weights.append(variances[-1] ** 2 / (n - 1))
    df = math.fsum(variances) ** 2 / (math.fsum(weights) or 1.0)
    return _estimate(math.fsum(means), math.fsum(variances), df, confidence)


def _centred(stratum: _Stratum, total: float) -> tuple[Float64, Float64, float]:
    """Return deviations of values and of ratings from their means, and the weight of a product."""
    n = len(stratum.ratings)
    weight = (stratum.size / total) ** 2 / (n * (n - 1))
    x = stratum.values - stratum.values.mean()
    y = stratum.ratings - stratum.ratings.mean()
    return x, y, weight


def _estimate(value: float, variance: float, df: float, confidence: float) -> Estimate:
    if variance <= 0:
        reason = "ratings that do not differ show no spread"
        return Estimate(value, 0.0, df=df, reason=reason)
    error = math.sqrt(variance)
    half = t_quantile(confidence, df) * error
    interval = ConfidenceInterval(value - half, value + half)
    return Estimate(value, error, df=df, interval=interval)


def _strata(chosen: Sequence[ChosenSample]) -> list[_Stratum]:
    """Group samples by their chance; those that wait for a rating only add to the size."""
    strata = []
    for chance in sorted({sample.chance for sample in chosen}):
        own = [sample for sample in chosen if sample.chance == chance]
        rated = [sample for sample in own if sample.ratings]
        values = np.array([sample.value for sample in rated])
        ratings = np.array([np.mean(sample.ratings) for sample in rated])
        strata.append(_Stratum(len(own) / chance, values, ratings))
    return strata


def _noise(chosen: Sequence[ChosenSample]) -> float | None:
    """Return the variance of a sample's mean rating over raters, or None if each has one."""
    squares = 0.0
    pairs = 0
    shares = []
    for sample in chosen:
        count = len(sample.ratings)
        if count:
            shares.append(1 / count)
            squares += count * float(np.var(sample.ratings))
            pairs += count - 1
    if not pairs:
        return None
    return squares / pairs * float(np.mean(shares))
