"""The result of a comparison."""

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
    """One thing in which A and B differ, and its weight in the comparison.

    The comparison is about ``compared`` things. An ``unfair`` one moves numbers by itself, as
    ``why`` says: those that it ``concerns``, or all. A ``noted`` one is good to know.
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
    """One number of two scores, and the difference over their common units.

    ``a`` and ``b`` are the values of the score files; a field that cannot be computed is None. The
    p-value is two-sided; ``p_holm`` is corrected over all ranked metrics. ``detectable`` is the
    smallest difference that as many units, as noisy as these, show with a power of 80 %.
    ``clusters`` counts images or samples that are independent of each other; ``step`` is the most
    that one of them can change the difference.
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

    ``place`` is their name in a run. ``changed`` lists settings that differ in components of the
    same name, ``reasons`` why some metrics must not be ranked.
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
    """Cost that both know, if A's is not 0 → ``a``, ``b``, and ``ratio``, B's divided by A's."""
    changes: list[Changes] = field(default_factory=list)
    """Changed answers and descriptions; empty unless ``compare_with_changes`` looked."""

    @property
    def name(self) -> str:
        """The pair for people: ``trac on digits · features_by_words · tfidf``."""
        return named(self.place)

    @property
    def multiples(self) -> str:
        """B's costs as multiples of A's: ``3.1 times the price``; empty if they are equal."""
        phrases = []
        for key, cost in self.cost.items():
            ratio = f"{cost['ratio']:.3g}"
            if ratio != "1":
                phrases.append(f"{ratio} times the {COSTS[key].formula}")
        return ", ".join(phrases)


@dataclass(frozen=True)
class Comparison:
    """The comparison of two runs: pairs of scores, and scores of only one."""

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
    """The names of A and B for people: what differs."""

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
