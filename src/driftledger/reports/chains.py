"""The report's picture of chains: a row per model, the original on the left, what became of it to the right."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from driftledger.benchmarks._chains.records import image_path
from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, Row, Score
from driftledger.core.files import read_jsonl
from driftledger.core.images import png_bytes
from driftledger.core.text import for_line
from driftledger.data.records import SampleEntry

PICTURED = 4
"""Models in the report's picture, the first of the selection."""
TILE, MARGIN, LINE = 150, 8, 18
_CAPTION = 22  # characters that fit under a tile


def chains_by_model(scores: Sequence[Score], root: Path) -> bytes:
    """Draw the first dataset's first sample as a PNG: a row per model, with one generator and one encoder."""
    if not scores:
        return draw_rows("There are no chains to show.", [])
    spec = benchmark("genception")
    first = {key: name for key, name in scores[0].keys.items() if key != "model"}
    dataset = root / spec.data.at(first)
    sample = read_jsonl(dataset / "samples.jsonl", SampleEntry)[0]
    tiles = []
    for score in [score for score in scores if first.items() <= score.keys.items()][:PICTURED]:
        rows = read_jsonl(root / spec.scores.at(score.keys) / ROWS, Row)
        similarities = next(row for row in rows if row.unit == sample.id).alone(0).values["similarity"]
        chain, row = root / spec.collects[0].at(score.keys), [(dataset / sample.file, score.model)]
        for t, value in enumerate(similarities, 1):
            row.append((chain / image_path(sample.id, t), "–" if value is None else f"s({t}) = {value:.3f}"))
        tiles.append(row)
    title = f"{first['dataset']}: {sample.id}, redrawn by {first['generator']}, seen by {first['encoder']}"
    return draw_rows(title, tiles)


def draw_rows(title: str, rows: Sequence[Sequence[tuple[Path, str]]]) -> bytes:
    """Draw rows of images with a caption each under a title, as a PNG; a missing image leaves its place white."""
    columns = max((len(row) for row in rows), default=3)
    height = (TILE + LINE + MARGIN) * len(rows) + 2 * LINE + MARGIN
    sheet = Image.new("RGB", (columns * (TILE + MARGIN) + MARGIN, height), "white")
    pen, font = ImageDraw.Draw(sheet), ImageFont.load_default(12)
    pen.text((MARGIN, MARGIN // 2), for_line(title), fill="black", font=font)
    for number, row in enumerate(rows):
        top = 2 * LINE + number * (TILE + LINE + MARGIN)
        for column, (path, caption) in enumerate(row):
            left = MARGIN + column * (TILE + MARGIN)
            if path.is_file():
                with Image.open(path) as image:
                    small = image.convert("RGB")
                small.thumbnail((TILE, TILE))
                sheet.paste(small, (left + (TILE - small.width) // 2, top + (TILE - small.height) // 2))
            pen.text((left, top + TILE + 2), for_line(caption)[:_CAPTION], fill="black", font=font)
    return png_bytes(sheet)
