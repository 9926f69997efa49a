"""What a mean grade would be if the judge made no mistakes, with an interval that knows how little is known of them.

A judge that calls a tenth of all wrong answers right lifts every model, and the bad ones most. How it grades answers
whose worth is known, from its *calibration*, says by how much: of right answers it lets pass the share q₁, its
*sensitivity*, of wrong ones it turns down the share q₀, its *specificity*, and a model whose answers are right with the
share θ gets p = θ·q₁ + (1 − θ)·(1 − q₀). Rogan and Gladen solve that for θ. Lee et al. put the interval of Lang and
Reiczigel around it, which also counts that q₀ and q₁ are estimates.

Grades need not be 0 or 1, neither the judge's nor the known ones. 1 − q₀ and q₁ are then the mean grades of answers
worth nothing and everything, the ends of a line fitted to the calibration, and what is assumed is that the judge's mean
grade follows that line in between. Over grades of 0 and 1 alone all of it is what the papers have.

Both take a judge to err alike whoever answers. Where people have graded some answers of the very model, the
*regression estimator* of survey sampling needs no such thing: it is their mean grade, and what the judge's grades of
all other answers add to it by the slope of people's on the judge's. A judge that knows nothing adds nothing.

Sources: Rogan and Gladen 1978, "Estimating prevalence from the results of a screening test"; Lang and Reiczigel 2014,
"Confidence limits for prevalence of disease adjusted for estimated sensitivity and specificity"; Lee et al. 2025, "How
to Correctly Report LLM-as-a-Judge Evaluations" (arXiv 2511.21140), equations 4 to 7; Cochran 1977, "Sampling
Techniques", chapters 7 and 12; Angelopoulos, Duchi and Zrnic 2023, "PPI++: Efficient Prediction-Powered Inference"
(arXiv 2311.01453).
"""

import math
from collections.abc import Sequence
from statistics import NormalDist
from typing import NamedTuple

from driftledger.metrics._checks import check_finite, check_same_lengths, members
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.intervals.estimate import upper
from driftledger.metrics.intervals.shares import wilson
from driftledger.metrics.intervals.student import t_quantile

DIGITS = 12
"""Decimals that are kept: the quantile of the normal distribution takes a logarithm, whose last bits vary."""


LEAST_GAIN = 0.01
"""By how much more a judge has to give right answers than wrong ones, on average, to correct anything by it."""


_NOTHING = 1e-9
"""Sums of squares of grades below it are rounding."""


class Operating(NamedTuple):
    """How a judge grades answers whose worth is known."""

    sensitivity: float
    """The mean grade of answers that are right, from 0 to 1; higher is better."""
    specificity: float
    """1 less the mean grade of answers that are wrong, from 0 to 1; higher is better."""
    right: int
    """How many answers are worth more than a half."""
    wrong: int
    """How many are worth less."""


class Corrected(NamedTuple):
    """A mean grade as a judge without mistakes would give it; all within [0, 1]."""

    estimate: float
    low: float
    high: float


class Graded(NamedTuple):
    """The mean grade of a test set, and as how many answers it counts."""

    mean: float
    n: float
    """The size of a sample of answers, each right or wrong and independent of the others, whose mean would vary as
    much: the number of answers, where they are such."""


def operating_characteristics(known: Sequence[float], given: Sequence[float]) -> Operating | None:
    """Sensitivity and specificity, of n answers: what each is worth, and what the judge gave it, on average if it
    graded it several times; all from 0 to 1.

    None unless an answer is worth more than a half and another less.

    Raises:
        ValueError: the lengths differ, or a value is not within [0, 1].

    >>> operating_characteristics([1, 1, 1, 1, 0, 0], [1, 1, 1, 0, 0, 0.2])
    Operating(sensitivity=0.75, specificity=0.9, right=4, wrong=2)
    >>> operating_characteristics([1, 1], [1, 1]) is None
    True
    """
    _check(known, given)
    right, wrong = sum(worth > 0.5 for worth in known), sum(worth < 0.5 for worth in known)
    if not right or not wrong:
        return None
    line = _fit(known, given)
    return Operating(_kept(_within(line.wrong + line.gain)), _kept(_within(1 - line.wrong)), right, wrong)


def corrected_mean(
    graded: Graded, known: Sequence[float], given: Sequence[float], *, confidence: float
) -> Corrected | None:
    """The mean grade of a test set, corrected for the mistakes that a judge makes on answers of known worth.

    The estimate is (p + q₀ − 1) / (q₀ + q₁ − 1), cut to [0, 1]. The interval is Lang and Reiczigel's: z²/2 right and
    z²/2 wrong answers are added to the test set, and to the calibration a right and a wrong answer, each graded rightly
    once and wrongly once. Where grades are not 0 and 1 alone, a test set counts by :func:`count_of`, and of the
    calibration the variance of its fitted line takes the place of q·(1 − q)/m. The estimate is always inside: with very
    few calibration answers the published interval can miss it.

    None where the calibration says nothing of right or of wrong answers, or where the judge gives right ones less than
    :data:`LEAST_GAIN` more than wrong ones: nothing can be corrected by it.

    Raises:
        ValueError: the lengths differ, a value is not within [0, 1], ``graded.n`` is not above 0, or ``confidence`` is
            not between 0 and 1.

    >>> known, given = [1] * 10 + [0] * 10, [1] * 9 + [0] + [0] * 7 + [1] * 3
    >>> corrected_mean(Graded(0.78, 1000), known, given, confidence=0.95)
    Corrected(estimate=0.8, low=0.571220520881, high=1.0)
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")
    if not 0 <= graded.mean <= 1 or not graded.n > 0:
        raise ValueError(f"a mean grade is within 0 and 1 and of something, but {graded} is not")
    if operating_characteristics(known, given) is None:
        return None
    plain = _fit(known, given)
    line = _fit([*known, 1, 1, 0, 0], [*given, 1, 0, 1, 0])
    if plain.gain < LEAST_GAIN or line.gain < LEAST_GAIN:
        return None
    z = normal_quantile(confidence)
    n = graded.n + z * z
    p = (graded.n * graded.mean + z * z / 2) / n
    mean = (p - line.wrong) / line.gain
    variance = p * (1 - p) / n + line.variance_at(mean)
    half = z * math.sqrt(variance) / line.gain
    middle = mean + 2 * z * z * (mean * line.gain_variance + line.covariance)
    estimate = (graded.mean - plain.wrong) / plain.gain
    low, high = min(estimate, middle - half), max(estimate, middle + half)
    return Corrected(*(_kept(_within(end)) for end in (estimate, low, high)))


def regression_mean(
    known: Sequence[float], given: Sequence[float], everywhere: Sequence[float], *, confidence: float
) -> Corrected | None:
    """What N answers of one model are worth on average, of which people graded n, drawn by lot, and a judge all.

    The estimate is ȳ + b·(X̄ − x̄), cut to [0, 1]: ȳ and x̄ are the means of people's and the judge's grades of the n,
    X̄ that of the judge's grades of the N, and b is the slope of people's on the judge's by least squares, 0 where the
    judge gives all the same. It is PPI++'s, b / (1 + n / (N − n)) being its λ. The variance is b²·S² / N + s² / n, with
    S² the variance of the judge's grades of the N and s² = Σ residuals² / (n − 2) (Cochran's of double sampling). The
    interval is Wilson's with Student's t for n − 1 degrees of freedom, for as many answers as would vary as much,
    mean·(1 − mean) / variance, or n where nothing varies.

    None where people graded fewer than three, which a line leaves nothing to vary of. ``lab/people.py`` says how often
    intervals hold the truth, and how many answers that takes.

    Args:
        known: what each of the n answers is worth by people's word.
        given: what the judge gave each of them, on average if it graded it several times.
        everywhere: what it gave each of the N, these n among them.

    Raises:
        ValueError: the lengths of ``known`` and ``given`` differ, there are fewer answers than people graded, a value
            is not within [0, 1], or ``confidence`` is not between 0 and 1.

    >>> known, given = [1.0] * 9 + [0.0] * 11, [1.0] * 12 + [0.0] * 8
    >>> regression_mean(known, given, [*given, *[1.0] * 60, *[0.0] * 20], confidence=0.95)
    Corrected(estimate=0.54, low=0.366030294522, high=0.70473953224)
    """
    probability = upper(confidence)
    _check(known, given)
    _check_grades("everywhere", everywhere)
    n, of = len(known), len(everywhere)
    if of < n:
        raise ValueError(f"people graded {n} answers, but the judge only {of}")
    if n < 3:
        return None
    people, judge, whole = exact_mean(known), exact_mean(given), exact_mean(everywhere)
    off = [x - judge for x in given]
    squares = math.fsum([x * x for x in off])
    slope = 0.0
    if squares > _NOTHING:
        slope = math.fsum([x * (y - people) for x, y in zip(off, known, strict=True)]) / squares
    residuals = math.fsum([(y - people - slope * x) ** 2 for x, y in zip(off, known, strict=True)]) / (n - 2)
    spread = math.fsum([(x - whole) ** 2 for x in everywhere]) / (of - 1)
    variance = slope * slope * spread / of + residuals / n
    estimate = _within(people + slope * (whole - judge))
    says = 0 < estimate < 1 and variance > _NOTHING
    counts = estimate * (1 - estimate) / variance if says else float(n)
    low, high = wilson(estimate, counts, t_quantile(probability, n - 1))
    return Corrected(*map(_kept, (estimate, low, high)))


def count_of(sums: Sequence[float], counts: Sequence[int], clusters: Sequence[str]) -> Graded:
    """The mean grade over gradings, and as how many answers it counts: what is graded several times, or is about one
    image, counts for less than as many answers that have nothing in common.

    Entry i is a question: the sum of its grades, how many there are, and its cluster. The variance of the mean Σ sums /
    Σ counts is that of the ratio, linearised, over C clusters with the factor C / (C − 1) (Cochran 1977, "Sampling
    Techniques", section 6.3); n is p·(1 − p) over it (Kish 1965, "Survey Sampling", section 8.1), or C where that says
    nothing: where all clusters have one mean, or there is only one.

    Raises:
        ValueError: the lengths differ, a value is not finite, or nothing is counted.

    >>> count_of([1, 0, 1, 1], [1, 1, 1, 1], ["a", "b", "c", "d"])
    Graded(mean=0.75, n=3.0)
    >>> count_of([2, 2, 0, 0], [2, 2, 2, 2], ["a", "a", "b", "b"])  # two images stand behind eight gradings
    Graded(mean=0.5, n=1.0)
    """
    check_same_lengths(sums=sums, counts=counts, clusters=clusters)
    check_finite(sums)
    total = math.fsum(counts)
    if not total > 0:
        raise ValueError("no grading is counted, so that there is no mean")
    p = math.fsum(sums) / total
    rows = members(clusters).values()
    residuals = [math.fsum([sums[row] - p * counts[row] for row in some]) for some in rows]
    of, squares = len(residuals), math.fsum([each * each for each in residuals])
    spread = p * (1 - p)
    if of < 2 or spread <= 0 or squares <= 0:
        return Graded(p, float(of))
    return Graded(p, spread * (of - 1) / of * total * total / squares)


def normal_quantile(confidence: float) -> float:
    """How many standard deviations a two-sided interval of that confidence reaches to either side.

    >>> normal_quantile(0.95)
    1.95996398454
    """
    return _kept(NormalDist().inv_cdf((1 + confidence) / 2))


class _Line(NamedTuple):
    """The judge's mean grade over what answers are worth, with the covariances of its coefficients that hold however
    much grades vary where (White 1980, "A Heteroskedasticity-Consistent Covariance Matrix Estimator")."""

    wrong: float
    """Of an answer worth nothing: 1 − q₀."""
    gain: float
    """Of one worth everything, more than that: q₀ + q₁ − 1."""
    wrong_variance: float
    gain_variance: float
    covariance: float

    def variance_at(self, worth: float) -> float:
        """Of the line at ``worth``: (1 − θ)²·q₀(1 − q₀)/m₀ + θ²·q₁(1 − q₁)/m₁ where grades are 0 and 1."""
        return self.wrong_variance + worth * worth * self.gain_variance + 2 * worth * self.covariance


def _fit(known: Sequence[float], given: Sequence[float]) -> _Line:
    n = len(known)
    x_mean, y_mean = math.fsum(known) / n, math.fsum(given) / n
    off = [x - x_mean for x in known]
    squares = math.fsum([x * x for x in off])
    gain = math.fsum([x * (y - y_mean) for x, y in zip(off, given, strict=True)]) / squares
    wrong = y_mean - gain * x_mean
    # how much each answer's grade moves both coefficients
    on_gain = [x / squares for x in off]
    on_wrong = [1 / n - x_mean * each for each in on_gain]
    residuals = [(y - wrong - gain * x) ** 2 for x, y in zip(known, given, strict=True)]
    return _Line(
        wrong,
        gain,
        math.fsum([a * a * r for a, r in zip(on_wrong, residuals, strict=True)]),
        math.fsum([b * b * r for b, r in zip(on_gain, residuals, strict=True)]),
        math.fsum([a * b * r for a, b, r in zip(on_wrong, on_gain, residuals, strict=True)]),
    )


def _check(known: Sequence[float], given: Sequence[float]) -> None:
    check_same_lengths(known=known, given=given)
    _check_grades("known", known)
    _check_grades("given", given)


def _check_grades(name: str, values: Sequence[float]) -> None:
    for at, value in enumerate(values):
        if not 0 <= value <= 1:
            raise ValueError(f"{name} holds {value} at {at}, which is not within 0 and 1")


def _within(value: float) -> float:
    return min(1.0, max(0.0, value))


def _kept(value: float) -> float:
    return round(value, DIGITS) + 0.0  # no −0
