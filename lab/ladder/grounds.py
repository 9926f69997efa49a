"""The two grounds: what the default run goes through, and what the small checkpoints go through."""

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import islice
from typing import ClassVar

from PIL import Image
from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.images import png_bytes
from driftledger.data.datasets.base import DatasetProvider, SourceItem
from driftledger.demo.datasets.arrangements.choosing import of_count
from driftledger.demo.datasets.arrangements.drawing import draw
from driftledger.demo.datasets.arrangements.grammar import MOST, Arrangement
from driftledger.project.settings import Settings
from lab.ladder.bench import Ground


class Fullest(DatasetProvider):
    """Held-out arrangements of as many things as there can be, so that there is something to lose."""

    provider: ClassVar[str] = "fullest"

    images: int = Field(default=30, ge=1)
    seed: int = 3
    """Others than those that the benchmarks go over, and than those that the checkpoints are measured with."""

    def items(self) -> Iterator[SourceItem]:
        for number, one in enumerate(islice(of_count(MOST, self.seed), self.images)):
            yield SourceItem(id=f"full-{number:03d}", name=f"arrangement {number}", read=partial(_png, one))

    def source_digest(self) -> str:
        return sha256_of([self.provider, self.images, self.seed])

    def source(self) -> dict[str, str]:
        return {"kind": self.provider}


def grounds(default: Settings, neural: Settings) -> Mapping[str, Ground]:
    """By name: the settings are those of the default run and of the preset neural."""
    thirds = [n / MOST for n in range(1, MOST + 1)]
    return {
        "default": Ground(
            "photographs, described by regions_fine",
            "regions",
            ("photos", default.dataset("photos")),
            ("digits", default.dataset("digits")),
            ["painter"],
            ["layout"],
            ["tfidf", "words"],
            losing=(0.25, 0.5, 0.75, 1.0),
            keeping=(0.5, 1.0),
        ),
        "neural": Ground(
            "arrangements of three things, described without fault",
            "captions",
            ("arrangements", Fullest()),
            ("arrangements_labelled", neural.dataset("arrangements_labelled")),
            ["trio_sd_1", "trio_sd_2"],
            ["layout", "trio_clip", "trio_vit"],
            ["tfidf", "words", "trio_clip"],
            losing=thirds,
            keeping=(0.5, 1.0),
            things=MOST,
        ),
    }


def _png(one: Arrangement) -> bytes:
    return png_bytes(Image.fromarray(draw(one)))
