"""What can be said of a score in which a category of two or three samples counts as much as one of thirty?

Run as ``python -m lab.small_categories`` in the top folder: it draws what :mod:`lab.coverage` draws for means of
category means, and writes two tables in ``docs/statistics.md``: how often candidates hold the truth, and how wide they
are beside Student's; and how often ours does, by the share of the variance that the smallest category would have if all
scattered alike, which is known before any value is.

Candidates differ in what they take for the variance of a category. *Pooled*: that of all categories together, as in an
analysis of variance. *Shrunk*: between its own and the pooled one, which counts as four degrees of freedom more (Smyth
2004, "Linear Models and Empirical Bayes Methods"). *At least pooled*: in categories of two or three, where there are
larger ones, at least the pooled variance of these, with the degrees of freedom of its own, which is what scores have.
*Smallest df*: its own, with Student's quantile of the smallest category (Hsu 1938, Scheffé 1970). *If all vary*:
Student's, and none where a category of two or three shows no spread.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from driftledger.core.types import Float64
from lab.coverage import FEW, MEANS, Ends, Spread, ours, satterthwaite, student
from lab.entry import here, new_app, run
from lab.marked import write_between

SIMULATIONS = 10_000
PRIOR = 4.0
"""Degrees of freedom that the pooled variance counts for."""
DESIGNS: dict[str, tuple[int, ...]] = {
    "30, 2": (30, 2),
    "30, 3": (30, 3),
    "5 × 30, 2": (*(30,) * 5, 2),
    "4, 2": (4, 2),
    "4, 4, 4, 4, 3, 2": (4, 4, 4, 4, 3, 2),
    "3 × 2": (2,) * 3,
    "14 × 2": (2,) * 14,
}
SPREADS = (1.0, 5.0)
"""How much more than the first category the last one scatters; those between lie between."""
BESIDE: dict[int, tuple[tuple[int, int], ...]] = {
    2: ((1, 30), (4, 30), (13, 30), (4, 10), (2, 4), (8, 10), (4, 4), (13, 10), (8, 4)),
    3: ((1, 30), (4, 30), (4, 10), (13, 30), (8, 10), (4, 4)),
}
"""Samples of the smallest category → how many others, of how many samples each."""
PAGE = Path("docs/statistics.md")
MARKS = "<!-- python -m lab.small_categories: begin -->", "<!-- python -m lab.small_categories: end -->"
MARKS_OF_SHARES = (
    "<!-- python -m lab.small_categories, shares: begin -->",
    "<!-- python -m lab.small_categories, shares: end -->",
)

app = new_app(__doc__ or "")


def pooled(groups: Sequence[Float64]) -> Ends:
    found = Spread.of(groups)
    return found.interval(found.pooled, float((found.sizes - 1).sum()))


def shrunk(groups: Sequence[Float64]) -> Ends:
    found = Spread.of(groups)
    below = found.sizes - 1
    variance = (PRIOR * found.pooled + below * found.own) / (PRIOR + below)
    return found.interval(variance, satterthwaite(variance / found.sizes, below + PRIOR))


def smallest_df(groups: Sequence[Float64]) -> Ends:
    found = Spread.of(groups)
    return found.interval(found.own, float(found.sizes.min() - 1))


def if_all_vary(groups: Sequence[Float64]) -> Ends:
    found, ends = Spread.of(groups), student(groups)
    flat = ((found.own == 0) & (found.sizes < FEW)).any(axis=1)
    return Ends(*(np.where(flat, np.nan, each) for each in ends))


METHODS: dict[str, Callable[[Sequence[Float64]], Ends]] = {
    "Student": student,
    "pooled": pooled,
    "shrunk": shrunk,
    "at least pooled (ours)": ours,
    "smallest df": smallest_df,
    "if all vary": if_all_vary,
}


class Found(NamedTuple):
    holds: float
    """Percent, of the intervals that there are."""
    width: float
    """The median one, as a multiple of Student's over the same data."""
    none: float
    """Percent of simulations without an interval."""


def groups_of(sizes: Sequence[int], data: str, spread: float) -> list[Float64]:
    """Simulations × samples of each category, of mean 0."""
    dice, scales = np.random.default_rng(22), np.linspace(1.0, spread, len(sizes))
    return [scale * MEANS[data](dice, (SIMULATIONS, n)) for scale, n in zip(scales, sizes, strict=True)]


def measured(sizes: Sequence[int], data: str, spread: float) -> dict[str, Found]:
    """Each method."""
    groups = groups_of(sizes, data, spread)
    usual = np.nanmedian(np.subtract(*student(groups)[::-1]))
    found = {}
    for name, method in METHODS.items():
        ends = method(groups)
        width = float(np.nanmedian(ends.high - ends.low) / usual)
        found[name] = Found(ends.holds(0.0), width, 100 * float(np.isnan(ends.low).mean()))
    return found


def row(design: str, data: str) -> str:
    """How each method does there, from the worse to the better spread."""
    some = [measured(DESIGNS[design], data, spread) for spread in SPREADS]
    return f"| {' | '.join([design, data, *(_cell([each[name] for each in some]) for name in METHODS)])} |"


def _cell(some: Sequence[Found]) -> str:
    held, width, none = (
        _between(each, digits) for each, digits in zip(zip(*some, strict=True), (0, 1, 0), strict=True)
    )
    told = ", ".join([*([f"{width} ×"] if width != "1.0" else []), *([f"none in {none} %"] if none != "0" else [])])
    return f"{held} ({told})" if told else held


def _between(some: Sequence[float], digits: int) -> str:
    ends = [f"{end:.{digits}f}" for end in (min(some), max(some))]
    return ends[0] if ends[0] == ends[1] else "–".join(ends)


def table() -> str:
    """Every design with every kind of data."""
    head = [f"| design | data | {' | '.join(METHODS)} |", "|---|---|" + "---|" * len(METHODS)]
    return "\n".join([*head, *(row(design, data) for design in DESIGNS for data in MEANS)]) + "\n"


def share_of_smallest(sizes: Sequence[int]) -> float:
    """Of the variance of the mean of category means, if all categories scattered alike."""
    return (1 / min(sizes)) / sum(1 / n for n in sizes)


def table_of_shares() -> str:
    """How often ours holds the truth, from the worse to the better spread."""
    head = [f"| design | share of the variance | {' | '.join(MEANS)} |", "|---|---|" + "---|" * len(MEANS)]
    rows = (row_of_share(many, n, smallest) for smallest, others in BESIDE.items() for many, n in others)
    return "\n".join([*head, *rows]) + "\n"


def row_of_share(many: int, n: int, smallest: int) -> str:
    """Of so many categories of n samples, and the smallest one."""
    sizes = (*(n,) * many, smallest)
    cells = (_range(sizes, data) for data in MEANS)
    return f"| {many} × {n}, {smallest} | {share_of_smallest(sizes):.2f} | {' | '.join(cells)} |"


def _range(sizes: Sequence[int], data: str) -> str:
    return _between([ours(groups_of(sizes, data, spread)).holds(0.0) for spread in SPREADS], 0)


@app.command(help=__doc__)
def main() -> None:
    """Simulate, and write what was found."""
    write_between(here().root / PAGE, {MARKS: table(), MARKS_OF_SHARES: table_of_shares()})


if __name__ == "__main__":
    run(app)
