"""Real handwritten digits that come with scikit-learn: a labelled dataset that needs no download.

They are the test set of the UCI repository's "Optical Recognition of Handwritten Digits", 8×8
pixels in 17 levels of grey, written by 13 people one after another. So the support set is taken
from the file's beginning and the test set from its end: a neighbour in writing, which would make
retrieval easy, is not in the other set.
"""

import gzip
from collections.abc import Iterator
from functools import cache, partial
from operator import attrgetter
from typing import ClassVar, NamedTuple, Self

import numpy as np
from PIL import Image
from pydantic import Field, model_validator

from driftledger.core.canonical import sha256_bytes, sha256_of
from driftledger.core.grouping import grouped
from driftledger.core.media import png_bytes
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger_demo.installed import EXTRA, read_installed

FILE = "sklearn/datasets/data/digits.csv.gz"
SHA256 = "09f66e6debdee2cd2b5ae59e0d6abbb73fc2b0e0185d2e1957e9ebb51e23aa22"
LIBRARY = "scikit-learn"
VERSION = "1.9.1"
SOURCE = {
    "title": "Optical Recognition of Handwritten Digits, test set",
    "author": "E. Alpaydin, C. Kaynak",
    "url": "https://doi.org/10.24432/C50P49",
    "licence": "CC BY 4.0",
}

SIDE = 32
"""Pixels per side of an image, as large as the bitmaps that were counted into 8×8."""
_SCANNED = 8
_DARKEST = 16
_FEWEST = 174
"""Scans of the rarest digit, which is 8."""


class Scan(NamedTuple):
    """A line of the file."""

    row: int
    """Counted from 0."""
    label: str
    levels: tuple[int, ...]
    """Ink in 8×8 places, row by row: 0 … 16."""


class Digits(DatasetProvider):
    """The first scans of every digit are the support set, and the last ones the test set."""

    provider: ClassVar[str] = "digits"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel changes."""
    extra: ClassVar[str] = EXTRA

    general_category: str | None = Field(default="digit", pattern=r"\S")
    support_per_label: int = Field(default=50, ge=1, lt=_FEWEST)
    test_per_label: int = Field(default=20, ge=1, lt=_FEWEST)

    @model_validator(mode="after")
    def _disjoint(self) -> Self:
        both = self.support_per_label + self.test_per_label
        if both > _FEWEST:
            raise ValueError(
                f"support_per_label and test_per_label add up to {both}, and there are {_FEWEST} "
                "scans of the rarest digit; lower one of them"
            )
        return self

    def items(self) -> Iterator[SourceItem]:
        for same_label in grouped(scans(), attrgetter("label")).values():
            for scan in same_label[: self.support_per_label]:
                yield _item(scan, "support")
            for scan in same_label[-self.test_per_label :]:
                yield _item(scan, "test")

    def source_digest(self) -> str:
        counts = [self.support_per_label, self.test_per_label]
        return sha256_of([self.version, sha256_bytes(_read()), *counts])

    def source(self) -> dict[str, str]:
        return {
            "kind": self.provider,
            "version": self.version,
            LIBRARY: VERSION,
            **SOURCE,
        }


@cache
def scans() -> tuple[Scan, ...]:
    """Return all 1,797 scans in the order of the file.

    Raises:
        DataError: the file is not the known one.
    """
    scans = []
    lines = gzip.decompress(_read()).decode("ascii").splitlines()
    for row, line in enumerate(lines):
        *levels, digit = map(int, line.split(","))
        scans.append(Scan(row, str(digit), levels=tuple(levels)))
    return tuple(scans)


def picture(levels: tuple[int, ...]) -> Image.Image:
    """Draw a scan in white ink on black: RGB, :data:`SIDE` × :data:`SIDE` pixels.

    Four times as large is a scale at which Pillow's weights are exact in its fixed point, so that
    the pixels are the same on every processor.
    """
    grey = np.array(levels).reshape(_SCANNED, _SCANNED) * 255 // _DARKEST
    scanned = Image.fromarray(grey.astype(np.uint8))
    return scanned.resize((SIDE, SIDE), Image.Resampling.BICUBIC).convert("RGB")


def _item(scan: Scan, split: Split) -> SourceItem:
    return SourceItem(
        id=f"{scan.row:04d}",
        name=f"{FILE}, row {scan.row}",
        read=partial(_png, scan),
        label=scan.label,
        split=split,
        source={"file": FILE, "row": str(scan.row), **SOURCE},
    )


def _png(scan: Scan) -> bytes:
    return png_bytes(picture(scan.levels))


def _read() -> bytes:
    return read_installed(LIBRARY, VERSION, file=FILE, sha256=SHA256)
