"""Two runs side by side: what differs between them, whether they may be ranked, and which is better
on common samples.

A difference of two numbers is easily made and easily misread. Here it comes with a paired interval,
with Holm's correction over all metrics that are ranked, with the smallest difference that this data
can show, and without a ranking where something moves the numbers that is not what is compared.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np
from rich.console import Group, RenderableType

from driftledger.benchmarks.base import UNREAD_COUNTS, Benchmark, Input, Metric, Rule
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.canonical import Json
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.core.files import read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.terminal import HEAD, line, lines, table
from driftledger.core.text import changes, figure, shown_apart
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import FETCH, Contents
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.groups import holm
from driftledger.metrics.intervals import DIGITS, fewest
from driftledger.metrics.paired import (
    POWER,
    Paired,
    minimum_detectable_difference,
    paired_interval,
)

Units = Mapping[str, tuple[float, str, str]]
"""Unit → its value, the category that it is averaged in, and the cluster that it is drawn with."""
MOST_APART = Fraction(1, 20)
"""How far the shares that are in the denominators may lie apart. What is left out is seldom what is
easy: who leaves out what is hard has the better score."""
NOT_RANKED = "not ranked: "
_COMPARED = ("model", "generator")
_ABSENT = (None, None)
_OTHER_DATA = {
    "dataset": "other samples are harder or easier",
    "question_set": "other questions are harder or easier",
}


@dataclass(frozen=True)
class Difference:
    """One thing in which A and B differ, and what that does to the comparison.

    ``compared`` is what the comparison is about, ``unfair`` moves the numbers by itself (``why``),
    of all metrics or of those that it ``concerns``; ``noted`` is good to know.
    """

    what: str
    a: str
    b: str
    weight: Literal["compared", "unfair", "noted"]
    why: str | None = None
    concerns: tuple[str, ...] | None = None

    @property
    def reason(self) -> str:
        """One sentence, without its full stop."""
        return (
            f"{self.what} differs ({self.a} and {self.b}): {self.why}"
            if self.a
            else f"{self.what}: {self.why}"
        )

    def bars(self, metric: str) -> bool:
        """Return True if A and B must not be ranked by this metric."""
        return self.weight == "unfair" and (self.concerns is None or metric in self.concerns)


@dataclass
class MetricComparison:
    """One metric of two scores: the values of both score files, and B's less A's over the units
    that both have.

    The p-value is two-sided, ``p_holm`` the same after Holm's correction over all metrics that the
    comparison ranks; ``detectable`` is the smallest difference that as many units, as noisy as
    these, show with a power of 80 %. None is what could not be computed.
    """

    metric: str
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
    a_common: float | None = None
    b_common: float | None = None
    common: int | None = None
    only_a: int | None = None
    only_b: int | None = None

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

    @property
    def name(self) -> str:
        """The pair for people: ``trac on digits · features_by_words · tfidf``."""
        return _named(self.place)


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
        """Ready for JSON."""
        return {name: value for name, value in asdict(self).items() if name != "sides"}


def compare(a: Evidence, b: Evidence, contents: Contents, *, anyway: bool = False) -> Comparison:
    """Compare two runs, metric by metric, over the units that both have a value for.

    Intervals have the confidence of A's scores.

    Args:
        contents: where the rows of A's and B's own versions are read from.
        anyway: rank unfair metrics too; the reasons are given all the same.

    Raises:
        LedgerError: A and B have no dataset or question set of a benchmark in common.
    """
    pairs, only_a, only_b = _pairs(a, b)
    if not pairs:
        has_a = first_few(only_a) or "no score"
        has_b = first_few(only_b) or "no score"
        raise LedgerError(
            f"{a.name} and {b.name} have no data in common: the first has {has_a}, the second "
            f"{has_b}"
        )
    compared = [_pair(one, two, contents, anyway) for one, two in pairs]
    tested = [
        metric
        for pair in compared
        for metric in pair.metrics
        if metric.ranked and metric.p_value is not None
    ]
    for metric, corrected in zip(
        tested, holm([metric.p_value or 0.0 for metric in tested]), strict=True
    ):
        metric.p_holm = corrected
    barred = [pair for pair in compared if not pair.comparable]
    sides, about = _sides(a, b)
    return Comparison(
        a=f"{a.name}, fingerprint {a.fingerprint[:12]}",
        b=f"{b.name}, fingerprint {b.fingerprint[:12]}",
        about=about,
        noted=list(_notes(a, b)),
        pairs=compared,
        only_a=only_a,
        only_b=only_b,
        confidence=pairs[0][0].score.confidence,
        anyway=anyway,
        comparable=not barred,
        reasons=[f"{pair.name}: {reason}" for pair in barred for reason in pair.reasons],
        sides=sides,
    )


def _notes(a: Evidence, b: Evidence) -> Iterator[str]:
    """Say that the code differs, and what components say of themselves."""
    if a.code != b.code:
        yield f"code: {a.code.named(None)} and {b.code.named(None)}"
    for side, run in (("A", a), ("B", b)):
        for role, card in run.components.items():
            if card.mark is not None:
                yield f"{side}'s {role.replace('_', ' ')} {card.name}: {card.mark}"


def _named(place: str) -> str:
    """The place of a score for people: ``genception on photos``."""
    return place.replace("/", " on ", 1).replace("/", " · ")


def _pairs(a: Evidence, b: Evidence) -> tuple[list[tuple[Lineage, Lineage]], list[str], list[str]]:
    """Pair scores at the same place, then those of the same benchmark and data; and name what only
    one side has."""

    def data_of(lineage: Lineage) -> str:
        return f"{lineage.score.benchmark} on {lineage.score.on}"

    left = list(b.lineages)
    others = {}
    for shared in (lambda lineage: lineage.place, data_of):
        for lineage in a.lineages:
            alike = [other for other in left if shared(other) == shared(lineage)]
            if alike and lineage.place not in others:
                others[lineage.place] = alike[0]
                left.remove(alike[0])
    pairs = [(lineage, others[lineage.place]) for lineage in a.lineages if lineage.place in others]
    only_a = [_named(lineage.place) for lineage in a.lineages if lineage.place not in others]
    return pairs, only_a, [_named(lineage.place) for lineage in left]


def _sides(a: Evidence, b: Evidence) -> tuple[tuple[str, str], list[str]]:
    """Return what people call both sides, by what differs, and a line about each component that
    does."""
    about = []
    names = []
    versions = []
    for role, one in a.components.items():
        two = b.components.get(role, one)
        if one.fingerprint != two.fingerprint and role in (*Combination._fields, "text_encoder"):
            both = f"{one.name} {one.fingerprint[:12]} and {two.name} {two.fingerprint[:12]}"
            about.append(f"{role.replace('_', ' ')}: {both}")
            versions.append(
                (f"{one.name}@{one.fingerprint[:8]}", f"{two.name}@{two.fingerprint[:8]}")
            )
            if one.name != two.name and role != "text_encoder":
                names.append((one.name, two.name))
    left, right = (
        " · ".join(side) for side in zip(*(names or versions or [("A", "B")]), strict=True)
    )
    return (left, right) if left != right else ("A", "B"), about


def coverage_difference(a: Score, b: Score) -> Difference | None:
    """Return the difference in how much is in the denominators, or that b or a is below
    ``min_coverage``; None where both are equal. All tables go by it as well."""
    for each in (b, a):
        if each.unranked is not None:
            return Difference(f"coverage of {each.model}", "", "", "unfair", each.unranked)
    if a.share == b.share:
        return None
    what = "coverage" if a.counted == a.scored and b.counted == b.scored else "what is counted"
    one, two = (f"{each.counted}/{each.total}, {float(each.share):.1%}" for each in (a, b))
    if abs(a.share - b.share) <= MOST_APART:
        return Difference(what, one, two, "noted")
    why = f"more than {float(MOST_APART):.0%} apart: what is left out is seldom what is easy"
    return Difference(what, one, two, "unfair", why)


def _differing(a: Lineage, b: Lineage, metrics: Collection[str]) -> Iterator[Difference]:
    """Everything in which two scores of one benchmark differ, other than in their values.

    Args:
        metrics: those by which they may be ranked.
    """
    spec = a.spec
    other_data = Rule(spec.data.name, _OTHER_DATA[spec.data.name])
    rules = {rule.fact: rule for rule in (*spec.unfair, UNREAD_COUNTS, other_data)}

    def concerned(rule: Rule) -> tuple[str, ...] | None:
        """Return the metrics that a rule is about; None if it is about all."""
        keys = tuple(
            key for key in metrics if (metric := spec.metric(key)) and rule.is_about(metric)
        )
        return None if len(keys) == len(metrics) else keys

    left = _facts(a)
    right = _facts(b)
    differing = set()
    for what in {**left, **right}:
        one, name_one = left.get(what, _ABSENT)
        two, name_two = right.get(what, _ABSENT)
        if one == two:
            continue
        differing.add(what)
        rule = rules.get(what)
        apart = shown_apart(one, two)
        yield Difference(
            what=what.replace("_", " "),
            a=name_one or apart[0],
            b=name_two or apart[1],
            weight="unfair" if rule else "compared" if what in _COMPARED else "noted",
            why=rule.why if rule else None,
            concerns=concerned(rule) if rule else None,
        )
    if differing.issuperset(_COMPARED):
        both = Rule(
            "model and generator",
            "both differ, and a difference could come from either",
            Input.DRAWN,
        )
        yield Difference(both.fact, "", "", "unfair", both.why, concerned(both))
    if (coverage := coverage_difference(a.score, b.score)) is not None:
        yield coverage
    if a.score.coverage != b.score.coverage and (coverage is None or coverage.what != "coverage"):
        read = [
            f"{score.scored}/{score.total}, {score.coverage:.1%}" for score in (a.score, b.score)
        ]
        yield Difference("coverage", read[0], read[1], "noted")


Facts: TypeAlias = dict[str, tuple[Any, str | None]]
"""Fact → the value to compare, and how people read it, if not as it is."""


def _facts(lineage: Lineage) -> Facts:
    """Gather what may differ between two scores, other than their values."""
    score = lineage.score
    spec = lineage.spec
    facts: Facts = {
        role: (card.fingerprint, f"{card.name} {card.fingerprint[:12]}")
        for role, card in score.components.items()
    }
    for role, versions in score.served.items():
        facts[f"served_{role}"] = ([*versions], ", ".join(versions))
    facts[spec.data.name] = (score.inputs.data_digest, score.inputs.data_digest[:12])
    return (
        facts
        | {name: (value, None) for name, value in spec.facts(score).items()}
        | {"N": (score.total, None)}
    )


def _pair(a: Lineage, b: Lineage, contents: Contents, anyway: bool) -> ScorePair:
    keys = _compared_keys(a.spec, a.score, b.score)
    differing = list(_differing(a, b, keys))
    rows = []
    why_not = ""
    try:
        for lineage in (a, b):  # the rows of this very version of each score
            path = contents.within(lineage.folder, ROWS)
            if path is None:
                raise LedgerError(
                    f"{lineage.rows_path} of that version (md5 {lineage.folder.md5}) is not here; "
                    f"{FETCH}"
                )
            rows.append(read_jsonl(path, Row, lineage.rows_path))
    except (LedgerError, StoreError) as error:
        why_not = f"no rows available: {error}"
    metrics = []
    for key in keys:
        barred = [] if anyway else [each.reason for each in differing if each.bars(key)]
        values = (a.score.metrics.get(key), b.score.metrics.get(key))
        metric = a.spec.metric(key)
        compared = MetricComparison(key, *values)
        metrics.append(compared)
        if why_not:
            compared.verdict = NOT_RANKED + (barred[0] if barred else why_not)
        elif None in values or metric is None:
            compared.verdict = f"{NOT_RANKED}only {'B' if values[0] is None else 'A'} has it"
        else:
            _measure(compared, metric, rows, barred, a.score.confidence)
    shaping = {"provider", "version", "settings", "identity"}
    changed = []
    for role, one in a.score.components.items():
        two = b.score.components.get(role, one)
        if one.name == two.name:
            old = one.model_dump(mode="json", include=shaping)
            new = two.model_dump(mode="json", include=shaping)
            changed += [f"{role} {one.name}, {change}" for change in changes(old, new)]
    unfair = [each for each in differing if each.weight == "unfair" and each.concerns != ()]
    return ScorePair(
        benchmark=a.score.benchmark,
        on=a.score.on,
        place=a.place if a.place == b.place else f"{a.score.benchmark}/{a.score.on}",
        a=a.score_path,
        b=b.score_path,
        differing=differing,
        changed=changed,
        metrics=metrics,
        comparable=not any(each.bars(key) for each in differing for key in keys),
        reasons=[
            f"{each.reason} [{', '.join(each.concerns)}]" if each.concerns else each.reason
            for each in unfair
        ],
    )


def _compared_keys(spec: Benchmark, a: Score, b: Score) -> list[str]:
    """The metrics to rank by that rows can pair and either has, in the order of the table; of a
    family over t the last that both have."""
    keys = []
    for metric in spec.metrics:
        if (
            (metric.headline or metric.compared)
            and metric.row
            and metric.higher_is_better is not None
        ):
            ours = spec.keys_of(metric, a)
            theirs = spec.keys_of(metric, b)
            both = [key for key in ours if key in theirs]
            keys += (both or [*ours, *theirs])[-1:]
    return keys


def units_of(metric: Metric, rows: Sequence[Row], key: str) -> Units:
    """Return what the rows of a score are worth in a number; the mean over orders or gradings."""
    values = [
        (row, [value for value in metric.values_in(row, key) if value is not None]) for row in rows
    ]
    return {row.unit: (exact_mean(some), row.group, row.cluster) for row, some in values if some}


def paired_units(
    metric: Metric, a: Units, b: Units, confidence: float
) -> tuple[int, Paired | None]:
    """Return how many units both have, and B's less A's over these; None without any.

    Those of another category in one of them, or of a ratio another cluster, do not count.
    """
    place = 2 if metric.pairing == "ratio" else 1
    common = [unit for unit in a if unit in b and a[unit][place] == b[unit][place]]
    if not common:
        return 0, None
    one, two = (np.array([side[unit][0] for unit in common]) for side in (a, b))
    groups = [a[unit][1] for unit in common]
    clusters = [a[unit][2] for unit in common]
    return len(common), paired_interval(one, two, groups, clusters, confidence=confidence)


def _measure(
    compared: MetricComparison,
    metric: Metric,
    rows: Sequence[Sequence[Row]],
    barred: Sequence[str],
    confidence: float,
) -> None:
    """Fill in what only the rows of both scores tell."""
    one, two = (units_of(metric, some, compared.metric) for some in rows)
    common, paired = paired_units(metric, one, two, confidence)
    compared.common = common
    compared.only_a = len(one) - common
    compared.only_b = len(two) - common
    if barred or paired is None:
        compared.verdict = NOT_RANKED + (barred[0] if barred else "no sample has a value in both")
        return
    scale = 1.0 if metric.pairing == "mean" else 100.0
    compared.difference = scale * paired.difference
    compared.a_common = scale * paired.a
    compared.b_common = scale * paired.b
    compared.verdict = NOT_RANKED + paired.reason
    if paired.interval is not None:
        low, high = paired.interval
        compared.low, compared.high = (
            round_significant(scale * end, DIGITS) for end in paired.interval
        )
        compared.standard_error = scale * paired.standard_error
        detectable = minimum_detectable_difference(
            paired.standard_error, paired.df, confidence=confidence
        )
        compared.detectable = scale * detectable
        compared.df = paired.df
        compared.p_value = paired.p_value
        compared.verdict = (
            "B is higher"
            if low > 0
            else "A is higher"
            if high < 0
            else "no difference that these samples show"
        )
    if paired.free < (least := fewest(confidence)):
        few = (
            f"{paired.free} samples can vary, and fewer than {least} show nothing with "
            f"{confidence:.0%}"
        )
        compared.verdict = NOT_RANKED + few


def as_table(comparison: Comparison) -> Group:
    """A sentence and a table per benchmark, with remarks and what is not ranked below it."""
    a, b = comparison.sides
    about = "; ".join(comparison.about) or "the same components in both"
    head = [f"A, {a}: {comparison.a}", f"B, {b}: {comparison.b}", f"compared: {about}"]
    head += [f"to know: {each}" for each in comparison.noted]
    foot = [
        f"shows at {POWER:.0%}: the difference that as many samples, as noisy as these, find so "
        "often"
    ]
    only = (("A", comparison.only_a), ("B", comparison.only_b))
    foot += [f"only {side} has: {'; '.join(each)}" for side, each in only if each]
    foot.append(_FAIR if comparison.comparable else _ANYWAY if comparison.anyway else _UNFAIR)
    blocks = [part for pair in comparison.pairs for part in (*_block(pair, comparison), "")]
    return Group(lines(head), "", *blocks, lines(foot))


_UNFAIR = "not comparable: not all of this may be ranked; see 'unfair', or use --anyway"
_FAIR = "comparable: nothing but what is compared differs that would move these numbers"
_ANYWAY = "ranked against what speaks against it; see 'unfair'"


def _block(pair: ScorePair, comparison: Comparison) -> Iterator[RenderableType]:
    """``regions is better than blind by 0.61 [0.58, 0.63] in GC@5``, a table of the ranked metrics,
    and remarks."""
    a, b = sides = comparison.sides
    better_by = f"better by [{comparison.confidence:.0%} interval]"
    shows = f"shows at {POWER:.0%}"
    shown = table("", a, b, better_by, shows, "N", numbers=[a, b, shows, "N"])
    sentence = ""
    beneath = [
        f"differs: {each.what}, {each.a} and {each.b}"
        for each in pair.differing
        if each.weight == "noted"
    ]
    beneath += [f"unfair: {each}" for each in pair.reasons] + [
        f"changed: {each}" for each in pair.changed
    ]
    for each in pair.metrics:
        metric = benchmark(pair.benchmark).metric(each.metric)
        assert metric is not None  # chosen from its benchmark's table
        title = metric.named(each.metric)
        (better, by) = _better(metric, each)
        numbers = (each.a, each.b, each.detectable, each.a_common, each.b_common)
        values = ["–" if value is None else figure(value, metric.digits) for value in numbers]
        if each.ranked:
            who = "neither" if better is None else sides[better]
            shown.add_row(
                *map(line, [title, *values[:2], f"{who} {by}", values[2], str(each.common)])
            )
            says = f"no difference in {title} that these samples show"
            if better is not None:
                says = f"{sides[better]} is better than {sides[1 - better]} by {by} in {title}"
            sentence = sentence or f": {says}"
        else:
            beneath.append(f"{title}, {values[0]} and {values[1]}: {each.verdict}")
        if each.only_a or each.only_b:
            over = (
                ""
                if each.a_common is None
                else f"; over the common ones {values[3]} and {values[4]}"
            )
            beneath.append(
                f"{title}: {each.only_a} have a value for {a} alone, {each.only_b} for {b} "
                f"alone{over}"
            )
        if each.ranked and better is not None and (each.p_holm or 0.0) > 1 - comparison.confidence:
            beneath.append(
                f"{title}: not shown after Holm's correction over all metrics (p = "
                f"{each.p_holm:.2g})"
            )
    yield line(f"{pair.name}{sentence}", HEAD)
    if sentence:
        yield shown
    yield lines(f"  {each}" for each in beneath)


def _better(metric: Metric, each: MetricComparison) -> tuple[int | None, str]:
    """Which side is better, None where neither is, and by how much; where neither is, how far the
    first is ahead."""
    difference = each.difference or 0.0
    low = each.low or 0.0
    high = each.high or 0.0
    better = None if low <= 0 <= high else int((low > 0) != (metric.higher_is_better is False))
    if low <= 0:  # the first has more
        difference, low, high = -difference, -high, -low
    return better, figure(difference, metric.digits, (low, high))
