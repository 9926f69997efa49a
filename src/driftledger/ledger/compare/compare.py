"""Two runs side by side: how far their scores differ over the samples that both have, and whether that means anything.

A difference of two numbers is easily made and easily misread. Here it comes with a paired interval, with everything
else in which the runs differ, and without a ranking where something else than what is compared moves the numbers.
"""

from collections.abc import Iterator
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, FiniteFloat

from driftledger.benchmarks.base import Benchmark, base_role
from driftledger.benchmarks.score import Row, Score
from driftledger.collect.observations import Observations
from driftledger.components.card import ComponentCard
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.core.paths import Combination
from driftledger.ledger.compare.comparable import Differing, differing, what_changed
from driftledger.ledger.compare.paired import NOT_RANKED, MetricComparison, measured, read_rows
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents


class _Frozen(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class ScorePair(_Frozen):
    """Two scores of one benchmark on one dataset or question set."""

    benchmark: str
    on: str
    place: str = Field(default="", exclude=True)
    """The data, and whatever else tells A's scores of the benchmark apart, where people read."""
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
    sides: tuple[str, str] = Field(default=("A", "B"), exclude=True)
    """What A and B are called where people read: by what differs."""
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


def compare(
    a: Evidence, b: Evidence, contents: Contents, *, anyway: bool = False, seen: Observations | None = None
) -> Comparison:
    """Compare two runs, metric by metric, over the units that both have a value for.

    Intervals have the confidence of A's scores.

    Args:
        contents: where the rows of A's and B's own versions are read from.
        anyway: rank also what is not comparable; what argues against it is told all the same.
        seen: of components that were asked the same twice.

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
        sides=_sides(a, b),
        about=list(_about(a, b)),
        noted=list(_noted(a, b, seen or {})),
        pairs=compared,
        only_a=only_a,
        only_b=only_b,
        confidence=pairs[0][0].score.confidence,
        anyway=anyway,
        comparable=not barred,
        reasons=[f"{pair.benchmark} on {pair.on}: {reason}" for pair in barred for reason in pair.reasons],
    )


def _said(evidence: Evidence) -> str:
    return f"{evidence.name}, fingerprint {evidence.fingerprint[:12]}"


def _apart(a: Evidence, b: Evidence) -> Iterator[tuple[str, ComponentCard, ComponentCard]]:
    """The roles in which both have another version."""
    ours, theirs = a.components, b.components
    for role in ("model", "generator", "encoder", "text_encoder"):
        one, two = ours.get(role), theirs.get(role)
        if one and two and one.fingerprint != two.fingerprint:
            yield role, one, two


def _about(a: Evidence, b: Evidence) -> Iterator[str]:
    for role, one, two in _apart(a, b):
        said = [f"{card.name} {card.fingerprint[:12]}" for card in (one, two)]
        yield f"{role.replace('_', ' ')}: {said[0]} and {said[1]}"


def _sides(a: Evidence, b: Evidence) -> tuple[str, str]:
    """The names of what differs; where names do not, the version of the one role that does, or else the runs."""
    apart = list(_apart(a, b))
    named = [(one.name, two.name) for role, one, two in apart if one.name != two.name and role in Combination._fields]
    if named:
        return " · ".join(one for one, _ in named), " · ".join(two for _, two in named)
    if len(apart) == 1:
        [(_, one, two)] = apart
        return f"{one.name}@{one.fingerprint[:8]}", f"{two.name}@{two.fingerprint[:8]}"
    return ("A", "B") if a.fingerprint == b.fingerprint else (a.fingerprint[:8], b.fingerprint[:8])


def _noted(a: Evidence, b: Evidence, seen: Observations) -> Iterator[str]:
    one, two = (f"{e.code.commit or 'none'}{' with changes' if e.code.dirty else ''}" for e in (a, b))
    if one != two:
        yield f"code commit: {one} and {two}"
    for side, evidence in (("A", a), ("B", b)):
        for role, card in evidence.components.items():
            for told in (card.mark, seen.get(card.fingerprint)):
                if told is not None:
                    yield f"{side}'s {base_role(role).replace('_', ' ')} {card.name}: {told}"


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
            more = measured(metric, key, *rows, barred, a.score.confidence)
        metrics.append(MetricComparison(metric=key, a=values[0], b=values[1], **more))
    unfair = [each for each in found if each.weight == "unfair" and each.concerns != ()]
    return ScorePair(
        benchmark=a.score.benchmark,
        on=a.on,
        place=a.place.partition("/")[2],
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
