"""Pass or fail a comparison in CI."""

import math
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Literal, NamedTuple, TypeAlias

from driftledger.core.errors import LedgerError, unknown_name
from driftledger.core.text import figure
from driftledger.ledger.comparison import (
    Changes,
    Comparison,
    MetricComparison,
    ScorePair,
    Words,
)
from driftledger.metrics.changes import non_inferiority
from driftledger.metrics.intervals import fewest

FailIf: TypeAlias = Literal["worse", "not-as-good", "changed"]
"""What makes a comparison fail."""
_OPTIONS = {"margin": ("not-as-good",), "metric": ("not-as-good", "worse")}
"""Option → the rules that use it."""


class Verdict(IntEnum):
    """The exit code of a gate."""

    PASSES = 0
    FAILS = 1
    UNKNOWN = 3


class Judgement(NamedTuple):
    """The verdict on one metric, or on the changes behind one score."""

    verdict: Verdict
    says: str

    def __str__(self) -> str:
        return f"{self.verdict.name.lower()}: {self.says}"

    def to_dict(self) -> dict[str, str]:
        """Return it ready for JSON."""
        return {"verdict": self.verdict.name.lower(), "sentence": self.says}


class Gate(NamedTuple):
    """A rule that a comparison passes or fails; without a rule, nothing is judged."""

    fail_if: FailIf | None = None
    margin: float | None = None
    """How much worse B may be, in units of the metric."""
    metric: str | None = None
    """The metric to judge by, ``score`` or ``mme/photos/score``; by default every headline."""

    def judge(self, comparison: Comparison) -> list[Judgement]:
        """Judge each metric of a comparison, or the changes of each pair of scores.

        Raises:
            LedgerError: there is no such metric, or an option is missing or not used.
        """
        for option, rules in _OPTIONS.items():
            if getattr(self, option) is not None and self.fail_if not in rules:
                raise LedgerError(
                    f"--{option} needs --fail-if {' or '.join(rules)}; add --fail-if, or leave "
                    f"--{option} out"
                )
        judgements = []
        if self.fail_if == "changed":
            for pair in comparison.pairs:
                unknown = Changes("answers", note="the data differ")
                for changes in pair.changes or [unknown]:
                    judgements.append(_changed(pair.name, changes, comparison))
        elif self.fail_if is not None:
            judgements = list(self._judged(comparison))
        if self.fail_if is not None and self.metric is None:
            for place in comparison.only_a:
                judgements.append(Judgement(Verdict.UNKNOWN, f"{place}: only A has it"))
        return judgements

    def _judged(self, comparison: Comparison) -> Iterator[Judgement]:
        chosen = list(_chosen(comparison, self.metric))
        margin = self.margin or 0.0
        if self.fail_if == "not-as-good" and not 1e-12 < margin < math.inf:
            raise LedgerError(
                "--fail-if not-as-good needs --margin, how much worse B may be: a number above "
                "0 in units of the metric"
            )
        if margin and len(chosen) > 1:
            names = ", ".join(f"{pair.place}/{one.name}" for pair, one in chosen)
            raise LedgerError(
                f"one margin cannot hold for {len(chosen)} metrics; name one by --metric: {names}"
            )
        for pair, one in chosen:
            metric = one.metric
            verdict = Verdict.UNKNOWN
            sentence = one.unranked
            lead = one.difference or 0.0
            if metric.direction == "lower":
                lead = -lead
            if one.ranked and margin:
                verdict, sentence = _not_as_good(lead, one, margin, comparison)
            elif one.ranked:
                verdict, sentence = _worse(lead, one, comparison)
            title = metric.titled(one.number.t)
            yield Judgement(verdict, f"{pair.name}, {title}: {sentence}")
        if not chosen:
            yield Judgement(Verdict.UNKNOWN, "no headline is in both")


def conclusion(judgements: Sequence[Judgement], of: str) -> Judgement:
    """Return the verdict over all judgements.

    One failure fails; else one unknown leaves it open.

    Args:
        of: the things judged, ``headlines`` for instance.
    """
    verdicts = [judgement.verdict for judgement in judgements]
    verdict = Verdict.PASSES
    for worse in (Verdict.UNKNOWN, Verdict.FAILS):
        if worse in verdicts:
            verdict = worse
    alike = verdicts.count(verdict)
    cannot_tell = "cannot tell: " if verdict is Verdict.UNKNOWN else ""
    return Judgement(verdict, f"{cannot_tell}{alike} of {len(judgements)} {of}")


def _chosen(
    comparison: Comparison, name: str | None
) -> Iterator[tuple[ScorePair, MetricComparison]]:
    """Yield the metrics to judge by, with their scores.

    Args:
        name: ``score``, or ``mme/photos/score`` if several scores have one; None for headlines.
    """
    known: set[str] = set()
    for pair in comparison.pairs:
        for one in pair.metrics:
            is_headline = "headline" in one.metric.shown
            full_name = f"{pair.place}/{one.name}"
            known |= {one.name, full_name}
            if name in (one.name, full_name, None) and (name or is_headline):
                yield pair, one
    if name is not None and name not in known:
        raise LedgerError(unknown_name("metric", name, known))


def _worse(lead: float, one: MetricComparison, comparison: Comparison) -> Judgement:
    digits = one.metric.digits
    assert one.p_holm is not None  # as it is ranked
    by = figure(abs(lead), digits)
    if one.p_holm <= 1 - comparison.confidence and lead < 0:
        return Judgement(Verdict.FAILS, f"B is worse by {by} (p = {one.p_holm:.2g})")
    where = "A and B are equal"
    if lead:
        where = f"B is {by} {'ahead' if lead > 0 else 'behind'}"
    shows = "do not differ"
    if one.detectable:
        shows = f"would show a difference of {figure(one.detectable, digits)}"
    sentence = (
        f"not shown to be worse ({where}; {_samples(one, comparison.words)} {shows})"
    )
    return Judgement(Verdict.PASSES, sentence)


def _units(one: MetricComparison, words: Words) -> str:
    return "samples" if one.clusters in (None, one.common) else words.clusters


def _samples(one: MetricComparison, words: Words) -> str:
    """Say how many samples there are, and about how many images if these are fewer."""
    about = ""
    if _units(one, words) != "samples":
        about = f" {words.within} {one.clusters} {words.clusters}"
    return f"{one.common} samples{about}"


def _not_as_good(
    lead: float, one: MetricComparison, margin: float, comparison: Comparison
) -> Judgement:
    words = comparison.words
    n = one.clusters or one.common or 1
    result = non_inferiority(
        lead,
        one.standard_error or 0.0,
        one.df or 0.0,
        n,
        margin=margin,
        confidence=comparison.confidence,
        step=one.step or 0.0,
    )
    lower = figure(abs(result.lower), one.metric.digits)
    bound = f"B may be up to {lower} behind, and {margin:g} is allowed"
    if result.lower > 0:
        bound = f"B is at least {lower} ahead"
    if result.shown:
        return Judgement(Verdict.PASSES, f"as good ({bound})")
    if result.excluded:
        return Judgement(Verdict.FAILS, f"worse by more than {margin:g}")
    if result.samples is None or result.samples <= n:
        return Judgement(Verdict.FAILS, f"not shown to be as good ({bound})")
    return Judgement(
        Verdict.UNKNOWN,
        f"{_samples(one, words)} cannot tell; about {result.samples:,} {_units(one, words)} would "
        "show that an equal B is as good",
    )


def _changed(name: str, changes: Changes, comparison: Comparison) -> Judgement:
    words = comparison.words
    sentence = f"{name}: {changes.changed} of {changes.samples} {changes.of} changed"
    is_shown = (
        changes.p_holm is not None and changes.p_holm <= 1 - comparison.confidence
    )
    verdict = Verdict.FAILS if is_shown else Verdict.PASSES
    floor = changes.floor
    if not changes.samples:
        verdict = Verdict.UNKNOWN
        sentence = f"{name}: {changes.note}"
    elif floor is not None:
        sentence += f", and {floor.changed} of {floor.samples} change by themselves"
        sentence += f" (p = {changes.p_holm:.2g})"
    elif is_shown:
        sentence += f", more of them one way (McNemar's p = {changes.p_holm:.2g})"
    elif changes.changed:
        verdict = Verdict.UNKNOWN
        sentence += f", and nothing says how many change by themselves: {words.repeat}"
    elif changes.note:
        verdict = Verdict.UNKNOWN
        sentence += f", and {changes.note}"
    clusters = changes.clusters
    least = fewest(comparison.confidence)
    if changes.changed and clusters is not None and clusters < least:
        verdict = Verdict.UNKNOWN
        sentence += f"; fewer than {least} {words.clusters} show nothing"
    return Judgement(verdict, sentence)
