"""Score how surely each description finds its image among all images."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from driftledger.benchmarks.base.benchmark import Benchmark, Scored, Scoring
from driftledger.benchmarks.base.chains.scoring import cut_texts
from driftledger.benchmarks.base.scoring import (
    PERCENT,
    clusters_of,
    copies,
    known_cosine,
    targets_of,
)
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.core.types import Float64, Outcome, PromptUsage, Sample
from driftledger.data.records import ONE_CATEGORY
from driftledger.metrics.neighbours import own_nearest
from driftledger.scoring.means import numbers
from driftledger.scoring.number import Number, Value
from driftledger.scoring.score import ALARM, AnyFlag, Flag, Row

MOST_CUT = 0.1
"""With a larger share of descriptions that the encoder cuts off, there is no rank."""


class Described(NamedTuple):
    """The description of a sample."""

    sample: Sample
    text: str
    """Empty where there is none to compare."""
    outcome: Outcome
    problem: str
    """The place and why there is none, for people."""
    counts: bool
    """Whether the sample is in the denominators: it has a text, or counts as a miss."""


def score_retrieval(scoring: Scoring, spec: Benchmark) -> Scored:
    """Score a folder of descriptions.

    Raises:
        CoverageError: no description counts.
        StoreError: a sample has no record.
    """
    described = read_descriptions(scoring)
    found, cosines, readings = retrieve(scoring, described)
    columns = {"recall1": found, "clip_score": PERCENT * cosines}
    rows = [*rows_of(described, columns)]
    lost = [each.problem for each in described if not each.text]
    scored = len(rows) - len(lost)
    counted = sum(each.counts for each in described)
    what = "descriptions could be compared"
    flags: list[AnyFlag] = [*cut_off(readings)]
    flags += scoring.coverage_flags(scored, len(rows), what, lost, counted)
    flags += copies(scoring.samples)
    images = len(targets_of(scoring.samples).firsts)
    score = scoring.score(
        [
            *numbers(
                values_of(described, rows), spec.metrics, {}, scoring.section.confidence
            ),
            Number(metric="chance", value=PERCENT / images, n=images),
        ],
        scored=scored,
        counted=counted,
        total=len(rows),
        outcomes=[row.outcome for row in rows],
        flags=[*flags, *scoring.facts.noted()],
    )
    return Scored(score, rows)


def read_descriptions(scoring: Scoring) -> list[Described]:
    """Return the description of each sample, in the order of the samples.

    Raises:
        StoreError: one has no record.
    """
    records = {record.unit: record for record in scoring.read()}
    scoring.require((sample.id, 1, 0) for sample in scoring.samples)
    counts_worst = scoring.section.unread == "worst"
    described = []
    for sample in scoring.samples:
        record = records[sample.id]
        text = (record.text or "") if record.has_text else ""
        each = Described(
            sample,
            text,
            record.outcome,
            problem=f"{record.place}: {record.error or record.outcome}",
            counts=bool(text) or (counts_worst and record.is_unread),
        )
        described.append(each)
    return described


def retrieve(
    scoring: Scoring, described: Sequence[Described]
) -> tuple[Float64, Float64, list[PromptUsage]]:
    """Compare each description with all images.

    Returns:
        For each sample, how surely its image is the nearest (0 to 1) and its cosine, cut off at 0;
        NaN where it does not count. And how much the encoder read of each description.
    """
    encoder = scoring.encoders["encoder"]
    targets = targets_of(scoring.samples)
    media = [sample.medium for sample in scoring.samples]
    images = encode_media(encoder, media, scoring.features)
    found = np.array([0.0 if each.counts else np.nan for each in described])
    cosines = found.copy()
    rows = [row for row, each in enumerate(described) if each.text]
    if not rows:
        return found, cosines, []
    texts = [described[row].text for row in rows]
    read = encode_texts(encoder, texts, scoring.features)
    own = [targets.own[row] for row in rows]
    found[rows] = own_nearest(images[targets.firsts], read, own)
    cosines[rows] = np.maximum(known_cosine(images[rows], read), 0.0)
    return found, cosines, read_texts(encoder, texts, scoring.features)


def rows_of(
    described: Sequence[Described], columns: dict[str, Float64]
) -> Iterator[Row]:
    """Yield a row per sample."""
    clusters = clusters_of([each.sample for each in described])
    for place, each in enumerate(described):
        values = {}
        if each.counts:
            values = {name: [float(own[place])] for name, own in columns.items()}
        yield Row(
            unit=each.sample.id,
            group=ONE_CATEGORY,
            cluster=clusters[each.sample.id],
            outcome=each.outcome,
            values=values,
        )


def values_of(described: Sequence[Described], rows: Sequence[Row]) -> Iterator[Value]:
    """Yield what each sample is worth, and the number of words of its description."""
    for each, row in zip(described, rows, strict=True):
        worths = {name: own for name, (own,) in row.values.items()}
        if each.text:
            worths["words"] = len(each.text.split())
        for name, worth in worths.items():
            if worth is not None:
                yield Value(
                    name,
                    None,
                    category=row.group,
                    sample=row.unit,
                    cluster=row.cluster,
                    repeat=0,
                    value=worth,
                )


def cut_off(readings: Sequence[PromptUsage]) -> Iterator[Flag]:
    """Yield a flag if the encoder cut descriptions off; of many, an alarm without a rank."""
    for flag in cut_texts(readings, "the encoder", "encoder"):
        if sum(reading.cut for reading in readings) > MOST_CUT * len(readings):
            text = (
                f"{ALARM}{flag.text}, so that no model has a rank; take an encoder that reads "
                "longer texts"
            )
            flag = flag.model_copy(
                update={"text": text, "alarm": True, "unranks": True}
            )
        yield flag
