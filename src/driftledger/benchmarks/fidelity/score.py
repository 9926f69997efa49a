"""The scoring half: how alike an image, its description and its redrawing are."""

from collections.abc import Container, Iterator, Sequence
from itertools import chain

import numpy as np

from driftledger.benchmarks._chains.records import FRECHET_DIGITS
from driftledger.benchmarks._chains.scoring import (
    COUNT,
    Measured,
    ScoredChains,
    cut_texts,
    known_means,
    mean_of,
    means_of,
)
from driftledger.benchmarks._chains.spec import ChainBenchmark
from driftledger.benchmarks._names import named_score
from driftledger.benchmarks.fidelity.ratings import (
    mean_ratings,
    read_ratings,
    weighted,
)
from driftledger.benchmarks.scoring import PERCENT, Scored, Scoring, outcome_counts
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.canonical import Json
from driftledger.core.types import Float32, Float64
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.structural import comparable, structural_similarity
from driftledger.scoring.score import Numbers


def score_redrawings(given: Scoring, spec: ChainBenchmark) -> Scored:
    """Score a folder of redrawings, with people's ratings if there is a sheet of them.

    Ratings are about the first repeat alone.

    Raises:
        CoverageError: no redrawing counts.
        ConfigError: the sheet cannot be read.
    """
    data = ScoredChains(given, spec, done="were redrawn")
    encoder = given.encoders["encoder"]
    alone = [_measured(data, repeat, given) for repeat in data.repeats]
    whole = mean_of(alone)
    ratings = read_ratings(given.beside["ratings"]) if "ratings" in given.beside else []
    descriptions = {
        sample: records[0].text or None for sample, records in data.last.items()
    }
    rated = mean_ratings(
        ratings, given.keys["dataset"], given.keys["model"], descriptions
    )
    if rated.means:
        human = [rated.means.get(sample, np.nan) for sample in descriptions]
        whole.values["human"] = np.array(human)

    def numbers(measured: Measured) -> Numbers:
        metrics = known_means(measured.values)
        distance = measured.distances[0, 0]
        if np.isfinite(distance):
            metrics[encoder.frechet_name] = float(distance)
            metrics[COUNT] = measured.size
        if measured.words:
            metrics["words"] = exact_mean(measured.words)
        return metrics

    fields = data.fields(whole, alone, numbers, estimated=[*whole.values], most=PERCENT)
    fields["groups"]["category"] = means_of(
        whole.values, data.categories, {}
    ).by_category
    fields["absent"] |= _absent(
        encoder, given.keys["encoder"], fields["metrics"], data.kind
    )
    fields["flags"] += cut_texts(whole, "CLIP-S's text tower")
    fields["flags"] += data.few_samples(whole, whole.size)
    if rated.stale:
        fields["flags"].append(
            f"{rated.stale} human ratings are of other descriptions than these and do not count"
        )
    counts: Json = {
        "used": rated.ratings,
        "raters": rated.raters,
        "stale": rated.stale,
        "counts": rated.counts,
    }
    if rated.means:
        counts["samples"] = weighted(rated.by_sample, rated.chances, len(descriptions))
    if rated.chances:
        fields["flags"].append(
            "human ratings are of samples chosen where models differ; the page on correlation "
            "has the mean of all"
        )
    score = named_score(
        spec,
        **fields,
        outcomes=outcome_counts(step.outcome for step in chain(*data.steps.values())),
        details={"ratings": counts},
    )
    return Scored(score, data.rows(whole.values, [each.values for each in alone]))


def _measured(data: ScoredChains, repeat: int, given: Scoring) -> Measured:
    """Measure the redrawings of one repeat."""
    encoder = given.encoders["encoder"]
    records = [ended[repeat] for ended in data.last.values()]
    media = [sample.medium for sample in data.samples]
    worst = [data.is_worst(record) for record in records]

    def column(places: Sequence[int], shares: Sequence[float] | Float64) -> Float64:
        values = np.where(worst, 0.0, np.nan)
        values[places] = PERCENT * np.array(shares)
        return values

    def cosines(a: Float32, b: Float32) -> Float64:
        return cosine_similarity(a, b) if len(a) else np.zeros(0)

    drawn = [at for at, record in enumerate(records) if record.file is not None]
    before = [media[at] for at in drawn]
    after = [data.medium(records[at]) for at in drawn]
    originals = encode_media(encoder, before, given.features)
    redrawn = encode_media(encoder, after, given.features)
    is_sound = data.kind == "sound"
    if is_sound:
        similarity = "sound_similarity"
    else:
        similarity = "clip_s_i" if encoder.reads else "image_similarity"
    values = {similarity: column(drawn, cosines(originals, redrawn))}
    if not is_sound:
        ssims = []
        for pair in zip(before, after, strict=True):
            a, b = (comparable(image.open(), given.section.ssim_side) for image in pair)
            ssims.append(structural_similarity(a, b))
        values["ssim"] = column(drawn, ssims)
    distance = np.nan
    if len(drawn) > 1:
        distance = round_significant(
            frechet_distance(originals, redrawn), FRECHET_DIGITS
        )
    cut: list[bool] = []
    if (
        encoder.reads
    ):  # CLIP-S, of everything that was described, whether it could be drawn or not
        described = []
        texts = []
        for at, record in enumerate(records):
            if record.is_described:
                described.append(at)
                texts.append(record.text or "")
        seen = encode_media(encoder, [media[at] for at in described], given.features)
        read = encode_texts(encoder, texts, given.features)
        values["clap_score" if is_sound else "clip_s"] = column(
            described, cosines(seen, read)
        )
        if texts:
            cut = [each.cut for each in read_texts(encoder, texts, given.features)]
    words = [len(record.text.split()) for record in records if record.text]
    return Measured(
        values,
        np.array([[distance]]),
        size=len(drawn),
        words=words,
        cut=cut,
    )


def _absent(
    encoder: Encoder, name: str, metrics: Container[str], kind: str
) -> Iterator[tuple[str, str]]:
    if not encoder.reads:
        yield "clap_score" if kind == "sound" else "clip_s", f"{name} has no text tower"
    if encoder.frechet_name not in metrics:
        yield encoder.frechet_name, f"fewer than two {kind}s were made again"
    if kind == "image" and not encoder.reads:
        other = "image_similarity is the same cosine with this encoder"
        yield "clip_s_i", f"{name} is not a CLIP; {other}"
    if kind == "image" and encoder.frechet_name != "fid":
        other = f"{encoder.frechet_name} is the same distance, seen through it"
        yield "fid", f"{name} is not Inception; {other}"
    if "human" not in metrics:
        yield "human", "no ratings of these descriptions"
