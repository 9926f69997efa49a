"""What a bundle says it holds, and its scores with the files behind them, as the checks read them."""

import hashlib
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from driftledger_check import strict_json
from driftledger_check.archive import Archive, name_problem

KIND, SCHEMA = "driftledger-bundle", 2
MANIFEST, EVIDENCE, ENVIRONMENT = "bundle.json", "evidence.json", "environment.json"
FILES, LISTINGS, FEATURES, BESIDE, LEDGER = "files/", "listings/", "features/", "beside/", "ledger/"
DIR = ".dir"
"""What the MD5 of a folder's listing ends in."""
RESOLVED = "data/resolved.json"
"""The file whose keys are in a stage's ``params``."""
COMBINATION = ("model", "generator", "encoder")
DATA_KEYS = ("dataset", "question_set")
BESIDE_SETTINGS = ("ratings",)
"""Settings that name a file of the user's."""
PIXELS = 50_000_000
"""Of one image, as ``max_pixels`` has it where datasets are built; decoded it takes 150 MB, one image at a time."""

_FILE = {"sha256": str, "md5": str, "bytes": int}
_MANIFEST = {
    "schema": int,
    "kind": str,
    "run": {"name": str, "combination": [str], "fingerprint": str},
    "files": {str: _FILE},
    "left_out": {str: _FILE},
    "members": {str: str},
}
_LOCKED = {"path": str, "md5": str}
_ENTRY = {"deps": [_LOCKED], "outs": [_LOCKED], "params": {str: dict}}
_FOLDER = {"path": str, "out": str, "md5": str}
_LINEAGE = {"folder": _FOLDER, "data": _FOLDER, "collected": {str: _FOLDER}, "stages": {str: _ENTRY}}
_EVIDENCE = {"name": str, "combination": [str], "fingerprint": str, "lineages": [_LINEAGE]}
_CARD = {"name": str, "fingerprint": str, "provider": str, "version": str, "settings": dict, "identity": dict}
_SCORE = {
    "benchmark": str,
    "keys": {str: str},
    "components": {str: _CARD},
    "inputs": {"data_digest": str, "records": {str: str}, "protocol": dict, "settings": dict},
}

_SHA256 = re.compile("[0-9a-f]{64}")
_NPY = re.compile(
    rb"\x93NUMPY\x01\0(..)\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d{1,9}), (\d{1,9})\), \} *\n",
    re.DOTALL,
)

Vector = NDArray[np.float32]


class BundleError(ValueError):
    """Not a bundle; its text says why, as a phrase after the file's name."""


class Digests(NamedTuple):
    """A file, as ``bundle.json`` names it."""

    sha256: str
    md5: str
    size: int

    @classmethod
    def of(cls, data: bytes) -> "Digests":
        """Those of these bytes."""
        md5 = hashlib.md5(data, usedforsecurity=False).hexdigest()
        return cls(hashlib.sha256(data).hexdigest(), md5, len(data))

    def to_dict(self) -> dict[str, Any]:
        return dict(zip(_FILE, self, strict=True))


@dataclass(frozen=True)
class ScoreFiles:
    """One score, and what it was computed from."""

    score: Mapping[str, Any]
    """``score.json``."""
    rows: Sequence[Mapping[str, Any]]
    """``rows.jsonl``."""
    data: "Folder"
    """The dataset or question set."""
    collected: Mapping[str, "Folder"]
    """Collect stage → the folder with its records."""
    features: "Features"
    beside: Mapping[str, bytes]
    """Setting, ``ratings`` for instance → the user's file that went into the score."""


class Folder:
    """A folder behind a score. Every method but :meth:`has` raises KeyError for a file that it has not."""

    def __init__(self, bundle: "Bundle", path: str) -> None:
        self._bundle, self.path = bundle, path
        self._read: dict[str, Any] = {}

    @cached_property
    def names(self) -> list[str]:
        """Every file in it, relative to it, those that were left out as well."""
        start = f"{self.path}/"
        return [each.removeprefix(start) for each in self._bundle.named if each.startswith(start)]

    def digests(self, name: str) -> Digests:
        """Known also where the bytes themselves were left out."""
        return self._bundle.named[f"{self.path}/{name}"]

    def has(self, name: str) -> bool:
        return f"{self.path}/{name}" in self._bundle.files

    def sha256(self, name: str) -> str:
        return self.digests(name).sha256

    def json(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = strict_json.loads(self._bytes(name))
        return self._read[name]

    def rows(self, name: str) -> list[dict[str, Any]]:
        """The lines of a JSONL file."""
        if name not in self._read:
            self._read[name] = strict_json.lines(self._bytes(name))
        found: list[dict[str, Any]] = self._read[name]
        return found

    def image(self, name: str) -> Image.Image:
        """An RGB image, its pixels counted before they are decoded."""
        return opened(self._bytes(name))

    def _bytes(self, name: str) -> bytes:
        return self._bundle.archive.read(f"{FILES}{self.path}/{name}")


class Features:
    """What encoders gave: ``features/<fingerprint>.npy`` and ``.txt``."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.table = cache(self._table)

    def of(self, encoder: str, digests: Sequence[str]) -> Vector | None:
        """n×d float32, a row per SHA-256 of an image's file or of a text's UTF-8; None where one is missing."""
        if f"{FEATURES}{encoder}.npy" not in self._archive.names:
            return None
        places, vectors = self.table(encoder)
        try:
            rows = [places[digest] for digest in digests]
        except KeyError:
            return None
        return vectors[rows]

    def _table(self, encoder: str) -> tuple[Mapping[str, int], Vector]:
        """SHA-256 → its row, and all rows; ValueError where the members are not what they should be."""
        digests = self._archive.read(f"{FEATURES}{encoder}.txt").decode("ascii").split("\n")
        places = {digest: row for row, digest in enumerate(digests[:-1])}
        if digests[-1] or len(places) != len(digests) - 1 or not all(map(_SHA256.fullmatch, places)):
            raise ValueError("its list of digests is not one SHA-256 a line, each once")
        return places, vectors(self._archive.read(f"{FEATURES}{encoder}.npy"), len(places))


class Bundle:
    """A bundle whose form holds; whether its content is true is for the checks.

    Raises:
        BundleError: it is none.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        size = sum(archive.size(each) for each in archive.names if each.endswith((".json", ".jsonl")))
        if size > strict_json.JSON_BYTES:
            raise BundleError(f"has {size:,} bytes of JSON, and no more than {strict_json.JSON_BYTES:,} are read")
        said = self._json(MANIFEST, _MANIFEST)
        if (said["schema"], said["kind"]) != (SCHEMA, KIND):
            kind = f"{str(said['kind'])[:40]!r}, schema {said['schema']}"
            raise BundleError(f"is of {kind}; this checker knows schema {SCHEMA}")
        self.evidence = self._json(EVIDENCE, _EVIDENCE)
        self.run: Mapping[str, Any] = said["run"]
        self.files, self.left_out = (
            {path: Digests(*(each[key] for key in _FILE)) for path, each in said[part].items()}
            for part in ("files", "left_out")
        )
        self.members: Mapping[str, str] = said["members"]
        self.named = self.files | self.left_out
        """Path in the project → digests."""
        for path in self.named:
            if problem := name_problem(path):
                raise BundleError(f"names a file {path[:80]!r}, which {problem}")
        if twice := self.files.keys() & self.left_out.keys():
            raise BundleError(f"both holds {min(twice)} and leaves it out")
        self.features = Features(archive)
        self.folder = cache(lambda path: Folder(self, path))
        self.lineages: list[dict[str, Any]] = self.evidence["lineages"]
        for lineage in self.lineages:
            try:
                score = self.folder(lineage["folder"]["path"]).json("score.json")
            except (KeyError, ValueError) as error:
                raise BundleError(f"has no {lineage['folder']['path'][:80]!r}/score.json to read: {error}") from None
            if wrong := strict_json.misfit(score, _SCORE):
                raise BundleError(f"has a {lineage['folder']['path'][:80]!r}/score.json that is none: {wrong}")
            lineage["score"] = score

    def beside(self, lineage: Mapping[str, Any]) -> dict[str, str]:
        """Setting → SHA-256 of the user's file that went into a score."""
        noted = {key: str(noted_of(lineage, lineage["folder"]).get(key, "none")) for key in BESIDE_SETTINGS}
        return {key: value for key, value in noted.items() if value != "none"}

    def score_files(self, lineage: Mapping[str, Any]) -> ScoreFiles:
        """A score, and what it was computed from; KeyError or ValueError where that cannot be read."""
        beside = self.beside(lineage).items()
        return ScoreFiles(
            score=lineage["score"],
            rows=self.folder(lineage["folder"]["path"]).rows("rows.jsonl"),
            data=self.folder(lineage["data"]["path"]),
            collected={stage: self.folder(each["path"]) for stage, each in lineage["collected"].items()},
            features=self.features,
            beside={key: self.archive.read(BESIDE + sha) for key, sha in beside if BESIDE + sha in self.archive.names},
        )

    def _json(self, name: str, shape: Any) -> dict[str, Any]:
        try:
            value: dict[str, Any] = strict_json.loads(self.archive.read(name), in_one_form=True)
        except KeyError:
            raise BundleError(f"is not a bundle: it has no {name}") from None
        except ValueError as error:
            raise BundleError(f"has a {name} that cannot be read: {error}") from None
        if wrong := strict_json.misfit(value, shape):
            raise BundleError(f"has a {name} that is not one: {wrong}")
        return value


def noted_of(lineage: Mapping[str, Any], folder: Mapping[str, str]) -> Mapping[str, Any]:
    """What the stage that wrote a folder depended on for it, beside the data: settings, versions, components."""
    place = folder["path"].removeprefix(f"{folder['out']}/")
    for entry in lineage["stages"].values():
        if any(out["path"] == folder["out"] for out in entry["outs"]):
            for value in entry["params"].get(RESOLVED, {}).values():
                if isinstance(value, dict) and isinstance(noted := value.get(place), dict):
                    return noted
    return {}


def opened(data: bytes) -> Image.Image:
    """A PNG as RGB, its pixels counted before they are decoded.

    Raises:
        ValueError: it is not one, or has too many pixels.
    """
    try:
        with warnings.catch_warnings(action="ignore"), Image.open(io.BytesIO(data), formats=("PNG",)) as image:
            if image.width * image.height > PIXELS:
                raise ValueError(f"it has {image.width} × {image.height} pixels, and no more than {PIXELS:,} are read")
            return image.convert("RGB")
    except (OSError, SyntaxError, Image.DecompressionBombError) as error:
        raise ValueError(f"it is no image that can be read: {error}") from None


def vectors(data: bytes, rows: int) -> Vector:
    """The n×d finite float32 of an ``.npy`` file, whose header is matched and not evaluated.

    Raises:
        ValueError: it is anything else, or has not ``rows`` rows.
    """
    header = _NPY.match(data)
    if header is None or header.end() != 10 + int.from_bytes(header[1], "little"):
        raise ValueError("it is not a table of little-endian float32 in C order")
    n, d = int(header[2]), int(header[3])
    if n != rows or len(data) != header.end() + 4 * n * d:
        raise ValueError(f"it says that it has {n} × {d} numbers, and has {len(data) - header.end():,} bytes")
    found = np.frombuffer(data, "<f4", offset=header.end()).reshape(n, d)
    if not np.isfinite(found).all():
        raise ValueError("it holds a number that is not finite")
    return found
