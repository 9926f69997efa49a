"""How often intervals of 95 % hold the truth: our own formulas, what they replaced, and those of other tools.

Run as ``python -m lab.coverage`` in the top folder: it draws data of which the truth is known, thousands of times, and
writes ``reports/perf/coverage.json`` and the table in ``docs/statistics.md``. What other tools compute is an estimate ±
1.96 standard errors, read in their code: lm-evaluation-harness 0.4 (``mean_stderr``, and ``pooled_sample_stderr`` for
groups of tasks) and Inspect (``stderr``, ``stderr(cluster=…)``, after Miller, arXiv 2411.00640).
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from scipy.stats import beta, binom, norm, t

from driftledger.core.types import Float64
from driftledger.metrics.intervals.estimate import fewest
from lab.entry import here, new_app, run
from lab.marked import put_between

CONFIDENCE, NORMAL = 0.95, float(norm.ppf(0.975))
SIMULATIONS = 10_000
RESAMPLES, RESAMPLED = 200, 1_000
"""Of one simulation, and of how many at most: resampling is a thousand times as slow as a formula."""
MOST = 2 * 10**6
"""Values that are resampled at a time, by which large designs are simulated less often."""
JSON, PAGE = Path("reports/perf/coverage.json"), Path("docs/statistics.md")
MARKS = "<!-- python -m lab.coverage: begin -->", "<!-- python -m lab.coverage: end -->"
MARKS_OF_CLASSES = "<!-- python -m lab.coverage, classes: begin -->", "<!-- python -m lab.coverage, classes: end -->"

app = new_app(__doc__ or "")


class Ends(NamedTuple):
    """Of one interval per simulation."""

    low: Float64
    high: Float64

    def holds(self, truth: float) -> float:
        """The share of intervals that hold the truth, in percent; where there is none, nothing is held or missed."""
        there = ~np.isnan(self.low)
        low, high = self.low[there], self.high[there]
        return 100.0 * float(((low <= truth + 1e-12) & (high >= truth - 1e-12)).mean())


class Case(NamedTuple):
    """One kind of data in one design, and how often each method holds its truth."""

    estimate: str
    design: str
    data: str
    coverage: Mapping[str, float]


def _around(middle: Float64, half: Float64) -> Ends:
    return Ends(middle - half, middle + half)


MEANS: dict[str, Callable[[Generator, tuple[int, ...]], Float64]] = {
    "normal": lambda rng, shape: rng.normal(size=shape),
    "skewed": lambda rng, shape: (4 - rng.gamma(4, size=shape)) / 2,
    "very skewed": lambda rng, shape: 1 - rng.exponential(size=shape),
    "discrete": lambda rng, shape: rng.choice([0.0, 0.5, 1.0], p=[0.2, 0.3, 0.5], size=shape) - 0.65,
}
"""Of mean 0: skewness 0, −1 (as GC's within categories, mostly), −2, and three values."""
DESIGNS: dict[str, tuple[int, ...]] = {
    "1 × 2": (2,),
    "1 × 5": (5,),
    "1 × 21": (21,),
    "1 × 60": (60,),
    "4, 4, 4, 4, 3, 2": (4, 4, 4, 4, 3, 2),
    "30, 2": (30, 2),
    "3 × 10": (10,) * 3,
    "14 × 2": (2,) * 14,
    "14 × 60": (60,) * 14,
}
"""Samples per category: fidelity's photographs are 1 × 21, GenCeption's the fifth, the trio's 3 × 10."""


def satterthwaite(parts: Float64, below: Float64) -> Float64:
    """As in :mod:`driftledger.metrics.intervals.means`, of many simulations; the last axis holds what is added up."""
    total = parts.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        df: Float64 = np.where(total > 0, total**2 / (parts**2 / below).sum(axis=-1), below.sum())
    return df


FEW = 4
"""Categories of fewer samples are the small ones."""


class Spread(NamedTuple):
    """Of the samples of each category, in many simulations, each a row."""

    middle: Float64
    own: Float64
    """Variance of each category, simulations × categories."""
    pooled: Float64
    """Of all, likewise, the same in each."""
    sizes: Float64

    @classmethod
    def of(cls, groups: Sequence[Float64]) -> "Spread":
        sizes = np.array([float(group.shape[1]) for group in groups])
        own = np.stack([group.var(axis=1, ddof=1) for group in groups], axis=1)
        pooled = (own * (sizes - 1)).sum(axis=1, keepdims=True) / (sizes - 1).sum()
        middle = np.mean([group.mean(axis=1) for group in groups], axis=0)
        return cls(np.asarray(middle), own, np.broadcast_to(pooled, own.shape), sizes)

    @property
    def at_least_pooled(self) -> Float64:
        """The variance of each category, in small ones at least that of the larger ones together."""
        large = self.sizes >= FEW
        if not large.any():
            return self.own
        weights = (self.sizes - 1) * large
        pooled = (self.own * weights).sum(axis=1, keepdims=True) / weights.sum()
        return np.where(large, self.own, np.maximum(self.own, pooled))

    def interval(self, variance: Float64, df: Float64 | float | None = None) -> Ends:
        """Of these variances of categories, by default with Satterthwaite's degrees of freedom; none where nothing
        varies in so few samples that it says nothing."""
        parts = variance / self.sizes
        error = np.sqrt(parts.sum(axis=1)) / len(self.sizes)
        half = t.ppf((1 + CONFIDENCE) / 2, satterthwaite(parts, self.sizes - 1) if df is None else df) * error
        if self.sizes.sum() < fewest(CONFIDENCE):
            half = np.where(error > 0, half, np.nan)
        return _around(self.middle, half)


def ours(groups: Sequence[Float64]) -> Ends:
    """:func:`driftledger.metrics.intervals.means.mean_interval` of many simulations, each a row."""
    found = Spread.of(groups)
    return found.interval(found.at_least_pooled)


def student(groups: Sequence[Float64]) -> Ends:
    """The same, of each category's own variance."""
    found = Spread.of(groups)
    return found.interval(found.own)


def resampled_means(groups: Sequence[Float64], rng: Generator) -> Ends:
    """:func:`lab.resampling.bootstrap_interval`, what was here before."""
    means = 0.0
    for group in groups:
        drawn = rng.integers(0, group.shape[1], (len(group), RESAMPLES, group.shape[1]), dtype=np.int16)
        rows = np.arange(len(group))[:, None, None]
        means = means + group[rows, drawn].mean(axis=2) / len(groups)
    return _percentiles(np.asarray(means))


def pooled(groups: Sequence[Float64]) -> Ends:
    """lm-evaluation-harness for a group of tasks of equal weight: pooled variance over all samples, ± 1.96."""
    found = Spread.of(groups)
    return _around(found.middle, NORMAL * np.sqrt(found.pooled[:, 0] / found.sizes.sum()))


def of_means(rng: Generator) -> Iterator[Case]:
    """Means of category means; the last category scatters five times as much as the first, or all do alike."""
    for (design, sizes), (data, draw) in ((d, m) for d in DESIGNS.items() for m in MEANS.items()):
        for spread, what in ((1.0, ""), (5.0, ", unequal")):
            if spread > 1 and len(sizes) == 1:
                continue
            scales = np.linspace(1.0, spread, len(sizes))
            groups = [scale * draw(rng, (SIMULATIONS, n)) for scale, n in zip(scales, sizes, strict=True)]
            few = [group[: _few(max(sizes))] for group in groups]
            yield Case(
                "mean of category means",
                design,
                data + what,
                {
                    "ours": ours(groups).holds(0.0),
                    "before": resampled_means(few, rng).holds(0.0),
                    "lm-eval": pooled(groups).holds(0.0),
                },
            )


def of_hits() -> Iterator[Case]:
    """Shares of independent hits: exact, over all counts; the mean over shares, and the worst of them."""
    shares = np.linspace(0.05, 0.95, 19)
    for n in (10, 21, 96, 200):
        hits = np.arange(n + 1)
        share = hits / n
        clopper = Ends(
            np.where(hits > 0, beta.ppf(0.025, hits, n - hits + 1), 0.0),
            np.where(hits < n, beta.ppf(0.975, hits + 1, n - hits), 1.0),
        )
        plain = _around(share, NORMAL * np.sqrt(share * (1 - share) / (n - 1)))
        methods = {"ours": wilson(share, n, NORMAL), "Clopper–Pearson": clopper, "lm-eval": plain}
        held = {
            name: [float(binom.pmf(hits, n, p)[(e.low <= p) & (p <= e.high)].sum()) for p in shares]
            for name, e in methods.items()
        }
        mean, worst = ({name: 100 * float(of(each)) for name, each in held.items()} for of in (np.mean, np.min))
        yield Case("share of hits", f"n = {n}", "mean over shares", mean)
        yield Case("share of hits", f"n = {n}", "worst share", worst)


def wilson(share: Float64, n: Float64 | int, quantile: Float64 | float) -> Ends:
    """As in :mod:`driftledger.metrics.intervals.shares`."""
    square = np.square(quantile) / n
    half = np.sqrt(square * (share * (1 - share) + square / 4))
    return Ends((share + square / 2 - half) / (1 + square), (share + square / 2 + half) / (1 + square))


class Linearised(NamedTuple):
    """As in :mod:`driftledger.metrics.intervals.clusters`, of many simulations; sizes are those of all."""

    ratio: Float64
    error: Float64
    quantile: float
    clusters: int

    @classmethod
    def of(cls, sums: Float64, sizes: Float64) -> "Linearised":
        total, weights = sizes.sum(), sizes / sizes.sum()
        ratio = sums.sum(axis=1) / total
        residuals = sums - ratio[:, None] * sizes
        error = np.sqrt((residuals**2 / (1 - weights)).sum(axis=1)) / total
        pairs = weights**2 / (1 - weights)
        df = 1 / ((weights**2).sum() + pairs.sum() ** 2 - (pairs**2).sum())
        return cls(ratio, error, float(t.ppf((1 + CONFIDENCE) / 2, df)), len(sizes))

    @property
    def student(self) -> Ends:
        return _around(self.ratio, self.quantile * self.error)

    @property
    def effective(self) -> Float64:
        """How many independent answers would scatter as much."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(self.error > 0, self.ratio * (1 - self.ratio) / self.error**2, self.clusters)

    @property
    def shares(self) -> Ends:
        return wilson(self.ratio, self.effective, self.quantile)


def of_questions(rng: Generator) -> Iterator[Case]:
    """Shares of right answers, to 1 to 5 questions about each image, which are alike by an intra-class correlation."""
    for images in (6, 20, 60, 120):
        sizes = rng.integers(1, 6, images).astype(float)
        for share in (0.5, 0.8, 0.95):
            for alike in (0.0, 0.3):
                sums = _answers(rng, sizes, share, alike)
                linear = Linearised.of(sums, sizes)
                variance = (linear.ratio * (1 - linear.ratio)) / (sizes.sum() - 1)
                residuals = ((sums - linear.ratio[:, None] * sizes) ** 2).sum(axis=1)
                clustered = np.sqrt(residuals * images / (images - 1)) / sizes.sum()
                yield Case(
                    "share of answers",
                    f"{images} images",
                    f"{share:.0%} right, correlation {alike}",
                    {
                        "ours": linear.shares.holds(share),
                        "before": _resampled_ratios(sums[: _few(images)], sizes, rng).holds(share),
                        "lm-eval": _around(linear.ratio, NORMAL * np.sqrt(variance)).holds(share),
                        "Inspect, clustered": _around(linear.ratio, NORMAL * clustered).holds(share),
                        "t": linear.student.holds(share),
                    },
                )


def of_differences(rng: Generator) -> Iterator[Case]:
    """Of two models' shares: what only one has right, by the share that only A has and only B has."""
    for images in (6, 20, 60, 120):
        sizes = rng.integers(1, 6, images).astype(float)
        for only_a, only_b in ((0.25, 0.25), (0.05, 0.05), (0.1, 0.3)):
            several = rng.dirichlet([4 * only_a, 4 * only_b, 4 * (1 - only_a - only_b)], (SIMULATIONS, images))
            sums = np.zeros((SIMULATIONS, images))
            for question in range(int(sizes.max())):
                drawn = rng.random((SIMULATIONS, images))
                worth = (drawn < several[..., 0] + several[..., 1]).astype(float) - 2 * (drawn < several[..., 0])
                sums += worth * (sizes > question)
            linear = Linearised.of(sums, sizes)
            residuals = ((sums - linear.ratio[:, None] * sizes) ** 2).sum(axis=1)
            clustered = np.sqrt(residuals * images / (images - 1)) / sizes.sum()
            yield Case(
                "difference of two shares",
                f"{images} images",
                f"{only_a:.0%} A alone, {only_b:.0%} B alone",
                {
                    "ours": linear.student.holds(only_b - only_a),
                    "before": _resampled_ratios(sums[: _few(images)], sizes, rng).holds(only_b - only_a),
                    "Inspect, clustered": _around(linear.ratio, NORMAL * clustered).holds(only_b - only_a),
                },
            )


CLASSES = "share of hits by class"


def of_classes(rng: Generator) -> Iterator[Case]:
    """Shares of test descriptions whose class is found, of classes that are harder or easier: once these classes are
    the ones that are meant, and once they stand for others and are drawn anew."""
    for classes, tests in ((10, 10), (24, 4), (100, 3)):
        for share in (0.5, 0.8):
            for alike in (0.0, 0.1, 0.3):
                sizes = np.full(classes, float(tests))
                many = (1 - alike) / alike if alike else np.inf
                rates = rng.beta(share * many, (1 - share) * many, classes) if alike else np.full(classes, share)
                meant = rng.binomial(tests, rates, (SIMULATIONS, classes)).astype(float)
                drawn = _answers(rng, sizes, share, alike)
                for what, sums, truth in (("these", meant, float(rates.mean())), ("drawn", drawn, share)):
                    linear = Linearised.of(sums, sizes)
                    held = {
                        "by image": wilson(linear.ratio, sizes.sum(), NORMAL).holds(truth),
                        "by class": linear.shares.holds(truth),
                    }
                    yield Case(
                        CLASSES,
                        f"{classes} classes × {tests}",
                        f"{what}, {share:.0%} right, correlation {alike}",
                        held | {"ours": held["by image" if what == "these" else "by class"]},
                    )


def _answers(rng: Generator, sizes: Float64, share: float, alike: float) -> Float64:
    """Right answers about each image of each simulation: beta-binomial."""
    shape = (SIMULATIONS, len(sizes))
    if not alike:
        return rng.binomial(sizes.astype(int), share, shape).astype(float)
    many = (1 - alike) / alike
    return rng.binomial(sizes.astype(int), rng.beta(share * many, (1 - share) * many, shape)).astype(float)


def _resampled_ratios(sums: Float64, sizes: Float64, rng: Generator) -> Ends:
    """:func:`lab.resampling.clustered_ratio_interval`, what was here before."""
    drawn = rng.integers(0, len(sizes), (len(sums), RESAMPLES, len(sizes)), dtype=np.int16)
    return _percentiles(sums[np.arange(len(sums))[:, None, None], drawn].sum(axis=2) / sizes[drawn].sum(axis=2))


def _few(units: int) -> int:
    """How many simulations of so many units are resampled."""
    return min(RESAMPLED, MOST // (RESAMPLES * units))


def _percentiles(resampled: Float64) -> Ends:
    ordered, cut = np.sort(resampled, axis=1), int(RESAMPLES * (1 - CONFIDENCE) / 2)
    return Ends(ordered[:, cut], ordered[:, -1 - cut])


def simulate() -> list[Case]:
    """All of it, from one seed."""
    rng = np.random.default_rng(20)
    return [*of_means(rng), *of_hits(), *of_questions(rng), *of_differences(rng), *of_classes(rng)]


def as_json(cases: Sequence[Case]) -> str:
    told = {
        "confidence": CONFIDENCE,
        "simulations": SIMULATIONS,
        "simulations_resampled": RESAMPLED,
        "resamples": RESAMPLES,
        "cases": [
            {**case._asdict(), "coverage": {name: round(value, 1) for name, value in case.coverage.items()}}
            for case in cases
        ],
    }
    return json.dumps(told, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


METHODS = ("ours", "before", "lm-eval", "Inspect, clustered")
"""Of the table; the file has all."""
KINDS = {"normal": "normal, skewed", "skewed": "normal, skewed"}
"""Of data, which share a row."""


def table(text: str) -> str:
    """The Markdown table of ``coverage.json``: the lowest and the highest coverage of what shares a row."""
    rows: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for case in _cases(text):
        if case["estimate"] == CLASSES:
            continue
        data = case["data"].removesuffix(", unequal")
        kind = KINDS.get(data, data) if data in MEANS or data == "worst share" else ""
        rows.setdefault((case["estimate"], case["design"], kind), []).append(case["coverage"])
    lines = [f"| estimate | design | data | {' | '.join(METHODS)} |", "|---|---|---|" + "---|" * len(METHODS)]
    lines += [f"| {' | '.join([*names, *(_range(some, name) for name in METHODS)])} |" for names, some in rows.items()]
    return "\n".join(lines) + "\n"


def _cases(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text)["cases"])


def table_of_classes(text: str) -> str:
    """Likewise of TRAC's accuracies, whose interval depends on what is meant by the classes."""
    methods, rows = ("by image", "by class"), dict[tuple[str, str], list[Mapping[str, float]]]()
    for case in (each for each in _cases(text) if each["estimate"] == CLASSES):
        rows.setdefault((case["design"], case["data"].partition(",")[0]), []).append(case["coverage"])
    lines = ["| design | classes | interval over images | interval over classes |", "|---|---|---|---|"]
    lines += [f"| {' | '.join([*names, *(_range(some, name) for name in methods)])} |" for names, some in rows.items()]
    return "\n".join(lines) + "\n"


def _range(some: Sequence[Mapping[str, float]], method: str) -> str:
    held = sorted(coverage[method] for coverage in some if method in coverage)
    return "" if not held else f"{held[0]:.1f}" if held[0] == held[-1] else f"{held[0]:.1f}–{held[-1]:.1f}"


def with_table(page: str, text: str) -> str:
    """The page with the tables of a ``coverage.json`` in their places."""
    return put_between(put_between(page, MARKS, table(text)), MARKS_OF_CLASSES, table_of_classes(text))


@app.command(help=__doc__)
def main() -> None:
    """Simulate, and write what was found."""
    top = here().root
    text = as_json(simulate())
    (top / JSON).write_text(text, encoding="utf-8")
    (top / PAGE).write_text(with_table((top / PAGE).read_text(encoding="utf-8"), text), encoding="utf-8")


if __name__ == "__main__":
    run(app)
