"""The result of a comparison."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, NamedTuple

from driftledger.core.canonical import Json
from driftledger.scoring.metric import COSTS, Metric
from driftledger.scoring.number import Place


class Words(NamedTuple):
    """The words in which comparisons of runs and of files differ."""

    side: str
    """What A and B are."""
    numbers: str
    headlines: str
    """What a gate judges, and what it judges by ``changed``."""
    changing: str
    clusters: str
    within: str
    """The word between samples and the number of their clusters."""
    fair: str
    """The sentence of a comparison that may be ranked."""
    repeat: str
    """How to learn how much changes by itself."""


RUNS = Words(
    side="run",
    numbers="scores",
    headlines="headlines",
    changing="sets of answers or descriptions",
    clusters="images",
    within="about",
    fair="of all that would move these numbers, only what is compared differs",
    repeat="ask A twice (driftledger run --again NAME, or repeats: 2)",
)
FILES = Words(
    side="file",
    numbers="values",
    headlines="values",
    changing="sets of values",
    clusters="clusters",
    within="in",
    fair="both have values for the same rows, or 95% of them; files do not say what else differs",
    repeat="compare A with a second file of the same model",
)


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
class ChangedSample:
    """An answer or a description that differs between A and B."""

    unit: str
    step: int
    """The iteration or condition of a description, or the number of an answer."""
    a: str
    """The reading in A, as :class:`Answer` has it."""
    b: str
    a_text: str
    """The reply, or how it was read if its record is not here."""
    b_text: str
    similarity: float | None = None
    """The share of words that two descriptions have in common."""


@dataclass(frozen=True)
class Floor:
    """How much changes by itself: the differences between two askings of A."""

    samples: int
    """How many answers or descriptions both askings of A, and B, have."""
    changed: int
    """How many of them differ between both askings of A."""
    p_value: float
    """One-sided p-value, over images: does B differ more than A's second asking?"""


@dataclass
class Changes:
    """Answers, descriptions or values of both sides, and how many of them changed.

    An answer has changed if it is read differently, a description if its words differ, a value of a
    file if it is another number.
    """

    of: str
    """``answers``, ``descriptions``, or the values of a file by their name."""
    samples: int = 0
    """How many answers or descriptions both runs have."""
    changed: int = 0
    clusters: int | None = None
    """How many images they are about."""
    share: float | None = None
    """``changed / samples``, from ``low`` to ``high``."""
    low: float | None = None
    high: float | None = None
    transitions: dict[str, int] = field(default_factory=dict)
    """``right → wrong``, ``wrong → other wrong answer`` → how many, the commonest first."""
    p_value: float | None = None
    """McNemar's exact two-sided p-value of answers: are they better about as many images as they
    are worse? None for descriptions."""
    p_holm: float | None = None
    """The p-value of the floor, or else McNemar's, after Holm's correction."""
    floor: Floor | None = None
    similarity: float | None = None
    """The mean over the descriptions that changed."""
    furthest: list[ChangedSample] = field(default_factory=list)
    """The changed answers or descriptions, those furthest apart first."""
    note: str = ""
    """What could not be compared, and why."""


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
    metric: Metric
    """The row of the benchmark's table; not written to JSON."""
    a: float | None
    b: float | None
    verdict: str = ""
    """The result in words."""
    unranked: str = "it was not measured"
    """Why the metric must not be ranked, which JSON has in ``verdict``; empty if it may."""
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
        return not self.unranked

    def rank(self, verdict: str) -> None:
        """Set the result of a metric that may be ranked."""
        self.verdict = verdict
        self.unranked = ""

    def unrank(self, reason: str) -> None:
        """Set why the metric must not be ranked."""
        self.verdict = f"not ranked: {reason}"
        self.unranked = reason


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
    """The comparison of two runs or files: pairs of scores, and scores of only one."""

    a: str
    b: str
    about: list[str]
    notes: list[str]
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
    words: Words = RUNS

    def to_dict(self) -> Json:
        """Return it ready for JSON."""
        return asdict(self, dict_factory=_named_numbers)


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
        elif key not in ("metric", "unranked", "sides", "words"):
            data[key] = value
    return data
