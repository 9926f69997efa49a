"""Pictures of chains: the originals on the left, what became of them to the right, a row each."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from PIL import Image, ImageDraw, ImageFont

from driftledger.core.escaping import for_line
from driftledger.core.files import ByBytes, by_bytes
from driftledger.core.images import png_bytes

TILE = 150
MARGIN = 8
LINE = 18
_KEPT = 256
"""Thumbnails, of at most 68 kB each."""
_CAPTION = 22  # characters that fit under a tile


class Tile(NamedTuple):
    """One image and what stands under it; an image that is not there leaves its place white."""

    image: Path
    caption: str


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
    small = _thumbnail(by_bytes(path))
    sheet.paste(small, (left + (TILE - small.width) // 2, top + (TILE - small.height) // 2))


@lru_cache(_KEPT)
def _thumbnail(file: ByBytes) -> Image.Image:
    """The image as it fits into a tile: equal ones stand in many sheets."""
    with Image.open(file.path) as image:
        small = image.convert("RGB")
    small.thumbnail((TILE, TILE))
    return small
