"""A race: models are asked about more and more samples until their ranking is decided.

Samples have a seeded order, in which categories take turns. After 32 of them, 64, 128, …
every two models that are not told apart yet are compared by a confidence sequence of their paired
differences, which holds however often one looks. A model that is told from all others is asked no
more. All of it is a function of the order, the rule and what the samples are worth, so that a
stranger can compute the stop again.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Literal, NamedTuple

from pydantic import Field, FiniteFloat

from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json
from driftledger.core.media import Kind
from driftledger.core.strict import Name, Strict
from driftledger.core.types import Sample
from driftledger.data.datasets.base import in_order
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.groups import Groups, PairDifference, groups
from driftledger.metrics.sequential import mean_sequence

RACE = "race.json"
"""The record of a race: in ``data`` while it goes on, and beside each of its scores afterwards."""
FIRST = 32
"""Samples that models are asked about before the first look; one of each category, if these are
more."""
ENOUGH = 100
"""Samples below which a race seldom decides anything."""
BOUND = 1.0
"""The largest difference of two similarities; a larger one, where one is below 0, counts as that
much."""

Verdict = Literal["first", "second", "alike", "open"]


class RaceRule(Strict):
    """``run.stop_when``: when models are asked no more."""

    ranked: str = Field(min_length=1)
    """The metric that ranks them: ``gc_at_5``."""
    margin: float = Field(default=0.02, ge=0)
    """Two models that differ by less, in units of the metric, count as equally good."""


class Look(Strict):
    """The interval of the second of two models less the first, after a round."""

    first: Name
    second: Name
    low: FiniteFloat
    high: FiniteFloat

    def verdict(self, margin: float) -> Verdict:
        """Return the better one, ``alike`` within the margin, or ``open``.

        >>> Look(first="a", second="b", low=0.01, high=0.2).verdict(0.02)
        'second'
        >>> Look(first="a", second="b", low=-0.01, high=0.02).verdict(0.02)
        'alike'
        """
        if self.low > 0:
            return "second"
        if self.high < 0:
            return "first"
        return "alike" if -margin <= self.low and self.high <= margin else "open"


class Round(Strict):
    """A round, and the looks after it at all pairs that were open before."""

    samples: int
    looks: list[Look]


class Course(NamedTuple):
    """The samples of a race in their order."""

    ids: Sequence[str]
    categories: Sequence[str | None]
    """None for the image of an earlier sample, which shows nothing new."""
    calls: Sequence[int]
    """How many calls each needs at most."""
    least: int
    """Samples before the first look."""
    kind: Kind


class Race(Record):
    """``race.json``: the rule of a race, what it has looked at, and where it stopped."""

    of: str
    """The digest of all that shapes its records and scores, but for how many were asked."""
    keys: dict[str, Name]
    """The score that decides: benchmark, dataset, generator, encoder."""
    rule: RaceRule
    confidence: float
    """Of all looks at all pairs together."""
    seed: int
    """Of the order."""
    samples: int = 0
    """The size of the dataset."""
    kind: Kind = "image"
    order: list[str] = Field(default_factory=list)
    """The samples that were asked about, in their order."""
    values: dict[str, list[FiniteFloat | None]] = Field(min_length=2)
    """Model → what its samples are worth, in that order; None where there is no value."""
    asked: dict[str, int] = Field(default_factory=dict)
    """Model → about how many samples it is asked."""
    rounds: list[Round] = Field(default_factory=list)
    over: bool = False
    unspent_calls: int = 0
    """Calls at most about the samples that models were not asked about."""
    unspent_usd: FiniteFloat | None = None
    """What these would have cost, if samples cost as much as those before; None if unknown."""

    @property
    def models(self) -> list[str]:
        """The models: first those that fewer are better than, then by their means."""
        places = {}
        verdicts = self.verdicts()
        for model, values in self.values.items():
            known = [value for value in values if value is not None]
            mean = exact_mean(known) if known else -math.inf
            worse = (verdicts.get((model, other)) == "second" for other in self.values)
            later = (verdicts.get((other, model)) == "first" for other in self.values)
            places[model] = (sum(worse) + sum(later), -mean, model)
        return sorted(places, key=places.__getitem__)

    def verdicts(self) -> dict[tuple[str, str], Verdict]:
        """Return the last verdict on each pair; none before the first look."""
        last = {}
        for each in self.rounds:
            for look in each.looks:
                last[look.first, look.second] = look.verdict(self.rule.margin)
        return last

    def groups(self, models: Sequence[str]) -> Groups:
        """Return ranks and letters of some of the models, given the best first."""
        pairs = {}
        for pair, verdict in self.verdicts().items():
            sign = {"first": -1.0, "second": 1.0}.get(verdict, 0.0)
            pairs[pair] = PairDifference(sign, 0.0 if sign else None)
        named = set(models)
        own = {pair: test for pair, test in pairs.items() if named.issuperset(pair)}
        return groups(models, own, confidence=self.confidence)

    def in_words(self) -> str:
        """Say who is ahead of whom, after how many samples, and what that saved.

        ``=`` is within the margin, ``?`` is not decided.
        """
        verdicts = self.verdicts()
        first, *others = self.models
        text = first
        for model in others:
            verdict = verdicts.get((first, model)) or verdicts.get((model, first))
            sign = {"alike": "=", "first": ">", "second": ">"}.get(verdict or "", "?")
            text += f" {sign} {model}"
            first = model
        state = (
            "decided" if {*verdicts.values()}.isdisjoint({"open"}) else "not decided"
        )
        text += f", {state} after {len(self.order):,} of {self.samples:,} {self.kind}s"
        if self.over and self.unspent_calls:
            text += f"; {self.unspent_calls:,} calls"
            if self.unspent_usd is not None:
                text += f" and {self.unspent_usd:,.0f} $"
            text += " not spent"
        return text

    def rule_in_words(self) -> str:
        """Say by what rule it stopped."""
        return (
            f"the race asks about {FIRST} samples first, in an order by seed {self.seed}, and "
            f"twice as many each time, until every two models differ in {self.rule.ranked}, or "
            f"differ by less than {self.rule.margin:g}, with confidence {self.confidence:g} over "
            "all looks; letters are those of the race, and other numbers have none"
        )


def in_race_order(samples: Sequence[Sample], seed: int) -> list[Sample]:
    """Sort samples so that each beginning holds all categories alike, as far as they reach.

    Those of a category are sorted as in :func:`~driftledger.data.datasets.base.in_order`; the first
    of every category come first, by its name, then the second ones.
    """
    categories = {each.id: each.category or ONE_CATEGORY for each in samples}
    places = {}
    for category, ids in in_order(categories, seed).items():
        for rank, id_ in enumerate(ids):
            places[id_] = (rank, category)
    return sorted(samples, key=lambda each: places[each.id])


def first_in_race(samples: Sequence[Sample], number: int, seed: int) -> list[Sample]:
    """Return the first samples of a race's order, in the order of the dataset; one of each category
    at least."""
    ordered = in_race_order(samples, seed)[: max(number, least_of(samples))]
    chosen = {each.id for each in ordered}
    return [each for each in samples if each.id in chosen]


def least_of(samples: Sequence[Sample]) -> int:
    """Return before how many samples nobody looks."""
    return max(FIRST, len({each.category for each in samples}))


def categories_of(ordered: Sequence[Sample]) -> list[str | None]:
    """Return the categories of samples; None where an image repeats that of an earlier one."""
    seen = set[str]()
    names: list[str | None] = []
    for sample in ordered:
        is_new = sample.medium.sha256 not in seen
        names.append((sample.category or ONE_CATEGORY) if is_new else None)
        seen.add(sample.medium.sha256)
    return names


def _sizes(course: Course) -> Iterator[int]:
    """Yield after how many samples to look."""
    size = course.least
    while size < len(course.ids):
        yield size
        size *= 2
    yield len(course.ids)


def decided(race: Race, course: Course) -> Race:
    """Return the race as its values decide it: what was seen, and whom to ask about how many."""
    models = sorted(race.values)
    pairs = list(combinations(models, 2))
    alpha = (1 - race.confidence) / len(pairs)
    asked = dict.fromkeys(models, 0)
    rounds = []
    over = False
    for size in _sizes(course):
        racing = [model for model in models if any(model in pair for pair in pairs)]
        asked |= dict.fromkeys(racing, size)
        if any(len(race.values[model]) < size for model in racing):
            break
        looks = []
        for first, second in pairs:
            low, high = _interval(
                race, course.categories[:size], (first, second), alpha
            )
            looks.append(Look(first=first, second=second, low=low, high=high))
        rounds.append(Round(samples=size, looks=looks))
        is_open = [look.verdict(race.rule.margin) == "open" for look in looks]
        pairs = [pair for pair, still in zip(pairs, is_open, strict=True) if still]
        over = not pairs or size == len(course.ids)
        if over:
            break
    values = {model: race.values[model][: asked[model]] for model in models}
    longest = max(map(len, values.values()))
    return race.model_copy(
        update={
            "samples": len(course.ids),
            "kind": course.kind,
            "order": [*course.ids[:longest]],
            "values": values,
            "asked": asked,
            "rounds": rounds,
            "over": over,
            "unspent_calls": sum(sum(course.calls[n:]) for n in asked.values()),
        }
    )


def _interval(
    race: Race, names: Sequence[str | None], pair: tuple[str, str], alpha: float
) -> tuple[float, float]:
    """Return the interval of the second model less the first over samples of these categories."""
    differences: dict[str, list[float]] = {}
    for name in names:
        if name is not None:
            differences.setdefault(name, [])
    first, second = (race.values[model] for model in pair)
    for name, one, other in zip(names, first, second, strict=False):
        if name is not None and one is not None and other is not None:
            differences[name].append(max(-BOUND, min(BOUND, other - one)))
    return mean_sequence(differences, alpha=alpha, bounds=(-BOUND, BOUND))


def plan_of_race(samples: Sequence[Sample]) -> str:
    """Say what a race over a dataset may save."""
    sizes = Counter(sample.category for sample in samples)
    looked_at = len(sizes) * min(sizes.values())
    if looked_at < ENOUGH:
        what = f"a race over {len(samples)} samples in {len(sizes)} categories cannot decide"
        return (
            f"run.stop_when: {what}, as it looks at equally many of each, {looked_at} in all; take "
            f"it out, or select {ENOUGH} or more"
        )
    return (
        f"run.stop_when: a race asks about {least_of(samples)} to {len(samples):,} samples; the "
        "calls are those about all of them"
    )


def read_race(file: Path) -> Race | None:
    """Read the record of a race; None if there is none that can be read."""
    with suppress(StoreError):
        return read_json(file, Race)
    return None
