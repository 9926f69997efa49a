"""``driftledger compare``: show two runs side by side."""

import json
from collections.abc import Iterator
from typing import NamedTuple

from rich.console import Group, RenderableType

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.registry import benchmark
from driftledger.commands.terminal import HEAD, line, lines, table
from driftledger.core.text import figure, for_cell
from driftledger.ledger.compare import Comparison, MetricComparison, ScorePair
from driftledger.ledger.compare import compare as compare_runs
from driftledger.ledger.gate import Gate, Judgement, Verdict, verdict_of
from driftledger.ledger.sources import Sources, find_run
from driftledger.metrics.paired import POWER
from driftledger.project.project import Project

_UNFAIR = "not comparable: not all of this may be ranked; see 'unfair', or use --anyway"
_FAIR = "comparable: nothing but what is compared differs that would move these numbers"
_ANYWAY = "ranked against what speaks against it; see 'unfair'"


class Compared(NamedTuple):
    """Two runs side by side, and what a gate says of them."""

    comparison: Comparison
    judgements: list[Judgement]

    @property
    def verdict(self) -> Verdict:
        """The exit code of the command; a comparison without a gate passes."""
        return verdict_of(self.judgements)

    def as_json(self) -> str:
        """Write everything as JSON; ``gate`` is empty without one."""
        gate = [
            {"verdict": judgement.verdict.name.lower(), "says": judgement.says}
            for judgement in self.judgements
        ]
        return json.dumps({**self.comparison.to_dict(), "gate": gate}, indent=2)

    def as_text(self) -> RenderableType:
        """Show tables for the terminal, and what the gate says below them."""
        says = [_says(judgement) for judgement in self.judgements]
        return (
            Group(as_table(self.comparison), lines(says))
            if says
            else as_table(self.comparison)
        )

    def as_markdown(self) -> str:
        """Write a table for the description of a pull request or a comment on it."""
        comparison = self.comparison
        text = [
            f"**A** {for_cell(comparison.a)}  ",
            f"**B** {for_cell(comparison.b)}",
            "",
        ]
        text += [f"- {for_cell(_says(judgement))}" for judgement in self.judgements]
        text += [
            "",
            "| metric | A | B | B less A | samples | |",
            "|---|---:|---:|---:|---:|---|",
        ]
        for pair in comparison.pairs:
            for compared in pair.metrics:
                name = for_cell(f"{pair.name}, {compared.metric}")
                text.append(f"| {' | '.join([name, *_cells(pair, compared)])} |")
        reasons = [
            f"- not comparable: {for_cell(reason)}" for reason in comparison.reasons
        ]
        return "\n".join([*text, *([""] if reasons else []), *reasons])


def compare(
    project: Project, a: str, b: str, *, anyway: bool = False, gate: Gate | None = None
) -> Compared:
    """Compare two runs; errors as in :func:`driftledger.ledger.compare.compare`."""
    sources = Sources(project)
    comparison = compare_runs(
        find_run(sources, a), find_run(sources, b), sources.contents, anyway=anyway
    )
    return Compared(comparison, gate.judge(comparison) if gate else [])


def _says(judgement: Judgement) -> str:
    return f"{judgement.verdict.name.lower()}: {judgement.says}"


def _cells(pair: ScorePair, compared: MetricComparison) -> list[str]:
    """Return the cells of a row in Markdown: A, B, the difference, samples, the verdict."""
    metric = benchmark(pair.benchmark).metric(compared.metric)
    assert metric is not None  # chosen from its benchmark's table
    difference = "–"
    if compared.ranked and compared.difference is not None:
        ends = (compared.low or 0.0, compared.high or 0.0)
        difference = figure(compared.difference, metric.digits, ends)
    return [
        _figure(compared.a, metric),
        _figure(compared.b, metric),
        difference,
        "–" if compared.common is None else str(compared.common),
        for_cell(compared.verdict),
    ]


def as_table(comparison: Comparison) -> Group:
    """Show a sentence and a table per benchmark, with remarks and what is not ranked below it."""
    a, b = comparison.sides
    about = "; ".join(comparison.about) or "the same components in both"
    head = [f"A, {a}: {comparison.a}", f"B, {b}: {comparison.b}", f"compared: {about}"]
    head += [f"to know: {note}" for note in comparison.noted]
    foot = [
        f"shows at {POWER:.0%}: the difference that as many samples, as noisy as these, find so "
        "often"
    ]
    for side, scores in (("A", comparison.only_a), ("B", comparison.only_b)):
        if scores:
            foot.append(f"only {side} has: {'; '.join(scores)}")
    if comparison.comparable:
        foot.append(_FAIR)
    else:
        foot.append(_ANYWAY if comparison.anyway else _UNFAIR)
    blocks: list[RenderableType] = []
    for pair in comparison.pairs:
        blocks += [*_block(pair, comparison), ""]
    return Group(lines(head), "", *blocks, lines(foot))


def _block(pair: ScorePair, comparison: Comparison) -> Iterator[RenderableType]:
    """Yield ``regions is better than blind by 0.61 [0.58, 0.63] in GC@5``, a table of the ranked
    metrics, and remarks."""
    a, b = sides = comparison.sides
    better_by = f"better by [{comparison.confidence:.0%} interval]"
    shows = f"shows at {POWER:.0%}"
    ranked = table("", a, b, better_by, shows, "N", numbers=[a, b, shows, "N"])
    sentence = ""
    remarks = []
    for each in pair.differing:
        if each.weight == "noted":
            remarks.append(f"differs: {each.what}, {each.a} and {each.b}")
    remarks += [f"unfair: {reason}" for reason in pair.reasons]
    remarks += [f"changed: {change}" for change in pair.changed]
    for compared in pair.metrics:
        metric = benchmark(pair.benchmark).metric(compared.metric)
        assert metric is not None  # chosen from its benchmark's table
        title = metric.named(compared.metric)
        value_a = _figure(compared.a, metric)
        value_b = _figure(compared.b, metric)
        better, by = _better(metric, compared)
        if compared.ranked:
            who = "neither" if better is None else sides[better]
            detectable = _figure(compared.detectable, metric)
            cells = (
                title,
                value_a,
                value_b,
                f"{who} {by}",
                detectable,
                str(compared.common),
            )
            ranked.add_row(*map(line, cells))
            if not sentence and better is None:
                sentence = f": no difference in {title} that these samples show"
            elif not sentence and better is not None:
                sentence = (
                    f": {who} is better than {sides[1 - better]} by {by} in {title}"
                )
        else:
            remarks.append(f"{title}, {value_a} and {value_b}: {compared.verdict}")
        if compared.only_a or compared.only_b:
            over = ""
            if compared.a_common is not None:
                common_a = _figure(compared.a_common, metric)
                common_b = _figure(compared.b_common, metric)
                over = f"; over the common ones {common_a} and {common_b}"
            remarks.append(
                f"{title}: {compared.only_a} have a value for {a} alone, {compared.only_b} for {b} "
                f"alone{over}"
            )
        p_holm = compared.p_holm or 0.0
        if (
            compared.ranked
            and better is not None
            and p_holm > 1 - comparison.confidence
        ):
            remarks.append(
                f"{title}: not shown after Holm's correction over all metrics (p = {p_holm:.2g})"
            )
    yield line(f"{pair.name}{sentence}", HEAD)
    if sentence:
        yield ranked
    yield lines(f"  {remark}" for remark in remarks)


def _figure(value: float | None, metric: Metric) -> str:
    return "–" if value is None else figure(value, metric.digits)


def _better(metric: Metric, compared: MetricComparison) -> tuple[int | None, str]:
    """Return the better side, or None, and the difference with its interval.

    If neither is better, it is how far the first is ahead.
    """
    difference = compared.difference or 0.0
    low = compared.low or 0.0
    high = compared.high or 0.0
    better = None
    if low > 0 or high < 0:
        better = int((low > 0) != (metric.higher_is_better is False))
    if low <= 0:  # the first has more
        difference, low, high = -difference, -high, -low
    return better, figure(difference, metric.digits, (low, high))
