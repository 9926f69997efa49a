"""How well kappa and alpha are known: agreement of raters over other answers than these.

Answers about one image, and those of several models to one question, are graded alike or differently together, so that
images are what is left out, one after the other (the jackknife). Both coefficients end at 1, and the closer they are,
the more skewed their estimates: the interval is drawn on the scale of Fisher's z, where it cannot pass 1.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from driftledger.metrics._checks import check_same_lengths, members
from driftledger.metrics.agreement import cohen_kappa, krippendorff_alpha
from driftledger.metrics.intervals.estimate import ConfidenceInterval, fewest, upper
from driftledger.metrics.intervals.student import t_quantile

Coefficient = Callable[[Float64], Float64]
"""Of sums over answers, … × what is summed: kappa or alpha of each row; NaN where that is not defined."""


class AgreementOfRaters(NamedTuple):
    """Kappa or alpha, with its interval."""

    value: float | None
    """None where nothing can disagree."""
    interval: ConfidenceInterval | None
    reason: str = ""
    """Why there is no value, or no interval."""


def kappa_estimate(a: Float64, b: Float64, clusters: Sequence[str], *, confidence: float) -> AgreementOfRaters:
    """:func:`~driftledger.metrics.agreement.cohen_kappa`, weighted by squares, with an interval.

    With κ₍c₎ the kappa without cluster c, of C clusters, the standard error is √((C − 1)/C · Σ(κ₍c₎ − κ₍·₎)²), and the
    interval tanh(artanh κ ± t·se/(1 − κ²)), t of C − 1 degrees of freedom. There is none where raters agree in all, so
    that nothing shows how often they would not, and none over fewer clusters than could show anything (:func:`fewest`).

    Args:
        a: the numbers of one rater, of n answers.
        b: those of the other.
        clusters: of each answer.

    Source: Efron and Tibshirani 1993, "An Introduction to the Bootstrap", chapter 11; chosen by coverage in
    ``lab/judge.py``, where the standard error of Fleiss, Cohen and Everitt (1969) stands beside it.

    Raises:
        ValueError: there is nothing, the lengths differ, or a value is not finite. Says which.

    >>> found = kappa_estimate(np.array([0.0, 1, 1, 0, 1, 0, 1]), np.array([0.0, 1, 1, 0, 1, 1, 1]), "abcdefg",
    ...     confidence=0.95)
    >>> round(found.value, 3), [round(end, 3) for end in found.interval]
    (0.696, [-0.605, 0.984])
    >>> kappa_estimate(np.ones(3), np.ones(3), "abc", confidence=0.95).reason
    'every grade is the same'
    """
    value = cohen_kappa(a, b)
    check_same_lengths(a=a, clusters=clusters)
    sums = np.stack([np.ones(len(a)), (a - b) ** 2, a, a * a, b, b * b], axis=-1)
    return _estimate(value, kappa_of_sums, sums, clusters, confidence)


def alpha_estimate(ratings: Float64, clusters: Sequence[str], *, confidence: float) -> AgreementOfRaters:
    """:func:`~driftledger.metrics.agreement.krippendorff_alpha` of numbers, with an interval as in
    :func:`kappa_estimate`.

    Args:
        ratings: raters × units, NaN where a rater gave none; a unit with fewer than two ratings says nothing.
        clusters: of each unit.

    Raises:
        ValueError: ``ratings`` is no matrix, holds an infinity, or the lengths differ.

    >>> alpha_estimate(np.array([[0.0, 1, 0.5], [0, 1, 0.5]]), "abc", confidence=0.95)
    AgreementOfRaters(value=1.0, interval=None, reason='they agree in everything')
    """
    value = krippendorff_alpha(ratings)
    check_same_lengths(units=ratings.T, clusters=clusters)
    counts = (~np.isnan(ratings)).sum(axis=0)
    paired = np.flatnonzero(counts > 1)
    filled, n = np.where(np.isnan(ratings), 0.0, ratings)[:, paired], counts[paired].astype(np.float64)
    total, squares = filled.sum(axis=0), (filled * filled).sum(axis=0)
    sums = np.stack([2 * (n * squares - total * total) / (n - 1), n, total, squares], axis=-1)
    return _estimate(value, alpha_of_sums, sums, [clusters[at] for at in paired.tolist()], confidence)


def _estimate(
    value: float | None, coefficient: Coefficient, sums: Float64, clusters: Sequence[str], confidence: float
) -> AgreementOfRaters:
    least = fewest(confidence)
    if value is None:
        return AgreementOfRaters(None, None, "every grade is the same" if len(sums) else "no answer has two grades")
    if value == 1:
        return AgreementOfRaters(value, None, "they agree in everything")
    by_cluster = np.array([sums[some].sum(axis=0) for some in members(clusters).values()])
    if len(by_cluster) < least:
        return AgreementOfRaters(value, None, f"there are fewer than {least} images")
    error = jackknife_error(coefficient, by_cluster)
    if not np.isfinite(error):
        return AgreementOfRaters(value, None, "without one of the images every grade is the same")
    low, high = ends_on_z(np.array(value), error, len(by_cluster), confidence)
    return AgreementOfRaters(value, ConfidenceInterval(float(low), float(high)))


def jackknife_error(coefficient: Coefficient, by_cluster: Float64) -> Float64:
    """The standard error of a coefficient of sums, … × clusters × what is summed; NaN where the coefficient is not
    defined without one of the clusters."""
    without = coefficient(by_cluster.sum(axis=-2, keepdims=True) - by_cluster)
    off = without - without.mean(axis=-1, keepdims=True)
    return np.asarray(np.sqrt((without.shape[-1] - 1) * np.mean(off * off, axis=-1)))


def ends_on_z(value: Float64, error: Float64, clusters: int, confidence: float) -> tuple[Float64, Float64]:
    """The interval of a coefficient below 1, from its standard error."""
    z, half = np.arctanh(value), t_quantile(upper(confidence), clusters - 1) * error / (1 - value * value)
    return np.tanh(z - half), np.tanh(z + half)


def kappa_of_sums(sums: Float64) -> Float64:
    """Of n, Σ(a − b)², Σa, Σa², Σb and Σb², along the last axis."""
    n, apart, a, a_squares, b, b_squares = np.moveaxis(sums, -1, 0)
    return _one_less(apart * n, n * (a_squares + b_squares) - 2 * a * b)


def alpha_of_sums(sums: Float64) -> Float64:
    """Of the squared differences of each two ratings of a unit over one less than it has, n, Σ and Σ of squares of
    ratings, along the last axis."""
    apart, n, total, squares = np.moveaxis(sums, -1, 0)
    return _one_less(apart * (n - 1), 2 * (n * squares - total * total))


def _one_less(observed: Float64, expected: Float64) -> Float64:
    """1 − observed / expected; what is expected is 0 only where all grades are one number, up to rounding."""
    there = expected > 1e-9
    return np.where(there, 1 - observed / np.where(there, expected, 1.0), np.nan)
