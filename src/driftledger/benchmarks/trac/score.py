"""The scoring half: from descriptions to accuracies, seen through one text encoder."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import NamedTuple

from driftledger.benchmarks.description_records import (
    Condition,
    ConfusedClasses,
    DescriptionRecord,
    DescriptionsCard,
    Retrieved,
    TracInputs,
    TracScore,
)
from driftledger.benchmarks.settings import Trac
from driftledger.benchmarks.trac.retrieval import Retrieval, accuracies, by_class, metrics_of, retrieve
from driftledger.collect.served import changed_versions, count_versions, version
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Sample
from driftledger.data.records import DatasetCard, read_samples
from driftledger.metrics.confusion import confused_pairs
from driftledger.metrics.naming import class_names

MOST_PAIRS = 50


class _Measured(NamedTuple):
    condition: Condition
    asked: list[DescriptionRecord]
    found: Retrieval


class _Data(NamedTuple):
    card: DatasetCard
    samples: dict[str, Sample]
    names: dict[str, tuple[str, ...]]
    """Label → the names by which a description may name the class."""


def score(
    dataset: Path, descriptions: Path, name: str, encoder: Encoder, settings: Trac, seed: int
) -> tuple[TracScore, list[Retrieved]]:
    """Score the descriptions in a folder, of the samples in another, with the text encoder called ``name``.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the test samples can be scored under some condition.
    """
    card = read_json(dataset / "dataset.json", DatasetCard)
    names = {label: class_names(label, card.label_names.get(label, ())) for label in card.labels}
    data = _Data(card, {sample.id: sample for sample in read_samples(dataset)}, names)
    about = read_json(descriptions / "components.json", DescriptionsCard)
    records = read_jsonl(descriptions / "descriptions.jsonl", DescriptionRecord)
    measured = list(_measure(data, about, records, encoder, settings, seed))
    # Of the first length, the condition with the most examples.
    condition, asked, found = measured[len(measured) // len(about.max_tokens) - 1]
    served = count_versions({"model": (version(r.served_model, r.system_fingerprint) for r in records)})
    score_file = TracScore(
        dataset=card.name,
        model=about.model.name,
        description=about.description,
        encoder=name,
        metrics=condition.metrics,
        vote=[{"k": float(k), "vote": value} for k, value in enumerate(accuracies(found.votes), 1)],
        by_class=by_class(found),
        confused=_confused(found),
        conditions=[each.condition for each in measured],
        outcomes=dict(sorted(Counter(str(record.outcome) for record in asked if record.split == "test").items())),
        scored=condition.scored,
        total=condition.total,
        coverage=condition.scored / condition.total,
        absent=_absent(condition),
        served=served,
        flags=[*changed_versions(served), *_flags(data, asked, found), *_noted(records)],
        inputs=TracInputs(
            dataset_digest=card.digest,
            descriptions_sha256=sha256_file(descriptions / "descriptions.jsonl"),
            descriptions=about,
            encoder=ComponentCard.of(name, encoder),
            settings={"bootstrap": settings.bootstrap.model_dump(), "seed": seed},
        ),
    )
    return score_file, list(_rows(asked, data.samples, found))


def _measure(
    data: _Data,
    about: DescriptionsCard,
    records: Sequence[DescriptionRecord],
    encoder: Encoder,
    settings: Trac,
    seed: int,
) -> Iterator[_Measured]:
    """Every condition: by length, and from no examples on."""
    shots = [0, *(about.demonstrations.shots if about.demonstrations else ())]
    for length, number in product(about.max_tokens, shots):
        asked = [record for record in records if record.max_tokens == length and record.shots == number]
        found = retrieve(asked, data.samples, data.names, encoder)
        total = sum(record.split == "test" for record in asked)
        _check_coverage(asked, found, total, settings, about)
        metrics = metrics_of(found, data.card.leaks, settings.bootstrap, seed)
        condition = Condition(max_tokens=length, shots=number, metrics=metrics, scored=len(found.queries), total=total)
        yield _Measured(condition, asked, found)


def _check_coverage(
    records: Sequence[DescriptionRecord], found: Retrieval, total: int, settings: Trac, about: DescriptionsCard
) -> None:
    coverage = len(found.queries) / total
    if coverage < settings.min_coverage:
        scored = {query.sample for query in found.queries}
        left = [record for record in records if record.split == "test" and record.sample not in scored]
        listed = first_few([f"{record.sample}: {record.outcome}" for record in left])
        raise CoverageError(
            f"only {len(scored)} of {total} test samples of {about.dataset} can be scored, and trac.min_coverage in "
            f"params.yaml asks for {settings.min_coverage:.0%} ({listed}); lower it to score without these"
        )


def _confused(found: Retrieval) -> list[ConfusedClasses]:
    pairs = confused_pairs([query.label for query in found.queries], found.top1)
    return [
        ConfusedClasses(
            first=pair.first,
            second=pair.second,
            first_as_second=pair.first_as_second,
            second_as_first=pair.second_as_first,
            rate=100.0 * pair.rate,
        )
        for pair in pairs[:MOST_PAIRS]
    ]


def _absent(headline: Condition) -> dict[str, str]:
    reasons = {
        "top1_naming": "no description names its class",
        "top1_not_naming": "every description names its class",
    }
    return {metric: reason for metric, reason in reasons.items() if metric not in headline.metrics}


def _flags(data: _Data, asked: Sequence[DescriptionRecord], found: Retrieval) -> Iterator[str]:
    """What a reader of the headline must know."""
    if data.card.leaks:
        yield (
            f"{len(data.card.leaks)} test images are in the support set too "
            f"({first_few(sorted(data.card.leaks))}); top1_without_leaks leaves them out"
        )
    missing = sum(record.split == "support" for record in asked) - len(found.support)
    if missing:
        yield f"{missing} support samples have no description and cannot be retrieved"
    lost = sorted(set(data.card.labels) - set(found.labels))
    if lost:
        yield f"no support description is left of {first_few(lost)}, whose test samples are not scored"
    unknown = sum(nearest is None for nearest in found.nearest)
    if unknown:
        yield f"the text encoder knows no word of {unknown} test descriptions, which count as wrong"
    if found.cut:
        texts = len(found.support) + len(found.queries)
        yield f"the text encoder read only the beginning of {found.cut} of {texts} descriptions"


def _noted(records: Sequence[DescriptionRecord]) -> Iterator[str]:
    for note, count in sorted(Counter(note for record in records for note in record.notes).items()):
        yield f"{note} ({count} calls)"


def _rows(asked: Sequence[DescriptionRecord], samples: Mapping[str, Sample], found: Retrieval) -> Iterator[Retrieved]:
    place = {query.sample: index for index, query in enumerate(found.queries)}
    for record in asked:
        if record.split != "test":
            continue
        label, index = samples[record.sample].label or "", place.get(record.sample)
        if index is None:
            yield Retrieved(sample=record.sample, label=label, outcome=record.outcome)
        else:
            yield Retrieved(
                sample=record.sample,
                label=label,
                outcome=record.outcome,
                nearest=found.nearest[index],
                top1=found.top1[index],
                class_mean=found.class_mean[index],
                names_own=found.named[index].own,
                names_other=found.named[index].other,
            )
