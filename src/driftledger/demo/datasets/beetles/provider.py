"""The provider ``beetles``: drawn, so that what tells them apart is known, and no model was trained on their names."""

from collections.abc import Iterator
from functools import partial
from typing import ClassVar, get_args

from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.images import png_bytes
from driftledger.core.types import Split
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger.demo.datasets.beetles.drawing import draw
from driftledger.demo.datasets.beetles.species import SPECIES, Species


class Beetles(DatasetProvider):
    """24 species, each with a twin that differs in one attribute; larger counts leave the first individuals alone."""

    provider: ClassVar[str] = "beetles"
    version: ClassVar[str] = "1"
    """Raised whenever a pixel changes."""

    general_category: str | None = Field(default="beetle", pattern=r"\S")
    support_per_label: int = Field(default=10, ge=1, le=1000)
    test_per_label: int = Field(default=5, ge=1, le=1000)

    def items(self) -> Iterator[SourceItem]:
        for place, species in enumerate(SPECIES):
            for split in get_args(Split):
                for number in range(self._per_label(split)):
                    yield SourceItem(
                        id=f"{split}-{place:02d}-{number:03d}",
                        name=f"{split} individual {number} of {species.name}",
                        read=partial(_png, species, split, number),
                        label=species.name,
                        split=split,
                    )

    def _per_label(self, split: Split) -> int:
        return self.support_per_label if split == "support" else self.test_per_label

    def source_digest(self) -> str:
        return sha256_of([self.version, self.support_per_label, self.test_per_label])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider, "version": self.version}


def _png(species: Species, split: Split, number: int) -> bytes:
    return png_bytes(draw(species, split, number))
