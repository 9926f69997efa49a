"""A race: models are asked about more and more samples until their ranking is decided.

Samples have a seeded order, in which categories take turns. After 32 samples, 64, 128 and so on,
each pair of models that is still undecided is compared by a confidence sequence of paired
differences, which stays valid however often you look. A model whose pairs are all decided gets no
more calls. The stop follows from the order, the rule and the values of the samples alone, so a
stranger can recompute it.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field, FiniteFloat

from driftledger.core.errors import StoreError
from driftledger.core.files import Record, read_json
from driftledger.core.media import Kind
from driftledger.core.strict import Name, Strict
from driftledger.core.types import Sample
from driftledger.data.datasets.base import in_order
from driftledger.data.records import ONE_CATEGORY
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


class RaceRule(Strict):
    """``run.stop_when``: when models are asked no more."""

    ranked: str
    """The metric that ranks them: ``gc_at_5``."""
    margin: float = Field(default=0.02, ge=0)
    """Two models that differ by less, in units of the metric, count as equally good."""


class Look(Strict):
    """The interval of the second of two models less the first, after a round."""

    first: Name
    second: Name
    low: FiniteFloat
    high: FiniteFloat

    @property
    def sign(self) -> int:
        """1 if the second is shown to be better, −1 if the first is, else 0."""
        return (self.low > 0) - (self.high < 0)

    def is_open(self, margin: float) -> bool:
        """Return True if neither is better, and they may differ by more than the margin.

        >>> Look(first="a", second="b", low=-0.01, high=0.02).is_open(0.02)
        False
        """
        return not self.sign and (self.low < -margin or self.high > margin)


class Round(Strict):
    """A round, and the looks after it at all pairs that were open before."""

    samples: int
    looks: list[Look]


class Course(NamedTuple):
    """The samples of a race in their order."""

    samples: Sequence[Sample]
    least: int
    """How many there are before the first look."""

    def first(self, number: int) -> Sequence[Sample]:
        """Return the first samples, one of each category at least."""
        return self.samples[: max(number, self.least)]

    def sizes(self) -> Iterator[int]:
        """Yield after how many samples to look: twice as many each time."""
        size = self.least
        while size < len(self.samples):
            yield size
            size *= 2
        yield len(self.samples)


class Race(Record):
    """``race.json``: the rule of a race, what it has looked at, and where it stopped."""

    of: str
    """The digest of all that shapes its records and scores, but for how many were asked."""
    keys: dict[str, Name]
    """The score that decides: dataset, generator, encoder."""
    rule: RaceRule
    confidence: float
    """Of all looks at all pairs together."""
    seed: int
    """Of the order."""
    samples: int
    """The size of the dataset."""
    kind: Kind
    order: list[str]
    """The samples that were asked about, in their order."""
    values: dict[str, list[FiniteFloat | None]] = Field(min_length=2)
    """Model → what its samples are worth, in that order; None where there is no value."""
    rounds: list[Round]
    asked: dict[str, int]
    """Model → about how many samples it is asked."""
    over: bool
    unspent_calls: int
    """Calls at most about the samples that models are not asked about."""
    unspent_usd: FiniteFloat | None
    """What these would have cost, if samples cost as much as those before; None if unknown."""

    def groups(self, models: Sequence[str]) -> Groups:
        """Return ranks and letters of some of the models, given the best first."""
        pairs = dict.fromkeys(combinations(models, 2), PairDifference(0.0, None))
        for each in self.rounds:
            for look in each.looks:
                p_value = 0.0 if look.sign else None
                pairs[look.first, look.second] = PairDifference(look.sign, p_value)
                pairs.pop((look.second, look.first), None)
        own = {pair: test for pair, test in pairs.items() if {*pair} <= {*models}}
        return groups(models, own, confidence=self.confidence)

    def in_words(self) -> str:
        """Say who is ahead of whom, after how many samples, and what that saved.

        Two models with ``~`` between them are not told apart.
        """
        better = self.groups([*self.values]).better
        first, *others = sorted(self.values, key=lambda model: len(better[model]))
        text = first
        for model in others:
            text += f" {'>' if first in better[model] else '~'} {model}"
            first = model
        state = "decided"
        for each in self.rounds[-1:]:
            if any(look.is_open(self.rule.margin) for look in each.looks):
                state = "not decided"
        text += f", {state} after {len(self.order):,} of "
        text += f"{self.samples:,} {self.kind}s; {self.unspent_calls:,} calls"
        if self.unspent_usd is not None:
            text += f" and {self.unspent_usd:,.2f} $"
        return f"{text} not spent"

    def rule_in_words(self) -> str:
        """Say by what rule it stopped."""
        return (
            f"the race asks about {FIRST} samples first, in an order by seed {self.seed}, and "
            f"twice as many each time, until every two models differ in {self.rule.ranked}, or "
            f"differ by less than {self.rule.margin:g}, with confidence {self.confidence:g} over "
            "all looks; letters are those of the race, and other numbers have none"
        )


def course_of(samples: Sequence[Sample], seed: int) -> Course:
    """Order samples so that each beginning holds all categories alike, as far as they reach.

    Those of a category are sorted as in :func:`~driftledger.data.datasets.base.in_order`; the first
    of every category come first, by its name, then the second ones.
    """
    categories = {each.id: each.category or ONE_CATEGORY for each in samples}
    places = {}
    by_category = in_order(categories, seed)
    for category, ids in by_category.items():
        for rank, id_ in enumerate(ids):
            places[id_] = (rank, category)
    ordered = sorted(samples, key=lambda each: places[each.id])
    return Course(ordered, least=max(FIRST, len(by_category)))


def run_race(
    values: Mapping[str, Sequence[float | None]],
    course: Course,
    rule: RaceRule,
    confidence: float,
) -> dict[str, Any]:
    """Return the fields of a race as far as there are values: what was seen, and whom to ask about
    how many.

    Args:
        values: model → what its samples are worth, in the order of the course.
    """
    pairs = list(combinations(sorted(values), 2))
    alpha = (1 - confidence) / len(pairs)
    asked = {}
    rounds = []
    for size in course.sizes():
        for pair in pairs:
            asked.update(dict.fromkeys(pair, size))
        if any(len(values[model]) < size for pair in pairs for model in pair):
            break
        looks = []
        for first, second in pairs:
            taken = _differences(course.samples[:size], values[first], values[second])
            low, high = mean_sequence(taken, alpha=alpha, bounds=(-BOUND, BOUND))
            looks.append(Look(first=first, second=second, low=low, high=high))
        rounds.append(Round(samples=size, looks=looks))
        pairs = []
        for look in looks:
            if look.is_open(rule.margin):
                pairs.append((look.first, look.second))
        if not pairs:
            break
    seen = rounds[-1].samples if rounds else 0
    over = not pairs or seen == len(course.samples)
    return {"rounds": rounds, "asked": asked, "over": over}


def _differences(
    samples: Sequence[Sample],
    first: Sequence[float | None],
    second: Sequence[float | None],
) -> dict[str, list[float]]:
    """List the differences of two models by category; an image counts once."""
    differences: dict[str, list[float]] = {}
    seen = set[str]()
    for sample, one, other in zip(samples, first, second, strict=False):
        own = differences.setdefault(sample.category or ONE_CATEGORY, [])
        if sample.medium.sha256 not in seen and one is not None and other is not None:
            own.append(max(-BOUND, min(BOUND, other - one)))
        seen.add(sample.medium.sha256)
    return differences


def plan_of_race(samples: Sequence[Sample]) -> str:
    """Say what a race over a dataset may save."""
    sizes = Counter(sample.category for sample in samples)
    looked_at = len(sizes) * min(sizes.values())
    if looked_at < ENOUGH:
        return (
            f"run.stop_when: a race over {len(samples)} samples in {len(sizes)} categories cannot "
            f"decide, as it looks at equally many of each, {looked_at} in all; take it out, or "
            f"select {ENOUGH} or more"
        )
    return (
        f"run.stop_when: a race asks about {FIRST} to {len(samples):,} samples; the calls are "
        "those about all of them"
    )


def read_race(file: Path) -> Race | None:
    """Read the record of a race; None if there is none that can be read."""
    with suppress(StoreError):
        return read_json(file, Race)
    return None
