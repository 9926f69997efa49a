"""Would a formula that looks at skewness hold the truth more often? Three candidates beside the one that is used.

Run as ``python -m lab.skewness`` in the top folder: it draws what :mod:`lab.coverage` draws for means of category
means, and writes the table in ``docs/statistics.md``: how often each interval of 95 % holds the truth, and how wide it
is beside Student's.

Sources: Johnson 1978, "Modified t Tests and Confidence Intervals for Asymmetrical Populations"; Hall 1992, "On the
Removal of Skewness by Transformation"; Efron and Tibshirani 1993, section 12.5, for the bootstrap-t. All three are
written for one sample; here the mean's variance and third cumulant are sums over categories.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.stats import t

from driftledger.core.types import Float64
from lab.coverage import CONFIDENCE, DESIGNS, MEANS, Ends, satterthwaite, student
from lab.entry import here, new_app, run

SIMULATIONS, RESAMPLED, RESAMPLES = 10_000, 1_000, 400
SHOWN = ("1 × 5", "1 × 21", "3 × 10", "4, 4, 4, 4, 3, 2")
PAGE = Path("docs/statistics.md")
MARKS = "<!-- python -m lab.skewness: begin -->", "<!-- python -m lab.skewness: end -->"

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


METHODS: dict[str, Callable[[Sequence[Float64], Generator], Ends]] = {
    "Student (ours)": lambda groups, _: student(groups),
    "Johnson": lambda groups, _: johnson(groups),
    "Hall": lambda groups, _: hall(groups),
    "bootstrap-t": lambda groups, rng: bootstrap_t([group[:RESAMPLED] for group in groups], rng),
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


@app.command(help=__doc__)
def main() -> None:
    """Simulate, and write what was found."""
    page = here().root / PAGE
    before, _, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, _, after = rest.partition(MARKS[1])
    page.write_text(f"{before}{MARKS[0]}\n\n{table()}\n{MARKS[1]}{after}", encoding="utf-8")


if __name__ == "__main__":
    run(app)
