"""What scores of chains have in common: rows, and what a reader must know about the calls behind them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from driftledger.benchmarks.records import CollectedCard, CollectedRecord, served_versions
from driftledger.benchmarks.score import RepeatRow, Row
from driftledger.benchmarks.scoring import noted
from driftledger.collect.call import changed_versions
from driftledger.core.types import Float64, Outcome

Tables = Mapping[str, Float64]
"""Key of rows → a row of values per sample; NaN where there is none."""

ENOUGH = 2048
"""As many images as Inception has features: with fewer, their covariances are not of full rank."""


def flags(records: Sequence[CollectedRecord]) -> list[str]:
    """One sentence each for versions that changed midway, descriptions cut off, and calls made in smaller batches."""
    return [*changed_versions(served_versions(records)), *_cut(records), *noted(record.notes for record in records)]


def begun_by(card: CollectedCard) -> Iterator[str]:
    """A sentence where chains begin with a text."""
    if "writer" in card.components:
        yield f"chains begin with texts by {card.components['writer'].name}: what t = 1 shows owes nothing to the model"


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
