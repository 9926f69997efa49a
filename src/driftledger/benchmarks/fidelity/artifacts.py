"""What MLflow shows of redrawings beside numbers: every one to look at, and what was said of the image."""

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._chains.contact_sheet import Tile, draw_rows, spread
from driftledger.benchmarks._chains.records import ChainRecord, by_repeat, image_path
from driftledger.benchmarks.base import Artifacts
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import RepeatRow, Row
from driftledger.core.escaping import csv_table, groups_csv
from driftledger.core.files import read_jsonl
from driftledger.data.records import SampleEntry

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

_SHOWN = ("clip_s_i", "image_similarity", "ssim")
"""The first of these that a sample has stands under its redrawing."""


def artifacts(lineage: "Lineage", root: Path) -> Artifacts:
    """A picture of the redrawings, values and descriptions per sample, and categories."""
    dataset, redraws, rows = (
        root / path for path in (lineage.data.path, lineage.collected["redraw"].path, lineage.rows_path)
    )
    keys = lineage.score.keys
    title = f"{keys['model']} · {keys['generator']} · {keys['encoder']}   on {keys['dataset']}"
    return {
        "redraws.png": partial(redraws_sheet, title, dataset, redraws, rows),
        "samples.csv": partial(_samples_csv, redraws, rows),
        "by_category.csv": partial(groups_csv, "category", lineage.score.groups["category"]),
    }


def redraws_sheet(title: str, dataset: Path, redraws: Path, rows: Path) -> bytes:
    """A PNG with one row per redrawn sample: the original, and its first redrawing over how similar it is.

    Args:
        title: the first line; plain text.
        dataset: the dataset's folder, for the originals.
        redraws: the folder of the redrawings.
        rows: the file of values per sample, in the order in which they are shown; at most 30 are, spread over all.
    """
    files = {entry.id: dataset / entry.file for entry in read_jsonl(dataset / "samples.jsonl", SampleEntry)}
    tiles = [
        [Tile(files[row.unit], row.unit), Tile(redraws / image_path(row.unit, 1), _similarity(row.alone(0)))]
        for row in spread(read_jsonl(rows, Row))
    ]
    return draw_rows(title, tiles)


def _similarity(row: RepeatRow) -> str:
    return next((f"{value:.1f} {name}" for name in _SHOWN if (value := _value(row, name)) is not None), "–")


def _value(row: Row | RepeatRow, key: str) -> float | None:
    return next(iter(row.values.get(key, [])), None)


def _samples_csv(redraws: Path, rows: Path) -> bytes:
    by_sample = {record.sample: record for record in by_repeat(read_jsonl(redraws / RECORDS, ChainRecord), 1)[0]}
    samples = read_jsonl(rows, Row)
    columns = sorted({key for row in samples for key in row.values})
    cells = []
    for row in samples:
        record, values = by_sample[row.unit], (_value(row, column) for column in columns)
        cells.append([row.unit, row.extra["category"], row.outcome, *values, record.description, record.error])
    return csv_table(["sample", "category", "outcome", *columns, "description", "error"], cells)
