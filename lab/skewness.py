"""Would a formula that looks at skewness hold the truth more often? Six candidates beside the one that is used.

Run as ``python -m lab.skewness`` in the top folder: it draws what :mod:`lab.coverage` draws for means of category
means, and writes two tables in ``docs/statistics.md``: how often each interval of 95 % holds the truth, and how wide it
is beside Student's; and how often Student's does by the skewness that a sample shows, which says whether a warning
could rest on that.

Sources: Johnson 1978, "Modified t Tests and Confidence Intervals for Asymmetrical Populations"; Chen 1995, "Testing the
Mean of Skewed Distributions"; Hall 1992, "On the Removal of Skewness by Transformation"; Efron and Tibshirani 1993,
section 12.5, for the bootstrap-t; Owen 2001, "Empirical Likelihood", sections 2.3 and 11.4; Rubin 1981, "The Bayesian
Bootstrap", here stretched to Student's width. All are written for one sample; here the mean's variance and third
cumulant are sums over categories, and likelihoods and weights are of each category.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.stats import t

from driftledger.core.types import Float64
from lab.coverage import CONFIDENCE, DESIGNS, MEANS, NORMAL, Ends, satterthwaite, student
from lab.entry import here, new_app, run
from lab.marked import write_between

SIMULATIONS, RESAMPLED, RESAMPLES = 10_000, 1_000, 400
HALVINGS = 60
"""By which an equation is solved."""
SHOWN = ("1 × 5", "1 × 21", "1 × 60", "3 × 10", "4, 4, 4, 4, 3, 2")
SEEN = ("1 × 5", "1 × 21", "1 × 60")
"""Designs of which the second table tells."""
PAGE = Path("docs/statistics.md")
MARKS = "<!-- python -m lab.skewness: begin -->", "<!-- python -m lab.skewness: end -->"
MARKS_OF_SEEN = "<!-- python -m lab.skewness, seen: begin -->", "<!-- python -m lab.skewness, seen: end -->"

app = new_app(__doc__ or "")


class Moments(NamedTuple):
    """Of the mean of category means, in each simulation."""

    middle: Float64
    variance: Float64
    third: Float64
    """The third cumulant; categories of two add nothing to it."""
    quantile: Float64
    """Student's, with Satterthwaite's degrees of freedom."""

    @classmethod
    def of(cls, groups: Sequence[Float64]) -> "Moments":
        """Of the last axis of each."""
        k, sizes = len(groups), [group.shape[-1] for group in groups]
        middles = [group.mean(axis=-1) for group in groups]
        parts = np.stack([group.var(axis=-1, ddof=1) / n for group, n in zip(groups, sizes, strict=True)], axis=-1)
        thirds = [
            ((group - middle[..., None]) ** 3).sum(axis=-1) / ((n - 1) * (n - 2) * n)
            for group, middle, n in zip(groups, middles, sizes, strict=True)
            if n > 2
        ]
        total, df = parts.sum(axis=-1), satterthwaite(parts, np.array(sizes) - 1.0)
        third = np.sum(thirds, axis=0) if thirds else np.zeros_like(total)
        quantile = t.ppf((1 + CONFIDENCE) / 2, df)
        return cls(np.mean(middles, axis=0), total / k**2, third / k**3, quantile)


def johnson(groups: Sequence[Float64]) -> Ends:
    """Student's interval around a middle that is moved against the skew."""
    found = Moments.of(groups)
    with np.errstate(divide="ignore", invalid="ignore"):
        middle = found.middle + np.where(found.variance > 0, found.third / (6 * found.variance), 0.0)
    half = found.quantile * np.sqrt(found.variance)
    return Ends(middle - half, middle + half)


def hall(groups: Sequence[Float64]) -> Ends:
    """The ends that Hall's cubic transformation of t, which has no skew, takes to Student's quantiles."""
    found = Moments.of(groups)
    error = np.sqrt(found.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.where(error > 0, found.third / error**3, 0.0)

        def back(y: Float64) -> Float64:
            turned = 3 / skew * (np.cbrt(1 + skew * (y - skew / 6)) - 1)
            return np.where(np.abs(skew) > 1e-9, turned, y)

        return Ends(found.middle - error * back(found.quantile), found.middle - error * back(-found.quantile))


def bootstrap_t(groups: Sequence[Float64], rng: Generator) -> Ends:
    """The quantiles of t over resamples; those that do not vary tell none."""
    found, rows = Moments.of(groups), np.arange(len(groups[0]))[:, None, None]
    drawn = [group[rows, rng.integers(0, group.shape[1], (len(group), RESAMPLES, group.shape[1]))] for group in groups]
    again = Moments.of(drawn)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (again.middle - found.middle[:, None]) / np.sqrt(again.variance)
    ratios = np.where(again.variance > 0, ratios, np.nan)
    doubt, error = (1 - CONFIDENCE) / 2, np.sqrt(found.variance)
    ends = np.nanquantile(np.where(error[:, None] > 0, ratios, 0.0), [1 - doubt, doubt], axis=1)
    return Ends(found.middle - error * ends[0], found.middle - error * ends[1])


def chen(groups: Sequence[Float64]) -> Ends:
    """The ends at which Chen's t + a(1 + 2t²) + 4a²(t + 2t³), a sixth of the mean's skewness being a, is Student's
    quantile; it rises with t."""
    found = Moments.of(groups)
    error = np.sqrt(found.variance)
    with np.errstate(divide="ignore", invalid="ignore"):
        a = np.where(error > 0, found.third / error**3, 0.0) / 6

    def moved(ratio: Float64) -> Float64:
        return np.asarray(ratio + a * (1 + 2 * ratio**2) + 4 * a**2 * (ratio + 2 * ratio**3))

    reach = 10 * found.quantile
    low = found.middle - error * halved(moved, found.quantile, (-reach, reach))
    return Ends(low, found.middle - error * halved(moved, -found.quantile, (-reach, reach)))


def halved(rising: Callable[[Float64], Float64], wanted: Float64, between: tuple[Float64, Float64]) -> Float64:
    """Where a function that rises takes a value, one for each simulation."""
    low, high = between
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        above = rising(middle) > wanted
        low, high = np.where(above, low, middle), np.where(above, middle, high)
    return np.asarray((low + high) / 2)


def empirical_likelihood(groups: Sequence[Float64]) -> Ends:
    """The ends at which −2 log R is the square of Student's quantile: along λ, weights 1 / (η + λx), which add up to 1
    in each category, are the likeliest of all that give their mean."""
    found = Moments.of(groups)
    off = [group - group.mean(axis=-1, keepdims=True) for group in groups]
    varied = found.variance > 0
    scale = 1 / np.where(varied, np.sqrt(found.variance) * len(groups), 1.0)

    def weights(x: Float64, slope: Float64) -> Float64:
        least = -(slope * x).min(axis=-1)
        n = x.shape[-1]

        def short(eta: Float64) -> Float64:
            return np.asarray(-(1 / (eta[:, None] + slope * x)).sum(axis=-1))

        eta = halved(short, np.full(len(x), -1.0), (least + 1, least + n))
        return np.asarray(1 / (eta[:, None] + slope * x))

    def end(sign: float) -> Float64:
        def doubt(log: Float64) -> Float64:
            slope = (sign * np.exp(log) * scale)[:, None]
            return np.asarray(np.sum([-2 * np.log(x.shape[-1] * weights(x, slope)).sum(axis=-1) for x in off], axis=0))

        log = halved(doubt, found.quantile**2, (np.full(len(varied), -10.0), np.full(len(varied), 40.0)))
        slope = (sign * np.exp(log) * scale)[:, None]
        moved = np.sum([(weights(x, slope) * x).sum(axis=-1) for x in off], axis=0) / len(groups)
        return np.where(varied, found.middle + moved, np.nan)

    return Ends(end(1.0), end(-1.0))


def bayesian_bootstrap(groups: Sequence[Float64], rng: Generator) -> Ends:
    """Percentiles of means with random weights, as far from the middle, of as many standard errors, as Student's."""
    found, means = Moments.of(groups), 0.0
    for group in groups:
        weights = rng.exponential(size=(len(group), RESAMPLES, group.shape[1]))
        means = means + (weights * group[:, None]).sum(axis=-1) / weights.sum(axis=-1) / len(groups)
    doubt = (1 - CONFIDENCE) / 2
    ends = np.quantile(np.asarray(means), [doubt, 1 - doubt], axis=1) - found.middle
    with np.errstate(divide="ignore", invalid="ignore"):
        stretched = ends * found.quantile / NORMAL * np.sqrt(found.variance) / np.std(means, axis=1)
    stretched = np.where(found.variance > 0, stretched, np.nan)
    return Ends(found.middle + stretched[0], found.middle + stretched[1])


METHODS: dict[str, Callable[[Sequence[Float64], Generator], Ends]] = {
    "Student": lambda groups, _: student(groups),
    "Johnson": lambda groups, _: johnson(groups),
    "Hall": lambda groups, _: hall(groups),
    "bootstrap-t": lambda groups, rng: bootstrap_t([group[:RESAMPLED] for group in groups], rng),
    "Chen": lambda groups, _: chen(groups),
    "empirical likelihood": lambda groups, _: empirical_likelihood([group[:RESAMPLED] for group in groups]),
    "Bayesian bootstrap": lambda groups, rng: bayesian_bootstrap([group[:RESAMPLED] for group in groups], rng),
}


class Found(NamedTuple):
    holds: float
    """Percent, of the intervals that there are."""
    width: float
    """The median one, as a multiple of Student's over the same data."""


def measured(sizes: Sequence[int], draw: Callable[[Generator, tuple[int, ...]], Float64]) -> dict[str, Found]:
    """Each method on data whose mean is 0."""
    rng = np.random.default_rng(20)
    groups = [draw(rng, (SIMULATIONS, n)) for n in sizes]
    usual = student(groups)
    found = {}
    for name, method in METHODS.items():
        ends = method(groups, rng)
        there = len(ends.low)
        widths = np.nanmedian(ends.high - ends.low), np.nanmedian(usual.high[:there] - usual.low[:there])
        found[name] = Found(ends.holds(0.0), float(widths[0] / widths[1]))
    return found


def table() -> str:
    """Every design that is shown, with every kind of data."""
    head = [f"| design | data | {' | '.join(METHODS)} |", "|---|---|" + "---|" * len(METHODS)]
    return "\n".join([*head, *(row(design, data) for design in SHOWN for data in MEANS)]) + "\n"


def row(design: str, data: str) -> str:
    """How each method does there."""
    cells = (f"{each.holds:.1f} ({each.width:.2f} ×)" for each in measured(DESIGNS[design], MEANS[data]).values())
    return f"| {design} | {data} | {' | '.join(cells)} |"


def by_skewness_seen(n: int, data: str) -> list[float]:
    """How often Student's interval holds the truth in the third of all samples that shows the least skewness, whatever
    its sign, in the middle one and in that which shows the most."""
    group = MEANS[data](np.random.default_rng(21), (3 * SIMULATIONS, n))
    found = Moments.of([group])
    with np.errstate(divide="ignore", invalid="ignore"):
        skew = np.abs(np.where(found.variance > 0, found.third / found.variance**1.5, 0.0))
    order, ends = np.argsort(skew, kind="stable"), student([group])
    return [Ends(ends.low[some], ends.high[some]).holds(0.0) for some in np.array_split(order, 3)]


def table_of_seen() -> str:
    """Of :data:`SEEN`, and of the data whose intervals are to be warned of and those whose are not."""
    lines = ["| design | data | least skewness seen | middle | most |", "|---|---|---|---|---|"]
    for design in SEEN:
        for data in MEANS:
            cells = (f"{each:.1f}" for each in by_skewness_seen(DESIGNS[design][0], data))
            lines.append(f"| {' | '.join([design, data, *cells])} |")
    return "\n".join(lines) + "\n"


@app.command(help=__doc__)
def main() -> None:
    """Simulate, and write what was found."""
    write_between(here().root / PAGE, {MARKS: table(), MARKS_OF_SEEN: table_of_seen()})


if __name__ == "__main__":
    run(app)
