"""Chains as one picture: the original on the left, what became of it at t = 1 … T to the right."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from PIL import Image, ImageDraw, ImageFont

from driftledger.benchmarks.description_records import Redrawn
from driftledger.benchmarks.genception.records import SampleScore
from driftledger.core.escaping import for_line
from driftledger.core.images import png_bytes
from driftledger.data.records import SampleEntry

TILE = 150
MARGIN = 8
LINE = 18
MOST_ROWS = 30
_CAPTION = 22  # characters that fit under a tile
_SHOWN = ("clip_s_i", "image_similarity", "ssim")

R = TypeVar("R")


class Tile(NamedTuple):
    """One image and what stands under it; an image that is not there leaves its place white."""

    image: Path
    caption: str


def contact_sheet(
    title: str, dataset: Path, chain: Path, entries: Sequence[SampleEntry], scores: Sequence[SampleScore]
) -> bytes:
    """A PNG with one row per sample and s(t) under each image; at most 30 samples, spread over the dataset.

    Args:
        title: the first line; plain text.
        dataset: the dataset's folder, for the originals.
        chain: the chain's folder, for the redrawn images.
        entries: the dataset's samples.
        scores: their values, in any order.
    """
    by_sample = {score.sample: score for score in scores}
    rows = [chain_row(entry.id, dataset / entry.file, chain, by_sample[entry.id]) for entry in _spread(entries)]
    return draw_rows(title, rows)


def redraws_sheet(
    title: str, dataset: Path, redraws: Path, entries: Sequence[SampleEntry], scores: Sequence[Redrawn]
) -> bytes:
    """A PNG with one row per redrawn sample: the original, and its redrawing over how similar it is.

    Args:
        title: the first line; plain text.
        dataset: the dataset's folder, for the originals.
        redraws: the folder of the redrawings.
        entries: the dataset's samples; those without a score were not asked about.
        scores: values per sample, in the order in which they are shown; at most 30 are, spread over all.
    """
    files = {entry.id: dataset / entry.file for entry in entries}
    rows = [
        [
            Tile(files[score.sample], score.sample),
            Tile(redraws / "images" / score.sample / "1.png", _similarity(score)),
        ]
        for score in _spread(scores)
    ]
    return draw_rows(title, rows)


def _similarity(score: Redrawn) -> str:
    said = (f"{score.metrics[name]:.1f} {name}" for name in _SHOWN if name in score.metrics)
    return next(said, "–")


def _spread(rows: Sequence[R]) -> Sequence[R]:
    return list(rows)[:: max(1, -(-len(rows) // MOST_ROWS))]


def chain_row(caption: str, original: Path, chain: Path, score: SampleScore) -> list[Tile]:
    """One sample's chain: the original over ``caption``, then each t over its similarity."""
    redrawn = [
        Tile(chain / "images" / score.sample / f"{t}.png", "–" if value is None else f"s({t}) = {value:.3f}")
        for t, value in enumerate(score.similarity, 1)
    ]
    return [Tile(original, caption), *redrawn]


def draw_rows(title: str, rows: Sequence[Sequence[Tile]]) -> bytes:
    """Rows of tiles under a title, as a PNG."""
    columns = max((len(row) for row in rows), default=3)
    height = (TILE + LINE + MARGIN) * len(rows) + 2 * LINE + MARGIN
    sheet = Image.new("RGB", (columns * (TILE + MARGIN) + MARGIN, height), "white")
    pen = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(12)
    pen.text((MARGIN, MARGIN // 2), for_line(title), fill="black", font=font)
    for number, row in enumerate(rows):
        top = 2 * LINE + number * (TILE + LINE + MARGIN)
        for column, (image, caption) in enumerate(row):
            left = MARGIN + column * (TILE + MARGIN)
            if image.is_file():
                _paste(sheet, image, left, top)
            pen.text((left, top + TILE + 2), for_line(caption)[:_CAPTION], fill="black", font=font)
    return png_bytes(sheet)


def _paste(sheet: Image.Image, path: Path, left: int, top: int) -> None:
    with Image.open(path) as image:
        small = image.convert("RGB")
    small.thumbnail((TILE, TILE))
    sheet.paste(small, (left + (TILE - small.width) // 2, top + (TILE - small.height) // 2))
