"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np

from driftledger.benchmarks._chains.flags import few_images, flags, mean_words, served_versions
from driftledger.benchmarks._chains.records import FRECHET_DIGITS, ChainRecord, drawn_images
from driftledger.benchmarks.fidelity.encode import Described, Encoded, Redrawing, encode_reconstructions, to_redraw
from driftledger.benchmarks.fidelity.ratings import Rated, mean_ratings, read_ratings
from driftledger.benchmarks.fidelity.settings import FidelityScoring
from driftledger.benchmarks.score import Row, Score
from driftledger.benchmarks.scoring import FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.components.base import Encoder
from driftledger.core.types import Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.agreement import agreement
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.structural import comparable, structural_similarity

PERCENT = 100.0

Values = dict[str, dict[str, float]]
"""Metric → sample → value."""


def score(given: ToScore) -> Scored:
    """Score a folder of redrawings; where a sheet of ratings is given, with what people think of the descriptions.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the samples were redrawn.
        ConfigError: the sheet cannot be read.
    """
    data, scoring = FromDataset(given, "redraw", ChainRecord, "encoder"), cast(FidelityScoring, given.scoring)
    encoder, name, records = data.encoder, data.encoder_name, data.records
    redrawn = _redrawings(data.samples, records, data.folder)
    reached = [each for each in redrawn if each.image is not None]
    lost = [
        f"{each.sample.id}: {each.record.outcome if each.record else 'no record'}"
        for each in redrawn
        if each.image is None
    ]
    check_coverage(len(reached), len(redrawn), "images were redrawn", "fidelity", given.min_coverage, lost)
    encoded = encode_reconstructions(redrawn, encoder, given.features)
    values, distance = _between_images(reached, encoder, encoded)
    values["ssim"] = _structure(reached, scoring.ssim_side)
    described = [each for each in redrawn if each.description is not None]
    if encoded.described is not None:  # CLIP-S, of everything that was described, whether it could be drawn or not
        values["clip_s"] = _by_sample(described, cosine_similarity(encoded.described.images, encoded.described.texts))
    rated = _rated(given, redrawn)
    if rated.means:
        values["human"] = rated.means
    scored = Score(
        **data.origin("fidelity"),
        metrics=_overall(values, scoring) | distance | mean_words(records),
        groups={"category": _by_category(values, redrawn), "agreement": _agreement(values)},
        outcomes=outcomes(records),
        scored=len(reached),
        counted=len(reached),
        total=len(redrawn),
        coverage=len(reached) / len(redrawn),
        absent=_absent(encoder, name, values, distance),
        served=served_versions(records),
        flags=[
            *flags(records),
            *_cut(encoded.described),
            *few_images(distance, len(reached)),
            *_stale(rated),
        ],
        details={"ratings": {"used": rated.ratings, "raters": rated.raters, "stale": rated.stale}},
    )
    return Scored(scored, list(_rows(redrawn, values)))


def _rated(given: ToScore, redrawn: Sequence[Redrawing]) -> Rated:
    ratings = read_ratings(given.beside["ratings"]) if "ratings" in given.beside else []
    descriptions = {each.sample.id: each.description for each in redrawn}
    return mean_ratings(ratings, given.keys["dataset"], given.keys["model"], descriptions)


def _redrawings(samples: Sequence[Sample], records: Sequence[ChainRecord], folder: Path) -> list[Redrawing]:
    by_sample, drawn = {record.sample: record for record in records}, drawn_images(folder, records)
    return [Redrawing(sample, by_sample.get(sample.id), drawn.get((sample.id, 1))) for sample in to_redraw(samples)]


def _between_images(
    reached: Sequence[Redrawing], encoder: Encoder, encoded: Encoded
) -> tuple[Values, dict[str, float]]:
    """CLIP-S-I or its like per sample, and the Fréchet distance between all originals and all redrawings."""
    name = "clip_s_i" if encoder.reads else "image_similarity"
    values = {name: _by_sample(reached, cosine_similarity(encoded.originals, encoded.redrawn))}
    if len(reached) < 2:
        return values, {}
    distance = round_significant(frechet_distance(encoded.originals, encoded.redrawn), FRECHET_DIGITS)
    return values, {encoder.frechet_name: distance, "images": len(reached)}


def _by_sample(some: Sequence[Redrawing], similarities: np.ndarray) -> dict[str, float]:
    return {each.sample.id: PERCENT * float(value) for each, value in zip(some, similarities, strict=True)}


def _structure(reached: Sequence[Redrawing], side: int) -> dict[str, float]:
    return {
        each.sample.id: PERCENT
        * structural_similarity(comparable(each.sample.image.open(), side), comparable(each.image.open(), side))
        for each in reached
        if each.image is not None
    }


def _overall(values: Values, scoring: FidelityScoring) -> dict[str, float]:
    """Means over samples, with their intervals."""
    overall: dict[str, float] = {}
    for metric, of_sample in values.items():
        several = list(of_sample.values())
        ends = interval(metric, np.array(several), [ONE_CATEGORY] * len(several), scoring)
        overall |= {metric: exact_mean(several)} | ends
    return overall


def _by_category(values: Values, redrawn: Sequence[Redrawing]) -> Values:
    by_category: Values = {}
    for category in sorted({each.sample.category or ONE_CATEGORY for each in redrawn}):
        members = {each.sample.id for each in redrawn if (each.sample.category or ONE_CATEGORY) == category}
        rows = {name: [value for sample, value in some.items() if sample in members] for name, some in values.items()}
        by_category[category] = {name: exact_mean(row) for name, row in rows.items() if row}
    return by_category


def _agreement(values: Values) -> Values:
    """How each automatic score goes with the human one, over the samples that have both."""
    human = values.get("human", {})
    agreements: Values = {}
    for metric, of_sample in values.items():
        both = sorted(of_sample.keys() & human.keys())
        if metric != "human" and both:
            agreed = agreement(np.array([human[s] for s in both]), np.array([of_sample[s] for s in both]))
            if agreed is not None:
                agreements[metric] = {name: float(value) for name, value in agreed._asdict().items()}
    return agreements


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


def _rows(redrawn: Sequence[Redrawing], values: Values) -> Iterator[Row]:
    for each in redrawn:
        sample = each.sample
        if each.record is None:
            raise ValueError(f"sample {sample.id} has no record")
        yield Row(
            unit=sample.id,
            group=ONE_CATEGORY,
            cluster=sample.id,
            outcome=each.record.outcome,
            values={name: [of_sample[sample.id]] for name, of_sample in values.items() if sample.id in of_sample},
            extra={"category": sample.category or ONE_CATEGORY},
        )
