"""Chains as one picture: the original on the left, what became of it at t = 1 … T to the right."""

from collections.abc import Sequence
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

from driftledger.images import png_bytes
from driftledger.records import SampleEntry, SampleScore

TILE = 150
MARGIN = 8
LINE = 18
MOST_SAMPLES = 30


def contact_sheet(
    title: str, dataset: Path, chain: Path, entries: Sequence[SampleEntry], scores: Sequence[SampleScore]
) -> bytes:
    """A PNG with one row per sample and s(t) under each image; at most 30 samples, spread over the dataset.

    Args:
        title: the first line; plain text.
        dataset: the dataset's folder, for the originals.
        chain: the chain's folder, for the redrawn images.
    """
    by_sample = {score.sample: score for score in scores}
    step = -(-len(entries) // MOST_SAMPLES)
    shown = list(entries)[::step]
    columns = 1 + max(len(score.similarity) for score in scores)
    width = columns * (TILE + MARGIN) + MARGIN
    height = (TILE + LINE + MARGIN) * len(shown) + 2 * LINE + MARGIN
    sheet = Image.new("RGB", (width, height), "white")
    draw = ImageDraw.Draw(sheet)
    font = ImageFont.load_default(12)
    draw.text((MARGIN, MARGIN // 2), title, fill="black", font=font)
    for row, entry in enumerate(shown):
        top = 2 * LINE + row * (TILE + LINE + MARGIN)
        score = by_sample[entry.id]
        images = [dataset / entry.file] + [chain / "images" / entry.id / f"{t}.png" for t in range(1, columns)]
        captions = [entry.id[:22]] + [
            f"s({t}) = {value:.3f}" if value is not None else "–" for t, value in enumerate(score.similarity, 1)
        ]
        for column, (image, caption) in enumerate(zip(images, captions, strict=True)):
            left = MARGIN + column * (TILE + MARGIN)
            if image.is_file():
                _paste(sheet, image, left, top)
            draw.text((left, top + TILE + 2), caption, fill="black", font=font)
    return png_bytes(sheet)


def _paste(sheet: Image.Image, path: Path, left: int, top: int) -> None:
    with Image.open(path) as image:
        small = image.convert("RGB")
    small.thumbnail((TILE, TILE))
    sheet.paste(small, (left + (TILE - small.width) // 2, top + (TILE - small.height) // 2))
