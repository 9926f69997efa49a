"""A comparison as people read it: which is better and by how much; apart from it what may not be ranked, and why."""

from collections.abc import Iterator

from rich.console import Group, RenderableType

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.tables import NOTHING
from driftledger.core.terminal import HEAD, figure, line, lines, table
from driftledger.ledger.compare.compare import Comparison, ScorePair
from driftledger.ledger.compare.paired import NOT_RANKED, MetricComparison
from driftledger.metrics.paired import POWER

Sides = tuple[str, str]


def as_table(comparison: Comparison) -> Group:
    """A sentence and a table per benchmark, then what is not comparable."""
    blocks = [part for pair in comparison.pairs for part in (_block(pair, comparison), "")]
    return Group(lines(_head(comparison)), "", *blocks, *_not_ranked(comparison), lines(_foot(comparison)))


def _head(comparison: Comparison) -> Iterator[str]:
    (a, b), noted = comparison.sides, comparison.noted
    yield f"{a}: {comparison.a}"
    yield f"{b}: {comparison.b}"
    yield f"compared: {'; '.join(comparison.about) or 'the same components in both'}"
    both = {each[1:] for each in noted if {f"A{each[1:]}", f"B{each[1:]}"} <= {*noted}}
    named = {"A's": f"{a}'s", "B's": f"{b}'s"}
    told = (
        f"both have {each[4:]}" if each[1:] in both else f"{named.get(each[:3], each[:3])}{each[3:]}" for each in noted
    )
    yield from (f"to know: {each}" for each in dict.fromkeys(told))


def _block(pair: ScorePair, comparison: Comparison) -> Group:
    a, b = sides = comparison.sides
    ranked = [each for each in _metrics(pair) if not each[1].verdict.startswith(NOT_RANKED)]
    better_by, shows = f"better by [{comparison.confidence:.0%} interval]", f"shows at {POWER:.0%}"
    made = table("", a, b, better_by, shows, "N", numbers=[a, b, shows, "N"])
    for metric, each in ranked:
        better, by = _better(metric, each)
        who = "neither" if better is None else sides[better]
        values = _values(metric, each.a, each.b)
        [least] = _values(metric, each.detectable)
        made.add_row(*map(line, [metric.named(each.metric), *values, f"{who} {by}", least, str(each.common)]))
    said = f": {_sentence(*ranked[0], sides)}" if ranked else ""
    head, beneath = f"{pair.benchmark} on {pair.place}{said}", (f"  {each}" for each in _beneath(pair, sides))
    return Group(line(head, HEAD), *([made] if ranked else []), lines(beneath))


def _metrics(pair: ScorePair) -> Iterator[tuple[Metric, MetricComparison]]:
    """Each with its row of the benchmark's table."""
    spec = benchmark(pair.benchmark)
    for each in pair.metrics:
        metric = spec.metric(each.metric)
        assert metric is not None  # it was chosen from there
        yield metric, each


def _sentence(metric: Metric, each: MetricComparison, sides: Sides) -> str:
    """``regions is better than blind by 0.61 [0.58, 0.63] in GC@5``."""
    (better, by), title = _better(metric, each), metric.named(each.metric)
    if better is None:
        return f"no difference in {title} that these samples show"
    return f"{sides[better]} is better than {sides[1 - better]} by {by} in {title}"


def _better(metric: Metric, each: MetricComparison) -> tuple[int | None, str]:
    """Which of both is better, None where neither is, and by how much; where neither is, how far the first is ahead."""
    difference, low, high = each.difference or 0.0, each.low or 0.0, each.high or 0.0
    better = None if low <= 0 <= high else int((low > 0) != (metric.higher_is_better is False))
    if low <= 0:  # the first has more
        difference, low, high = -difference, -high, -low
    return better, figure(difference, metric.digits, (low, high))


def _values(metric: Metric, *values: float | None) -> list[str]:
    return [NOTHING if value is None else figure(value, metric.digits) for value in values]


def _beneath(pair: ScorePair, sides: Sides) -> Iterator[str]:
    """What the cells have no room for."""
    for other in pair.differing:
        if other.weight == "noted":
            yield f"differs: {other.what}, {other.a} and {other.b}"
    yield from (f"changed: {change}" for change in pair.changed)
    for metric, each in _metrics(pair):
        if each.only_a or each.only_b:
            said = f"{each.only_a} have a value for {sides[0]} alone, {each.only_b} for {sides[1]} alone"
            common = " and ".join(_values(metric, each.a_common, each.b_common))
            told = "" if each.a_common is None else f"; over the common ones {common}"
            yield f"{metric.named(each.metric)}: {said}{told}"


def _not_ranked(comparison: Comparison) -> Iterator[RenderableType]:
    """Metrics with their values, and the sentences that say why."""
    told: list[str] = []
    for pair in comparison.pairs:
        left_out = [(metric, each) for metric, each in _metrics(pair) if each.verdict.startswith(NOT_RANKED)]
        why = {each.verdict.removeprefix(NOT_RANKED) for _, each in left_out}
        why = {each for each in why if not any(reason.startswith(each) for reason in pair.reasons)} | {*pair.reasons}
        if why:
            of = (f"{m.named(each.metric)} ({' and '.join(_values(m, each.a, each.b))})" for m, each in left_out)
            told.append(f"  {pair.benchmark} on {pair.place}: {'; '.join(of) or 'ranked all the same'}")
            told += [f"    {'unfair' if each in pair.reasons else 'not ranked'}: {each}" for each in sorted(why)]
    if told:
        yield line("not comparable", HEAD)
        yield lines([*told, ""])


def _foot(comparison: Comparison) -> Iterator[str]:
    if any(each.detectable is not None for pair in comparison.pairs for each in pair.metrics):
        yield f"shows at {POWER:.0%}: the difference that as many samples, as noisy as these, find with that power"
    for side, only in zip(comparison.sides, (comparison.only_a, comparison.only_b), strict=True):
        if only:
            yield f"only {side} has: {'; '.join(only)}"
    if comparison.comparable:
        yield "comparable: nothing but what is compared differs that would move these numbers"
    elif comparison.anyway:
        yield "ranked against what speaks against it; see 'unfair'"
    else:
        yield "not all of this may be ranked; see 'unfair', or use --anyway"
