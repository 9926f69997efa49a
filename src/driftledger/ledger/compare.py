"""Compare two runs: differences, fairness, which is better.

A difference of two numbers is easily misread. Here it comes with a paired interval over common
samples, with Holm's correction over all ranked metrics, and with the smallest difference that this
data can show. Nothing is ranked if something else than what is compared moves the numbers.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from driftledger.benchmarks.base.benchmark import UNREAD_COUNTS, Benchmark, Rule
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.core.text import changes, shown_apart
from driftledger.ledger.changes import changes_of_runs, second_asking
from driftledger.ledger.comparison import (
    Comparison,
    Difference,
    MetricComparison,
    ScorePair,
    named,
)
from driftledger.ledger.lineage import (
    Lineage,
    Run,
    short_version_of,
    version_of,
)
from driftledger.ledger.measure import correct, measure, share_difference, units_of
from driftledger.ledger.objects.contents import Contents, rows_of
from driftledger.ledger.sources import Sources
from driftledger.project.project import Combination
from driftledger.scoring.metric import Input, Metric
from driftledger.scoring.number import Place
from driftledger.scoring.score import Score

_COMPARED = ("model", "generator")
_SHAPING_ROLES = (*Combination._fields, "text_encoder", "judge")
_ABSENT = (None, None)
_BOTH_DIFFER = Rule(
    "model and generator",
    "both differ, and a difference could come from either",
    Input.DRAWN,
)
_OTHER_DATA = {
    "dataset": "other samples are harder or easier",
    "question_set": "other questions are harder or easier",
}


def compare(a: Run, b: Run, contents: Contents, *, anyway: bool = False) -> Comparison:
    """Compare two runs, metric by metric, over the units that both have a value for.

    Intervals have the confidence of A's scores.

    Args:
        contents: where the rows of A's and B's own versions are read from.
        anyway: rank unfair metrics too, and still list the reasons against it.

    Raises:
        LedgerError: A and B have no dataset or question set of a benchmark in common.
    """
    pairs, only_a, only_b = paired_scores(a, b)
    if not pairs:
        first = first_few(only_a) or "no score"
        second = first_few(only_b) or "no score"
        raise LedgerError(
            f"{a.name} and {b.name} have no data in common: the first has {first}, the second "
            f"{second}"
        )
    compared = [_pair(one, two, contents, anyway) for one, two in pairs]
    correct(compared)
    reasons = []
    for pair in compared:
        if not pair.comparable:
            reasons += [f"{pair.name}: {reason}" for reason in pair.reasons]
    sides, about = _sides(a, b)
    return Comparison(
        a=f"{a.name}, fingerprint {a.fingerprint[:12]}",
        b=f"{b.name}, fingerprint {b.fingerprint[:12]}",
        about=about,
        notes=list(_notes(a, b)),
        pairs=compared,
        only_a=only_a,
        only_b=only_b,
        confidence=pairs[0][0].score.confidence,
        anyway=anyway,
        comparable=all(pair.comparable for pair in compared),
        reasons=reasons,
        sides=sides,
    )


def compare_with_changes(
    sources: Sources, a: Run, b: Run, *, anyway: bool = False
) -> Comparison:
    """Compare two runs, and list the changed answers and descriptions of each pair.

    Raises:
        LedgerError: as in :func:`compare`.
    """
    comparison = compare(a, b, sources.contents, anyway=anyway)
    again = second_asking(a, b, sources)
    scores, _, _ = paired_scores(a, b)
    for pair, (one, two) in zip(comparison.pairs, scores, strict=True):
        pair.changes.extend(changes_of_runs(one, two, again, sources.contents))
    correct(comparison.pairs)
    return comparison


def _notes(a: Run, b: Run) -> Iterator[str]:
    """Yield notes: that the code differs, and the remarks of components on themselves."""
    if a.code != b.code:
        yield f"code: {a.code.named(None)} and {b.code.named(None)}"
    for side, run in (("A", a), ("B", b)):
        for role, card in run.components.items():
            if card.mark is not None:
                yield f"{side}'s {role.replace('_', ' ')} {card.name}: {card.mark}"


def paired_scores(
    a: Run, b: Run
) -> tuple[list[tuple[Lineage, Lineage]], list[str], list[str]]:
    """Pair scores of the same place, then scores of the same benchmark and data.

    Returns:
        The pairs, the names of scores that only A has, and of those that only B has.
    """

    def place(lineage: Lineage) -> str:
        return lineage.place

    def benchmark_and_data(lineage: Lineage) -> str:
        return f"{lineage.score.benchmark} on {lineage.score.on}"

    unpaired = list(b.lineages)
    partners = {}
    for shared in (place, benchmark_and_data):
        for lineage in a.lineages:
            for other in unpaired:
                if lineage.place not in partners and shared(other) == shared(lineage):
                    partners[lineage.place] = other
                    unpaired.remove(other)
                    break
    pairs = []
    only_a = []
    for lineage in a.lineages:
        if lineage.place in partners:
            pairs.append((lineage, partners[lineage.place]))
        else:
            only_a.append(named(lineage.place))
    return pairs, only_a, [named(lineage.place) for lineage in unpaired]


def _sides(a: Run, b: Run) -> tuple[tuple[str, str], list[str]]:
    """Name both sides by what differs, and describe each component that differs."""
    about = []
    names = []
    versions = []
    for role, one in a.components.items():
        two = b.components.get(role, one)
        if one.fingerprint == two.fingerprint or role not in _SHAPING_ROLES:
            continue
        about.append(
            f"{role.replace('_', ' ')}: {version_of(one)} and {version_of(two)}"
        )
        versions.append((short_version_of(one), short_version_of(two)))
        if one.name != two.name and role in Combination._fields:
            names.append((one.name, two.name))
    differing = names or versions
    left = " · ".join(one for one, _ in differing)
    right = " · ".join(two for _, two in differing)
    return (left, right) if left != right else ("A", "B"), about


def coverage_difference(a: Score, b: Score) -> Difference | None:
    """Return the difference in coverage; None if both cover the same.

    It is unfair if one score is below ``min_coverage``. All tables go by it as well.
    """
    for score in (b, a):
        if score.unranked is not None:
            return Difference(
                f"coverage of {score.model}",
                "",
                b="",
                weight="unfair",
                why=score.unranked,
            )
    is_read = a.counted == a.scored and b.counted == b.scored
    what = "coverage" if is_read else "what is counted"
    return share_difference(what, (a.counted, a.total), (b.counted, b.total))


def _differing(
    a: Lineage, b: Lineage, numbers: Sequence[Place]
) -> Iterator[Difference]:
    """Yield everything but values in which two scores of one benchmark differ.

    Args:
        numbers: the places of the numbers that they may be ranked by.
    """
    spec = a.spec
    other_data = Rule(spec.data.name, _OTHER_DATA[spec.data.name])
    rules = {rule.fact: rule for rule in (*spec.unfair, UNREAD_COUNTS, other_data)}
    left = _facts(a)
    right = _facts(b)
    differing = set()
    for fact in {**left, **right}:
        one, text_one = left.get(fact, _ABSENT)
        two, text_two = right.get(fact, _ABSENT)
        if one == two:
            continue
        differing.add(fact)
        plain_one, plain_two = shown_apart(one, two)
        difference = Difference(
            fact.replace("_", " "),
            text_one or plain_one,
            b=text_two or plain_two,
            weight="compared" if fact in _COMPARED else "noted",
        )
        if fact in rules:
            difference = _unfair(difference, rules[fact], spec, numbers)
        yield difference
    if differing.issuperset(_COMPARED):
        both = Difference("model and generator", "", b="", weight="unfair")
        yield _unfair(both, _BOTH_DIFFER, spec, numbers)
    coverage = coverage_difference(a.score, b.score)
    if coverage is not None:
        yield coverage
    if a.score.coverage != b.score.coverage and (
        coverage is None or coverage.what != "coverage"
    ):
        yield Difference(
            "coverage", _coverage(a.score), b=_coverage(b.score), weight="noted"
        )


def _coverage(score: Score) -> str:
    return f"{score.scored}/{score.total}, {score.coverage:.1%}"


def _cost(
    a: Mapping[str, float], b: Mapping[str, float]
) -> dict[str, dict[str, float]]:
    """Put the costs that both scores know side by side."""
    cost = {}
    for key, value in a.items():
        if key in b and value:
            cost[key] = {"a": value, "b": b[key], "ratio": b[key] / value}
    return cost


def _unfair(
    difference: Difference, rule: Rule, spec: Benchmark, numbers: Sequence[Place]
) -> Difference:
    """Mark a difference as unfair for the numbers that a rule is about."""
    concerns = []
    for number in numbers:
        if rule.is_about(spec.metrics[number.metric]):
            concerns.append(number)
    if len(concerns) == len(numbers):
        return replace(difference, weight="unfair", why=rule.why)
    return replace(difference, weight="unfair", why=rule.why, concerns=tuple(concerns))


Facts: TypeAlias = dict[str, tuple[Any, str | None]]
"""Fact → the value to compare, and its text for people; None if the value will do."""


def _facts(lineage: Lineage) -> Facts:
    """Return the facts in which a score may differ from another: components, data."""
    score = lineage.score
    digest = score.inputs.data_digest
    facts: Facts = {}
    for role, card in score.components.items():
        facts[role] = (card.fingerprint, version_of(card))
    for role, versions in score.served.items():
        facts[f"served_{role}"] = ([*versions], ", ".join(versions))
    facts[lineage.spec.data.name] = (digest, digest[:12])
    for name, value in lineage.spec.facts(score).items():
        facts[name] = (value, None)
    facts["N"] = (score.total, None)
    return facts


def _pair(a: Lineage, b: Lineage, contents: Contents, anyway: bool) -> ScorePair:
    numbers = _compared(a.spec, a.score, b.score)
    differing = list(_differing(a, b, numbers))
    rows = []
    why_no_rows = ""
    try:
        rows = [rows_of(lineage, contents) for lineage in (a, b)]
    except (LedgerError, StoreError) as error:
        why_no_rows = f"no rows available: {error}"
    metrics = []
    for number in numbers:
        one = _value(a.score, number)
        two = _value(b.score, number)
        metric = a.spec.metrics[number.metric]
        compared = MetricComparison(number, metric, one, two)
        metrics.append(compared)
        bars = [
            difference.reason for difference in differing if difference.bars(number)
        ]
        barred = bars[0] if bars and not anyway else ""
        if why_no_rows:
            compared.unrank(barred or why_no_rows)
        elif compared.a is None or compared.b is None:
            compared.unrank(f"only {'B' if compared.a is None else 'A'} has it")
        else:
            units_a, units_b = (units_of(metric, own, number.t) for own in rows)
            measure(compared, units_a, units_b, barred, a.score.confidence)
    reasons = []
    for difference in differing:
        if difference.weight == "unfair" and difference.concerns != ():
            names = ", ".join(number.name for number in difference.concerns or ())
            reason = difference.reason
            reasons.append(f"{reason} [{names}]" if names else reason)
    return ScorePair(
        benchmark=a.score.benchmark,
        on=a.score.on,
        place=a.place if a.place == b.place else f"{a.score.benchmark}/{a.score.on}",
        a=a.score_path,
        b=b.score_path,
        differing=differing,
        changed=_changed_settings(a.score, b.score),
        metrics=metrics,
        comparable=not reasons,
        reasons=reasons,
        cost=_cost(a.score.costs, b.score.costs),
    )


def _value(score: Score, place: Place) -> float | None:
    number = score.find(*place)
    return None if number is None else number.value


def _changed_settings(a: Score, b: Score) -> list[str]:
    """List what differs between components of the same role and name."""
    shaping = {"provider", "version", "settings", "identity"}
    changed = []
    for role, one in a.components.items():
        two = b.components.get(role, one)
        if one.name == two.name:
            old = one.model_dump(mode="json", include=shaping)
            new = two.model_dump(mode="json", include=shaping)
            for change in changes(old, new):
                changed.append(f"{role} {one.name}, {change}")
    return changed


def _compared(spec: Benchmark, a: Score, b: Score) -> list[Place]:
    """List the numbers to rank by, in the order of the table.

    Their metrics have rows and a direction.

    A metric over t is ranked by the last t that both scores have.
    """
    places = []
    for metric in spec.metrics.shown("headline", "compared"):
        if metric.in_rows and metric.has_direction:
            ours = _known(metric, a)
            theirs = _known(metric, b)
            common = [place for place in ours if place in theirs]
            places += (common or [*ours, *theirs])[-1:]
    return places


def _known(metric: Metric, score: Score) -> list[Place]:
    """List the places of a metric's values over all samples, t by t."""
    numbers = score.over_t(metric.name)
    return [number.place for number in numbers if number.value is not None]
