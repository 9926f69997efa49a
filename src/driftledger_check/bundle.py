"""What a bundle says it holds, and its scores with the files behind them, as the checks read them."""

import hashlib
import io
import re
import warnings
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from driftledger_check import strict_json
from driftledger_check.archive import Archive, name_problem
from driftledger_check.files import ScoreFiles, Vector
from driftledger_check.limits import JSON_BYTES, PIXELS

KIND = "driftledger-bundle"
MANIFEST, EVIDENCE, ENVIRONMENT, STATEMENT = "bundle.json", "evidence.json", "environment.json", "statement.json"
LINE, PROOF, CHECKPOINT = "ledger/line.json", "ledger/proof.json", "ledger/checkpoint.json"
FILES, FEATURES, BESIDE = "files/", "features/", "beside/"
RESOLVED = "data/resolved.json"
"""The file whose keys stand in a stage's ``params``."""
COMBINATION = ("model", "generator", "encoder")
DATA_KEYS = ("dataset", "question_set")

_FILE = {"sha256": str, "md5": str, "bytes": int}
_MANIFEST = {
    "schema": int,
    "kind": str,
    "run": {"name": str, "combination": [str], "fingerprint": str},
    "files": {str: _FILE},
    "left_out": {str: _FILE},
    "members": {str: str},
}
_LOCKED = {"path": str, "md5": str, "size": int}
_CARD = {"name": str, "fingerprint": str, "provider": str, "version": str, "settings": dict, "identity": dict}
_SCORE = {
    "benchmark": str,
    "keys": {str: str},
    "components": {str: _CARD},
    "inputs": {"data_digest": str, "records": {str: str}, "protocol": dict, "settings": dict},
}
_ENTRY = {"deps": [_LOCKED], "outs": [_LOCKED], "params": {str: dict}}
_LINEAGE = {
    "score": _SCORE,
    "score_file": _LOCKED,
    "rows_file": _LOCKED,
    "data": _LOCKED,
    "collected": {str: _LOCKED},
    "stages": {str: _ENTRY},
}
_EVIDENCE = {"name": str, "combination": [str], "fingerprint": str, "lineages": [_LINEAGE]}

_NPY = re.compile(
    rb"\x93NUMPY\x01\0(..)\{'descr': '<f4', 'fortran_order': False, 'shape': \((\d{1,9}), (\d{1,9})\), \} *\n",
    re.DOTALL,
)


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
        return {"sha256": self.sha256, "md5": self.md5, "bytes": self.size}


class ProjectFolder:
    """An output of a stage, as the bundle has it."""

    def __init__(self, bundle: "Bundle", path: str) -> None:
        self._bundle, self.path = bundle, path
        self._read: dict[str, Any] = {}

    @cached_property
    def names(self) -> list[str]:
        """Every file in it, relative to it, those that were left out as well."""
        start = f"{self.path}/"
        return [each.removeprefix(start) for each in self._bundle.named if each.startswith(start)]

    def digests(self, name: str) -> Digests:
        """KeyError for a file that it has not."""
        return self._bundle.named[f"{self.path}/{name}"]

    def has(self, name: str) -> bool:
        return f"{self.path}/{name}" in self._bundle.files

    def sha256(self, name: str) -> str:
        return self.digests(name).sha256

    def json(self, name: str) -> Any:
        if name not in self._read:
            self._read[name] = strict_json.loads(self._bytes(name))
        return self._read[name]

    def rows(self, name: str) -> Sequence[Mapping[str, Any]]:
        if name not in self._read:
            self._read[name] = strict_json.lines(self._bytes(name))
        found: list[dict[str, Any]] = self._read[name]
        return found

    def image(self, name: str) -> Image.Image:
        return opened(self._bytes(name))

    def _bytes(self, name: str) -> bytes:
        return self._bundle.archive.read(f"{FILES}{self.path}/{name}")


class BundledFeatures:
    """``features/<encoder>.npy`` and ``.txt`` of a bundle."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self.table = cache(self._table)

    def of(self, encoder: str, digests: Sequence[str]) -> Vector | None:
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
        if digests[-1] or len(places) != len(digests) - 1 or not all(map(_is_sha256, places)):
            raise ValueError("its list of digests is not one SHA-256 a line, each once")
        return places, vectors(self._archive.read(f"{FEATURES}{encoder}.npy"), len(places))


class Bundle:
    """A bundle whose form holds; whether what it says is so is for the checks.

    Raises:
        BundleError: it is none.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        if (
            size := sum(archive.size(each) for each in archive.names if each.endswith((".json", ".jsonl")))
        ) > JSON_BYTES:
            raise BundleError(f"has {size:,} bytes of JSON, and no more than {JSON_BYTES:,} are read")
        said = self._json(MANIFEST, _MANIFEST)
        if (said["schema"], said["kind"]) != (1, KIND):
            raise BundleError(f"is of {str(said['kind'])[:40]!r}, schema {said['schema']}; this checker knows schema 1")
        self.evidence = self._json(EVIDENCE, _EVIDENCE)
        self.run: Mapping[str, Any] = said["run"]
        self.files = {path: Digests(**_renamed(each)) for path, each in said["files"].items()}
        self.left_out = {path: Digests(**_renamed(each)) for path, each in said["left_out"].items()}
        self.members: Mapping[str, str] = said["members"]
        self.named = self.files | self.left_out
        """Path in the project → digests."""
        for path in self.named:
            if problem := name_problem(path):
                raise BundleError(f"names a file {path[:80]!r}, which {problem}")
        if twice := self.files.keys() & self.left_out.keys():
            raise BundleError(f"both holds {min(twice)} and leaves it out")
        self.features = BundledFeatures(archive)
        self.folder = cache(lambda path: ProjectFolder(self, path))

    @property
    def lineages(self) -> list[dict[str, Any]]:
        """What the evidence has of each score."""
        found: list[dict[str, Any]] = self.evidence["lineages"]
        return found

    @property
    def components(self) -> set[str]:
        """The fingerprint of every component behind a score."""
        return {card["fingerprint"] for each in self.lineages for card in each["score"]["components"].values()}

    def beside(self, lineage: Mapping[str, Any]) -> dict[str, str]:
        """Setting → SHA-256 of the user's file that went into a score."""
        start = f"beside.{lineage['score']['benchmark']}."
        noted = [each["params"].get(RESOLVED, {}) for each in lineage["stages"].values()]
        found = {key: value for params in noted for key, value in params.items() if key.startswith(start)}
        return {key.removeprefix(start): str(value) for key, value in found.items() if value != "none"}

    def score_files(self, lineage: Mapping[str, Any]) -> ScoreFiles:
        """A score, and what it was computed from; KeyError or ValueError where that cannot be read."""
        score_folder, _, name = lineage["score_file"]["path"].rpartition("/")
        rows_folder, _, rows = lineage["rows_file"]["path"].rpartition("/")
        beside = self.beside(lineage).items()
        return ScoreFiles(
            place=place_of(lineage["score"]),
            score=self.folder(score_folder).json(name),
            rows=self.folder(rows_folder).rows(rows),
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
        if wrong := misfit(value, shape):
            raise BundleError(f"has a {name} that is not one: {wrong}")
        return value


def place_of(score: Mapping[str, Any]) -> str:
    """Names a score among those of a run: the benchmark, the data, and what else tells it apart."""
    return "/".join([score["benchmark"], *(v for k, v in score["keys"].items() if k in DATA_KEYS), *own_keys(score)])


def own_keys(score: Mapping[str, Any]) -> list[str]:
    """What tells several scores of a benchmark on the same data apart, in the order of their stage's name."""
    return [value for key, value in sorted(score["keys"].items()) if key not in (*COMBINATION, *DATA_KEYS)]


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


def misfit(value: Any, shape: Any, where: str = "it") -> str:
    """What of a JSON value is not as ``shape`` has it: a type, ``[shape]``, ``{str: shape}``, or members that must be
    there; empty where all is."""
    if isinstance(shape, type):
        fits = isinstance(value, shape) and not (shape is int and isinstance(value, bool))
        return "" if fits else f"{where} is not a {shape.__name__}"
    if not isinstance(value, type(shape)):
        return f"{where} is not a {type(shape).__name__}"
    if isinstance(shape, list):
        parts = [(each, shape[0], f"{where}[{number}]") for number, each in enumerate(value)]
    elif str in shape:
        parts = [(each, shape[str], f"{where}.{key}") for key, each in value.items()]
    else:
        parts = [(value.get(key), each, f"{where}.{key}") for key, each in shape.items()]
    return next((wrong for each, some, place in parts if (wrong := misfit(each, some, place))), "")


def _renamed(said: Mapping[str, Any]) -> dict[str, Any]:
    return {"sha256": said["sha256"], "md5": said["md5"], "size": said["bytes"]}


def _is_sha256(text: str) -> bool:
    return re.fullmatch("[0-9a-f]{64}", text) is not None
