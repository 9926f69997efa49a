"""What a bundle says it holds, and its scores with the files behind them, as the checks read them."""

import hashlib
import io
import warnings
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check import strict_json
from driftledger_check.archive import Archive, BundleError, check_name

KIND, SCHEMA = "driftledger-bundle", 2
MANIFEST, EVIDENCE = "bundle.json", "evidence.json"
FILES, LISTINGS, FEATURES, LEDGER = "files/", "listings/", "features/", "ledger/"
DIR = ".dir"
"""What the MD5 of a folder's listing ends in."""
RESOLVED = "data/resolved.json"
"""The file whose keys are in a stage's ``params``."""
_BINARY = (".png", ".jpg", ".webp", ".wav", ".npy")
TEXT_BYTES = 256_000_000
"""Of all members but images and features: a description of 2 kB for each of 100,000 records."""
PIXELS = 50_000_000
"""Of one image, as ``max_pixels`` has it where datasets are built; decoded it takes 150 MB, one image at a time."""

Vector = NDArray[np.float32]
Features = tuple[Mapping[str, int], Vector]
"""SHA-256 of an image's file or of a text's UTF-8 → its row; n×d features, finite."""


def digests(data: bytes) -> dict[str, Any]:
    """A file, as ``bundle.json`` names it."""
    md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
    return {"sha256": hashlib.sha256(data).hexdigest(), "md5": md5, "bytes": len(data)}


class Folder:
    """A folder behind a score. Every method but :meth:`has` raises KeyError for a file that it has not."""

    def __init__(
        self, path: str, named: Mapping[str, Mapping[str, Any]], held: Container[str], read: Callable[[str], bytes]
    ) -> None:
        """
        Args:
            named: every file in it, relative to it, those that were left out as well, with its digests.
            held: those with bytes, which ``read`` gives.
        """
        self.path, self.names = path, named
        self._held, self._bytes = held, read
        self.json = cache(lambda name: strict_json.loads(self._bytes(name)))
        """The content of a JSON file."""
        self.rows = cache(lambda name: [strict_json.loads(row) for row in self._bytes(name).splitlines()])
        """The lines of a JSONL file."""

    def digests(self, name: str) -> Mapping[str, Any]:
        """Known also where the bytes themselves were left out."""
        return self.names[name]

    def has(self, name: str) -> bool:
        return name in self._held

    def image(self, name: str) -> Image.Image:
        """An image as RGB, its pixels counted before they are decoded.

        Raises:
            ValueError: it is not one, or has too many pixels.
        """
        data = io.BytesIO(self._bytes(name))
        try:
            with warnings.catch_warnings(action="ignore"), Image.open(data, formats=("PNG", "JPEG", "WEBP")) as image:
                if image.width * image.height > PIXELS:
                    raise ValueError(f"it has {image.width} × {image.height} pixels, and up to {PIXELS:,} are read")
                return image.convert("RGB")
        except (OSError, SyntaxError, Image.DecompressionBombError) as error:
            raise ValueError(f"it is no image that can be read: {error}") from None


class Source(Protocol):
    """Where the files behind scores are: a bundle, or a checkout."""

    @property
    def evidence(self) -> Mapping[str, Any]:
        """Of the run: its ``combination``, among others."""

    @property
    def folder(self) -> Callable[[str], Folder]:
        """The folder of a path."""


class ScoreFiles(NamedTuple):
    """One score, and what it was computed from."""

    score: Mapping[str, Any]
    """``score.json``."""
    rows: Sequence[Mapping[str, Any]]
    """``rows.jsonl``."""
    data: Folder
    """The dataset or question set."""
    collected: Mapping[str, Folder]
    """Collect stage → the folder with its records."""
    features: Callable[[str], Features | None]
    """Fingerprint of an encoder → what it gave; None where the bundle does not have it."""


class Bundle:
    """A bundle whose form holds; whether its content is true is for the checks.

    Raises:
        BundleError: it is none.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        size = sum(size for name, size in archive.sizes.items() if not name.endswith(_BINARY))
        if size > TEXT_BYTES:
            raise BundleError(f"has {size:,} bytes of text, and no more than {TEXT_BYTES:,} are read")
        self.features, self.folder = cache(self._features), cache(self._folder)
        try:
            manifest = strict_json.loads(archive.read(MANIFEST), in_one_form=True)
            self.evidence = strict_json.loads(archive.read(EVIDENCE), in_one_form=True)
            if (manifest["schema"], manifest["kind"]) != (SCHEMA, KIND):
                kind = f"{str(manifest['kind'])[:40]!r}, schema {str(manifest['schema'])[:40]}"
                raise BundleError(f"is of {kind}; this checker knows schema {SCHEMA}")
            self.run, self.members = dict(manifest["run"]), dict(manifest["members"])
            self.files, self.left_out = dict(manifest["files"]), dict(manifest["left_out"])
            self.named: dict[str, Mapping[str, Any]] = self.files | self.left_out
            """Path in the project → digests."""
            for path in self.named:
                check_name(path)
            self.lineages: list[dict[str, Any]] = self.evidence["lineages"]
            places = {lineage["folder"]["path"] for lineage in self.lineages}
            if not 0 < len(self.lineages) == len(places) <= 300:  # of one run; each is computed from all records
                raise BundleError("holds no score, one of them twice, or more than 300")
            for lineage in self.lineages:
                lineage["score"] = self.folder(lineage["folder"]["path"]).json("score.json")
        except BundleError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise BundleError(f"does not hold what it must: {type(error).__name__}: {error!s:.200}") from None
        if twice := self.files.keys() & self.left_out.keys():
            raise BundleError(f"both holds {min(twice)} and leaves it out")

    def _folder(self, path: str) -> Folder:
        start = f"{path}/"
        named = {name.removeprefix(start): digests for name, digests in self.named.items() if name.startswith(start)}
        held = {name for name in named if start + name in self.files}
        return Folder(path, named, held, lambda name: self.archive.read(f"{FILES}{start}{name}"))

    def score_files(self, lineage: Mapping[str, Any]) -> ScoreFiles:
        """A score, and what it was computed from; KeyError or ValueError where that cannot be read."""
        return ScoreFiles(
            score=lineage["score"],
            rows=self.folder(lineage["folder"]["path"]).rows("rows.jsonl"),
            data=self.folder(lineage["data"]["path"]),
            collected={stage: self.folder(each["path"]) for stage, each in lineage["collected"].items()},
            features=self.features,
        )

    def _features(self, encoder: str) -> Features | None:
        """``features/<fingerprint>.txt`` and ``.npy``; ValueError where they are not what they should be."""
        name = f"{FEATURES}{encoder}"
        if f"{name}.npy" not in self.archive.sizes:
            return None
        rows = self.archive.read(f"{name}.txt").decode("ascii").splitlines()
        table = np.lib.format.read_array(io.BytesIO(self.archive.read(f"{name}.npy")), allow_pickle=False)
        if table.dtype != np.float32 or table.shape[:-1] != (len(rows),) or not np.isfinite(table).all():
            raise ValueError("it is not a table of finite float32, a row for each line of its list of digests")
        return {digest: row for row, digest in enumerate(rows)}, table


def noted_of(lineage: Mapping[str, Any], folder: Mapping[str, str]) -> Mapping[str, Any]:
    """What the stage that wrote a folder depended on for it, beside the data: settings, versions, components."""
    place = folder["path"].removeprefix(f"{folder['out']}/")
    for entry in lineage["stages"].values():
        if any(out["path"] == folder["out"] for out in entry["outs"]):
            for value in entry["params"].get(RESOLVED, {}).values():
                if isinstance(value, dict) and isinstance(noted := value.get(place), dict):
                    return noted
    return {}
