"""Two runs side by side: how far their scores differ over the samples that both have, and whether that means anything.

A difference of two numbers is easily made and easily misread. Here it comes with a paired interval, with everything
else in which the runs differ, and without a ranking where something else than what is compared moves the numbers.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict, FiniteFloat

from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import Score
from driftledger.core.errors import LedgerError, StoreError, first_few
from driftledger.ledger.compare.comparable import Differing, differing, what_changed
from driftledger.ledger.compare.paired_values import Repeats, Values, paired_values
from driftledger.ledger.compare.ranking import NOT_RANKED, Drawing, MetricComparison, measured
from driftledger.ledger.lineage import Evidence, Lineage
from driftledger.ledger.objects.contents import Contents


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

    @property
    def reasons(self) -> list[str]:
        """Why these must not be ranked; with the metrics, where it is not so for all."""
        unfair = [each for each in self.differing if each.weight == "unfair"]
        return [
            f"{each.reason} [{', '.join(each.concerns)}]" if each.concerns else each.reason
            for each in unfair
            if each.concerns != ()
        ]

    @property
    def comparable(self) -> bool:
        return not any(each.bars(one.metric) for each in self.differing for one in self.metrics)


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

    @property
    def comparable(self) -> bool:
        """Whether every metric may be ranked."""
        return all(pair.comparable for pair in self.pairs)

    @property
    def reasons(self) -> list[str]:
        """Why some metrics may not, each once."""
        barred = [pair for pair in self.pairs if not pair.comparable]
        return [f"{pair.benchmark} on {pair.on}: {reason}" for pair in barred for reason in pair.reasons]

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready, with the judgements that are properties here."""
        pairs = [
            pair.model_dump(mode="json") | {"comparable": pair.comparable, "reasons": pair.reasons}
            for pair in self.pairs
        ]
        judged = {"comparable": self.comparable, "reasons": self.reasons, "pairs": pairs}
        return self.model_dump(mode="json", exclude={"pairs"}) | judged


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
    return Comparison(
        a=_said(a),
        b=_said(b),
        about=list(_about(a, b)),
        noted=list(_noted(a, b)),
        pairs=[_pair(one, two, contents, anyway) for one, two in pairs],
        only_a=only_a,
        only_b=only_b,
        confidence=_drawing(pairs[0][0].score).confidence,
        anyway=anyway,
    )


def _drawing(score: Score) -> Drawing:
    """How a score's own intervals were drawn."""
    settings = score.inputs.settings
    return Drawing(settings["bootstrap"]["resamples"], settings["bootstrap"]["confidence"], settings["seed"])


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


def _pairs(a: Evidence, b: Evidence) -> tuple[list[tuple[Lineage, Lineage]], list[str], list[str]]:
    """Scores of the same benchmark on the same data: those at the same place first, and what is left in the order of
    both runs."""
    left = list(b.lineages)
    found: dict[int, Lineage] = {}
    for alike in (_exactly, _place):
        for index, behind in enumerate(a.lineages):
            other = next((each for each in left if alike(each) == alike(behind)), None)
            if index not in found and other is not None:
                found[index] = other
                left.remove(other)
    pairs = [(behind, found[index]) for index, behind in enumerate(a.lineages) if index in found]
    only = [behind for index, behind in enumerate(a.lineages) if index not in found]
    return pairs, [" on ".join(_place(each)) for each in only], [" on ".join(_place(each)) for each in left]


def _place(lineage: Lineage) -> tuple[str, ...]:
    return lineage.score.benchmark, lineage.on


def _exactly(lineage: Lineage) -> tuple[str, ...]:
    return (lineage.place,)


def _pair(a: Lineage, b: Lineage, contents: Contents, anyway: bool) -> ScorePair:
    drawing = _drawing(a.score)
    keys = compared_keys(a.spec, a.score, b.score)
    found = differing(a, b, keys)
    rows: tuple[Mapping[str, Values | Repeats], ...] | str
    try:
        rows = paired_values(a, contents, keys), paired_values(b, contents, keys)
    except (LedgerError, StoreError) as error:
        rows = f"no rows at hand: {error}"
    metrics = []
    for key in keys:
        barred = [] if anyway else [each.reason for each in found if each.bars(key)]
        values = {"metric": key, "a": a.score.metrics.get(key), "b": b.score.metrics.get(key)}
        if isinstance(rows, str):
            found_out: dict[str, Any] = {"verdict": NOT_RANKED + (barred[0] if barred else rows)}
        else:
            ours, theirs = (
                row.get(key) if key in each.score.metrics else None for row, each in zip(rows, (a, b), strict=True)
            )
            found_out = measured(ours, theirs, barred, drawing)
        metrics.append(MetricComparison(**values, **found_out))
    return ScorePair(
        benchmark=a.score.benchmark,
        on=a.on,
        a=a.score_file.path,
        b=b.score_file.path,
        differing=found,
        changed=list(what_changed(a, b)),
        metrics=metrics,
    )


def compared_keys(spec: Benchmark, a: Score, b: Score) -> list[str]:
    """The headline metrics that rows can pair and either has, in the order of the table; of a family over t the last
    that both have."""
    found: list[str] = []
    for metric in spec.metrics:
        if metric.headline and metric.row and metric.higher_is_better is not None:
            ours, theirs = spec.members(metric, a), spec.members(metric, b)
            both = [key for key in ours if key in theirs]
            found += both[-1:] if both else [*ours[-1:], *theirs[-1:]]
    return found
