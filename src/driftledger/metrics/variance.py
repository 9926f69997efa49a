"""Where the variance of a metric comes from: models, generators, encoders, images, repeats, and how these interact.

Every value belongs to a level of each *crossed* factor (which model, through which generator and encoder), to an image,
called the sample, and to a repeat of it. Samples are nested in their categories, since another category has other
images; repeats are nested in their sample, whose seeds they vary, and are crossed with the rest. All effects count as
random, and their variances are the *components of variance*: ``("model", "sample")`` is how far models differ from
image to image beyond what all images and all models have in common. Where nothing is repeated, that of all factors and
the sample together holds the noise, too.

Estimates are those of the analysis of variance: mean squares are linear in the components, and the equations are
solved. They are unbiased, whatever the distribution, and may come out negative, which says that the component is small
beside its noise. Categories of different sizes are weighed alike, as in the scores (unweighted means with the harmonic
mean of the sizes), which leaves the estimates unbiased. Intervals are generalized
confidence intervals, which assume normal effects; ``python -m lab.variance`` measures how often they hold, beside the
other methods that there are.

Sources: Searle, Casella and McCulloch 1992, "Variance Components", chapters 3 and 4; Weerahandi 1993, "Generalized
confidence intervals"; Burdick, Borror and Montgomery 2005, "Design and Analysis of Gauge R&R Studies", appendix B.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from driftledger.core.types import Float64
from driftledger.metrics._checks import members

CATEGORY, SAMPLE, REPEAT = "category", "sample", "repeat"
"""The factors that are not crossed with all others."""

DIGITS = 10
"""To so many of the largest mean square results are rounded: sums of floats vary with the machine beyond them."""

DRAWS = 2**13
"""Of an interval's distribution."""

Term: TypeAlias = tuple[str, ...]
"""The factors of an effect: one for a main effect, several for an interaction."""


class Ends(NamedTuple):
    """Both ends of an interval."""

    low: float
    high: float


class Component(NamedTuple):
    """A component of variance."""

    term: Term
    df: int
    mean_square: float
    variance: float
    """The estimate; below 0 where the mean square is smaller than what other components let expect of it."""
    interval: Ends
    """Of the component, which is never below 0."""
    share: float
    """Of the sum of squares, in [0, 1]."""


@dataclass(frozen=True)
class Layout:
    """How many levels of which factors there are.

    Raises:
        ValueError: a factor is named twice or like a nested one, or there are too few levels to tell anything.
    """

    levels: Mapping[str, int]
    """Crossed factor → its levels, at least two."""
    sizes: tuple[int, ...]
    """How many samples each category has."""
    repeats: int = 1

    def __post_init__(self) -> None:
        for name, count in self.levels.items():
            if name in (CATEGORY, SAMPLE, REPEAT):
                raise ValueError(f"{name} is no crossed factor")
            if count < 2:
                raise ValueError(f"{name} has {count} level, and nothing varies over it")
        if self.samples - len(self.sizes) < 1:
            raise ValueError(
                f"{self.samples} samples in {len(self.sizes)} categories do not tell how samples vary within one"
            )
        if self.repeats < 1:
            raise ValueError(f"repeats must be at least 1, but there are {self.repeats}")

    @property
    def samples(self) -> int:
        """In all categories."""
        return sum(self.sizes)

    @property
    def typical(self) -> float:
        """The harmonic mean of the sizes of categories."""
        return len(self.sizes) / math.fsum(1 / size for size in self.sizes)

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """Main effects first."""
        crossed = tuple(self.levels)
        outer = (*crossed, *([CATEGORY] if len(self.sizes) > 1 else []))
        found = [some for some in _subsets(outer) if some]
        found += [(*some, SAMPLE) for some in _subsets(crossed)]
        found += [(*some, REPEAT) for some in _subsets(crossed)] if self.repeats > 1 else []
        places = {name: place for place, name in enumerate((*crossed, CATEGORY, SAMPLE, REPEAT))}
        return tuple(sorted(found, key=lambda term: (len(term), [places[name] for name in term])))

    def df(self, term: Term) -> int:
        """Degrees of freedom."""
        found = math.prod(self.levels[name] - 1 for name in term if name in self.levels)
        if CATEGORY in term:
            found *= len(self.sizes) - 1
        if SAMPLE in term:
            found *= self.samples - len(self.sizes)
        if REPEAT in term:
            found *= self.samples * (self.repeats - 1)
        return found

    def observations(self, term: Term) -> float:
        """How many values share one level of an effect; where categories differ in size, those of a typical one."""
        found = math.prod(count for name, count in self.levels.items() if name not in term)
        if REPEAT in term:
            return found
        if SAMPLE in term:
            return found * self.repeats
        return found * self.repeats * self.typical * (1 if CATEGORY in term else len(self.sizes))

    @cached_property
    def solved(self) -> Mapping[Term, Mapping[Term, float]]:
        """Component → mean square → its coefficient in the estimate.

        E[MS of T] is the sum over all U that hold T of the values per level of U times the component of U.
        """
        found: dict[Term, dict[Term, float]] = {}
        for term in sorted(self.terms, key=lambda each: -len(_whole(each))):
            estimate = {term: 1.0}
            for other in self.terms:
                if _whole(term) < _whole(other):
                    for square, part in found[other].items():
                        estimate[square] = estimate.get(square, 0.0) - self.observations(other) * part
            found[term] = {
                square: part / self.observations(term) for square, part in estimate.items() if abs(part) > 1e-9
            }
        return found

    def weighed(self, weights: Mapping[Term, float]) -> dict[Term, float]:
        """The coefficients of the mean squares in a weighted sum of components."""
        parts: dict[Term, list[float]] = {}
        for term, weight in weights.items():
            for square, part in self.solved[term].items():
                parts.setdefault(square, []).append(weight * part)
        return {square: total for square, some in parts.items() if abs(total := math.fsum(some)) > 1e-12}


@dataclass(frozen=True)
class Decomposition:
    """The mean squares of some values, and what follows from them."""

    layout: Layout
    mean: float
    """Of the means of all categories and levels."""
    mean_squares: Mapping[Term, float]
    confidence: float

    @cached_property
    def components(self) -> tuple[Component, ...]:
        """All of them, main effects first."""
        sums = {term: self.layout.df(term) * square for term, square in self.mean_squares.items()}
        total = math.fsum(sums.values())
        return tuple(
            Component(
                term,
                self.layout.df(term),
                self.mean_squares[term],
                *self.combined({term: 1.0}),
                round(sums[term] / total, DIGITS) if total else 0.0,
            )
            for term in self.layout.terms
        )

    def combined(self, weights: Mapping[Term, float]) -> tuple[float, Ends]:
        """A weighted sum of components, by non-negative weights, and its interval."""
        return self.weighed(weights), self.interval(weights)

    def weighed(self, weights: Mapping[Term, float]) -> float:
        """A weighted sum of components by itself, which takes no quantiles."""
        parts = self._parts(weights)
        return settled(math.fsum(parts), self._unit(parts))

    def interval(self, weights: Mapping[Term, float]) -> Ends:
        """The interval of such a sum."""
        coefficients = self.layout.weighed(weights)
        degrees = {square: self.layout.df(square) for square in coefficients}
        ends = generalized_interval(coefficients, self.mean_squares, degrees, self.confidence)
        unit = self._unit(self._parts(weights))
        return Ends(*(settled(max(float(end), 0.0), unit) for end in ends))

    def _parts(self, weights: Mapping[Term, float]) -> list[float]:
        coefficients = self.layout.weighed(weights)
        return [part * self.mean_squares[square] for square, part in coefficients.items()]

    @staticmethod
    def _unit(parts: Sequence[float]) -> float:
        return max(map(abs, parts), default=0.0)


def decompose(
    values: Float64, factors: Sequence[str], categories: Sequence[str], *, confidence: float = 0.95
) -> Decomposition:
    """The components of variance of a crossed design.

    Args:
        values: an axis for each of ``factors``, of at least two levels; then an axis for the n samples and one for
            their repeats, of length 1 where there are none. Every cell holds a value.
        categories: of each of the n samples; all alike where there are none.

    Raises:
        ValueError: a value is missing, shapes do not fit, a factor has one level, no category has two samples, or
            ``confidence`` is not between 0 and 1.

    Two models, three images, one repeat: the second model is 2 better on each.

    >>> found = decompose(np.array([[[1.0], [2.0], [3.0]], [[3.0], [4.0], [5.0]]]), ["model"], ["all"] * 3)
    >>> [(each.term, each.df, each.variance) for each in found.components]
    [(('model',), 1, 2.0), (('sample',), 2, 1.0), (('model', 'sample'), 2, 0.0)]
    """
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must be between 0 and 1, but is {confidence}")
    if values.ndim != len(factors) + 2:
        raise ValueError(f"{len(factors)} factors, samples and repeats need as many axes, but there are {values.ndim}")
    if values.shape[-2] != len(categories):
        raise ValueError(f"there are {values.shape[-2]} samples, and {len(categories)} categories of samples")
    if len(set(factors)) < len(factors):
        raise ValueError(f"a factor is named twice: {', '.join(factors)}")
    if not np.isfinite(values).all():
        raise ValueError("every model needs a finite value for every sample, through all the same components")
    rows = members(categories)
    layout = Layout(
        dict(zip(factors, values.shape, strict=False)), tuple(map(len, rows.values())), repeats=values.shape[-1]
    )
    squares = {term: float(square) for term, square in mean_squares(values, layout, list(rows.values())).items()}
    unit = max(float(np.abs(values).max()) ** 2 * 2.0**-20, *squares.values())
    by_category = [float(values[..., some, :].mean()) for some in rows.values()]
    return Decomposition(
        layout,
        settled(math.fsum(by_category) / len(by_category), float(np.abs(values).max())),
        {term: settled(square, unit) for term, square in squares.items()},
        confidence,
    )


def mean_squares(values: Float64, layout: Layout, rows: Sequence[Sequence[int]]) -> dict[Term, Float64]:
    """The mean square of each term, per value, of one or many sets of values at once.

    Args:
        values: axes as in :func:`decompose`, behind any number of others.
        rows: which samples each category has.

    Returns:
        Arrays of the shape of the leading axes. Those without a sample are of the means of categories.
    """
    names = tuple(layout.levels)
    of_samples = values.mean(axis=-1)
    by_category = [of_samples[..., list(some)] for some in rows]
    means = np.stack([some.mean(axis=-1) for some in by_category], axis=-1)
    nested = {
        REPEAT: values - of_samples[..., None],
        SAMPLE: np.concatenate([some - some.mean(axis=-1, keepdims=True) for some in by_category], axis=-1),
    }
    leading, found = values.ndim - len(names) - 2, {}
    for term in layout.terms:
        inner = next((name for name in (REPEAT, SAMPLE) if name in term), "")
        effect = _contrast(nested.get(inner, means), names if inner else (*names, CATEGORY), term, leading)
        alike: float = math.prod(layout.levels[name] for name in names if name not in term)
        if not inner:
            alike = alike * layout.typical * (1 if CATEGORY in term else len(layout.sizes))
        repeats = 1 if inner == REPEAT else layout.repeats
        total = np.square(effect).sum(axis=tuple(range(leading, effect.ndim)))
        found[term] = total * (alike * repeats / layout.df(term))
    return found


def generalized_interval(
    coefficients: Mapping[Term, float], squares: Mapping[Term, Any], degrees: Mapping[Term, int], confidence: float
) -> tuple[Any, Any]:
    """Both ends of an interval of Σ c·E[MS], for coefficients of either sign.

    What is between the quantiles of Σ c·MS·df/χ², over independent χ². Of one mean square that is exact; of several,
    the quantiles are of :data:`DRAWS` values, in each of which every χ² takes another of as many even quantiles.

    Args:
        squares: numbers, or arrays of one shape; independent, each χ² over its degrees of freedom.

    Source: Weerahandi 1993, "Generalized confidence intervals"; Hannig, Iyer and Patterson 2006, "Fiducial generalized
    confidence intervals", who prove that it holds in the limit; Burdick, Borror and Montgomery 2005.

    >>> low, high = generalized_interval({("sample",): 1.0}, {("sample",): 2.0}, {("sample",): 10}, 0.95)
    >>> round(float(low), 6), round(float(high), 6)
    (0.976411, 6.159584)
    """
    from scipy import special  # which takes a moment

    tail = (1 - confidence) / 2
    terms = sorted(coefficients)
    if len(terms) == 1:
        scaled, df = coefficients[terms[0]] * squares[terms[0]], degrees[terms[0]]
        ends = [scaled * (df / float(special.chdtri(df, upper))) for upper in (tail, 1 - tail)]
        return (ends[0], ends[1]) if coefficients[terms[0]] > 0 else (ends[1], ends[0])
    drawn = np.zeros(1)
    for number, term in enumerate(terms):
        drawn = drawn + np.multiply.outer(coefficients[term] * squares[term], _shuffled(degrees[term], number))
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=-1)
    return low, high


@lru_cache(maxsize=1000)
def _shuffled(df: int, number: int) -> Float64:
    """df/χ² at even quantiles, in an order of its own for each number; the raw stream is what numpy guarantees."""
    from scipy import special

    quantiles = special.chdtri(df, (np.arange(DRAWS) + 0.5) / DRAWS)
    found: Float64 = df / quantiles[np.argsort(np.random.PCG64(number).random_raw(DRAWS), kind="stable")]
    return found


def settled(value: float, unit: float) -> float:
    """The value to :data:`DIGITS` digits of what is as large as ``unit``, so that what cancels is 0 on every machine.

    >>> settled(0.1 + 0.2 - 0.3, 0.3), settled(2 / 3, 1.0)
    (0.0, 0.666666667)
    """
    if not unit:
        return 0.0
    return round(value, DIGITS - 1 - math.floor(math.log10(unit))) + 0.0


def _contrast(values: Float64, names: Sequence[str], term: Term, first: int) -> NDArray[np.float64]:
    """What levels of the factors of a term differ by beyond their parts; averaged over all other factors.

    ``names`` are those of the axes from ``first`` on; what comes after them stays as it is.
    """
    for axis, name in enumerate(names, first):
        mean = values.mean(axis=axis, keepdims=True)
        values = values - mean if name in term else mean
    return values


def _whole(term: Term) -> frozenset[str]:
    """With the factors in which those of the term are nested."""
    nested = {SAMPLE: {CATEGORY}, REPEAT: {CATEGORY, SAMPLE}}
    return frozenset(term).union(*(nested.get(name, ()) for name in term))


def _subsets(names: Collection[str]) -> Iterator[Term]:
    return (some for size in range(len(names) + 1) for some in combinations(names, size))
