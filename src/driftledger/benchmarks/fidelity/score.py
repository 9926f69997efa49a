"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, cast

import numpy as np

from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRequest,
    drawn_images,
    of_repeat,
)
from driftledger.benchmarks._chains.scoring import few_images, flags, rows, unified
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.fidelity.ratings import Rated, mean_ratings, read_ratings
from driftledger.benchmarks.fidelity.settings import FidelityScoring
from driftledger.benchmarks.records import served_versions
from driftledger.benchmarks.score import REPEAT, STD, Score
from driftledger.benchmarks.scoring import Ends, FromDataset, Scored, ToScore, check_coverage, interval, outcomes
from driftledger.collect.features import FeatureStore, encode_images, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, ImageFile, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.agreement import agreement
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.repeats import deviations, mean_over_repeats
from driftledger.metrics.structural import comparable, structural_similarity

PERCENT = 100.0

Columns = dict[str, Float64]
"""Metric → a value per sample; NaN where there is none."""


class Measured(NamedTuple):
    """What redrawings come to: those of one repeat, or the mean over all."""

    columns: Columns
    distance: dict[str, float]
    """The Fréchet distance, and over how many images it is; empty where there is none."""
    words: list[int]
    """Of each description."""
    cut: int
    """How many descriptions are longer than what the encoder reads of them."""
    texts: int
    """How many it read."""

    @property
    def numbers(self) -> dict[str, float]:
        """The metrics, without intervals."""
        known = {metric: column[np.isfinite(column)] for metric, column in self.columns.items()}
        means = {metric: exact_mean(column) for metric, column in known.items() if column.size}
        return means | self.distance | ({"words": exact_mean(self.words)} if self.words else {})


def to_redraw(samples: Sequence[Sample]) -> list[Sample]:
    """Return the test set; all samples, where there is none."""
    return [sample for sample in samples if sample.split == "test"] or list(samples)


def score(given: ToScore, spec: Benchmark) -> Scored:
    """Score a folder of redrawings; where a sheet of ratings is given, with what people think of the descriptions.

    Of several repeats each is measured as if it were the only one. A sample is worth the mean over its repeats, and
    whatever is averaged over samples is averaged over these. People are asked about the first repeat alone.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the redrawings are there.
        ConfigError: the sheet cannot be read.
    """
    data, scoring = FromDataset(given, spec.collects[0]), cast(FidelityScoring, given.scoring)
    encoder, samples, repeats = (
        given.encoders["encoder"],
        to_redraw(data.samples),
        range(data.asked(ChainRequest).repeats),
    )
    of = {(record.repeat, record.unit): record for record in data.records}
    drawn = [drawn_images(data.folder, data.records, repeat) for repeat in repeats]
    images = [[some.get((sample.id, 1)) for sample in samples] for some in drawn]
    lost = [
        f"{sample.id}{of_repeat(repeat)}: {of[repeat, sample.id].outcome}"
        for repeat in repeats
        for sample, image in zip(samples, images[repeat], strict=True)
        if image is None
    ]
    total = len(repeats) * len(samples)
    reached = total - len(lost)
    check_coverage(reached, total, "images were redrawn", "fidelity", given.min_coverage, lost)
    said = [[of[repeat, sample.id].text for sample in samples] for repeat in repeats]
    alone = [
        _measured(samples, images[repeat], said[repeat], encoder, scoring.ssim_side, given.features)
        for repeat in repeats
    ]
    whole = _mean_of(alone)
    rated = _rated(given, {sample.id: text or None for sample, text in zip(samples, said[0], strict=True)})
    if rated.means:
        whole.columns["human"] = np.array([rated.means.get(sample.id, np.nan) for sample in samples])
    by_itself = [each.numbers for each in alone] if len(alone) > 1 else []
    spreads = {key + STD: std for key, std in deviations(by_itself).items() if key != "images"}
    everything = [ONE_CATEGORY] * len(samples)
    intervals = Ends.together(interval(key, column, everything, scoring) for key, column in whole.columns.items())
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    scored = Score(
        **data.origin(),
        metrics=whole.numbers | intervals.metrics | spreads,
        groups={
            "category": _by_category(whole.columns, categories),
            "agreement": _agreement(whole.columns),
            **({REPEAT: {str(repeat): each for repeat, each in enumerate(by_itself)}} if by_itself else {}),
        },
        outcomes=outcomes(data.records),
        scored=reached,
        counted=reached,
        total=total,
        coverage=reached / total,
        absent=_absent(encoder, given.keys["encoder"], whole) | intervals.absent,
        served=served_versions(data.records),
        flags=[
            *unified(data.card),
            *flags(data.records),
            *_cut(whole),
            *few_images(whole.distance, int(whole.distance.get("images", reached))),
            *_stale(rated),
        ],
        details={"ratings": {"used": rated.ratings, "raters": rated.raters, "stale": rated.stale}},
    )
    named = [(sample.id, ONE_CATEGORY, {"category": name}) for sample, name in zip(samples, categories, strict=True)]
    ended = [[of[repeat, sample.id].outcome for repeat in repeats] for sample in samples]
    tables = [{key: column[:, None] for key, column in each.columns.items()} for each in (whole, *alone)]
    return Scored(scored, rows(named, ended, tables[0], tables[1:], sparse=True))


def _measured(
    samples: Sequence[Sample],
    images: Sequence[ImageFile | None],
    said: Sequence[str | None],
    encoder: Encoder,
    ssim_side: int,
    features: FeatureStore | None,
) -> Measured:
    """Measure the redrawings of one repeat."""
    columns, distance, cut = dict[str, Float64](), dict[str, float](), 0

    def put(metric: str, places: Sequence[int], values: Sequence[float] | Float64) -> None:
        columns[metric] = np.full(len(samples), np.nan)
        columns[metric][list(places)] = [PERCENT * float(value) for value in values]

    pairs = {at: (samples[at].image, image) for at, image in enumerate(images) if image is not None}
    originals = encode_images(encoder, [original for original, _ in pairs.values()], features)
    redrawn = encode_images(encoder, [image for _, image in pairs.values()], features)
    put("clip_s_i" if encoder.reads else "image_similarity", [*pairs], cosine_similarity(originals, redrawn))
    put("ssim", [*pairs], [_ssim(*pair, ssim_side) for pair in pairs.values()])
    if len(pairs) > 1:
        found = round_significant(frechet_distance(originals, redrawn), FRECHET_DIGITS)
        distance = {encoder.frechet_name: found, "images": len(pairs)}
    described = {at: text for at, text in enumerate(said) if text} if encoder.reads else {}
    if encoder.reads:  # CLIP-S, of everything that was described, whether it could be drawn or not
        seen = encode_images(encoder, [samples[at].image for at in described], features)
        read = encode_texts(encoder, [*described.values()], features)
        put("clip_s", [*described], cosine_similarity(seen, read))
        cut = sum(each.cut for each in read_texts(encoder, [*described.values()], features))
    words = [len(text.split()) for text in said if text is not None]
    return Measured(columns, distance, words, cut, len(described))


def _ssim(original: ImageFile, redrawn: ImageFile, side: int) -> float:
    return structural_similarity(comparable(original.open(), side), comparable(redrawn.open(), side))


def _mean_of(repeats: Sequence[Measured]) -> Measured:
    """Average over repeats: of a sample over those in which it has a value, of a Fréchet distance over all."""
    if len(repeats) == 1:
        return repeats[0]
    distances = [each.distance for each in repeats]
    distance = {key: exact_mean([each[key] for each in distances]) for key in distances[0] if all(distances)}
    if distance:
        distance["images"] = min(each["images"] for each in distances)
    return Measured(
        {key: mean_over_repeats([each.columns[key] for each in repeats]) for key in repeats[0].columns},
        distance,
        [count for each in repeats for count in each.words],
        sum(each.cut for each in repeats),
        sum(each.texts for each in repeats),
    )


def _rated(given: ToScore, descriptions: Mapping[str, str | None]) -> Rated:
    ratings = read_ratings(given.beside["ratings"]) if "ratings" in given.beside else []
    return mean_ratings(ratings, given.keys["dataset"], given.keys["model"], descriptions)


def _by_category(columns: Columns, categories: Sequence[str]) -> dict[str, dict[str, float]]:
    by_category = {}
    for name in sorted(set(categories)):
        members = np.array([category == name for category in categories])
        known = {metric: column[members & np.isfinite(column)] for metric, column in columns.items()}
        by_category[name] = {metric: exact_mean(values) for metric, values in known.items() if values.size}
    return by_category


def _agreement(columns: Columns) -> dict[str, dict[str, float]]:
    """How each automatic score goes with the human one, over the samples that have both."""
    agreements = {}
    for metric, column in columns.items():
        human = columns.get("human", np.full(len(column), np.nan))
        both = np.isfinite(human) & np.isfinite(column)
        if metric != "human" and both.any() and (agreed := agreement(human[both], column[both])) is not None:
            agreements[metric] = {name: float(value) for name, value in agreed._asdict().items()}
    return agreements


def _absent(encoder: Encoder, name: str, whole: Measured) -> dict[str, str]:
    reasons: dict[str, str] = {}
    if not encoder.reads:
        reasons["clip_s"] = f"{name} has no text tower"
        reasons["clip_s_i"] = f"{name} is no CLIP; image_similarity is the same cosine, seen through it"
    if not whole.distance:
        reasons[encoder.frechet_name] = "fewer than two images were redrawn"
    if encoder.frechet_name != "fid":
        reasons["fid"] = f"{name} is not Inception; {encoder.frechet_name} is the same distance, seen through it"
    if "human" not in whole.columns:
        reasons["human"] = "nobody has rated these descriptions"
    return reasons


def _cut(whole: Measured) -> Iterator[str]:
    if whole.cut:
        yield f"CLIP-S is of the beginning of {whole.cut} of {whole.texts} descriptions: the text tower reads no more"


def _stale(rated: Rated) -> Iterator[str]:
    if rated.stale:
        yield f"{rated.stale} human ratings are of other descriptions than these and do not count"
