"""The describer that also reads: what is written in an image, and where, beside the coloured regions.

GenCeption's papers find models weak at images of text, and a describer of regions says nothing of it at all. PP-OCRv6
(Apache-2.0) finds and reads lines; its weights stand in rapidocr's wheel, and nothing is downloaded.
"""

from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from driftledger.components.base import library_versions
from driftledger.core.canonical import sha256_file
from driftledger.core.registry import files_in_wheel, hashes, import_extra
from driftledger.core.types import ImageFile
from driftledger.demo.models.regions import Regions
from driftledger.demo.models.regions.say import MOST_WORDS
from driftledger.demo.vocabulary import written

_EXTRA = "ocr"
_FIND, _READ = (f"rapidocr/models/PP-OCRv6_{part}_small.onnx" for part in ("det", "rec"))
_LEAST_CHARACTERS = 2
"""A single one is mostly a shape that looks like it."""


class RegionsReading(Regions):
    """Describes as :class:`Regions` does, with the lines that are written in the image after the first sentence.

    What it reads in an image is text like any other: in quotes, in one line, and without quotes of its own, so that
    an image cannot write a sentence of the description. Equal images give equal texts on one machine; on another
    processor, a line that is barely legible may be read otherwise.
    """

    provider: ClassVar[str] = "regions_reading"
    version: ClassVar[str] = "1"

    least_score: float = Field(default=0.9, ge=0, le=1)
    """How sure the reader must be of a line; textures are read as letters, too, with less."""

    def identity(self) -> dict[str, Any]:
        files_in_wheel("onnxruntime", extra=_EXTRA)
        files = files_in_wheel("rapidocr", _FIND, _READ, extra=_EXTRA)
        libraries = library_versions("rapidocr", "onnxruntime", "opencv-python-headless")
        return super().identity() | libraries | {"weights": hashes(files), "licence": "Apache-2.0"}

    def describe(self, shown: ImageFile) -> str:
        first, *rest = super().describe(shown).split(". ")
        lines = _lines(shown.path, sha256_file(shown.path), self.least_score)
        sentences = [f"{first.removesuffix('.')}.", *lines, *(f"{each.removesuffix('.')}." for each in rest)]
        words = np.cumsum([len(each.split()) for each in sentences])
        return " ".join(each for each, so_far in zip(sentences, words, strict=True) if so_far <= MOST_WORDS)

    def release(self) -> None:
        _reader.cache_clear()


@lru_cache(maxsize=4096)
def _lines(path: Path, sha256: str, least_score: float) -> tuple[str, ...]:
    """A sentence for each line in the image file at ``path``; kept, as descriptions of regions are."""
    image = ImageFile(path, sha256).open()
    found = _reader()(np.asarray(image)[..., ::-1])
    if found.txts is None:
        return ()
    lines = zip(found.txts, found.scores, np.rint(found.boxes).astype(int), strict=True)
    return tuple(
        written(text, box.tolist(), image.size)
        for text, score, box in lines
        if score >= least_score and len(text.strip()) >= _LEAST_CHARACTERS
    )


@lru_cache(maxsize=1)
def _reader() -> Any:
    """Finds and reads lines, in one thread; both files are named, so that it looks for none elsewhere."""
    find, read = map(str, files_in_wheel("rapidocr", _FIND, _READ, extra=_EXTRA))
    settings = {"Global.log_level": "critical", "Global.use_cls": False, "Det.model_path": find, "Rec.model_path": read}
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    return import_extra("rapidocr").RapidOCR(params=settings | threads)
