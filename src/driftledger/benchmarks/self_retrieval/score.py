"""Compare each description with all images."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from driftledger.benchmarks.base.benchmark import Scoring
from driftledger.benchmarks.base.chains.scoring import cut_texts
from driftledger.benchmarks.base.one_call import Reply
from driftledger.benchmarks.base.scoring import PERCENT, known_cosine, targets_of
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.core.errors import ComponentError
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.neighbours import own_nearest
from driftledger.scoring.number import Number
from driftledger.scoring.score import ALARM, Flag

MOST_CUT = 0.1
"""With a larger share of descriptions that the encoder cuts off, there is no rank."""


def compared(
    scoring: Scoring, replies: Sequence[Reply]
) -> Mapping[str, Sequence[float | None]]:
    """Return how surely each description's image is the nearest, and 100 · max(cosine, 0).

    Raises:
        ComponentError: the encoder gives texts other features than images.
    """
    encoder = scoring.encoders["encoder"]
    targets = targets_of(scoring.samples)
    media = [sample.medium for sample in scoring.samples]
    found: list[float | None] = [None] * len(replies)
    scores = found.copy()
    rows = [row for row, reply in enumerate(replies) if reply.text]
    if rows:
        images = encode_media(encoder, media, scoring.features)
        texts = encode_texts(encoder, texts_of(replies), scoring.features)
        if images.shape[1] != texts.shape[1]:
            raise ComponentError(
                f"encoder {encoder.provider} gives {images.shape[1]} features of an image and "
                f"{texts.shape[1]} of a text, which cannot be compared"
            )
        own = [targets.own[row] for row in rows]
        nearest = own_nearest(images[targets.firsts], texts, own)
        cosines = np.maximum(known_cosine(images[rows], texts), 0.0)
        for row, hit, cosine in zip(rows, nearest, cosines, strict=True):
            found[row] = float(hit)
            scores[row] = PERCENT * float(cosine)
    return {"recall1": found, "clip_score": scores}


def texts_of(replies: Sequence[Reply]) -> list[str]:
    """Return the descriptions that there are."""
    return [reply.text for reply in replies if reply.text]


def beside(replies: Sequence[Reply]) -> Iterator[Number]:
    """Yield what a guess finds, and the mean number of words."""
    samples = [reply.sample for reply in replies]
    images = len(targets_of(samples).firsts)
    yield Number(metric="chance", value=PERCENT / images, n=images)
    words = [len(text.split()) for text in texts_of(replies)]
    if words:
        yield Number(metric="words", value=exact_mean(words), n=len(words))


def cut_off(scoring: Scoring, replies: Sequence[Reply]) -> Iterator[Flag]:
    """Yield a flag if the encoder cut descriptions off; of many, an alarm without a rank."""
    encoder = scoring.encoders["encoder"]
    readings = read_texts(encoder, texts_of(replies), scoring.features)
    cut = sum(reading.cut for reading in readings)
    for flag in cut_texts(readings, "the encoder", "encoder"):
        if cut > MOST_CUT * len(readings):
            text = (
                f"{ALARM}{flag.text}: no rank; take an encoder that reads longer texts"
            )
            flag = Flag(text=text, role="encoder", alarm=True, unranks=True)
        yield flag
