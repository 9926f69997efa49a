"""What the checker is given of a score: the folders of a checkout on disk, and what driftledger's encoders gave."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from driftledger_check.files import ScoreFiles, Vector
from numpy.typing import NDArray
from PIL import Image

from driftledger.benchmarks.registry import benchmark
from driftledger.benchmarks.score import ROWS, SCORE
from driftledger.collect import encoding


@dataclass(frozen=True)
class DiskFolder:
    """A folder of a checkout; ``without_images`` as a bundle that names them by their hashes alone."""

    root: Path
    path: str
    without_images: bool = False
    changed: Mapping[str, Any] = field(default_factory=dict)
    """File → what is read instead: a JSON value, the lines of a JSONL file, or an image."""
    _digests: dict[str, str] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        return self._file(name).is_file()

    def sha256(self, name: str) -> str:
        if name in self.changed:
            return hashlib.sha256(repr(self.changed[name].tobytes()).encode()).hexdigest()
        if name not in self._digests:
            self._digests[name] = hashlib.sha256(self._bytes(name)).hexdigest()
        return self._digests[name]

    def json(self, name: str) -> Any:
        return self.changed[name] if name in self.changed else json.loads(self._bytes(name))

    def rows(self, name: str) -> Sequence[Mapping[str, Any]]:
        if name in self.changed:
            return self.changed[name]  # type: ignore[no-any-return]
        return [json.loads(line) for line in self._bytes(name).decode().split("\n") if line]

    def image(self, name: str) -> Image.Image:
        if self.without_images:
            raise KeyError(name)
        if name in self.changed:
            return self.changed[name]  # type: ignore[no-any-return]
        with Image.open(self._file(name)) as image:
            return image.convert("RGB")

    def _file(self, name: str) -> Path:
        return self.root / self.path / name

    def _bytes(self, name: str) -> bytes:
        try:
            return self._file(name).read_bytes()
        except FileNotFoundError:
            raise KeyError(name) from None


class GivenFeatures:
    """By encoder and digest."""

    def __init__(self) -> None:
        self.rows: dict[tuple[str, str], Vector] = {}

    def of(self, encoder: str, digests: Sequence[str]) -> Vector | None:
        rows = [self.rows.get((encoder, digest)) for digest in digests]
        return None if not rows or any(row is None for row in rows) else np.stack(rows)  # type: ignore[arg-type]

    @contextmanager
    def recorded(self, patch: pytest.MonkeyPatch) -> Iterator["GivenFeatures"]:
        """What encoders give to the scores that are made meanwhile."""
        kept = encoding._kept

        def keep(features: Any, encoder: Any, seen: str, batch: Sequence[str], make: Any) -> NDArray[Any]:
            rows = kept(features, encoder, seen, batch, make)  # type: ignore[arg-type]
            if seen != "readings" and encoder.provider not in ("layout", "tfidf"):
                names = batch if seen == "images" else [hashlib.sha256(text.encode()).hexdigest() for text in batch]
                for name, row in zip(names, rows, strict=True):
                    self.rows.setdefault((encoder.fingerprint, name), row)
            return rows

        with patch.context() as here:
            here.setattr(encoding, "_kept", keep)
            yield self


@dataclass(frozen=True)
class Checkout:
    """Scores of a checkout as the checker is given them."""

    root: Path
    features: GivenFeatures = field(default_factory=GivenFeatures)
    beside: Mapping[str, bytes] = field(default_factory=dict)

    @cached_property
    def places(self) -> list[Path]:
        return sorted((self.root / "reports/scores").rglob(SCORE))

    def files(self, place: Path, *, without_images: bool = False) -> ScoreFiles:
        score = json.loads(place.read_bytes())
        spec, keys = benchmark(score["benchmark"]), score["keys"]

        def folder(path: str) -> DiskFolder:
            return DiskFolder(self.root, path, without_images)

        return ScoreFiles(
            place=str(place.parent.relative_to(self.root / "reports/scores")),
            score=score,
            rows=[json.loads(line) for line in (place.parent / ROWS).read_text().split("\n") if line],
            data=folder(spec.data.at(keys)),
            collected={stage.name: folder(stage.at(keys)) for stage in spec.collects},
            features=self.features,
            beside=self.beside if spec.name == "fidelity" else {},
        )
