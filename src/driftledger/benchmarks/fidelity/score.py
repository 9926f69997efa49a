"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections.abc import Container, Iterator, Sequence
from typing import cast

import numpy as np

from driftledger.benchmarks._chains.records import FRECHET_DIGITS, ChainRequest, drawn_media, of_repeat
from driftledger.benchmarks._chains.scoring import (
    ALL,
    Measured,
    common_fields,
    cut_texts,
    few_samples,
    known_means,
    mean_of,
    means_of,
    rows,
)
from driftledger.benchmarks._chains.spec import ChainBenchmark
from driftledger.benchmarks.fidelity.ratings import mean_ratings, read_ratings
from driftledger.benchmarks.records import CollectedRecord
from driftledger.benchmarks.score import Score
from driftledger.benchmarks.scoring import PERCENT, FromDataset, Scored, ToScore, check_coverage, outcome_counts
from driftledger.benchmarks.settings import Scoring
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, Medium, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.structural import comparable, structural_similarity


class FidelityScoring(Scoring):
    """What the scoring depends on."""

    ssim_side: int


def score_redrawings(given: ToScore, spec: ChainBenchmark) -> Scored:
    """Score a folder of redrawings; where a sheet of ratings is given, with what people think of the descriptions.

    Ratings are about the first repeat alone.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the redrawings are there.
        ConfigError: the sheet cannot be read.
    """
    data, scoring = FromDataset(given, spec), cast(FidelityScoring, given.scoring)
    encoder, samples = given.encoders["encoder"], spec.samples(data.samples)
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    repeats = range(data.protocol(ChainRequest).repeats)
    records = {(record.repeat, record.unit): record for record in data.records}
    drawn = [drawn_media(data.folder, data.records, repeat) for repeat in repeats]
    lost = [
        f"{sample.id}{of_repeat(repeat)}: {records[repeat, sample.id].outcome}"
        for repeat in repeats
        for sample in samples
        if (sample.id, 1) not in drawn[repeat]
    ]
    total, kind = len(repeats) * len(samples), samples[0].medium.kind
    check_coverage(total - len(lost), total, f"{kind}s were redrawn", "fidelity", given.min_coverage, lost)
    described = [[records[repeat, sample.id] for sample in samples] for repeat in repeats]
    images = [[some.get((sample.id, 1)) for sample in samples] for some in drawn]
    alone = [_measured(samples, *each, given, scoring.ssim_side) for each in zip(images, described, strict=True)]
    whole = mean_of(alone)
    ratings = read_ratings(given.beside["ratings"]) if "ratings" in given.beside else []
    descriptions = {record.unit: record.text or None for record in described[0]}
    rated = mean_ratings(ratings, given.keys["dataset"], given.keys["model"], descriptions)
    if rated.means:
        whole.values["human"] = np.array([rated.means.get(sample.id, np.nan) for sample in samples])

    def numbers(measured: Measured) -> dict[str, float]:
        metrics = known_means(measured.values)
        if measured.distances[ALL]:
            metrics |= {encoder.frechet_name: measured.distances[ALL][0], "images": measured.size}
        return metrics | ({"words": exact_mean(measured.words)} if measured.words else {})

    alike = [ONE_CATEGORY] * len(samples)
    fields = common_fields(data, whole, alone, numbers, alike, [*whole.values], len(lost), PERCENT)
    fields["groups"]["category"] = means_of(whole.values, categories, {}).by_category
    fields["absent"] |= dict(_absent(encoder, given.keys["encoder"], fields["metrics"].keys(), kind))
    fields["flags"] += [*cut_texts(whole, "CLIP-S's text tower"), *few_samples(whole, whole.size, kind)]
    if rated.stale:
        fields["flags"].append(f"{rated.stale} human ratings are of other descriptions than these and do not count")
    details = {"ratings": {"used": rated.ratings, "raters": rated.raters, "stale": rated.stale}}
    scored = Score(**fields, outcomes=outcome_counts(record.outcome for record in data.records), details=details)
    named = [(sample.id, ONE_CATEGORY, {"category": name}) for sample, name in zip(samples, categories, strict=True)]
    ended = [[records[repeat, sample.id].outcome for repeat in repeats] for sample in samples]
    return Scored(scored, rows(named, ended, whole.values, [each.values for each in alone], sparse=True))


def _measured(
    samples: Sequence[Sample],
    images: Sequence[Medium | None],
    records: Sequence[CollectedRecord],
    given: ToScore,
    ssim_side: int,
) -> Measured:
    """Measure the redrawings of one repeat."""
    encoder, features = given.encoders["encoder"], given.features

    def column(places: Sequence[int], shares: Sequence[float] | Float64) -> Float64:
        values = np.full(len(samples), np.nan)
        values[list(places)] = [PERCENT * float(share) for share in shares]
        return values

    pairs = {at: (samples[at].medium, image) for at, image in enumerate(images) if image is not None}
    originals, redrawn = (encode_media(encoder, [pair[at] for pair in pairs.values()], features) for at in (0, 1))
    is_sound = samples[0].medium.kind == "sound"
    similarity = "sound_similarity" if is_sound else "clip_s_i" if encoder.reads else "image_similarity"
    values = {similarity: column([*pairs], cosine_similarity(originals, redrawn))}
    if not is_sound:
        luma = [[comparable(image.open(), ssim_side) for image in pair] for pair in pairs.values()]
        values["ssim"] = column([*pairs], [structural_similarity(*pair) for pair in luma])
    distances = [round_significant(frechet_distance(originals, redrawn), FRECHET_DIGITS)] if len(pairs) > 1 else []
    described = dict[int, str]()
    if encoder.reads:  # CLIP-S, of everything that was described, whether it could be drawn or not
        replies = [record.by("model") for record in records]
        described = {at: each.text for at, each in enumerate(replies) if each and each.text and each.outcome.goes_on}
        seen = encode_media(encoder, [samples[at].medium for at in described], features)
        read = encode_texts(encoder, [*described.values()], features)
        values["clap_score" if is_sound else "clip_s"] = column([*described], cosine_similarity(seen, read))
    cut = [each.cut for each in read_texts(encoder, [*described.values()], features)] if described else []
    words = [len(record.text.split()) for record in records if record.text]
    return Measured(values, {ALL: distances}, len(pairs), words, cut)


def _absent(encoder: Encoder, name: str, metrics: Container[str], kind: str) -> Iterator[tuple[str, str]]:
    if kind == "sound":
        yield "ssim", "SSIM compares images"
        if not encoder.reads:
            yield "clap_score", f"{name} has no text tower"
    elif not encoder.reads:
        yield "clip_s", f"{name} has no text tower"
        yield "clip_s_i", f"{name} is not a CLIP; image_similarity is the same cosine with this encoder"
    if encoder.frechet_name not in metrics:
        yield encoder.frechet_name, f"fewer than two {kind}s were redrawn"
    if encoder.frechet_name != "fid" and kind == "image":
        yield "fid", f"{name} is not Inception; {encoder.frechet_name} is the same distance, seen through it"
    if "human" not in metrics:
        yield "human", "no ratings of these descriptions"
