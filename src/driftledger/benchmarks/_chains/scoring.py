"""Scores of chains: their means over repeats, samples and categories, their rows and flags."""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain, product
from typing import NamedTuple, TypeAlias

import numpy as np

from driftledger.benchmarks._chains.records import ChainRequest, ChainStep
from driftledger.benchmarks._chains.spec import ChainBenchmark
from driftledger.benchmarks.scoring import (
    FromDataset,
    Scoring,
    clusters_of,
    copies,
    interval_ends,
    interval_of_known,
    outcome_counts,
)
from driftledger.core.canonical import Json
from driftledger.core.types import Float64, Medium, Outcome, PromptUsage
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics._checks import members
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import deviations, mean_over_repeats
from driftledger.scoring.score import STD, Numbers, RepeatRow, Row, Values

ALL = ""
"""The name of all categories together."""
COUNT = "samples"
"""The key of how many samples the distance over all categories is of."""

Columns: TypeAlias = Mapping[str, Float64]
"""Key of rows → a value per sample, or a row of values; NaN where it is missing."""

ENOUGH = 2048
"""As many samples as Inception has features: with fewer, their covariances are not of full rank."""


class Measured(NamedTuple):
    """The values of one repeat's chains, or the mean over all repeats."""

    values: dict[str, Float64]
    """Metric, ``gc_at_1`` …, → a value per sample; NaN where it is missing."""
    distances: Float64
    """A row per category and a last one over all; in column t − 1 the Fréchet distance between the
    originals and iteration t, NaN where there is none."""
    size: int
    """How many samples the last distance over all categories is of."""
    words: list[int]
    """The number of words of each description."""
    cut: list[bool]
    """For each description, whether the text encoder read only its beginning."""


def mean_of(repeats: Sequence[Measured]) -> Measured:
    """Average over repeats.

    A sample is averaged over the repeats in which it has a value, a Fréchet distance over all.
    """
    values = {}
    for key in repeats[0].values:
        values[key] = mean_over_repeats([each.values[key] for each in repeats])
    distances = [each.distances for each in repeats]
    distance = mean_over_repeats(distances)
    distance[np.isnan(distances).any(axis=0)] = np.nan
    return Measured(
        values=values,
        distances=distance,
        size=min(each.size for each in repeats),
        words=[*chain.from_iterable(each.words for each in repeats)],
        cut=[*chain.from_iterable(each.cut for each in repeats)],
    )


class Means(NamedTuple):
    """Means by metric: over all categories, per category, and per group of categories.

    A group has a mean only if each of its categories has one: over fewer it would be a mean of
    something else.
    """

    overall: Numbers
    by_category: dict[str, Numbers]
    by_group: dict[str, Numbers]


def means_of(
    values: Columns,
    categories: Sequence[str],
    groups: Mapping[str, Sequence[str]],
    of_categories: Mapping[str, Numbers] | None = None,
) -> Means:
    """Average each metric over the samples of a category, then over categories, unweighted.

    Args:
        values: a column per metric, with a value per sample; NaN is left out.
        categories: the category of each sample.
        groups: group name → its categories.
        of_categories: category → further metrics.
    """
    by_category = {}
    for name, rows in sorted(members(categories).items()):
        own = known_means({key: column[rows] for key, column in values.items()})
        by_category[name] = own | (of_categories or {}).get(name, {})
    by_group = {}
    for group, names in groups.items():
        by_group[group] = _means([by_category[name] for name in names], len(names))
    return Means(_means(by_category.values(), 1), by_category, by_group)


def known_means(columns: Columns) -> Numbers:
    """Return the mean of each column without NaN; a column without a value is left out."""
    means = {}
    for key, column in columns.items():
        known = column[~np.isnan(column)]
        if known.size:
            means[key] = exact_mean(known)
    return means


def _means(rows: Iterable[Numbers], least: int) -> Numbers:
    """Return the mean of each metric that at least so many rows have."""
    columns = defaultdict[str, list[float]](list)
    for row in rows:
        for key, value in row.items():
            columns[key].append(value)
    return {key: exact_mean(own) for key, own in columns.items() if len(own) >= least}


class ScoredChains(FromDataset):
    """The chains of all samples, and which of them reached their end."""

    spec: ChainBenchmark

    def __init__(
        self,
        given: Scoring,
        spec: ChainBenchmark,
        by_group: Mapping[str, int] | None = None,
        *,
        done: str,
        things: str = "",
        by_category: bool = False,
    ) -> None:
        """Find out which chains reached their end.

        Args:
            by_group: group of categories → the T of its chains, if that is not the T of all.
            done: for people, what became of chains that reached their end: ``reached t=5``.
            things: for people, what there is one of for each chain; empty is the samples' medium.
            by_category: whether samples are averaged within categories before these are.

        Raises:
            CoverageError: no chain counts.
            StoreError: a chain has no record.
        """
        super().__init__(given, spec)
        request = self.protocol(ChainRequest)
        self.samples = [*spec.samples(self.samples)]
        self.categories = [sample.category or ONE_CATEGORY for sample in self.samples]
        self.by_category = by_category
        self.strata = (
            self.categories if by_category else [ONE_CATEGORY] * len(self.samples)
        )
        self.clusters = clusters_of(self.samples)
        request = request.model_copy(update={"iterations_by_group": by_group})
        self.iterations = range(1, request.iterations + 1)
        self.repeats = range(request.repeats)
        self.ends: dict[str, int] = {}
        """Sample → the T of its chains."""
        for sample, category in zip(self.samples, self.categories, strict=True):
            self.ends[sample.id] = request.last(category, self.dataset)
        self.steps: dict[int, list[ChainStep]] = {repeat: [] for repeat in self.repeats}
        """Repeat → its records."""
        ended = {}
        phrases = {}
        for record in self.read():
            step = ChainStep.of(record)
            self.steps.setdefault(record.repeat, []).append(step)
            ended[step.unit, record.repeat] = step
            phrase = f"{record.place}: {record.error or record.outcome}"
            phrases[step.unit, record.repeat] = phrase
        self.require(product(self.ends, [1], self.repeats))
        self.last: dict[str, list[ChainStep]] = {}
        """Sample → the last record of each of its chains, a repeat each."""
        self.lost: list[ChainStep] = []
        """The last records of the chains that did not reach their end."""
        problems = []
        for sample_id, end in self.ends.items():
            self.last[sample_id] = [ended[sample_id, repeat] for repeat in self.repeats]
            for repeat, last in enumerate(self.last[sample_id]):
                if last.step != end or not self.has_come(last):
                    self.lost.append(last)
                    problems.append(phrases[sample_id, repeat])
        self.total = len(self.ends) * len(self.repeats)
        self.scored = self.total - len(self.lost)
        worst = outcome_counts(
            record.outcome for record in self.lost if self.is_worst(record)
        )
        self.counted = self.scored + sum(worst.values())
        """How many are scored, or count as the worst value from some iteration on."""
        things = things or f"{self.kind}s"
        self.flags = self.too_little(
            self.scored, self.total, f"{things} {done}", problems, self.counted
        )
        if worst:
            how = ", ".join(f"{count} {outcome}" for outcome, count in worst.items())
            self.flags.append(
                f"for {self.counted - self.scored} of {self.total} {things} the model gave no "
                f"description ({how}): similarities count as 0 from there on"
            )

    def is_worst(self, step: ChainStep) -> bool:
        """Return True if a step counts as the worst value.

        The model left nothing to go on from, and the settings say that this counts.
        """
        return step.is_unread and self._given.section.unread == "worst"

    def has_come(self, step: ChainStep) -> bool:
        """Return True if a step ended with what the next one begins with."""
        return step.is_there if self.kind == "text" else step.file is not None

    def medium(self, step: ChainStep) -> Medium:
        """Return the image or sound of a step."""
        return Medium(self.folder / str(step.file), step.sha256)

    def fields(
        self,
        whole: Measured,
        alone: Sequence[Measured],
        numbers: Callable[[Measured], Numbers],
        *,
        estimated: Sequence[str],
        most: float = 1.0,
    ) -> Json:
        """Return the fields that scores of chains have in common.

        Args:
            alone: each repeat, and ``whole`` the mean over them.
            numbers: gives the metrics, without intervals.
            estimated: the metrics that get an interval.
            most: no value of these metrics can be larger, or smaller than its negative.
        """
        metrics = numbers(whole)
        by_repeat = [*map(numbers, alone)] if len(alone) > 1 else []
        spreads = {}
        for key, std in deviations(by_repeat).items():
            if key in metrics and key != COUNT:
                spreads[key + STD] = std
        estimates = {}
        for key in estimated:
            if key in metrics:
                estimates[key] = interval_of_known(
                    whole.values[key],
                    self.strata,
                    confidence=self.confidence,
                    most=most,
                    clusters=[*self.clusters.values()],
                )
        intervals = interval_ends(estimates)
        groups = {}
        if by_repeat:
            groups["repeat"] = {
                str(repeat): each for repeat, each in enumerate(by_repeat)
            }
        flags = [
            *copies(self.samples),
            *self.flags,
            *_cut(self.facts.readings),
            *self.facts.noted(),
        ]
        return {
            **self.origin(self.scored, self.total, flags),
            "counted": self.counted,
            "metrics": metrics | intervals.metrics | spreads,
            "groups": groups,
            "absent": intervals.absent,
        }

    def rows(self, whole: Columns, alone: Sequence[Columns]) -> list[Row]:
        """Return a row per sample; of several repeats, with the values of each alone.

        A row that is not averaged by category lacks the keys that it has no value of.
        """
        rows = []
        for index, sample in enumerate(self.samples):
            ended = [record.outcome for record in self.last[sample.id]]
            unusual = [outcome for outcome in ended if outcome is not Outcome.OK]
            row = Row(
                unit=sample.id,
                group=self.strata[index],
                cluster=self.clusters[sample.id],
                outcome=unusual[0] if unusual else Outcome.OK,
                values=self._values(whole, index),
                extra={} if self.by_category else {"category": self.categories[index]},
            )
            if len(alone) > 1:
                for outcome, columns in zip(ended, alone, strict=True):
                    values = self._values(columns, index)
                    row.repeats.append(RepeatRow(outcome=outcome, values=values))
            rows.append(row)
        return rows

    def _values(self, columns: Columns, index: int) -> Values:
        values: Values = {}
        for key, column in columns.items():
            own = np.atleast_1d(column[index])
            if self.by_category or np.isfinite(own).any():
                values[key] = [
                    None if math.isnan(each) else each for each in own.tolist()
                ]
        return values

    def few_samples(self, measured: Measured, reached: int) -> Iterator[str]:
        """Yield a sentence if a Fréchet distance is over too few samples.

        Args:
            reached: how many samples there are, if no distance is over all categories.
        """
        count = measured.size or reached
        if np.isfinite(measured.distances).any() and count < ENOUGH:
            yield (
                f"the Fréchet distance is over {count:,} {self.kind}s: with fewer than {ENOUGH:,} "
                "it is too high, the more so the fewer there are, so that values over other "
                f"numbers of {self.kind}s are not comparable"
            )


def _cut(readings: Sequence[PromptUsage]) -> Iterator[str]:
    cut = [reading for reading in readings if reading.cut]
    if cut:
        unread = sum(reading.tokens - reading.read for reading in cut)
        tokens = sum(reading.tokens for reading in readings)
        yield (
            f"the generator's text encoder cut off {len(cut)} of {len(readings)} descriptions: "
            f"{unread} of {tokens} tokens were not read"
        )


def cut_texts(measured: Measured, reader: str) -> Iterator[str]:
    """Yield a sentence if ``reader`` read only the beginning of some descriptions."""
    cut = sum(measured.cut)
    if cut:
        yield f"{reader} read only the beginning of {cut} of {len(measured.cut)} descriptions"
