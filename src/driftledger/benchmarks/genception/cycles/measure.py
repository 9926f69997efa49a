"""What other papers on cycles of describing and drawing measure, on the same chains: so that cycle metrics can be
compared on equal terms.

Which metric is whose, and how far the paper defines it, stands with each function in :mod:`driftledger.metrics`.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks._chains.records import ChainRecord, Drawn, places_reached
from driftledger.benchmarks.genception.cycles.pixels import pixels_apart
from driftledger.benchmarks.scoring import Ends, interval
from driftledger.benchmarks.settings import Scoring
from driftledger.collect.features import FeatureStore, encode_images, encode_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float64, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.drift_rate import FEWEST, NoDecayError, decay, mean_cumulative_drift, rate_interval
from driftledger.metrics.exact import exact_mean

MCD, MCD_TEXTS, MCD_SAID, MCD_SHOWN = "mcd", "mcd_texts", "mcd_image_to_text", "mcd_text_to_image"
RATE, FLOOR = "drift_rate", "drift_floor"
PIXELS, SAID, SHOWN = "pixel_distance", "original_to_text", "text_to_drawing"
"""Keys of metrics, and of rows."""

GENERATIONS = 2
"""Per iteration: a description and a drawing."""


class Cycles(NamedTuple):
    """Means over chains, and why there are none."""

    metrics: dict[str, float]
    intervals: Ends
    absent: dict[str, str]


def cycle_metrics(kinds: Mapping[str, Float64], iterations: int, scoring: Scoring) -> Cycles:
    """The measures of the Telephone Game, each over the chains that have all of its values.

    Args:
        kinds: :data:`MCD` and those beside it → n×T similarities to the start, in the order of t;
            a column that is NaN in every row has none to compare, as the first description with itself.
        iterations: as far as the chains of every category go.
    """
    metrics: dict[str, float] = {}
    ends: list[Ends] = []
    absent: dict[str, str] = {}
    for key, similarities in kinds.items():
        complete = _complete(similarities[:, :iterations])
        if complete.size:
            metrics[key] = mean_cumulative_drift(complete)
            of_chains = np.array([exact_mean(row) for row in complete.tolist()])
            ends.append(interval(key, of_chains, [ONE_CATEGORY] * len(of_chains), scoring))
    images = _complete(kinds[MCD][:, :iterations])
    if images.size:
        rate = _rate(images, scoring)
        metrics |= rate.metrics
        ends.append(rate.intervals)
        absent |= rate.absent
    return Cycles(metrics, Ends.together(ends), absent)


def _rate(images: Float64, scoring: Scoring) -> Cycles:
    """The semantic drift rate of chains that lack nothing, with its interval."""
    n, iterations = images.shape
    if iterations < FEWEST:
        return Cycles({}, Ends({}, {}), {RATE: f"a curve of three numbers takes {FEWEST} iterations"})
    try:
        found = decay([exact_mean(column) for column in images.T.tolist()], GENERATIONS)
    except NoDecayError as why:
        return Cycles({}, Ends({}, {}), {RATE: str(why)})
    ends, reason = None, "a single chain shows no spread"
    if n > 1:
        ends = rate_interval(images, GENERATIONS, scoring.confidence)
        reason = "without some one of the chains, the others tell no rate"
    return Cycles({RATE: found.rate, FLOOR: found.floor}, Ends.between(RATE, ends, reason), {})


def _complete(similarities: Float64) -> Float64:
    """The rows that lack nothing, without columns that hold nothing; no rows where there are no such columns."""
    there = similarities[:, np.isfinite(similarities).any(axis=0)]
    return there[np.isfinite(there).all(axis=1)] if there.shape[1] else there[:0]


def pixel_distances(samples: Sequence[Sample], drawn: Drawn) -> Float64:
    """n: how far the first redrawing is from the original, pixel by pixel; NaN where nothing was drawn."""
    found = np.full(len(samples), np.nan)
    for place, sample in enumerate(samples):
        image = drawn.get((sample.id, 1))
        if image is not None:
            found[place] = pixels_apart(sample.image, image)
    return found


def across(
    samples: Sequence[Sample],
    records: Sequence[ChainRecord],
    drawn: Drawn,
    encoder: Encoder,
    iterations: int,
    features: FeatureStore | None = None,
) -> dict[str, Float64]:
    """By what rows call them, n×T cosines as one encoder sees images and reads texts, NaN where there is none: between
    the original and the description of iteration t, and between the first description and what iteration t drew.
    Nothing for an encoder that does not read."""
    if not encoder.reads:
        return {}
    place = {sample.id: at for at, sample in enumerate(samples)}
    told = {
        (each.sample, each.t): each.description
        for each in records
        if each.outcome.goes_on and each.description and each.t <= iterations
    }
    said, shown = (np.full((len(samples), iterations), np.nan) for _ in range(2))
    if told:
        originals = encode_images(encoder, [sample.image for sample in samples], features)
        texts = encode_texts(encoder, list(told.values()), features)
        of = {at: row for row, at in enumerate(told)}
        rows, columns = [place[name] for name, _ in told], [t - 1 for _, t in told]
        said[rows, columns] = cosine_similarity(originals[rows], texts)
        for t, places in enumerate(places_reached(samples, drawn, iterations), 1):
            images = encode_images(encoder, [drawn[samples[at].id, t] for at in places], features)
            begun = [row for row, at in enumerate(places) if (samples[at].id, 1) in of]
            if begun:
                firsts = texts[[of[samples[places[row]].id, 1] for row in begun]]
                shown[[places[row] for row in begun], t - 1] = cosine_similarity(firsts, images[begun])
    return {SAID: said, SHOWN: shown}
