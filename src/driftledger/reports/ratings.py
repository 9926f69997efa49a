"""Ratings by people beside metrics of the same samples: do the metrics mean anything on this data,
and what would people say of all samples?"""

from collections.abc import Iterator, Mapping, Sequence

from driftledger.benchmarks.base import Input, Metric, RatedSamples
from driftledger.benchmarks.score import Score
from driftledger.core.grouping import grouped
from driftledger.metrics.intervals import ConfidenceInterval
from driftledger.metrics.ratings import (
    ChosenSample,
    RatedCorrelation,
    agreement,
    corrected_mean,
    rated_correlation,
)
from driftledger.reports.cells import Cell, ReportTable, cell, name_cell
from driftledger.reports.scores import Block

_HEAD = (
    *("", "metric", "rated", "r with ratings", "smallest r"),
    *("so far as shown, the metric", "mean rating of all"),
)
_DRAWN = frozenset({Input.DRAWN, Input.ENCODER})


def rating_tables(blocks: Sequence[Block]) -> Iterator[ReportTable]:
    """Yield a table per block whose descriptions people have rated."""
    for block in blocks:
        rated = {}
        for score in block.scores:
            samples = block.spec.rated(score)
            if samples is not None:
                rated[score.model] = samples
        rows = []
        for score in block.scores:
            if score.model in rated:
                rows += _rows(score, rated[score.model], block, blocks)
        if rows:
            confidence = block.scores[0].confidence
            yield ReportTable(
                f"Do metrics follow people's ratings? {block.on}",
                _HEAD,
                rows=rows,
                notes=[*_notes(list(rated.values()), confidence)],
                name=f"ratings-{block.name}",
            )


def model_spreads(blocks: Sequence[Block], dataset: str) -> dict[str, float]:
    """Return sample → how far apart models are, by the first metric that two of them have.

    Controls do not count. The result is empty without such a metric.
    """
    for block in blocks:
        if block.scores[0].on != dataset:
            continue
        models = [score for score in block.scores if not score.is_control]
        for metric, key in _compared(block):
            pairs = []
            for score in models:
                pairs += _values(block, metric, score, key).items()
            spreads = {}
            for sample, members in grouped(pairs, lambda pair: pair[0]).items():
                values = [value for _, value in members]
                if len(values) > 1:
                    spreads[sample] = max(values) - min(values)
            if spreads:
                return spreads
    return {}


def _compared(block: Block) -> Iterator[tuple[Metric, str]]:
    """Yield each headline that samples have a value of, by what a model's texts are drawn as or
    seen through an encoder; of a family over t the last."""
    for metric in block.spec.metrics:
        is_mean = metric.row and metric.pairing == "mean" and metric.higher_is_better
        if is_mean and metric.headline and metric.needs & _DRAWN:
            for key in block.spec.keys_of(metric, *block.scores)[-1:]:
                yield metric, key


def _values(block: Block, metric: Metric, score: Score, key: str) -> dict[str, float]:
    units = block.units(metric, score, key)
    return {unit: worth for unit, (worth, _, _) in units.items()}


def _rows(
    score: Score, rated: RatedSamples, block: Block, blocks: Sequence[Block]
) -> Iterator[list[Cell | str]]:
    """Yield a row per metric of the same data through the same components."""
    described = {row.unit for row in block.rows_of(score)} - {*rated.undescribed}
    for other in blocks:
        scores = {each.model: each for each in other.scores}
        if other.names != block.names or score.model not in scores:
            continue
        for metric, key in _compared(other):
            values = _values(other, metric, scores[score.model], key)
            known = {unit: value for unit, value in values.items() if unit in described}
            chosen = _chosen(rated, known)
            count = sum(bool(sample.ratings) for sample in chosen)
            if count:
                title = f"{other.spec.title} {metric.named(key)}"
                row = _numbers(chosen, known, score.confidence)
                yield [name_cell(score), title, f"{count} of {len(known)}", *row]


def _chosen(rated: RatedSamples, values: Mapping[str, float]) -> list[ChosenSample]:
    """Join values and ratings; samples that were not chosen by chance are taken for a draw."""
    chances = rated.chances
    if not chances:
        drawn = [sample for sample in rated.by_sample if sample in values]
        chances = dict.fromkeys(drawn, len(drawn) / len(values) if values else 1.0)
    chosen = []
    for sample, chance in chances.items():
        if sample in values:
            ratings = rated.by_sample.get(sample, ())
            chosen.append(ChosenSample(values[sample], ratings, chance))
    return chosen


def _numbers(
    chosen: Sequence[ChosenSample], values: Mapping[str, float], confidence: float
) -> list[Cell | str]:
    found = rated_correlation(chosen, confidence)
    mean = corrected_mean(chosen, list(values.values()), confidence)
    row: list[Cell | str] = [Cell(), Cell(), Cell()]
    if found is not None:
        correlation = cell(found.r, more=_ends(found.interval))
        row = [correlation, cell(found.smallest), _verdict(found)]
    if mean is None:
        return [*row, Cell()]
    return [*row, cell(mean.value, more=_ends(mean.within(1, 5).interval))]


def _verdict(found: RatedCorrelation) -> str:
    if not found.is_shown:
        return "may be noise"
    return "follows the ratings" if found.r > 0 else "contradicts the ratings"


def _ends(interval: ConfidenceInterval | None) -> str:
    return f"{interval.low:.2f} to {interval.high:.2f}" if interval else ""


def _notes(rated: Sequence[RatedSamples], confidence: float) -> Iterator[str]:
    """Say how far raters agree, and how to read the table."""
    texts: dict[str, list[Sequence[float]]] = {}
    for samples in rated:
        for sample, ratings in samples.by_sample.items():
            texts.setdefault(sample, []).append(ratings)
    found = agreement(list(texts.values()), confidence)
    if found is None:
        yield "Agreement of raters: unknown, since no description has several ratings."
    else:
        alpha = cell(found.value, more=_ends(found.interval))
        yield (
            f"Agreement of raters: Krippendorff's alpha {alpha}; 1 is perfect, 0 is chance, and "
            "below 0.67 ratings are too noisy to judge a metric by."
        )
    yield (
        f"Pearson's r over rated samples, in brackets the interval of {confidence:.0%}: one that "
        "holds 0 may be noise. Smallest r: what this many ratings show four times out of five. "
        "Mean rating of all: what the same people would say of all descriptions, by "
        "prediction-powered inference with the metric."
    )
    if not any(samples.chances for samples in rated):
        yield "Rated samples are taken for a random draw."
