"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from driftledger.benchmarks.description_records import FidelityInputs, FidelityScore, Redrawn
from driftledger.benchmarks.fidelity.ratings import Rated, Rating, mean_ratings
from driftledger.benchmarks.fidelity.redraw import to_redraw
from driftledger.benchmarks.fidelity.seen import Described, Redrawing, Seen, see
from driftledger.benchmarks.genception.features import FRECHET_DIGITS
from driftledger.benchmarks.genception.flags import flags, served_versions
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord
from driftledger.benchmarks.settings import Bootstrap, Fidelity
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.types import ImageFile, Sample
from driftledger.data.records import ONE_CATEGORY, DatasetCard, read_samples
from driftledger.metrics.agreement import agreement
from driftledger.metrics.bootstrap import bootstrap_interval
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.structural import comparable, structural_similarity

PERCENT = 100.0
NO_REDRAWING = "no description could be redrawn"

Values = dict[str, dict[str, float]]
"""Metric → sample → value."""


def score(
    dataset: Path,
    redraws: Path,
    combination: Combination,
    encoder: Encoder,
    settings: Fidelity,
    ratings: Sequence[Rating],
    seed: int,
    features: FeatureStore | None = None,
) -> tuple[FidelityScore, list[Redrawn]]:
    """Score the redrawings in folder ``redraws`` of the samples in folder ``dataset``.

    Args:
        ratings: what people think of descriptions, of these or others.
        features: where what the encoder saw and read is found and kept; without, it looks at everything.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the samples were redrawn.
    """
    card = read_json(dataset / "dataset.json", DatasetCard)
    records = read_jsonl(redraws / "records.jsonl", ChainRecord)
    redrawn = _redrawings(to_redraw(read_samples(dataset)), records, redraws)
    reached = [each for each in redrawn if each.image is not None]
    _check_coverage(redrawn, reached, settings)
    seen = see(redrawn, encoder, features)
    values, distance = _between_images(reached, encoder, seen)
    values["ssim"] = _structure(reached, settings.ssim_side)
    said = [each for each in redrawn if each.description is not None]
    if seen.described is not None:  # CLIP-S, of everything that was described, whether it could be drawn or not
        values["clip_s"] = _by_sample(said, cosine_similarity(seen.described.images, seen.described.texts))
    rated = mean_ratings(ratings, card.name, combination.model, {e.sample.id: e.description for e in redrawn})
    if rated.means:
        values["human"] = rated.means
    name = combination.encoder
    score_file = FidelityScore(
        dataset=card.name,
        model=combination.model,
        generator=combination.generator,
        encoder=name,
        metrics=_overall(values, settings.bootstrap, seed) | distance,
        by_category=_by_category(values, redrawn),
        agreement=_agreement(values),
        outcomes=dict(sorted(Counter(str(record.outcome) for record in records).items())),
        scored=len(reached),
        total=len(redrawn),
        coverage=len(reached) / len(redrawn),
        absent=_absent(encoder, name, values, distance),
        served=served_versions(records),
        flags=[*flags(records), *_cut(seen.described), *_stale(rated)],
        inputs=FidelityInputs(
            dataset_digest=card.digest,
            records_sha256=sha256_file(redraws / "records.jsonl"),
            chain=read_json(redraws / "components.json", ChainCard),
            encoder=ComponentCard.of(name, encoder),
            ratings={"used": rated.ratings, "raters": rated.raters, "stale": rated.stale},
            settings={
                "bootstrap": settings.bootstrap.model_dump(),
                "ssim_side": settings.ssim_side,
                "seed": seed,
            },
        ),
    )
    return score_file, list(_rows(redrawn, values))


def _redrawings(samples: Sequence[Sample], records: Sequence[ChainRecord], folder: Path) -> list[Redrawing]:
    by_sample = {record.sample: record for record in records}
    drawn = {
        record.sample: ImageFile(folder / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None
    }
    return [Redrawing(sample, by_sample.get(sample.id), drawn.get(sample.id)) for sample in samples]


def _check_coverage(redrawn: Sequence[Redrawing], reached: Sequence[Redrawing], settings: Fidelity) -> None:
    if reached and len(reached) / len(redrawn) >= settings.min_coverage:
        return
    missing = [each for each in redrawn if each.image is None]
    listed = first_few([f"{each.sample.id}: {each.record.outcome if each.record else 'no record'}" for each in missing])
    raise CoverageError(
        f"only {len(reached)} of {len(redrawn)} images were redrawn, and fidelity.min_coverage in params.yaml asks for "
        f"{settings.min_coverage:.0%} ({listed}); lower it to score without these"
    )


def _between_images(reached: Sequence[Redrawing], encoder: Encoder, seen: Seen) -> tuple[Values, dict[str, float]]:
    """CLIP-S-I or its like per sample, and the Fréchet distance between all originals and all redrawings."""
    name = "clip_s_i" if encoder.reads else "image_similarity"
    values = {name: _by_sample(reached, cosine_similarity(seen.originals, seen.redrawn))}
    if len(reached) < 2:
        return values, {}
    distance = round_significant(frechet_distance(seen.originals, seen.redrawn), FRECHET_DIGITS)
    return values, {encoder.frechet_name: distance}


def _by_sample(some: Sequence[Redrawing], similarities: np.ndarray) -> dict[str, float]:
    return {each.sample.id: PERCENT * float(value) for each, value in zip(some, similarities, strict=True)}


def _structure(reached: Sequence[Redrawing], side: int) -> dict[str, float]:
    return {
        each.sample.id: PERCENT
        * structural_similarity(comparable(each.sample.image.open(), side), comparable(each.image.open(), side))
        for each in reached
        if each.image is not None
    }


def _overall(values: Values, bootstrap: Bootstrap, seed: int) -> dict[str, float]:
    """Means over samples, with their intervals."""
    found: dict[str, float] = {}
    for metric, of_sample in values.items():
        several = np.array(list(of_sample.values()))
        low, high = bootstrap_interval(
            several,
            ["all"] * len(several),
            resamples=bootstrap.resamples,
            confidence=bootstrap.confidence,
            seed=seed,
        )
        found |= {metric: exact_mean(several.tolist()), f"{metric}_low": low, f"{metric}_high": high}
    return found


def _by_category(values: Values, redrawn: Sequence[Redrawing]) -> Values:
    found: Values = {}
    for category in sorted({each.sample.category or ONE_CATEGORY for each in redrawn}):
        members = {each.sample.id for each in redrawn if (each.sample.category or ONE_CATEGORY) == category}
        rows = {name: [value for sample, value in some.items() if sample in members] for name, some in values.items()}
        found[category] = {name: exact_mean(row) for name, row in rows.items() if row}
    return found


def _agreement(values: Values) -> Values:
    """How each automatic score goes with the human one, over the samples that have both."""
    human, found = values.get("human", {}), {}
    for metric, of_sample in values.items():
        both = sorted(of_sample.keys() & human.keys())
        if metric != "human" and both:
            agreed = agreement(np.array([human[s] for s in both]), np.array([of_sample[s] for s in both]))
            if agreed is not None:
                found[metric] = {name: float(value) for name, value in agreed._asdict().items()}
    return found


def _absent(encoder: Encoder, name: str, values: Values, distance: Mapping[str, float]) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if not encoder.reads:
        reasons["clip_s"] = f"{name} has no text tower"
        reasons["clip_s_i"] = f"{name} is no CLIP; image_similarity is the same cosine, seen through it"
    if not distance:
        reasons[encoder.frechet_name] = "fewer than two images were redrawn"
    if encoder.frechet_name != "fid":
        reasons["fid"] = f"{name} is not Inception; {encoder.frechet_name} is the same distance, seen through it"
    if "human" not in values:
        reasons["human"] = "nobody has rated these descriptions"
    return reasons


def _cut(described: Described | None) -> Iterator[str]:
    if described is not None and described.cut:
        yield (
            f"CLIP-S is of the beginning of {described.cut} of {len(described.texts)} descriptions: the text tower "
            "reads no more"
        )


def _stale(rated: Rated) -> Iterator[str]:
    if rated.stale:
        yield f"{rated.stale} human ratings are of other descriptions than these and do not count"


def _rows(redrawn: Sequence[Redrawing], values: Values) -> Iterator[Redrawn]:
    for each in redrawn:
        sample = each.sample
        if each.record is None:
            raise ValueError(f"sample {sample.id} has no record")
        metrics = {name: of_sample[sample.id] for name, of_sample in values.items() if sample.id in of_sample}
        yield Redrawn(
            sample=sample.id, category=sample.category or ONE_CATEGORY, outcome=each.record.outcome, metrics=metrics
        )
