"""A comparison as a table that a person reads in a terminal; untrusted text in it is inert."""

import io
from collections.abc import Iterator

from rich.console import Console
from rich.table import Table
from rich.text import Text

from driftledger.core.escaping import for_line
from driftledger.ledger.compare.compare import Comparison, ScorePair
from driftledger.ledger.compare.ranking import NOT_RANKED, MetricComparison

_DIGITS = 4
_WIDTH = 10_000


def as_table(comparison: Comparison) -> str:
    """What is compared and what else differs, the metrics with their intervals, and whether they may be ranked."""
    blocks = ["\n".join(_head(comparison))]
    blocks += ["\n".join([_metrics(pair, comparison.confidence), *_beneath(pair)]) for pair in comparison.pairs]
    return "\n\n".join([*blocks, "\n".join(_foot(comparison))])


def _head(comparison: Comparison) -> Iterator[str]:
    yield f"A: {for_line(comparison.a)}"
    yield f"B: {for_line(comparison.b)}"
    about = "; ".join(comparison.about) or "the same components in both"
    yield f"compared: {for_line(about)}"
    for noted in comparison.noted:
        yield f"to know: {for_line(noted)}"


def _metrics(pair: ScorePair, confidence: float) -> str:
    table = Table(box=None, pad_edge=False, header_style="")
    table.add_column(Text(for_line(f"{pair.benchmark} on {pair.on}")))
    for name in ("A", "B", "B − A", f"{confidence:.0%} interval", "common"):
        table.add_column(Text(name), justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    for each in pair.metrics:
        table.add_row(*map(Text, _cells(each)))
    console = Console(file=io.StringIO(), width=_WIDTH, color_system=None)
    console.print(table)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]  # it is the StringIO above
    return "\n".join(line.rstrip() for line in text.splitlines())


def _cells(each: MetricComparison) -> list[str]:
    interval = "–" if each.low is None or each.high is None else f"{each.low:+.{_DIGITS}f} to {each.high:+.{_DIGITS}f}"
    difference = "–" if each.difference is None else f"{each.difference:+.{_DIGITS}f}"
    common = "–" if each.common is None else str(each.common)
    verdict = each.verdict.partition(":")[0] if each.verdict.startswith(NOT_RANKED) else each.verdict
    return [for_line(each.metric), _number(each.a), _number(each.b), difference, interval, common, for_line(verdict)]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.{_DIGITS}f}"


def _beneath(pair: ScorePair) -> Iterator[str]:
    """What the cells have no room for."""
    reasons = {each.verdict.removeprefix(NOT_RANKED) for each in pair.metrics if each.verdict.startswith(NOT_RANKED)}
    for reason in sorted(reasons - set(pair.reasons)):
        yield f"  not ranked: {for_line(reason)}"
    for reason in pair.reasons:
        yield f"  unfair: {for_line(reason)}"
    for other in pair.differing:
        if other.weight == "noted":
            yield f"  differs: {for_line(f'{other.what}, {other.a} and {other.b}')}"
    for change in pair.changed:
        yield f"  changed: {for_line(change)}"
    for each in pair.metrics:
        if each.only_a or each.only_b:
            yield f"  {for_line(each.metric)}: {_uncommon(each)}"


def _uncommon(each: MetricComparison) -> str:
    said = f"{each.only_a} have a value in A alone, {each.only_b} in B alone"
    if each.a_common is None or each.b_common is None:
        return said
    return f"{said}; over the common ones A is {_number(each.a_common)} and B {_number(each.b_common)}"


def _foot(comparison: Comparison) -> Iterator[str]:
    for side, only in (("A", comparison.only_a), ("B", comparison.only_b)):
        if only:
            yield f"only {side} has: {for_line('; '.join(only))}"
    if comparison.comparable:
        yield "comparable: nothing but what is compared differs that would move these numbers"
    elif comparison.anyway:
        yield "ranked against what speaks against it; see 'unfair'"
    else:
        yield "not all of this may be ranked; see 'unfair', or use --anyway"
