"""The scoring half: how far each chain has drifted from its first image, seen through one encoder."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from driftledger.benchmarks.genception.features import drawn_images, measure
from driftledger.benchmarks.genception.flags import flags, served_versions
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord, SampleScore, ScoreFile, ScoreInputs
from driftledger.benchmarks.genception.summary import Summary, means_of
from driftledger.benchmarks.settings import GenCeption
from driftledger.collect.feature_store import FeatureStore
from driftledger.components.base import Encoder
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file
from driftledger.core.errors import CoverageError, first_few
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.paths import Combination
from driftledger.core.types import Float64, Sample
from driftledger.data.records import ONE_CATEGORY, DatasetCard, read_samples
from driftledger.metrics.bootstrap import bootstrap_interval
from driftledger.metrics.drift import gc_at


def score(
    dataset: Path,
    chain: Path,
    combination: Combination,
    encoder: Encoder,
    settings: GenCeption,
    seed: int,
    features: FeatureStore | None = None,
) -> tuple[ScoreFile, list[SampleScore]]:
    """Score the chains in folder ``chain``, which started from the samples in folder ``dataset``.

    Args:
        features: where what the encoder saw is found and kept; without, it looks at everything.

    Raises:
        CoverageError: fewer than ``min_coverage`` of the chains reached T.
    """
    card = read_json(dataset / "dataset.json", DatasetCard)
    samples = read_samples(dataset)
    records = read_jsonl(chain / "records.jsonl", ChainRecord)
    categories = [sample.category or ONE_CATEGORY for sample in samples]
    last = {record.sample: record for record in records}
    _check_coverage(samples, last, settings)

    drift = measure(samples, categories, drawn_images(chain, records), encoder, settings.iterations, features)
    per_sample = _per_sample(drift.similarities)
    summary = means_of(per_sample, categories, card.groups)
    frechet = _frechet_summary(drift.frechet, encoder.frechet_name, card.groups)
    intervals = _intervals(per_sample, categories, settings, seed)
    reached = int(np.isfinite(per_sample[f"gc_at_{settings.iterations}"]).sum())
    score_file = ScoreFile(
        benchmark="genception",
        dataset=card.name,
        model=combination.model,
        generator=combination.generator,
        encoder=combination.encoder,
        metrics=summary.overall | frechet.overall | intervals,
        by_category=_merge(summary.by_category, frechet.by_category),
        by_group=_merge(summary.by_group, frechet.by_group),
        groups=card.groups,
        curve=_curve(summary.overall | frechet.overall | intervals, encoder.frechet_name, settings.iterations),
        failures=dict(sorted(_failures(samples, last, settings.iterations).items())),
        scored=reached,
        total=len(samples),
        coverage=reached / len(samples),
        absent=_absent(summary, frechet, settings.iterations, encoder.frechet_name),
        served=served_versions(records),
        flags=flags(records),
        inputs=ScoreInputs(
            dataset_digest=card.digest,
            records_sha256=sha256_file(chain / "records.jsonl"),
            chain=read_json(chain / "components.json", ChainCard),
            encoder=ComponentCard.of(combination.encoder, encoder),
            settings={"bootstrap": settings.bootstrap.model_dump(), "iterations": settings.iterations, "seed": seed},
        ),
    )
    return score_file, list(_sample_rows(samples, categories, last, drift.similarities, per_sample))


def _check_coverage(samples: list[Sample], last: dict[str, ChainRecord], settings: GenCeption) -> None:
    short = [sample.id for sample in samples if not _complete(last.get(sample.id), settings.iterations)]
    coverage = 1 - len(short) / len(samples)
    if coverage < settings.min_coverage or len(short) == len(samples):
        listed = first_few([f"{name}: {_why(last.get(name))}" for name in short])
        raise CoverageError(
            f"only {len(samples) - len(short)} of {len(samples)} chains reached t={settings.iterations}, and "
            f"genception.min_coverage in params.yaml asks for {settings.min_coverage:.0%} ({listed}); "
            "lower it to score without these"
        )


def _complete(record: ChainRecord | None, iterations: int) -> bool:
    return record is not None and record.t == iterations and record.image is not None


def _why(record: ChainRecord | None) -> str:
    if record is None:
        return "no record"
    return f"{record.outcome} at t={record.t}" + (f", {record.error}" if record.error else "")


def _failures(samples: list[Sample], last: dict[str, ChainRecord], iterations: int) -> Counter[str]:
    ends = (last.get(sample.id) for sample in samples)
    return Counter(str(end.outcome) for end in ends if end is not None and not _complete(end, iterations))


def _per_sample(similarities: Float64) -> dict[str, Float64]:
    """Per-sample values by metric name; NaN where a chain is too short."""
    iterations = similarities.shape[1]
    values = {f"similarity_at_{t}": similarities[:, t - 1] for t in range(1, iterations + 1)}
    values |= {f"gc_at_{t}": gc_at(similarities, t) for t in range(1, iterations + 1)}
    values["similarity_mean"] = np.cumsum(similarities, axis=1)[:, -1] / iterations
    return values


def _frechet_summary(distances: dict[str, list[float]], name: str, groups: dict[str, list[str]]) -> Summary:
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
    per_sample: dict[str, Float64], categories: list[str], settings: GenCeption, seed: int
) -> dict[str, float]:
    found: dict[str, float] = {}
    for t in range(1, settings.iterations + 1):
        values = per_sample[f"gc_at_{t}"]
        there = np.isfinite(values)
        low, high = bootstrap_interval(
            values[there],
            [category for category, is_there in zip(categories, there, strict=True) if is_there],
            resamples=settings.bootstrap.resamples,
            confidence=settings.bootstrap.confidence,
            seed=seed,
        )
        found |= {f"gc_at_{t}_low": low, f"gc_at_{t}_high": high}
    return found


def _curve(metrics: dict[str, float], frechet_name: str, iterations: int) -> list[dict[str, float]]:
    names = {
        "similarity": "similarity_at_{t}",
        "gc": "gc_at_{t}",
        "gc_low": "gc_at_{t}_low",
        "gc_high": "gc_at_{t}_high",
        frechet_name: frechet_name + "_at_{t}",
    }
    return [
        {"t": t} | {column: metrics[key.format(t=t)] for column, key in names.items() if key.format(t=t) in metrics}
        for t in range(1, iterations + 1)
    ]


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


def _merge(first: dict[str, dict[str, float]], second: dict[str, dict[str, float]]) -> dict[str, dict[str, float]]:
    return {name: row | second.get(name, {}) for name, row in first.items()}


def _sample_rows(
    samples: list[Sample],
    categories: list[str],
    last: dict[str, ChainRecord],
    similarities: Float64,
    per_sample: dict[str, Float64],
) -> Iterator[SampleScore]:
    iterations = similarities.shape[1]
    gc = np.stack([per_sample[f"gc_at_{t}"] for t in range(1, iterations + 1)], axis=1)
    for index, sample in enumerate(samples):
        yield SampleScore(
            sample=sample.id,
            category=categories[index],
            similarity=_finite(similarities[index]),
            gc=_finite(gc[index]),
            outcome=last[sample.id].outcome,
        )


def _finite(values: Float64) -> list[float | None]:
    return [float(value) if np.isfinite(value) else None for value in values]
