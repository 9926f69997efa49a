"""Pass or fail a comparison in CI: is B worse than A, not shown to be as good, or another?"""

from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

from driftledger.benchmarks.base import Metric
from driftledger.benchmarks.registry import benchmark
from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.text import figure
from driftledger.ledger.changes import Changes
from driftledger.ledger.compare import NOT_RANKED, Comparison, MetricComparison
from driftledger.metrics.changes import non_inferiority

FailIf: TypeAlias = Literal["worse", "not-as-good", "changed"]
"""What makes a comparison fail."""


class Verdict(IntEnum):
    """The exit code of a gate."""

    PASSES = 0
    FAILS = 1
    UNKNOWN = 3


class Judgement(NamedTuple):
    """What a gate says of one metric, or of the answers or descriptions behind one score."""

    verdict: Verdict
    says: str


class Gate(NamedTuple):
    """A rule that a comparison passes or fails."""

    fail_if: FailIf
    margin: float | None = None
    """How much worse B may be, in units of the metric; of ``not-as-good`` alone."""
    metric: str | None = None
    """The metric to judge by, as ``compare --json`` names it; by default every headline."""

    def judge(
        self, comparison: Comparison, changes: Sequence[Sequence[Changes]] = ()
    ) -> list[Judgement]:
        """Judge the metrics of a comparison, one by one; or what changed, pair by pair.

        Args:
            changes: of each pair; for ``changed`` alone.

        Raises:
            LedgerError: there is no such metric; or a margin or a metric is missing or not used.
        """
        if self.fail_if == "changed":
            return self._judged_changes(comparison, changes)
        judgements = self._judged(comparison)
        for place in comparison.only_a if self.metric is None else ():
            judgements.append(Judgement(Verdict.UNKNOWN, f"{place}: only A has it"))
        if not judgements:
            judgements.append(Judgement(Verdict.UNKNOWN, "no headline is in both"))
        return judgements

    def _judged_changes(
        self, comparison: Comparison, changes: Sequence[Sequence[Changes]]
    ) -> list[Judgement]:
        if self.metric is not None or self.margin is not None:
            raise LedgerError(
                "--fail-if changed looks at answers and descriptions; leave out --metric and "
                "--margin"
            )
        judgements = []
        for pair, found in zip(comparison.pairs, changes, strict=True):
            for each in found or [Changes("answers", note="the data differ")]:
                level = 1 - comparison.confidence
                judgements.append(_changed(pair.name, each, level))
        return judgements

    def _judged(self, comparison: Comparison) -> list[Judgement]:
        chosen = list(_chosen(comparison, self.metric))
        if self.fail_if == "worse":
            if self.margin is not None:
                raise LedgerError("--margin is of --fail-if not-as-good alone")
            level = 1 - comparison.confidence
            return [_worse(name, metric, one, level) for name, metric, one in chosen]
        if self.margin is None or not self.margin > 0:
            raise LedgerError(
                "--fail-if not-as-good needs --margin, how much worse B may be: a number above "
                "0 in units of the metric"
            )
        if len(chosen) > 1:
            names = ", ".join(dict.fromkeys(one.metric for _, _, one in chosen))
            raise LedgerError(
                f"one margin cannot hold for {len(chosen)} metrics; name one by --metric: {names}"
            )
        return [
            _not_as_good(name, metric, one, self.margin, comparison.confidence)
            for name, metric, one in chosen
        ]


def verdict_of(judgements: list[Judgement]) -> Verdict:
    """Return the verdict on a comparison: one failure fails it, one unknown leaves it open."""
    verdicts = {judgement.verdict for judgement in judgements}
    for verdict in (Verdict.FAILS, Verdict.UNKNOWN):
        if verdict in verdicts:
            return verdict
    return Verdict.PASSES


def _chosen(
    comparison: Comparison, name: str | None
) -> Iterator[tuple[str, Metric, MetricComparison]]:
    """Yield a name for people, the metric and its comparison, of those to judge by."""
    known = []
    for pair in comparison.pairs:
        for one in pair.metrics:
            metric = benchmark(pair.benchmark).metric(one.metric)
            assert metric is not None  # chosen from its benchmark's table
            known.append(one.metric)
            if one.metric == name or (name is None and metric.headline):
                yield f"{pair.name}, {metric.named(one.metric)}", metric, one
    if name is not None and name not in known:
        raise LedgerError(unknown_name("metric", name, known))


def _lead(metric: Metric, one: MetricComparison) -> float:
    """Return how far B is ahead of A, negative where it is behind."""
    difference = one.difference or 0.0
    return difference if metric.higher_is_better else -difference


def _worse(name: str, metric: Metric, one: MetricComparison, level: float) -> Judgement:
    if not one.ranked or one.p_holm is None:
        return Judgement(
            Verdict.UNKNOWN, f"{name}: {one.verdict.removeprefix(NOT_RANKED)}"
        )
    lead = _lead(metric, one)
    by = figure(abs(lead), metric.digits)
    if one.p_holm <= level and lead < 0:
        return Judgement(
            Verdict.FAILS, f"{name}: B is worse by {by} (p = {one.p_holm:.2g})"
        )
    detectable = figure(one.detectable or 0.0, metric.digits)
    side = "ahead" if lead > 0 else "behind"
    return Judgement(
        Verdict.PASSES,
        f"{name}: not shown to be worse (B is {by} {side}; {one.common} samples show {detectable})",
    )


def _not_as_good(
    name: str,
    metric: Metric,
    one: MetricComparison,
    margin: float,
    confidence: float,
) -> Judgement:
    if not one.ranked or one.standard_error is None or one.df is None:
        return Judgement(
            Verdict.UNKNOWN, f"{name}: {one.verdict.removeprefix(NOT_RANKED)}"
        )
    count = one.common or 0
    result = non_inferiority(
        _lead(metric, one),
        one.standard_error,
        one.df,
        count,
        margin=margin,
        confidence=confidence,
        step=one.step or 0.0,
    )
    lower = figure(result.lower, metric.digits)
    bound = f"B is at least {lower} ahead, and −{margin:g} is allowed"
    if result.shown:
        return Judgement(Verdict.PASSES, f"{name}: as good ({bound})")
    if result.excluded:
        return Judgement(Verdict.FAILS, f"{name}: worse by more than {margin:g}")
    if result.samples is not None and result.samples > count:
        return Judgement(
            Verdict.UNKNOWN,
            f"{name}: {count} samples cannot tell; about {result.samples:,} would "
            "show that an equal B is as good",
        )
    return Judgement(Verdict.FAILS, f"{name}: not shown to be as good ({bound})")


def _changed(name: str, changes: Changes, level: float) -> Judgement:
    says = f"{name}: {changes.changed} of {changes.samples} {changes.of} changed"
    verdict = Verdict.UNKNOWN
    is_shown = changes.p_holm is not None and changes.p_holm <= level
    if not changes.samples:
        says = f"{name}: {changes.note}"
    elif changes.floor is not None:
        floor = changes.floor
        verdict = Verdict.FAILS if is_shown else Verdict.PASSES
        says += f", and {floor.changed} of {floor.samples} change by themselves"
        says += f" (p = {changes.p_holm:.2g})"
    elif not changes.changed:
        verdict = Verdict.PASSES
    elif is_shown:
        verdict = Verdict.FAILS
        says += f", more of them one way (McNemar's p = {changes.p_holm:.2g})"
    else:
        says += (
            ", and nothing says how many change by themselves: ask A twice (driftledger run "
            "--again NAME, or repeats: 2)"
        )
    return Judgement(verdict, says)
