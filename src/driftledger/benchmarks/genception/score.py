"""The scoring half: how similar each chain stays to its first image, seen through one encoder."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from driftledger.benchmarks._chains.drawn import drawn_images
from driftledger.benchmarks._chains.flags import flags, served_versions
from driftledger.benchmarks._chains.records import ChainRecord
from driftledger.benchmarks.genception.features import measure
from driftledger.benchmarks.genception.settings import GenCeptionScoring
from driftledger.benchmarks.genception.summary import Summary, means_of
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.score import Inputs, Point, Row, Score
from driftledger.benchmarks.scoring import Scored, ToScore
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Float64, Sample
from driftledger.data.records import ONE_CATEGORY, DatasetCard, read_samples
from driftledger.metrics.bootstrap import bootstrap_interval
from driftledger.metrics.drift import gc_at


def score(given: ToScore, scoring: GenCeptionScoring) -> Scored:
    """Score a folder of chains.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    dataset, chain, encoder = given.folders["dataset"], given.folders["chain"], given.encoder
    if encoder is None:
        raise ValueError("chains are seen through an encoder")
    card = read_json(dataset / "dataset.json", DatasetCard)
    about = read_json(chain / CARD, CollectedCard)
    samples = read_samples(dataset)
    records = read_jsonl(chain / RECORDS, ChainRecord)
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    last = {record.sample: record for record in records}
    iterations = scoring.iterations
    _check_coverage(samples, last, iterations, given.min_coverage)

    drift = measure(samples, categories, drawn_images(chain, records), encoder, iterations, given.features)
    per_sample = _per_sample(drift.similarities)
    summary = means_of(per_sample, categories, card.groups)
    frechet = _frechet_summary(drift.frechet, encoder.frechet_name, card.groups)
    metrics = summary.overall | frechet.overall | _intervals(per_sample, categories, scoring)
    reached = int(np.isfinite(per_sample[f"gc_at_{iterations}"]).sum())
    scored = Score(
        benchmark="genception",
        keys=dict(given.keys),
        components={**about.components, "encoder": ComponentCard.of(given.keys["encoder"], encoder)},
        metrics=metrics,
        groups={
            "category": _merge(summary.by_category, frechet.by_category),
            "group": _merge(summary.by_group, frechet.by_group),
        },
        curves=_curves(metrics, encoder.frechet_name, iterations),
        outcomes=dict(sorted(_ended(samples, last, iterations).items())),
        scored=reached,
        total=len(samples),
        coverage=reached / len(samples),
        absent=_absent(summary, frechet, iterations, encoder.frechet_name),
        served=served_versions(records),
        flags=flags(records),
        details={"groups": card.groups},
        inputs=Inputs(
            data_digest=card.digest,
            records={"chain": sha256_file(chain / RECORDS)},
            protocol=about.protocol,
            settings=scoring.model_dump(mode="json"),
        ),
    )
    return Scored(scored, list(_rows(samples, categories, last, drift.similarities, per_sample)))


def _check_coverage(
    samples: Sequence[Sample], last: Mapping[str, ChainRecord], iterations: int, min_coverage: float
) -> None:
    short = [sample.id for sample in samples if not _complete(last.get(sample.id), iterations)]
    coverage = 1 - len(short) / len(samples)
    if coverage < min_coverage or len(short) == len(samples):
        listed = first_few([f"{name}: {_why(last.get(name))}" for name in short])
        raise CoverageError(
            f"only {len(samples) - len(short)} of {len(samples)} chains reached t={iterations}, and "
            f"genception.min_coverage in params.yaml asks for {min_coverage:.0%} ({listed}); "
            "lower it to score without these"
        )


def _complete(record: ChainRecord | None, iterations: int) -> bool:
    return record is not None and record.t == iterations and record.image is not None


def _why(record: ChainRecord | None) -> str:
    if record is None:
        return "no record"
    return f"{record.outcome} at t={record.t}" + (f", {record.error}" if record.error else "")


def _ended(samples: Sequence[Sample], last: Mapping[str, ChainRecord], iterations: int) -> Counter[str]:
    """Outcome → how many chains it ended before T."""
    ends = (last.get(sample.id) for sample in samples)
    return Counter(str(end.outcome) for end in ends if end is not None and not _complete(end, iterations))


def _per_sample(similarities: Float64) -> dict[str, Float64]:
    """Per-sample values by metric name; NaN where a chain is too short."""
    iterations = similarities.shape[1]
    values = {f"similarity_at_{t}": similarities[:, t - 1] for t in range(1, iterations + 1)}
    values |= {f"gc_at_{t}": gc_at(similarities, t) for t in range(1, iterations + 1)}
    values["similarity_mean"] = np.cumsum(similarities, axis=1)[:, -1] / iterations
    return values


def _frechet_summary(
    distances: Mapping[str, Sequence[float]], name: str, groups: Mapping[str, Sequence[str]]
) -> Summary:
    """GC_FID@t per category (equation 4), and its means; a category with fewer than two chains at t has none."""
    categories = list(distances)
    most = max(len(values) for values in distances.values())
    per_category = {
        f"{name}_at_{t}": np.array(
            [gc_at(np.array([values]), t)[0] if len(values) >= t else np.nan for values in distances.values()]
        )
        for t in range(1, most + 1)
    }
    return means_of(per_category, categories, groups)


def _intervals(
    per_sample: Mapping[str, Float64], categories: Sequence[str], scoring: GenCeptionScoring
) -> dict[str, float]:
    found: dict[str, float] = {}
    for t in range(1, scoring.iterations + 1):
        values = per_sample[f"gc_at_{t}"]
        there = np.isfinite(values)
        low, high = bootstrap_interval(
            values[there],
            [category for category, is_there in zip(categories, there, strict=True) if is_there],
            resamples=scoring.bootstrap.resamples,
            confidence=scoring.bootstrap.confidence,
            seed=scoring.seed,
        )
        found |= {f"gc_at_{t}_low": low, f"gc_at_{t}_high": high}
    return found


def _curves(metrics: Mapping[str, float], frechet_name: str, iterations: int) -> dict[str, list[Point]]:
    """s(t), GC@t with its interval and the Fréchet distance, as far as they go."""
    names = {
        "similarity": "similarity_at_{t}",
        "gc": "gc_at_{t}",
        "gc_low": "gc_at_{t}_low",
        "gc_high": "gc_at_{t}_high",
        frechet_name: frechet_name + "_at_{t}",
    }
    return {
        curve: [
            Point(step=t, value=metrics[key.format(t=t)])
            for t in range(1, iterations + 1)
            if key.format(t=t) in metrics
        ]
        for curve, key in names.items()
    }


def _absent(summary: Summary, frechet: Summary, iterations: int, frechet_name: str) -> dict[str, str]:
    """Which values at T have nothing behind them, and why."""
    reasons = {
        f"gc_at_{iterations}": "no chain reached T",
        f"{frechet_name}_at_{iterations}": "fewer than two chains did",
    }
    rows = {name: row | frechet.by_category[name] for name, row in summary.by_category.items()}
    return {
        f"{category}: {metric}": reason
        for category, row in rows.items()
        for metric, reason in reasons.items()
        if metric not in row
    }


def _merge(
    first: Mapping[str, dict[str, float]], second: Mapping[str, dict[str, float]]
) -> dict[str, dict[str, float]]:
    return {name: row | second.get(name, {}) for name, row in first.items()}


def _rows(
    samples: Sequence[Sample],
    categories: Sequence[str],
    last: Mapping[str, ChainRecord],
    similarities: Float64,
    per_sample: Mapping[str, Float64],
) -> Iterator[Row]:
    iterations = similarities.shape[1]
    gc = np.stack([per_sample[f"gc_at_{t}"] for t in range(1, iterations + 1)], axis=1)
    for index, sample in enumerate(samples):
        yield Row(
            unit=sample.id,
            group=categories[index],
            cluster=sample.id,
            outcome=last[sample.id].outcome,
            values={"similarity": _finite(similarities[index]), "gc": _finite(gc[index])},
        )


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
