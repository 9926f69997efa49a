"""Score how alike images, descriptions and redrawings are."""

from collections.abc import Iterator, Mapping
from functools import partial

from driftledger.benchmarks.base.benchmark import Scored, Scoring
from driftledger.benchmarks.base.chains.distances import (
    DISTANCES,
    compare,
    numbers_of,
    to_own,
)
from driftledger.benchmarks.base.chains.scoring import (
    ChainTable,
    cut_texts,
    rows_of,
    select_rows,
    values_at,
    words,
)
from driftledger.benchmarks.base.chains.spec import ChainBenchmark
from driftledger.benchmarks.base.scoring import PERCENT
from driftledger.benchmarks.fidelity.ratings import (
    Rated,
    details_of,
    ratings_of,
    read_ratings,
)
from driftledger.collect.features import encode_media, encode_texts, read_texts
from driftledger.components.base import Encoder
from driftledger.core.types import Float32, Float64, PromptUsage
from driftledger.metrics.drift import cosine_similarity
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.structural import comparable, structural_similarity
from driftledger.scoring.number import Number, Value


def score_redrawings(scoring: Scoring, spec: ChainBenchmark) -> Scored:
    """Score a folder of redrawings, with people's ratings if the settings name a sheet.

    Raises:
        CoverageError: no redrawing counts.
        StoreError: a sample has no record.
        ConfigError: the sheet cannot be read.
    """
    chains = ChainTable.read(scoring, spec)
    flags = chains.flags("were redrawn", "images")
    rated = rated_by_people(chains)
    encoder = scoring.encoders["encoder"]
    encode = partial(encode_media, encoder, features=scoring.features)
    originals = encode([sample.medium for sample in chains.samples])
    name = of_images(encoder)
    compared, distances = compare(
        chains, originals, encode, {name: to_own(originals)}, by_category=False
    )
    columns = {
        name: PERCENT * compared[name],
        "ssim": PERCENT * structural_similarities(chains),
    }
    if encoder.reads:
        cosines, readings = compare_texts(chains, originals)
        columns["clip_s"] = PERCENT * cosines
        flags += cut_texts(readings, "CLIP-S's text tower", "encoder", ["clip_s"])
    without_t = [distance._replace(t=None) for distance in distances]
    score = chains.score(
        numbers_of(
            chains,
            values_of(chains, columns, rated),
            without_t,
            table=spec.metrics,
            kinds=chains.categories,
            width=originals.shape[1],
            reasons=reasons(scoring),
        ),
        of=chains.rows,
        flags=flags,
        details={"ratings": details_of(rated)},
    )
    rows = rows_of(chains, columns, by_category=False)
    for row in rows:
        if row.unit in rated.by_sample:
            row.values["human"] = [exact_mean(rated.by_sample[row.unit])]
    return Scored(score, rows)


def of_images(encoder: Encoder) -> str:
    """Return the name of the metric that compares images."""
    return "clip_s_i" if encoder.reads else "image_similarity"


def structural_similarities(chains: ChainTable) -> Float64:
    """Return the structural similarity of each original and its redrawing."""
    side = chains.scoring.section.ssim_side
    table = chains.table()
    for row, chain in enumerate(chains.rows):
        if chain.last.has_output:
            before = comparable(chain.sample.medium.open(), side)
            after = comparable(chains.image(chain.last).open(), side)
            table[row, 0] = structural_similarity(before, after)
    return table


def compare_texts(
    chains: ChainTable, originals: Float32
) -> tuple[Float64, list[PromptUsage]]:
    """Return the cosines of originals and descriptions, and how much was read.

    All descriptions count, whether they could be drawn or not.
    """
    encoder = chains.scoring.encoders["encoder"]
    features = chains.scoring.features
    table = chains.table()
    readings: list[PromptUsage] = []
    for repeat in range(chains.repeats):
        rows = []
        for row in chains.of_repeat(repeat):
            if chains.rows[row].last.is_described:
                rows.append(row)
        if rows:
            texts = [chains.rows[row].last.text or "" for row in rows]
            seen = select_rows(originals, [row // chains.repeats for row in rows])
            read = encode_texts(encoder, texts, features)
            table[rows, 0] = cosine_similarity(seen, read)
            readings += read_texts(encoder, texts, features)
    return table, readings


def values_of(
    chains: ChainTable, columns: Mapping[str, Float64], rated: Rated
) -> Iterator[Value]:
    """Yield the values of all metrics but distances."""
    for metric, table in columns.items():
        yield from values_at(metric, None, chains, table[:, 0])
    for row in chains.of_repeat(0):
        chain = chains.rows[row]
        own = rated.by_sample.get(chain.sample.id)
        if own:
            yield chain.value("human", None, exact_mean(own))
    yield from words(chains)


def rated_by_people(chains: ChainTable) -> Rated:
    """Return the ratings of the descriptions in the first repeat."""
    scoring = chains.scoring
    ratings = (
        read_ratings(scoring.beside["ratings"]) if "ratings" in scoring.beside else {}
    )
    descriptions = {}
    for row in chains.of_repeat(0):
        chain = chains.rows[row]
        descriptions[chain.sample.id] = chain.last.text or ""
    return ratings_of(ratings, scoring.keys["dataset"], descriptions)


def reasons(scoring: Scoring) -> Iterator[Number]:
    """Yield the reason for each metric that may have no value."""
    name = scoring.keys["encoder"]
    yield Number(metric="clip_s", why=f"{name} has no text tower")
    for distance in DISTANCES:
        why = "fewer than two images were made again"
        yield Number(metric=distance.name, why=why)
    if not scoring.encoders["encoder"].reads:
        other = "image_similarity is the same cosine with this encoder"
        yield Number(metric="clip_s_i", why=f"{name} is not a CLIP; {other}")
    yield Number(metric="human", why="no ratings of these descriptions")
