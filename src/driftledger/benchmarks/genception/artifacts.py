"""The report's picture of chains, a row per model."""

from collections.abc import Sequence
from pathlib import Path

from driftledger.benchmarks._chains.contact_sheet import Tile, draw_rows
from driftledger.benchmarks._chains.records import image_path
from driftledger.benchmarks.base import Benchmark
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.files import read_jsonl
from driftledger.data.records import SampleEntry

PICTURED = 4
"""Models in the report's picture, the first of the selection."""


def chain_row(caption: str, original: Path, chain: Path, row: Row) -> list[Tile]:
    """One sample's first chain: the original over ``caption``, then each t over its similarity."""
    redrawn = [
        Tile(chain / image_path(row.unit, t), "–" if value is None else f"s({t}) = {value:.3f}")
        for t, value in enumerate(row.alone(0).values["similarity"], 1)
    ]
    return [Tile(original, caption), *redrawn]


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
