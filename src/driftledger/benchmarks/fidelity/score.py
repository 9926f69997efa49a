"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, cast

import numpy as np

from driftledger.benchmarks._chains.flags import few_images, flags, mean_words, served_versions, unified
from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRecord,
    ChainRequest,
    by_repeat,
    drawn_images,
    of_repeat,
)
from driftledger.benchmarks.fidelity.encode import Described, Encoded, Redrawing, encode_reconstructions, to_redraw
from driftledger.benchmarks.fidelity.ratings import Rated, mean_ratings, read_ratings
from driftledger.benchmarks.fidelity.settings import FidelityScoring
from driftledger.benchmarks.fidelity.structure import structural_similarity
from driftledger.benchmarks.score import REPEAT, STD, RepeatRow, Row, Score
from driftledger.benchmarks.scoring import Ends, FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.components.base import Encoder
from driftledger.core.types import Outcome, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.agreement import agreement
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.repeats import deviations

PERCENT = 100.0

Values = dict[str, dict[str, float]]
"""Metric → sample → value."""


class Measured(NamedTuple):
    """What redrawings come to: those of one repeat, or the mean over all."""

    redrawn: list[Redrawing]
    values: Values
    distance: dict[str, float]
    """The Fréchet distance, and over how many images it is; empty where there is none."""
    described: Described | None
    records: Sequence[ChainRecord]


def score(given: ToScore) -> Scored:
    """Score a folder of redrawings; where a sheet of ratings is given, with what people think of the descriptions.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over its repeats, and
    whatever is averaged over samples is averaged over these. People are asked about the first repeat alone.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the redrawings are there.
        ConfigError: the sheet cannot be read.
    """
    data, scoring = FromDataset(given, "redraw", ChainRecord, "encoder"), cast(FidelityScoring, given.scoring)
    encoder, name, records = data.encoder, data.encoder_name, data.records
    repeats = by_repeat(records, ChainRequest.model_validate(data.card.protocol).repeats)
    redrawings = [_redrawings(data.samples, some, data.folder) for some in repeats]
    every = [(repeat, each) for repeat, some in enumerate(redrawings) for each in some]
    lost = [
        f"{each.sample.id}{of_repeat(repeat)}: {each.record.outcome if each.record else 'no record'}"
        for repeat, each in every
        if each.image is None
    ]
    reached = len(every) - len(lost)
    check_coverage(reached, len(every), "images were redrawn", "fidelity", given.min_coverage, lost)
    alone = [_measured(given, redrawn, some, data.encoder) for redrawn, some in zip(redrawings, repeats, strict=True)]
    whole = _mean_of(alone, records)
    rated = _rated(given, redrawings[0])
    values = whole.values | ({"human": rated.means} if rated.means else {})
    by_itself = [_plain(each) for each in alone] if len(alone) > 1 else []
    spreads = {key + STD: std for key, std in deviations(by_itself).items() if key != "images"}
    intervals = _intervals(values, scoring)
    scored = Score(
        **data.origin("fidelity"),
        metrics={metric: exact_mean([*of_sample.values()]) for metric, of_sample in values.items()}
        | intervals.metrics
        | whole.distance
        | mean_words(records)
        | spreads,
        groups={
            "category": _by_category(values, redrawings[0]),
            "agreement": _agreement(values),
            **({REPEAT: {str(repeat): each for repeat, each in enumerate(by_itself)}} if by_itself else {}),
        },
        outcomes=outcomes(records),
        scored=reached,
        counted=reached,
        total=len(every),
        coverage=reached / len(every),
        absent=_absent(encoder, name, values, whole.distance) | intervals.absent,
        served=served_versions(records),
        flags=[
            *unified(data.card),
            *flags(records),
            *_cut([each.described for each in alone if each.described is not None]),
            *few_images(whole.distance, int(whole.distance.get("images", reached))),
            *_stale(rated),
        ],
        details={"ratings": {"used": rated.ratings, "raters": rated.raters, "stale": rated.stale}},
    )
    return Scored(scored, list(_rows(redrawings, values, alone)))


def _measured(given: ToScore, redrawn: list[Redrawing], records: Sequence[ChainRecord], encoder: Encoder) -> Measured:
    """What the redrawings of one repeat come to."""
    reached = [each for each in redrawn if each.image is not None]
    encoded = encode_reconstructions(redrawn, encoder, given.features)
    values, distance = _between_images(reached, encoder, encoded)
    values["ssim"] = _structure(reached, cast(FidelityScoring, given.scoring).ssim_side)
    described = [each for each in redrawn if each.description is not None]
    if encoded.described is not None:  # CLIP-S, of everything that was described, whether it could be drawn or not
        values["clip_s"] = _by_sample(described, cosine_similarity(encoded.described.images, encoded.described.texts))
    return Measured(redrawn, values, distance, encoded.described, records)


def _mean_of(repeats: Sequence[Measured], records: Sequence[ChainRecord]) -> Measured:
    """The mean over repeats: of a sample over those in which it has a value, of a Fréchet distance over all."""
    if len(repeats) == 1:
        return repeats[0]
    values: Values = {}
    for metric in repeats[0].values:
        several: dict[str, list[float]] = {}
        for each in repeats:
            for sample, value in each.values[metric].items():
                several.setdefault(sample, []).append(value)
        values[metric] = {sample: exact_mean(some) for sample, some in several.items()}
    distances = [each.distance for each in repeats]
    distance = {key: exact_mean([each[key] for each in distances]) for key in distances[0] if all(distances)}
    if "images" in distance:
        distance["images"] = min(each["images"] for each in distances)
    return Measured(repeats[0].redrawn, values, distance, repeats[0].described, records)


def _plain(measured: Measured) -> dict[str, float]:
    """The metrics, without intervals."""
    means = {metric: exact_mean(list(of_sample.values())) for metric, of_sample in measured.values.items() if of_sample}
    return means | measured.distance | mean_words(measured.records)


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
        each.sample.id: PERCENT * structural_similarity(each.sample.image, each.image, side)
        for each in reached
        if each.image is not None
    }


def _intervals(values: Values, scoring: FidelityScoring) -> Ends:
    """Of the means over samples."""
    columns = {metric: np.array([*of_sample.values()]) for metric, of_sample in values.items()}
    return Ends.together(
        interval(metric, column, [ONE_CATEGORY] * len(column), scoring) for metric, column in columns.items()
    )


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


def _cut(described: Sequence[Described]) -> Iterator[str]:
    cut = sum(each.cut for each in described)
    if cut:
        texts = sum(len(each.texts) for each in described)
        yield f"CLIP-S is of the beginning of {cut} of {texts} descriptions: the text tower reads no more"


def _stale(rated: Rated) -> Iterator[str]:
    if rated.stale:
        yield f"{rated.stale} human ratings are of other descriptions than these and do not count"


def _rows(redrawings: Sequence[Sequence[Redrawing]], values: Values, alone: Sequence[Measured]) -> Iterator[Row]:
    for several in zip(*redrawings, strict=True):
        sample = several[0].sample
        outcomes = [each.record.outcome for each in several if each.record is not None]
        if len(outcomes) < len(several):
            raise ValueError(f"sample {sample.id} has no record")
        yield Row(
            unit=sample.id,
            group=ONE_CATEGORY,
            cluster=sample.id,
            outcome=next((outcome for outcome in outcomes if outcome is not Outcome.OK), Outcome.OK),
            values=_of_sample(values, sample.id),
            repeats=[
                RepeatRow(outcome=outcome, values=_of_sample(each.values, sample.id))
                for outcome, each in zip(outcomes, alone, strict=True)
            ]
            if len(alone) > 1
            else [],
            extra={"category": sample.category or ONE_CATEGORY},
        )


def _of_sample(values: Values, sample: str) -> dict[str, list[float | None]]:
    return {name: [of_sample[sample]] for name, of_sample in values.items() if sample in of_sample}
