"""Metrics by what they rest on: those that are computed of the same thing say one thing many times, not many things.

A family is held against chance twice. Were training nothing, every order of the stages would be as likely: with three
of them, one order in six is the right one, and no number of metrics that go together makes that less. And were stages
the same but for luck, each image's values could change places among them: that says whether the differences are more
than noise, not whether they are due to training.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise, permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from driftledger.benchmarks.base import Input, Metric
from driftledger.benchmarks.registry import benchmark
from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean
from lab.validity.collected import Place
from lab.validity.measured import Rounded
from lab.validity.ranked import Drawing, Ranking
from lab.validity.resampled import common_units
from lab.validity.scores import Reading
from lab.validity.units import Units

_FROZEN = ConfigDict(extra="forbid")
_EVEN = 1e-9
"""Statistics that differ by less are equal."""


@dataclass(frozen=True, config=_FROZEN)
class Family:
    """Metrics that rest on the same, over the stages of the model."""

    name: str
    metrics: int
    sets: int
    """Of records behind them: chains of another protocol or generator are drawn anew, of the same images."""
    effective: Rounded | None
    """How many independent metrics have as much to say about single images as these; None without values per image."""
    in_order: int
    """Metrics that put the stages in the order of training."""
    spearman: Rounded | None
    """The mean over metrics of the rank correlation with training steps."""
    chance: Rounded | None
    """Of all orders of the stages, the share with at least that mean."""
    noise: Rounded | None
    """The share of permutations of images among the stages with at least as large a trend."""
    above: dict[str, int]
    """Control → metrics that put every stage above it."""
    apart: dict[str, int]
    """Control → metrics whose interval of the last stage lies above the control's, or that have no interval and put
    the last stage above."""


@dataclass(frozen=True, config=_FROZEN)
class Together:
    """All families at once."""

    families: int
    in_order: int
    """Families of which every metric has the stages in order."""
    chance: Rounded | None
    """Of all orders of the stages, the share that puts as many families in order."""


class Held(NamedTuple):
    """One metric over the stages."""

    place: Place
    ranking: Ranking
    readings: Mapping[str, Reading]
    """Model → what it scores."""
    sign: float
    """−1 where less is better."""


def family_of(place: Place) -> str:
    """The name of a metric's family, by what its benchmark's table says that it needs."""
    spec = benchmark(place.benchmark)
    metric: Metric | None = spec.metric(place.metric)
    needs = metric.needs if metric is not None else frozenset[Input]()
    if Input.DRAWN in needs:
        return "redrawn images against images"
    if Input.ANSWERS in needs:
        return f"answers: {spec.title}"
    return "descriptions against descriptions" if Input.TEXT_ENCODER in needs else "descriptions against images"


def families(some: Sequence[Held], stages: Sequence[str], drawing: Drawing) -> list[Family]:
    """Every family, by name.

    Args:
        stages: models, from the least trained on.
    """
    names = sorted({family_of(each.place) for each in some})
    return [_family(name, [each for each in some if family_of(each.place) == name], stages, drawing) for name in names]


def together(some: Sequence[Held], stages: Sequence[str]) -> Together:
    """How many families have all of their metrics in order, and how often chance has as many."""
    by_family = [[e for e in some if family_of(e.place) == name] for name in {family_of(each.place) for each in some}]
    values = [[_values(each, stages) for each in family] for family in by_family]
    known = [family for family in values if None not in family]
    orders = list(permutations(range(len(stages))))
    counts = [sum(all(_rises(column, order) for column in family) for family in known) for order in orders]
    share = sum(count >= counts[0] for count in counts) / len(orders) if known else None
    return Together(len(values), counts[0] if known else 0, share)


def _family(name: str, some: Sequence[Held], stages: Sequence[str], drawing: Drawing) -> Family:
    rankings = [each.ranking for each in some]
    rhos = [ranking.spearman for ranking in rankings if ranking.spearman is not None]
    controls = sorted({control for ranking in rankings for control in ranking.controls})
    return Family(
        name=name,
        metrics=len(some),
        sets=len({(each.place.benchmark, each.place.on, each.place.generator) for each in some}),
        effective=effective_number([each for each in some if _has_units(each, stages)], stages),
        in_order=sum(bool(ranking.rises) for ranking in rankings),
        spearman=exact_mean(rhos) if rhos else None,
        chance=_chance(some, stages),
        noise=_noise(some, stages, drawing),
        above={c: sum(bool(c in r.controls and r.controls[c].last) for r in rankings) for c in controls},
        apart={c: sum(_is_apart(ranking, c) for ranking in rankings) for c in controls},
    )


def _is_apart(ranking: Ranking, control: str) -> bool:
    found = ranking.controls.get(control)
    if found is None:
        return False
    return bool(found.last if found.below_best is None else found.below_best)


def effective_number(some: Sequence[Held], stages: Sequence[str]) -> float | None:
    """m² / Σ r² over all pairs of m metrics, themselves included: m where none is correlated, 1 where all are one.

    r is over images: of each metric the deviation of each image from the mean of its category under its stage, the
    stages below each other. Metrics over other images are not correlated with each other. None where no metric has
    values per image.

    Source: Bretherton et al. 1999, "The Effective Number of Spatial Degrees of Freedom of a Time-Varying Field",
    Journal of Climate 12:1990, equation 5: (Σ λ)² / Σ λ² of the eigenvalues λ of the correlations.
    """
    columns = [_deviations(each, stages) for each in some]
    there = [column for column in columns if any(column.values())]
    if not there:
        return None
    total = sum(_correlation(one, other) ** 2 for one in there for other in there)
    return len(there) ** 2 / total


def _correlation(one: Mapping[str, float], other: Mapping[str, float]) -> float:
    common = sorted(one.keys() & other.keys())
    x, y = (np.array([column[name] for name in common]) for column in (one, other))
    norm = float(np.sqrt((x @ x) * (y @ y))) if common else 0.0
    return float(x @ y) / norm if norm > _EVEN else 0.0


def _deviations(held: Held, stages: Sequence[str]) -> dict[str, float]:
    """Stage, dataset and image → the deviation of its mean from its category's."""
    found: dict[str, float] = {}
    for stage in stages:
        units = held.readings[stage].units or {}
        for stratum in {unit.stratum for unit in units.values()}:
            members = [unit for unit in units.values() if unit.stratum == stratum]
            by_image: dict[str, list[float]] = {}
            for unit in members:
                by_image.setdefault(unit.cluster, []).append(held.sign * unit.value)
            means = {image: exact_mean(values) for image, values in by_image.items()}
            middle = exact_mean(list(means.values()))
            found |= {f"{stage}/{held.place.on}/{stratum}/{image}": mean - middle for image, mean in means.items()}
    return found


def _chance(some: Sequence[Held], stages: Sequence[str]) -> float | None:
    """Over all orders of the stages, of which the first is the one that there is."""
    columns = [column for column in (_values(each, stages) for each in some) if column is not None]
    if not columns:
        return None
    means = [
        exact_mean([_rho([column[n] for n in order]) for column in columns])
        for order in permutations(range(len(stages)))
    ]
    return sum(mean >= means[0] - _EVEN for mean in means) / len(means)


def _values(held: Held, stages: Sequence[str]) -> tuple[float, ...] | None:
    """The stages' values, more is better; None where one is missing or they are not ranked."""
    if held.ranking.rises is None:
        return None
    return tuple(held.sign * held.ranking.values[stage].value for stage in stages)


def _rises(column: tuple[float, ...] | None, order: Sequence[int]) -> bool:
    placed = [column[n] for n in order] if column is not None else []
    return all(before < after for before, after in pairwise(placed))


def _rho(values: Sequence[float]) -> float:
    """Spearman's rank correlation with 0, 1, …; 0 where all are equal."""
    from scipy.stats import rankdata  # slow to import

    ranks = rankdata(values)
    x, y = np.arange(len(ranks)) - (len(ranks) - 1) / 2, ranks - ranks.mean()
    norm = float(np.sqrt((x @ x) * (y @ y)))
    return float(x @ y) / norm if norm > _EVEN else 0.0


def _has_units(held: Held, stages: Sequence[str]) -> bool:
    return held.ranking.rises is not None and all(held.readings[stage].units for stage in stages)


def _noise(some: Sequence[Held], stages: Sequence[str], drawing: Drawing) -> float | None:
    """The trend of a metric is Σ (place of the stage − the middle place) · its score, over the deviation of the scores
    of single images, and a family's the mean of these. An image changes places in all metrics at once.

    (1 + permutations with as large a trend) / (1 + permutations): Phipson and Smyth 2010, "Permutation P-values Should
    Never Be Zero".
    """
    held = [each for each in some if _has_units(each, stages)]
    if not held:
        return None
    images = sorted({f"{e.place.on}/{u.cluster}" for e in held for u in (e.readings[stages[0]].units or {}).values()})
    number = {image: place for place, image in enumerate(images)}
    shape = (1 + drawing.resamples, len(images), len(stages))
    orders = np.argsort(np.random.PCG64(drawing.seed).random_raw(shape), axis=2)
    orders[0] = np.arange(len(stages))  # the first is as it is
    trends = np.sum([_trends(each, stages, orders, number) for each in held], axis=0)
    return (1 + int((trends[1:] >= trends[0] - _EVEN).sum())) / (1 + drawing.resamples)


def _trends(held: Held, stages: Sequence[str], orders: NDArray[np.intp], number: Mapping[str, int]) -> Float64:
    columns: list[Units] = [held.readings[stage].units or {} for stage in stages]
    common = common_units(columns)
    weights = np.arange(len(stages)) - (len(stages) - 1) / 2
    strata = sorted({columns[0][name].stratum for name in common})
    total, spreads = np.zeros(len(orders)), []
    for stratum in strata:
        names = [name for name in common if columns[0][name].stratum == stratum]
        values = held.sign * np.array([[column[name].value for name in names] for column in columns])
        rows = [number[f"{held.place.on}/{columns[0][name].cluster}"] for name in names]
        placed = np.take_along_axis(values.T[None], orders[:, rows, :], axis=2)
        total += (placed.mean(axis=1) * weights).sum(axis=1) / len(strata)
        spreads.append(float(values.std()))
    spread = exact_mean(spreads)
    found: Float64 = total / spread if spread > _EVEN else np.zeros(len(orders))
    return found
