"""What scores of chains have in common: rows, and what a reader must know about the calls behind them."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from driftledger.benchmarks.records import CollectedCard, CollectedRecord, changed_versions, served_versions
from driftledger.benchmarks.score import RepeatRow, Row
from driftledger.benchmarks.scoring import noted
from driftledger.core.types import Float64, Outcome
from driftledger.metrics.exact import exact_mean
from driftledger.metrics.repeats import mean_over_repeats

if TYPE_CHECKING:
    import pandas as pd

ALL = ""
"""The name of all categories together."""

Tables = Mapping[str, Float64]
"""Key of rows → a row of values per sample; NaN where there is none."""

ENOUGH = 2048
"""As many images as Inception has features: with fewer, their covariances are not of full rank."""


class Measured(NamedTuple):
    """What chains come to: those of one repeat, or the mean over all."""

    values: "pd.DataFrame"
    """A row per sample, its index the category; a column per metric, ``gc_at_1`` …; NaN where there is no value."""
    distances: dict[str, list[float]]
    """Category, or :data:`ALL` → the Fréchet distance between the originals and iteration t = 1 …, as far as it is."""
    images: int
    """How many images the last distance over all categories is of."""
    words: list[int]
    """Of each description."""
    cut: list[bool]
    """Of each description, whether the text encoder read only its beginning."""


def mean_of(repeats: Sequence[Measured]) -> Measured:
    """Average over repeats: of a sample over those in which it has a value, of a Fréchet distance over all."""
    if len(repeats) == 1:
        return repeats[0]
    values = repeats[0].values.copy()
    values[:] = mean_over_repeats([each.values.to_numpy() for each in repeats])
    curves = {name: zip(*(each.distances[name] for each in repeats), strict=False) for name in repeats[0].distances}
    return Measured(
        values,
        {name: [exact_mean(step) for step in curve] for name, curve in curves.items()},
        min(each.images for each in repeats),
        [count for each in repeats for count in each.words],
        [cut for each in repeats for cut in each.cut],
    )


class Means(NamedTuple):
    """Means by metric name: over all categories, per category, and per group of categories.

    A group's mean is there only if each of its categories has one: over fewer it would be a mean of something else.
    """

    overall: dict[str, float]
    by_category: dict[str, dict[str, float]]
    by_group: dict[str, dict[str, float]]


def means_of(
    values: "pd.DataFrame", groups: Mapping[str, Sequence[str]], of_categories: "pd.DataFrame | None" = None
) -> Means:
    """Average each metric over the samples of a category, then over categories, unweighted.

    Args:
        values: a row per sample, its index the category; a column per metric; NaN is left out.
        groups: group name → its categories.
        of_categories: a row per category, of further metrics, which are of it as a whole.
    """
    by_category = values.groupby(level=0).agg(mean_of_known)
    if of_categories is not None:
        by_category = by_category.join(of_categories)
    whole = {name: by_category.loc[[*members]].dropna(axis="columns") for name, members in groups.items()}
    return Means(
        known(by_category.apply(mean_of_known)),
        {str(name): known(row) for name, row in by_category.iterrows()},
        {name: known(rows.apply(mean_of_known)) for name, rows in whole.items()},
    )


def mean_of_known(column: "pd.Series[float]") -> float:
    """Return the mean without NaN; NaN where nothing else is."""
    values = column.dropna().to_numpy()
    return exact_mean(values) if values.size else math.nan


def known(row: "pd.Series[float]") -> dict[str, float]:
    """Return what is not NaN."""
    return {str(key): float(value) for key, value in row.dropna().items()}


def flags(records: Sequence[CollectedRecord]) -> list[str]:
    """One sentence each for versions that changed midway, descriptions cut off, and calls made in smaller batches."""
    return [*changed_versions(served_versions(records)), *_cut(records), *noted(record.notes for record in records)]


def unified(card: CollectedCard) -> Iterator[str]:
    """A sentence where one component describes and draws."""
    model, generator = (card.components[role] for role in ("model", "generator"))
    if model.fingerprint == generator.fingerprint:
        yield f"{model.name} describes and draws: one model of one fingerprint, whose drift is that of both"


def few_images(distances: Iterable[object], images: int) -> Iterator[str]:
    """A sentence where a Fréchet distance is over too few images.

    Args:
        distances: what there is of it; nothing is said where nothing is.
    """
    if any(distances) and images < ENOUGH:
        yield (
            f"the Fréchet distance is over {images:,} images: with fewer than {ENOUGH:,} it is too high, the more so "
            "the fewer there are, so that values over other numbers of images are not comparable"
        )


def _cut(records: Sequence[CollectedRecord]) -> Iterator[str]:
    readings = [each.reading for record in records for each in record.results if each.reading is not None]
    cut = [reading for reading in readings if reading.cut]
    if cut:
        unread = sum(reading.tokens - reading.read for reading in cut)
        tokens = sum(reading.tokens for reading in readings)
        yield (
            f"the generator's text encoder cut off {len(cut)} of {len(readings)} descriptions: "
            f"{unread} of {tokens} tokens were not read"
        )


def cut_texts(measured: Measured, reader: str) -> Iterator[str]:
    """A sentence where ``reader`` read only the beginning of some descriptions."""
    if cut := sum(measured.cut):
        yield f"{reader} read only the beginning of {cut} of {len(measured.cut)} descriptions"


def rows(
    samples: Sequence[tuple[str, str, Mapping[str, str]]],
    ended: Sequence[Sequence[Outcome]],
    whole: Tables,
    alone: Sequence[Tables],
    *,
    sparse: bool = False,
) -> list[Row]:
    """Return a row per sample; of several repeats, with what each alone is worth.

    Args:
        samples: the id, the group and what else a reader is told of each.
        ended: with which outcomes its chains ended, a repeat each.
        alone: the tables of each repeat.
        sparse: whether a row lacks what it has no value of.
    """
    found = []
    for index, (sample, group, extra) in enumerate(samples):
        repeats = [
            RepeatRow(outcome=outcome, values=_values(tables, index, sparse))
            for outcome, tables in zip(ended[index], alone, strict=True)
        ]
        found.append(
            Row(
                unit=sample,
                group=group,
                cluster=sample,
                outcome=next((outcome for outcome in ended[index] if outcome is not Outcome.OK), Outcome.OK),
                values=_values(whole, index, sparse),
                repeats=repeats if len(repeats) > 1 else [],
                extra=dict(extra),
            )
        )
    return found


def _values(tables: Tables, index: int, sparse: bool) -> dict[str, list[float | None]]:
    known = {key: table[index] for key, table in tables.items() if not sparse or np.isfinite(table[index]).any()}
    return {key: [float(each) if np.isfinite(each) else None for each in row] for key, row in known.items()}
