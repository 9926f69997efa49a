"""The result of a comparison: what differs, which metrics may be ranked, and which are better."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from driftledger.benchmarks.registry import benchmark
from driftledger.core.canonical import Json
from driftledger.ledger.changes import Changes
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import Place

NOT_RANKED = "not ranked: "


@dataclass(frozen=True)
class Difference:
    """One thing in which A and B differ, and what that does to the comparison.

    ``compared`` is what the comparison is about, ``unfair`` moves the numbers by itself (``why``),
    all that are compared or those that it ``concerns``; ``noted`` is good to know.
    """

    what: str
    a: str
    b: str
    weight: Literal["compared", "unfair", "noted"]
    why: str | None = None
    concerns: tuple[Place, ...] | None = None

    @property
    def reason(self) -> str:
        """One sentence, without its full stop."""
        return (
            f"{self.what} differs ({self.a} and {self.b}): {self.why}"
            if self.a
            else f"{self.what}: {self.why}"
        )

    def bars(self, number: Place) -> bool:
        """Return True if A and B must not be ranked by this number."""
        return self.weight == "unfair" and (
            self.concerns is None or number in self.concerns
        )


@dataclass
class MetricComparison:
    """One number of two scores: the values of both score files, and B's less A's over the units
    that both have.

    The p-value is two-sided, ``p_holm`` the same after Holm's correction over all metrics that the
    comparison ranks; ``detectable`` is the smallest difference that as many units, as noisy as
    these, show with a power of 80 %; ``clusters`` are the images or samples that are independent of
    each other, ``step`` is the most that one of them can lose. None is what could not be computed.
    """

    number: Place
    a: float | None
    b: float | None
    verdict: str = ""
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    standard_error: float | None = None
    df: float | None = None
    p_value: float | None = None
    p_holm: float | None = None
    detectable: float | None = None
    step: float | None = None
    a_common: float | None = None
    b_common: float | None = None
    common: int | None = None
    clusters: int | None = None
    only_a: int | None = None
    only_b: int | None = None

    @property
    def name(self) -> str:
        """Its name for people: ``gc_at_5``."""
        return self.number.name

    @property
    def ranked(self) -> bool:
        return not self.verdict.startswith(NOT_RANKED)


@dataclass(frozen=True)
class ScorePair:
    """Two scores of one benchmark on the same data, in the files ``a`` and ``b``.

    ``place`` tells them from other scores of the benchmark on that data, ``changed`` are settings
    that differ in components of the same name, ``reasons`` why some metrics must not be ranked.
    """

    benchmark: str
    on: str
    place: str
    a: str
    b: str
    differing: list[Difference]
    changed: list[str]
    metrics: list[MetricComparison]
    comparable: bool
    reasons: list[str]
    cost: dict[str, dict[str, float]]
    """Cost that both know, and that is not 0 → ``a``, ``b``, and B's in A's as ``ratio``."""
    changes: list[Changes] = field(default_factory=list)
    """What changed, where :func:`~driftledger.ledger.compare.compare_with_changes` looked."""

    @property
    def name(self) -> str:
        """The pair for people: ``trac on digits · features_by_words · tfidf``."""
        return named(self.place)

    @property
    def multiples(self) -> str:
        """B's costs in A's: ``3.1 times the price, 0.9 times the seconds``; empty if they are
        equal."""
        phrases = []
        for key, cost in self.cost.items():
            ratio = f"{cost['ratio']:.3g}"
            if ratio != "1":
                phrases.append(f"{ratio} times the {COSTS[key].formula}")
        return ", ".join(phrases)


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side: what it is about, what to know, the scores that both have, and what
    only one has."""

    a: str
    b: str
    about: list[str]
    noted: list[str]
    pairs: list[ScorePair]
    only_a: list[str]
    only_b: list[str]
    confidence: float
    anyway: bool
    comparable: bool
    """Whether every metric may be ranked."""
    reasons: list[str]

    sides: tuple[str, str]
    """What A and B are called where people read: by what differs."""

    def to_dict(self) -> Json:
        """Return it ready for JSON."""
        return asdict(self, dict_factory=_named_numbers)


def metric_of(pair: ScorePair, compared: MetricComparison) -> Metric:
    """Return the metric that a row of a comparison is about."""
    return benchmark(pair.benchmark).metrics[compared.number.metric]


def named(place: str) -> str:
    """Return the place of a score for people: ``genception on photos``."""
    return place.replace("/", " on ", 1).replace("/", " · ")


def _named_numbers(fields: Sequence[tuple[str, Any]]) -> Json:
    """Write the fields of a comparison for JSON, and its numbers by their names."""
    data: Json = {}
    for key, value in fields:
        if key == "number":
            data["metric"] = value.name
        elif key == "concerns" and value:
            data[key] = [number.name for number in value]
        elif key != "sides":
            data[key] = value
    return data
