"""The scoring half: from descriptions to accuracies, seen through one text encoder."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any, NamedTuple, cast

from driftledger.benchmarks.score import Point, Row, Score
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore, check_coverage, noted, outcomes
from driftledger.benchmarks.trac.records import DescriptionRecord, TracProtocol, condition_name
from driftledger.benchmarks.trac.retrieval import PERCENT, Retrieval, accuracies, by_class, metrics_of, retrieve
from driftledger.benchmarks.trac.settings import TracScoring
from driftledger.collect.call import changed_versions, count_versions, version
from driftledger.collect.features import FeatureStore
from driftledger.components.base import Encoder
from driftledger.core.errors import first_few
from driftledger.core.types import Sample
from driftledger.data.records import ONE_CATEGORY, DatasetCard
from driftledger.metrics.confusion import confused_pairs
from driftledger.metrics.naming import class_names

MOST_PAIRS = 50


class Condition(NamedTuple):
    """TRAC under one length limit and with so many examples."""

    max_tokens: int | None
    shots: int
    records: list[DescriptionRecord]
    retrieved: Retrieval
    metrics: dict[str, float]

    @property
    def name(self) -> str:
        return condition_name(self.max_tokens, self.shots)

    @property
    def total(self) -> int:
        return sum(record.split == "test" for record in self.records)

    @property
    def numbers(self) -> dict[str, float]:
        """Its metrics, and what it is; ``max_tokens`` is absent where the model's own limit held."""
        limit = {} if self.max_tokens is None else {"max_tokens": float(self.max_tokens)}
        counts = {"shots": self.shots, "scored": len(self.retrieved.queries), "total": self.total}
        return self.metrics | limit | {name: float(count) for name, count in counts.items()}


class _Data(NamedTuple):
    card: DatasetCard
    samples: dict[str, Sample]
    names: dict[str, tuple[str, ...]]
    """Label → the names by which a description may name the class."""


def score(given: ToScore) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the test samples can be scored under some condition.
    """
    read = FromDataset(given, "describe", DescriptionRecord, "text_encoder")
    card, records, scoring = read.dataset, read.records, cast(TracScoring, given.scoring)
    sampled = card.name in scoring.sampled_classes
    names = {label: class_names(label, card.label_names.get(label, ())) for label in card.labels}
    data = _Data(card, {sample.id: sample for sample in read.samples}, names)
    asked = TracProtocol.model_validate(read.card.protocol)
    conditions = list(_conditions(data, asked, records, read.encoder, given.min_coverage, scoring, given.features))
    headline = conditions[len(asked.shots)]  # of the first length, with the most examples
    tested = [record for record in headline.records if record.split == "test"]
    served = count_versions({"model": (version(r.served_model, r.system_fingerprint) for r in records)})
    notes = noted(record.notes for record in records)
    scored = Score(
        **read.origin("trac"),
        metrics=headline.metrics,
        groups={
            "class": by_class(headline.retrieved),
            "condition": {condition.name: condition.numbers for condition in conditions},
        },
        curves=_curves(conditions, headline.retrieved),
        outcomes=outcomes(tested),
        scored=len(headline.retrieved.queries),
        counted=len(headline.retrieved.queries),
        total=len(tested),
        coverage=len(headline.retrieved.queries) / len(tested),
        absent=_absent(headline.metrics, sampled),
        served=served,
        flags=[*changed_versions(served), *_flags(data, headline), *notes],
        details={"confused": _confused(headline.retrieved), "headline": headline.name},
    )
    return Scored(scored, list(_rows(tested, data.samples, headline.retrieved, sampled)))


def _conditions(
    data: _Data,
    asked: TracProtocol,
    records: Sequence[DescriptionRecord],
    encoder: Encoder,
    min_coverage: float,
    scoring: TracScoring,
    features: FeatureStore | None,
) -> Iterator[Condition]:
    """Every condition: by length, and from no examples on."""
    known: dict[tuple[Hashable, ...], Retrieval] = {}  # a limit that no description reaches changes nothing
    for length, shots in product(asked.max_tokens, [0, *asked.shots]):
        described = [record for record in records if record.max_tokens == length and record.shots == shots]
        said = tuple((each.sample, each.split, each.is_there, each.description) for each in described)
        if said not in known:
            known[said] = retrieve(described, data.samples, data.names, encoder, features)
        retrieved = known[said]
        metrics = metrics_of(retrieved, data.card.leaks, scoring, sampled=data.card.name in scoring.sampled_classes)
        condition = Condition(length, shots, described, retrieved, metrics)
        _check_coverage(condition, data.card.name, min_coverage)
        yield condition


def _check_coverage(condition: Condition, dataset: str, min_coverage: float) -> None:
    scored = {query.sample for query in condition.retrieved.queries}
    left = [record for record in condition.records if record.split == "test" and record.sample not in scored]
    lost = [f"{record.sample}: {record.outcome}" for record in left]
    what = f"test samples of {dataset} can be scored"
    check_coverage(len(scored), condition.total, what, "trac", min_coverage, lost)


def _curves(conditions: Sequence[Condition], retrieved: Retrieval) -> dict[str, list[Point]]:
    """The vote over k, of the headline; top-1 over lengths without examples, and over examples at the first length."""
    curves = {"vote": [Point(step=k, value=value) for k, value in enumerate(accuracies(retrieved.votes), 1)]}
    sweeps = {
        "by_length/top1": [(each.max_tokens or 0, each) for each in conditions if each.shots == 0],
        "by_shots/top1": [(each.shots, each) for each in conditions if each.max_tokens == conditions[0].max_tokens],
    }
    return curves | {
        name: [Point(step=step, value=each.metrics["top1"]) for step, each in sweep]
        for name, sweep in sweeps.items()
        if len(sweep) > 1
    }


def _confused(retrieved: Retrieval) -> list[dict[str, str | int | float]]:
    """Pairs of classes that the descriptions do not tell apart; ``rate`` is the percentage of the scored test samples
    of both that was taken for the other."""
    pairs = confused_pairs([query.label for query in retrieved.queries], retrieved.top1)
    return [{**pair._asdict(), "rate": PERCENT * pair.rate} for pair in pairs[:MOST_PAIRS]]


def _absent(metrics: Mapping[str, float], sampled: bool) -> dict[str, str]:
    reasons = {
        "top1_naming": "no description names its class",
        "top1_not_naming": "every description names its class",
    }
    if sampled:
        reasons |= {f"{key} interval": "a single class shows no spread" for key in ("top1", "class_mean")}
    there = {key: key.replace(" interval", "_low") for key in reasons}
    return {key: reason for key, reason in reasons.items() if there[key] not in metrics}


def _flags(data: _Data, headline: Condition) -> Iterator[str]:
    """What a reader of the headline must know."""
    retrieved = headline.retrieved
    if data.card.leaks:
        yield (
            f"{len(data.card.leaks)} test images are in the support set too "
            f"({first_few(sorted(data.card.leaks))}); top1_without_leaks leaves them out"
        )
    missing = sum(record.split == "support" for record in headline.records) - len(retrieved.support)
    if missing:
        yield f"{missing} support samples have no description and cannot be retrieved"
    lost = sorted(set(data.card.labels) - set(retrieved.labels))
    if lost:
        yield f"no support description is left of {first_few(lost)}, whose test samples are not scored"
    unknown = sum(nearest is None for nearest in retrieved.nearest)
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if retrieved.cut:
        texts = len(retrieved.support) + len(retrieved.queries)
        yield f"the text encoder read only the beginning of {retrieved.cut} of {texts} descriptions"


def _rows(
    tested: Sequence[DescriptionRecord], samples: Mapping[str, Sample], retrieved: Retrieval, sampled: bool
) -> Iterator[Row]:
    """Values are there where a sample is scored: it is described, and a support description of its class is left. Of
    sampled classes each is a cluster."""
    place = {query.sample: index for index, query in enumerate(retrieved.queries)}
    for record in tested:
        label, index = samples[record.sample].label or "", place.get(record.sample)
        values: dict[str, list[float | None]] = {}
        extra: dict[str, Any] = {"label": label, "scored": index is not None}
        if index is not None:
            taken = {"top1": retrieved.top1[index], "class_mean": retrieved.class_mean[index]}
            values = {how: [PERCENT * (label_found == label)] for how, label_found in taken.items()}
            named = {"names_own": retrieved.named[index].own, "names_other": retrieved.named[index].other}
            extra |= {"nearest": retrieved.nearest[index], **taken, **named}
        yield Row(
            unit=record.sample,
            group=ONE_CATEGORY,
            cluster=label if sampled else record.sample,
            outcome=record.outcome,
            values=values,
            extra=extra,
        )
