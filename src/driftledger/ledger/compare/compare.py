"""Two runs side by side: how far their scores differ over the samples that both have, and whether that means anything.

A difference of two numbers is easily made and easily misread. Here it comes with a paired interval, with everything
else in which the runs differ, and without a ranking where something else than what is compared moves the numbers.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat
from rich.table import Table

from driftledger.benchmarks.base import Benchmark, base_role
from driftledger.benchmarks.score import Row, Score
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.core.escaping import for_line
from driftledger.ledger.audit.tree import line, rendered
from driftledger.ledger.compare.comparable import Differing, differing, what_changed
from driftledger.ledger.compare.paired import NOT_RANKED, MetricComparison, measured, read_rows
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents

_DIGITS = 4


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScorePair(_Frozen):
    """Two scores of one benchmark on one dataset or question set."""

    benchmark: str
    on: str
    a: str
    """A's score file."""
    b: str
    differing: list[Differing]
    changed: list[str]
    """Of components that are called the same and are not: which settings differ."""
    metrics: list[MetricComparison]
    comparable: bool
    """Whether every metric may be ranked."""
    reasons: list[str]
    """Why these must not be ranked; with the metrics, where it is not so for all."""


class Comparison(_Frozen):
    """Two runs side by side."""

    a: str
    b: str
    about: list[str]
    """What is compared, ``model: seer 0123456789ab and oracle ba9876543210``; empty where no component differs."""
    noted: list[str]
    """In which code, and what else both runs differ in as a whole."""
    pairs: list[ScorePair]
    only_a: list[str]
    """What only A was evaluated on, as ``benchmark on dataset``."""
    only_b: list[str]
    confidence: FiniteFloat
    anyway: bool = False
    """Whether what must not be ranked is ranked nevertheless."""
    comparable: bool
    """Whether every metric may be ranked."""
    reasons: list[str]
    """Why some metrics may not, each once."""


def compare(a: Evidence, b: Evidence, contents: Contents, *, anyway: bool = False) -> Comparison:
    """Compare two runs, metric by metric, over the units that both have a value for.

    Intervals are drawn as A's scores were: as often, as wide and from the same seed.

    Args:
        contents: where the rows of A's and B's own versions are read from.
        anyway: rank also what is not comparable; what argues against it is told all the same.

    Raises:
        LedgerError: A and B have no dataset or question set of a benchmark in common.
    """
    pairs, only_a, only_b = _pairs(a, b)
    if not pairs:
        raise LedgerError(
            f"{a.name} and {b.name} have nothing in common to be compared on: the one has "
            f"{first_few(only_a) or 'no score'}, the other {first_few(only_b) or 'no score'}"
        )
    compared = [_pair(one, two, contents, anyway) for one, two in pairs]
    barred = [pair for pair in compared if not pair.comparable]
    return Comparison(
        a=_said(a),
        b=_said(b),
        about=list(_about(a, b)),
        noted=list(_noted(a, b)),
        pairs=compared,
        only_a=only_a,
        only_b=only_b,
        confidence=_drawing(pairs[0][0].score)["confidence"],
        anyway=anyway,
        comparable=not barred,
        reasons=[f"{pair.benchmark} on {pair.on}: {reason}" for pair in barred for reason in pair.reasons],
    )


def _drawing(score: Score) -> dict[str, Any]:
    """How a score's own intervals were drawn."""
    settings = score.inputs.settings
    return {name: settings["bootstrap"][name] for name in ("resamples", "confidence")} | {"seed": settings["seed"]}


def _said(evidence: Evidence) -> str:
    return f"{evidence.name}, fingerprint {evidence.fingerprint[:12]}"


def _about(a: Evidence, b: Evidence) -> Iterator[str]:
    ours, theirs = a.components, b.components
    for role in ("model", "generator", "encoder", "text_encoder"):
        one, two = ours.get(role), theirs.get(role)
        if one and two and one.fingerprint != two.fingerprint:
            said = [f"{card.name} {card.fingerprint[:12]}" for card in (one, two)]
            yield f"{role.replace('_', ' ')}: {said[0]} and {said[1]}"


def _noted(a: Evidence, b: Evidence) -> Iterator[str]:
    one, two = (f"{e.code.commit or 'none'}{' with changes' if e.code.dirty else ''}" for e in (a, b))
    if one != two:
        yield f"code commit: {one} and {two}"
    for side, evidence in (("A", a), ("B", b)):
        for role, card in evidence.components.items():
            if card.mark is not None:
                yield f"{side}'s {base_role(role).replace('_', ' ')} {card.name}: {card.mark}"


def _pairs(a: Evidence, b: Evidence) -> tuple[list[tuple[Lineage, Lineage]], list[str], list[str]]:
    """Scores of the same benchmark on the same data: those at the same place first, and what is left in the order of
    both runs."""
    left = list(b.lineages)
    found: dict[str, Lineage] = {}
    for exactly in (True, False):
        for behind in a.lineages:
            alike = (each for each in left if (each.place == behind.place if exactly else _on(each) == _on(behind)))
            if behind.place not in found and (other := next(alike, None)):
                found[behind.place] = other
                left.remove(other)
    pairs = [(behind, found[behind.place]) for behind in a.lineages if behind.place in found]
    return pairs, [_on(each) for each in a.lineages if each.place not in found], [_on(each) for each in left]


def _on(lineage: Lineage) -> str:
    return f"{lineage.score.benchmark} on {lineage.on}"


def _pair(a: Lineage, b: Lineage, contents: Contents, anyway: bool) -> ScorePair:
    keys = compared_keys(a.spec, a.score, b.score)
    found = differing(a, b, keys)
    rows: tuple[list[Row], list[Row]] | str
    try:
        rows = read_rows(contents, a.rows_file), read_rows(contents, b.rows_file)
    except (LedgerError, StoreError) as error:
        rows = f"no rows at hand: {error}"
    metrics = []
    for key in keys:
        barred = [] if anyway else [each.reason for each in found if each.bars(key)]
        values, metric = (a.score.metrics.get(key), b.score.metrics.get(key)), a.spec.metric(key)
        if isinstance(rows, str):
            more: dict[str, Any] = {"verdict": NOT_RANKED + (barred[0] if barred else rows)}
        elif None in values or metric is None:
            more = {"verdict": f"{NOT_RANKED}only {'B' if values[0] is None else 'A'} has it"}
        else:
            more = measured(metric, key, *rows, barred, _drawing(a.score))
        metrics.append(MetricComparison(metric=key, a=values[0], b=values[1], **more))
    unfair = [each for each in found if each.weight == "unfair" and each.concerns != ()]
    return ScorePair(
        benchmark=a.score.benchmark,
        on=a.on,
        a=a.score_file.path,
        b=b.score_file.path,
        differing=found,
        changed=list(what_changed(a, b)),
        metrics=metrics,
        comparable=not any(each.bars(key) for each in found for key in keys),
        reasons=[f"{each.reason} [{', '.join(each.concerns)}]" if each.concerns else each.reason for each in unfair],
    )


def compared_keys(spec: Benchmark, a: Score, b: Score) -> list[str]:
    """The metrics to rank by that rows can pair and either has, in the order of the table; of a family over t the last
    that both have."""
    found: list[str] = []
    for metric in spec.metrics:
        if (metric.headline or metric.compared) and metric.row and metric.higher_is_better is not None:
            ours, theirs = spec.members(metric, a), spec.members(metric, b)
            both = [key for key in ours if key in theirs]
            found += both[-1:] if both else [*ours[-1:], *theirs[-1:]]
    return found


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
    table.add_column(line(f"{pair.benchmark} on {pair.on}"))
    for name in ("A", "B", "B − A", f"{confidence:.0%} interval", "common"):
        table.add_column(name, justify="right")
    table.add_column("")
    for each in pair.metrics:
        table.add_row(*map(line, _cells(each)))
    return rendered(table)


def _cells(each: MetricComparison) -> list[str]:
    interval = "–" if each.low is None or each.high is None else f"{each.low:+.{_DIGITS}f} to {each.high:+.{_DIGITS}f}"
    difference = "–" if each.difference is None else f"{each.difference:+.{_DIGITS}f}"
    common = "–" if each.common is None else str(each.common)
    verdict = each.verdict.partition(":")[0] if each.verdict.startswith(NOT_RANKED) else each.verdict
    return [each.metric, _number(each.a), _number(each.b), difference, interval, common, verdict]


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
