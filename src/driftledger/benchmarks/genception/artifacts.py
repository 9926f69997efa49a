"""What MLflow and the report show of chains beside numbers: every chain to look at, and what was text in it."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from driftledger.benchmarks._chains.contact_sheet import Tile, draw_rows, spread
from driftledger.benchmarks._chains.records import ChainRecord, image_path
from driftledger.benchmarks.base import Artifacts, Benchmark
from driftledger.benchmarks.records import RECORDS
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.escaping import csv_table
from driftledger.core.files import read_jsonl
from driftledger.data.records import SampleEntry

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage

PICTURED = 4
"""Models in the report's picture, the first of the selection."""


def artifacts(lineage: "Lineage", root: Path) -> Artifacts:
    """A picture of the chains, s(t) and GC@t per sample, and every description."""
    dataset, chain, rows = (
        root / path for path in (lineage.data.path, lineage.collected["chain"].path, lineage.rows_path)
    )
    keys = lineage.score.keys
    title = f"{keys['model']} · {keys['generator']} · {keys['encoder']}   on {keys['dataset']}"
    return {
        "chains.png": partial(contact_sheet, title, dataset, chain, rows),
        "samples.csv": partial(_samples_csv, lineage.score.inputs.protocol["iterations"], rows),
        "descriptions.csv": partial(_descriptions_csv, chain),
    }


def chain_row(caption: str, original: Path, chain: Path, row: Row) -> list[Tile]:
    """One sample's first chain: the original over ``caption``, then each t over its similarity."""
    redrawn = [
        Tile(chain / image_path(row.unit, t), "–" if value is None else f"s({t}) = {value:.3f}")
        for t, value in enumerate(row.alone(0).values["similarity"], 1)
    ]
    return [Tile(original, caption), *redrawn]


def contact_sheet(title: str, dataset: Path, chain: Path, rows: Path) -> bytes:
    """A PNG with one row per sample and s(t) under each image; at most 30 samples, spread over the dataset.

    Args:
        title: the first line; plain text.
        dataset: the dataset's folder, for the originals.
        chain: the chain's folder, for the redrawn images.
        rows: the file of the samples' values, in any order.
    """
    by_sample = {row.unit: row for row in read_jsonl(rows, Row)}
    entries = spread(read_jsonl(dataset / "samples.jsonl", SampleEntry))
    return draw_rows(title, [chain_row(each.id, dataset / each.file, chain, by_sample[each.id]) for each in entries])


def chains_by_model(spec: Benchmark, scores: Sequence[Score], root: Path) -> bytes:
    """A PNG of the first dataset's first sample: a row per model, with one generator and one encoder."""
    if not scores:
        return draw_rows("There are no chains to show.", [])
    first = {key: name for key, name in scores[0].keys.items() if key != "model"}
    dataset = root / spec.data.at(first)
    sample = read_jsonl(dataset / "samples.jsonl", SampleEntry)[0]
    tiles = []
    for score in [score for score in scores if first.items() <= score.keys.items()][:PICTURED]:
        rows = read_jsonl(root / spec.scores.at(score.keys) / ROWS, Row)
        of_sample = next(row for row in rows if row.unit == sample.id)
        chain = root / spec.collects[0].at(score.keys)
        tiles.append(chain_row(score.model, dataset / sample.file, chain, of_sample))
    title = f"{first['dataset']}: {sample.id}, redrawn by {first['generator']}, seen by {first['encoder']}"
    return draw_rows(title, tiles)


def _samples_csv(iterations: int, rows: Path) -> bytes:
    steps = range(1, iterations + 1)
    head = ["sample", "category", "outcome", *(f"s{t}" for t in steps), *(f"gc{t}" for t in steps)]
    cells = (
        [row.unit, row.group, row.outcome, *row.values["similarity"], *row.values["gc"]]
        for row in read_jsonl(rows, Row)
    )
    return csv_table(head, cells)


def _descriptions_csv(chain: Path) -> bytes:
    records = read_jsonl(chain / RECORDS, ChainRecord)
    several = any(each.repeat for each in records)
    rows = (
        [each.sample, *([each.repeat] if several else []), each.t, each.outcome, each.description, each.error]
        for each in records
    )
    return csv_table(["sample", *(["repeat"] if several else []), "t", "outcome", "description", "error"], rows)
