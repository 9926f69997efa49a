"""Whether scores are in the order in which they should be, and how sure one can be of that.

Metrics are counted by family, that is by what they rest on. A family is held against chance twice. Were training
nothing, every order of the stages would be as likely: with three of them, one order in six is the right one, and no
number of metrics that go together makes that less. And were stages the same but for luck, each image's values could
change places among them: that says whether the differences are more than noise, not whether they are due to training.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from driftledger.benchmarks.base import Input
from driftledger.benchmarks.coverage import Difference, difference
from driftledger.benchmarks.registry import benchmark
from driftledger.core.types import Float64
from driftledger.metrics.exact import exact_mean
from lab.validity.scores import Place, Reading, Unit

RESAMPLES = 2000
_EVEN = 1e-9
"""Statistics that differ by less are equal."""
_MICRO = 10**6
"""Values are drawn as whole millionths, so that their sums are the same bits everywhere."""


def rounded(value: float) -> float:
    """Round to six decimals, and without a minus before zero: later digits vary with the processor.

    >>> rounded(0.12345678), rounded(-1e-9)
    (0.123457, 0.0)
    """
    return round(float(value), 6) + 0.0


def point(reading: Reading) -> dict[str, float | None]:
    """Return a reading as the report holds it."""
    coverage = 1.0 if reading.score is None else reading.score.scored / reading.score.total
    ends = {"low": reading.low, "high": reading.high}
    known = {name: None if end is None else rounded(end) for name, end in ends.items()}
    return {"value": rounded(reading.value), "coverage": rounded(coverage), **known}


@dataclass(frozen=True)
class Rungs:
    """What is ranked, from the least trained to the most."""

    names: Sequence[str]
    steps: Mapping[str, int]
    truth: Mapping[str, float]
    """Name → what was measured of it where the truth is known; controls may be among them."""
    controls: Sequence[str] = ()


@dataclass(frozen=True)
class Held:
    """One metric over the rungs."""

    place: Place
    sign: float
    """−1 where less is better."""
    readings: Mapping[str, Reading]
    """Name → what it scores."""
    ranking: Mapping[str, Any]
    """As the report has it; None where a value or an interval is missing, or coverages lie too far apart."""

    @property
    def family(self) -> str:
        """The name for the metrics that rest on the same, by what the benchmark's table says that it needs."""
        spec = benchmark(self.place.benchmark)
        metric = spec.metric(self.place.metric)
        needs = metric.needs if metric is not None else frozenset[Input]()
        if Input.DRAWN in needs:
            return "redrawn images against images"
        if Input.ANSWERS in needs:
            return f"answers: {spec.title}"
        return "descriptions against descriptions" if Input.TEXT_ENCODER in needs else "descriptions against images"

    def values(self, stages: Sequence[str]) -> list[float] | None:
        """The stages' values, more is better; None where they are not ranked."""
        if self.ranking["rises"] is None:
            return None
        return [self.sign * self.ranking["values"][stage]["value"] for stage in stages]

    def units(self, stages: Sequence[str]) -> list[Mapping[str, Unit]]:
        """Each stage's units; empty where the stages are not ranked or one has none."""
        columns = [self.readings[stage].units for stage in stages if stage in self.readings]
        return columns if self.ranking["rises"] is not None and all(columns) else []


def hold(place: Place, readings: Mapping[str, Reading], rungs: Rungs, seed: int) -> Held:
    """Rank what ``readings`` say of the rungs and of the controls; a rung without a reading is left out."""
    metric = benchmark(place.benchmark).metric(place.metric)
    sign = -1.0 if metric is not None and metric.higher_is_better is False else 1.0
    points = {name: point(each) for name, each in readings.items()}
    present = [name for name in rungs.names if name in points]
    apart, all_apart = _apart([readings[name] for name in present]), _apart(readings.values())
    complete = len(present) == len(rungs.names) and apart is None
    values = {name: sign * each["value"] for name, each in points.items() if each["value"] is not None}
    line = [values[name] for name in present]
    known = sorted(points.keys() & rungs.truth.keys()) if all_apart is None else []
    controls = {}
    for name in rungs.controls:
        if name in points:
            fair = complete and _apart([*(readings[each] for each in present), readings[name]]) is None
            disjoint = [_disjoint(points[name], points[each]) for each in present] if fair else [None]
            below_last = values[name] < line[-1] if fair else None
            controls[name] = {
                "point": points[name],
                "last": all(values[name] < each for each in line) if fair else None,
                "disjoint": _all(disjoint),
                "below_best": None if below_last is None or disjoint[-1] is None else below_last and disjoint[-1],
            }
    ranking = {
        "values": {name: points[name] for name in present},
        "rises": all(before < after for before, after in pairwise(line)) if complete else None,
        "disjoint": _all(_disjoint(points[a], points[b]) for a, b in pairwise(present)) if complete else None,
        "spearman": None if apart else _spearman([rungs.steps[name] for name in present], line),
        "spearman_measured": _spearman([rungs.truth[name] for name in known], [values[name] for name in known]),
        "resampled": _resampled([readings[n] for n in present], [rungs.steps[n] for n in present], sign, seed)
        if complete
        else None,
        "controls": controls,
        "apart": all_apart.reason if all_apart else None,
    }
    return Held(place, sign, readings, ranking)


def _apart(readings: Iterable[Reading]) -> Difference | None:
    """How much less is counted of one than of another, where that is too much to rank them, as ``compare`` has it."""
    scores = [each.score for each in readings if each.score is not None]
    scores.sort(key=lambda score: score.counted / score.total)
    found = difference(scores[-1], scores[0]) if scores else None
    return found if found and found.why else None


def _disjoint(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool | None:
    if None in (one["low"], one["high"], other["low"], other["high"]):
        return None
    return bool(one["high"] < other["low"] or other["high"] < one["low"])


def _all(known: Iterable[bool | None]) -> bool | None:
    values = list(known)
    return None if None in values else all(values)


def _spearman(truth: Sequence[float], values: Sequence[float]) -> float | None:
    """None for fewer than three rungs, and if all values are equal."""
    if len(truth) < 3 or len(set(truth)) == 1 or len(set(values)) == 1:
        return None
    return rounded(np.corrcoef(rankdata(truth), rankdata(values))[0, 1])


def _resampled(rungs: Sequence[Reading], steps: Sequence[int], sign: float, seed: int) -> dict[str, Any] | None:
    columns = [reading.units for reading in rungs]
    common = common_units(columns)
    if not common:
        return None
    scores = sign * resampled_scores(columns, common, resamples=RESAMPLES, seed=seed)
    rising = int((np.diff(scores, axis=1) > 0).all(axis=1).sum())
    orders, counts = np.unique(rankdata(scores, axis=1), axis=0, return_counts=True)
    rhos = [rho for order, n in zip(orders, counts, strict=True) for rho in [_spearman(steps, order)] * int(n)]
    known = [rho for rho in rhos if rho is not None]
    spearman = rounded(exact_mean(known)) if known else None
    share = rounded(rising / RESAMPLES)
    return {"samples": len(common), "resamples": RESAMPLES, "rising": share, "spearman": spearman}


def common_units(columns: Sequence[Mapping[str, Unit]]) -> list[str]:
    """Return the ids, sorted, that all scores have a value for and count in the same category and cluster."""
    if not columns:
        return []
    first, *others = columns
    return sorted(
        name for name, unit in first.items() if all(name in other and other[name][1:] == unit[1:] for other in others)
    )


def resampled_scores(
    columns: Sequence[Mapping[str, Unit]], common: Sequence[str], *, resamples: int, seed: int
) -> Float64:
    """Return scores of samples drawn with replacement, ``resamples`` × scores.

    Each resample draws, inside every category, as many clusters as it has, with all that is in them, and the same for
    every score. A score is the mean over categories of the mean over what was drawn. An index is the upper half of 32
    random bits times n, which unlike ``Generator.integers`` cannot change with the version of numpy.

    >>> one, other = ({"a": Unit(value, "all", "a"), "b": Unit(value + 2, "all", "b")} for value in (1.0, 5.0))
    >>> sorted(set(map(tuple, resampled_scores([one, other], ["a", "b"], resamples=99, seed=1).tolist())))
    [(1.0, 5.0), (2.0, 6.0), (3.0, 7.0)]
    """
    bits = np.random.PCG64(seed)
    strata = sorted({columns[0][name].stratum for name in common})
    total = np.zeros((resamples, len(columns)))
    for stratum in strata:
        names = [name for name in common if columns[0][name].stratum == stratum]
        clusters = sorted({columns[0][name].cluster for name in names})
        rows = [clusters.index(columns[0][name].cluster) for name in names]
        sums = np.zeros((len(columns), len(clusters)), dtype=np.int64)
        for row, column in zip(sums, columns, strict=True):
            np.add.at(row, rows, [round(column[name].value * _MICRO) for name in names])
        drawn = bits.random_raw((resamples, len(clusters))) >> np.uint64(32)
        indices = (drawn * np.uint64(len(clusters)) >> np.uint64(32)).astype(np.intp)
        total += (sums[:, indices].sum(axis=2) / np.bincount(rows)[indices].sum(axis=1)).T
    scores: Float64 = np.round(total / (len(strata) * _MICRO), 9)
    return scores


def families(some: Sequence[Held], stages: Sequence[str], seed: int) -> list[dict[str, Any]]:
    """Return every family of metrics over the stages of the model, by name."""
    found = []
    for name in sorted({each.family for each in some}):
        family = [each for each in some if each.family == name]
        rankings = [each.ranking for each in family]
        rhos = [ranking["spearman"] for ranking in rankings if ranking["spearman"] is not None]
        shown = [(name, control) for ranking in rankings for name, control in ranking["controls"].items()]
        controls = sorted({name for name, _ in shown})
        with_units = [each for each in family if each.units(stages)]
        found.append(
            {
                "name": name,
                "metrics": len(family),
                "sets": len({(each.place.benchmark, each.place.on, each.place.generator) for each in family}),
                "effective": effective_number(with_units, stages),
                "in_order": sum(bool(ranking["rises"]) for ranking in rankings),
                "spearman": rounded(exact_mean(rhos)) if rhos else None,
                "chance": _chance(family, stages),
                "noise": _noise(with_units, stages, seed) if with_units else None,
                "above": {c: sum(bool(each["last"]) for name, each in shown if name == c) for c in controls},
                "apart": {
                    c: sum(
                        bool(each["last"] if each["below_best"] is None else each["below_best"])
                        for name, each in shown
                        if name == c
                    )
                    for c in controls
                },
            }
        )
    return found


def together(some: Sequence[Held], stages: Sequence[str]) -> dict[str, Any]:
    """Count the families with all metrics in order, and the orders of the stages that put as many in order."""
    by_family = {
        name: [each.values(stages) for each in some if each.family == name] for name in {e.family for e in some}
    }
    known = [columns for columns in by_family.values() if None not in columns]
    counts = [
        sum(all(c is not None and all(c[a] < c[b] for a, b in pairwise(order)) for c in columns) for columns in known)
        for order in permutations(range(len(stages)))
    ]
    share = rounded(sum(count >= counts[0] for count in counts) / len(counts)) if known else None
    return {"families": len(by_family), "in_order": counts[0] if known else 0, "chance": share}


def effective_number(some: Sequence[Held], stages: Sequence[str]) -> float | None:
    """Return m² / Σ r² over all pairs of m metrics, themselves included: 1 where all are one.

    r is over images: of each metric the deviation of each image from the mean of its category under its stage, the
    stages below each other. Metrics over other images are not correlated with each other. None where no metric has
    values per image.

    Source: Bretherton et al. 1999, "The Effective Number of Spatial Degrees of Freedom of a Time-Varying Field",
    Journal of Climate 12:1990, equation 5: (Σ λ)² / Σ λ² of the eigenvalues λ of the correlations.
    """
    columns = []
    for held in some:
        deviations: dict[tuple[str, ...], float] = {}
        for stage, units in zip(stages, held.units(stages), strict=True):
            by_image: dict[tuple[str, str], list[float]] = {}
            for unit in units.values():
                by_image.setdefault((unit.stratum, unit.cluster), []).append(held.sign * unit.value)
            means = {image: exact_mean(values) for image, values in by_image.items()}
            for stratum in {image[0] for image in means}:
                middle = exact_mean([mean for image, mean in means.items() if image[0] == stratum])
                deviations |= {
                    (stage, held.place.on, *image): mean - middle
                    for image, mean in means.items()
                    if image[0] == stratum
                }
        if any(deviations.values()):
            columns.append(deviations)
    if not columns:
        return None
    total = 0.0
    for one in columns:
        for other in columns:
            common = sorted(one.keys() & other.keys())
            x, y = (np.array([column[name] for name in common]) for column in (one, other))
            norm = float(np.sqrt((x @ x) * (y @ y))) if common else 0.0
            total += float(x @ y / norm) ** 2 if norm > _EVEN else 0.0
    return rounded(len(columns) ** 2 / total)


def _chance(some: Sequence[Held], stages: Sequence[str]) -> float | None:
    """Return the share of all orders of the stages with at least this mean rank correlation."""
    columns = [column for column in (each.values(stages) for each in some) if column is not None]
    if not columns:
        return None
    places = range(len(stages))
    means = [
        exact_mean([_spearman(places, [column[n] for n in order]) or 0.0 for column in columns])
        for order in permutations(places)
    ]
    return rounded(sum(mean >= means[0] - _EVEN for mean in means) / len(means))


def _noise(some: Sequence[Held], stages: Sequence[str], seed: int) -> float:
    """Return the share of permutations of images among the stages with at least as large a trend.

    The trend of a metric is Σ (place of the stage − the middle place) · its score, over the deviation of the scores
    of single images, and a family's the mean of these. An image changes places in all metrics at once.
    (1 + permutations with as large a trend) / (1 + permutations): Phipson and Smyth 2010, "Permutation P-values Should
    Never Be Zero".
    """
    images = sorted({f"{e.place.on}/{u.cluster}" for e in some for u in e.units(stages)[0].values()})
    number = {image: place for place, image in enumerate(images)}
    orders = np.argsort(np.random.PCG64(seed).random_raw((1 + RESAMPLES, len(images), len(stages))), axis=2)
    orders[0] = np.arange(len(stages))  # the first is as it is
    trends = np.sum([_trends(each, stages, orders, number) for each in some], axis=0)
    return rounded((1 + int((trends[1:] >= trends[0] - _EVEN).sum())) / (1 + RESAMPLES))


def _trends(held: Held, stages: Sequence[str], orders: NDArray[np.intp], number: Mapping[str, int]) -> Float64:
    columns = held.units(stages)
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
    return total / spread if spread > _EVEN else np.zeros(len(orders))


def iterating(some: Sequence[Held], stages: Sequence[str]) -> list[dict[str, Any]]:
    """Return, of every metric of chains after t rounds, how far it sets stages apart.

    The mean over images of what the later stage scores more, over the deviation of these differences: Cohen's d_z, on
    which the power of a paired test rests (Cohen 1988, "Statistical Power Analysis", section 2.3.5). ``ends`` is from
    the first stage to the last, ``closest`` the least of neighbouring ones; None where all images differ by the same.
    """
    found = []
    for held in some:
        columns = held.units(stages)
        if held.place.metric.rpartition("_at_")[2].isdigit() and columns:
            apart = [_effect(held.sign, *pair) for pair in ((columns[0], columns[-1]), *pairwise(columns))]
            near = [each for each in apart[1:] if each is not None]
            where = held.place._asdict()
            row = {name: where[name] for name in ("metric", "on", "generator", "encoder")}
            found.append(row | {"ends": apart[0], "closest": min(near) if near else None})
    return found


def _effect(sign: float, before: Mapping[str, Unit], after: Mapping[str, Unit]) -> float | None:
    differences = [sign * (after[name].value - before[name].value) for name in common_units([before, after])]
    deviation = float(np.std(differences, ddof=1)) if len(differences) > 1 else 0.0
    return rounded(exact_mean(differences) / deviation) if deviation > _EVEN else None
