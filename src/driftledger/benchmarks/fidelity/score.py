"""The scoring half: image against description, and image against redrawing, seen through one encoder."""

from collections.abc import Container, Iterator, Sequence
from typing import cast

import numpy as np

from driftledger.benchmarks._chains.records import (
    FRECHET_DIGITS,
    ChainRequest,
    drawn_images,
    of_repeat,
)
from driftledger.benchmarks._chains.scoring import (
    ALL,
    Measured,
    cut_texts,
    few_images,
    flags,
    known,
    mean_of,
    mean_of_known,
    means_of,
    rows,
    unified,
)
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.fidelity.ratings import mean_ratings, read_ratings
from driftledger.benchmarks.fidelity.settings import FidelityScoring
from driftledger.benchmarks.records import served_versions
from driftledger.benchmarks.score import REPEAT, STD, Score
from driftledger.benchmarks.scoring import (
    PERCENT,
    FromDataset,
    Scored,
    ToScore,
    check_coverage,
    interval_ends,
    interval_of_known,
    outcomes,
)
from driftledger.collect.features import encode_images, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, ImageFile, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean, round_significant
from driftledger.metrics.frechet import frechet_distance
from driftledger.metrics.repeats import deviations
from driftledger.metrics.structural import comparable, structural_similarity


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
    data, scoring = FromDataset(given, spec.collects), cast(FidelityScoring, given.scoring)
    encoder, samples = given.encoders["encoder"], to_redraw(data.samples)
    repeats = range(data.asked(ChainRequest).repeats)
    of = {(record.repeat, record.unit): record for record in data.records}
    drawn = [drawn_images(data.folder, data.records, repeat) for repeat in repeats]
    lost = [
        f"{sample.id}{of_repeat(repeat)}: {of[repeat, sample.id].outcome}"
        for repeat in repeats
        for sample in samples
        if (sample.id, 1) not in drawn[repeat]
    ]
    total = len(repeats) * len(samples)
    reached = total - len(lost)
    check_coverage(reached, total, "images were redrawn", "fidelity", given.min_coverage, lost)
    said = [[of[repeat, sample.id].text for sample in samples] for repeat in repeats]
    images = [[some.get((sample.id, 1)) for sample in samples] for some in drawn]
    alone = [_measured(samples, *each, given, scoring.ssim_side) for each in zip(images, said, strict=True)]
    whole = mean_of(alone)
    ratings = read_ratings(given.beside["ratings"]) if "ratings" in given.beside else []
    descriptions = {sample.id: text or None for sample, text in zip(samples, said[0], strict=True)}
    rated = mean_ratings(ratings, given.keys["dataset"], given.keys["model"], descriptions)
    if rated.means:
        whole.values["human"] = [rated.means.get(sample.id, np.nan) for sample in samples]
    by_itself = [_numbers(each, encoder) for each in alone] if len(alone) > 1 else []
    spreads = {key + STD: std for key, std in deviations(by_itself).items() if key != "images"}
    everything = [ONE_CATEGORY] * len(samples)
    intervals = interval_ends(
        {str(key): interval_of_known(column.to_numpy(), everything, scoring) for key, column in whole.values.items()}
    )
    metrics = _numbers(whole, encoder)
    scored = Score(
        **data.origin(),
        metrics=metrics | intervals.metrics | spreads,
        groups={
            "category": means_of(whole.values, {}).by_category,
            **({REPEAT: {str(repeat): each for repeat, each in enumerate(by_itself)}} if by_itself else {}),
        },
        outcomes=outcomes(data.records),
        scored=reached,
        counted=reached,
        total=total,
        coverage=reached / total,
        absent=dict(_absent(encoder, given.keys["encoder"], metrics.keys())) | intervals.absent,
        served=served_versions(data.records),
        flags=[
            *unified(data.card),
            *flags(data.records),
            *cut_texts(whole, "CLIP-S's text tower"),
            *few_images(whole.distances[ALL], whole.images),
            *(
                [f"{rated.stale} human ratings are of other descriptions than these and do not count"]
                if rated.stale
                else []
            ),
        ],
        details={"ratings": {"used": rated.ratings, "raters": rated.raters, "stale": rated.stale}},
    )
    categories = whole.values.index
    named = [(sample.id, ONE_CATEGORY, {"category": name}) for sample, name in zip(samples, categories, strict=True)]
    ended = [[of[repeat, sample.id].outcome for repeat in repeats] for sample in samples]
    tables = [{str(key): column.to_numpy()[:, None] for key, column in each.values.items()} for each in (whole, *alone)]
    return Scored(scored, rows(named, ended, tables[0], tables[1:], sparse=True))


def _measured(
    samples: Sequence[Sample],
    images: Sequence[ImageFile | None],
    said: Sequence[str | None],
    given: ToScore,
    ssim_side: int,
) -> Measured:
    """Measure the redrawings of one repeat."""
    import pandas as pd  # imported late: it takes half a second

    encoder, features = given.encoders["encoder"], given.features
    values = pd.DataFrame(index=[sample.category or ONE_CATEGORY for sample in samples])

    def put(metric: str, places: Sequence[int], shares: Sequence[float] | Float64) -> None:
        column = np.full(len(samples), np.nan)
        column[list(places)] = [PERCENT * float(share) for share in shares]
        values[metric] = column

    pairs = {at: (samples[at].image, image) for at, image in enumerate(images) if image is not None}
    originals, redrawn = (encode_images(encoder, [pair[at] for pair in pairs.values()], features) for at in (0, 1))
    put("clip_s_i" if encoder.reads else "image_similarity", [*pairs], cosine_similarity(originals, redrawn))
    luma = [[comparable(image.open(), ssim_side) for image in pair] for pair in pairs.values()]
    put("ssim", [*pairs], [structural_similarity(*pair) for pair in luma])
    distances = [round_significant(frechet_distance(originals, redrawn), FRECHET_DIGITS)] if len(pairs) > 1 else []
    described = {at: text for at, text in enumerate(said) if text} if encoder.reads else {}
    if encoder.reads:  # CLIP-S, of everything that was described, whether it could be drawn or not
        seen = encode_images(encoder, [samples[at].image for at in described], features)
        read = encode_texts(encoder, [*described.values()], features)
        put("clip_s", [*described], cosine_similarity(seen, read))
    cut = [each.cut for each in read_texts(encoder, [*described.values()], features)] if described else []
    words = [len(text.split()) for text in said if text is not None]
    return Measured(values, {ALL: distances}, len(pairs), words, cut)


def _numbers(measured: Measured, encoder: Encoder) -> dict[str, float]:
    """Return the metrics, without intervals."""
    numbers = known(measured.values.apply(mean_of_known))
    if measured.distances[ALL]:
        numbers |= {encoder.frechet_name: measured.distances[ALL][0], "images": measured.images}
    return numbers | ({"words": exact_mean(measured.words)} if measured.words else {})


def _absent(encoder: Encoder, name: str, there: Container[str]) -> Iterator[tuple[str, str]]:
    if not encoder.reads:
        yield "clip_s", f"{name} has no text tower"
        yield "clip_s_i", f"{name} is no CLIP; image_similarity is the same cosine, seen through it"
    if encoder.frechet_name not in there:
        yield encoder.frechet_name, "fewer than two images were redrawn"
    if encoder.frechet_name != "fid":
        yield "fid", f"{name} is not Inception; {encoder.frechet_name} is the same distance, seen through it"
    if "human" not in there:
        yield "human", "nobody has rated these descriptions"
