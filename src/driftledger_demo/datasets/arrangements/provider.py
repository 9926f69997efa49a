"""The provider ``arrangements``: all of them held out from what the shipped checkpoints were trained on."""

from collections.abc import Iterator
from functools import partial
from itertools import islice
from typing import ClassVar, get_args

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.images import png_bytes
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger_demo.datasets.arrangements.choosing import labels, of_count, of_label
from driftledger_demo.datasets.arrangements.drawing import draw
from driftledger_demo.datasets.arrangements.grammar import Arrangement

_COUNTS = ("one", "two", "three")
"""Categories, by the number of things."""


class Arrangements(DatasetProvider):
    """Drawn, seeded; a larger count leaves the earlier ones as they are.

    Without labels the categories are how many things there are. ``labelled``, the label is the colour and the shape of
    the one large thing; others beside it are small.
    """

    provider: ClassVar[str] = "arrangements"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel changes."""

    general_category: str | None = Field(default="shapes", pattern=r"\S")
    labelled: bool = False
    per_category: int = Field(default=10, ge=1, le=500)
    """Without labels: how many of each number of things are drawn; of one thing 545 are held out."""
    support_per_label: int = Field(default=2, ge=1, le=100)
    test_per_label: int = Field(default=2, ge=1, le=100)
    seed: int = Field(default=1, ge=0, lt=2**32)

    @property
    def unused(self) -> set[str]:
        return {"sample_seed"}

    def kept_items(self) -> Iterator[SourceItem]:
        return self.items()

    def items(self) -> Iterator[SourceItem]:
        yield from self._labelled() if self.labelled else self._counted()

    def _counted(self) -> Iterator[SourceItem]:
        for things, category in enumerate(_COUNTS, 1):
            for number, one in enumerate(islice(of_count(things, self.seed), self.per_category)):
                yield SourceItem(
                    id=f"{category}-{number:04d}",
                    name=f"arrangement {number} of {things}",
                    read=partial(_png, one),
                    category=category,
                    source={"caption": one.caption},
                )

    def _labelled(self) -> Iterator[SourceItem]:
        for label in labels():
            for split in get_args(Split):
                count = self.support_per_label if split == "support" else self.test_per_label
                for number, one in enumerate(islice(of_label(label, split, self.seed), count)):
                    yield SourceItem(
                        id=f"{split}-{label.replace(' ', '-')}-{number:03d}",
                        name=f"{split} arrangement {number} of a {label}",
                        read=partial(_png, one),
                        label=label,
                        split=split,
                        source={"caption": one.caption},
                    )

    def source_digest(self) -> str:
        counts = [self.support_per_label, self.test_per_label] if self.labelled else [self.per_category]
        return sha256_of([self.version, self.labelled, *counts, self.seed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


def _png(one: Arrangement) -> bytes:
    return png_bytes(Image.fromarray(draw(one)))
