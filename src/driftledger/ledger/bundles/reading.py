"""Read a bundle: its scores, and the files behind them."""

import io
import re
from collections.abc import Callable, Container, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np

from driftledger.core.canonical import canonical_json, md5_bytes, sha256_bytes
from driftledger.core.files import load_json
from driftledger.core.media import MEDIA
from driftledger.core.types import Float32
from driftledger.ledger.bundles.archive import Archive, BundleError, check_name

KIND = "driftledger-bundle"
SCHEMA = 2
MANIFEST = "bundle.json"
EVIDENCE = "evidence.json"
FILES = "files/"
LISTINGS = "listings/"
FEATURES = "features/"
LEDGER = "ledger/"
DIR = ".dir"
"""The ending of the MD5 of a folder's listing."""
RESOLVED = "data/resolved.json"
"""The file of settings that stages name in their ``params``."""
_BINARY = (*MEDIA, ".npy")
TEXT_BYTES = 256_000_000
"""The most bytes of text: a description of 2 kB for each of 100,000 records."""
MOST_VALUES = 2**21
"""The most values of one JSON text: an empty object takes 30 times its bytes."""
MOST_SCORES = 300
"""The most scores of a run; each is computed from all its records."""
_VERSION = re.compile(r"[0-9]{1,6}(\.[0-9]{1,6}){1,3}[a-z0-9.+]{0,20}")

Json = Mapping[str, Any]
Features = tuple[Mapping[str, int], Float32]
"""SHA-256 of an image's file or of a text's UTF-8 → its row; n×d features, finite."""


def load(data: bytes, *, in_one_form: bool = False) -> Any:
    """Read JSON that can be read in one way only.

    Args:
        in_one_form: require the bytes to be canonical.

    Raises:
        ValueError: it is not such JSON.
    """
    value = load_json(data, TEXT_BYTES, values=MOST_VALUES)
    if in_one_form and canonical_json(value).encode() != data:
        raise ValueError("it is not canonical JSON")
    return value


def digests(data: bytes) -> Json:
    """Describe a file as ``bundle.json`` does."""
    return {"sha256": sha256_bytes(data), "md5": md5_bytes(data), "bytes": len(data)}


def field(rows: Sequence[Json], key: str) -> list[Any]:
    """List a field of all rows."""
    return [row[key] for row in rows]


class OpenedFolder:
    """A folder behind a score; reading a missing file raises KeyError."""

    def __init__(
        self,
        path: str,
        named: Mapping[str, Json],
        held: Container[str],
        read: Callable[[str], bytes],
    ) -> None:
        """Make a folder.

        Args:
            named: the digests of each file in it, also of those that were left out.
            held: the files that ``read`` can read.
        """
        self.path = path
        self.names = named
        """Name → the digests of a file, which are known also if it was left out."""
        self._held = held
        self.json = cache(lambda name: load(read(name)))
        """Name → the content of a JSON file."""
        self.rows = cache(lambda name: [load(line) for line in read(name).splitlines()])
        """Name → the lines of a JSONL file."""

    def has(self, name: str) -> bool:
        """Return True if the file can be read."""
        return name in self._held


class Bundle:
    """A bundle in the right form; checks show whether its content is true.

    Raises:
        BundleError: the archive is not a bundle.
    """

    def __init__(self, archive: Archive) -> None:
        self.archive = archive
        size = 0
        for name, size_of_member in archive.sizes.items():
            if not name.endswith(_BINARY):
                size += size_of_member
        if size > TEXT_BYTES:
            most = f"no more than {TEXT_BYTES:,} are read"
            raise BundleError(f"has {size:,} bytes of text, and {most}")
        self.features = cache(self._features)
        self.folder = cache(self._folder)
        try:
            self._read_manifest()
        except BundleError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            why = f"{type(error).__name__}: {error!s:.200}"
            raise BundleError(f"does not hold what it must: {why}") from None
        twice = self.files.keys() & self.left_out.keys()
        if twice:
            raise BundleError(f"both holds {min(twice)} and leaves it out")

    def _read_manifest(self) -> None:
        """Read ``bundle.json``, ``evidence.json`` and the scores."""
        manifest = load(self.archive.read(MANIFEST), in_one_form=True)
        self.evidence = load(self.archive.read(EVIDENCE), in_one_form=True)
        if (manifest["schema"], manifest["kind"]) != (SCHEMA, KIND):
            kind = (
                f"{str(manifest['kind'])[:40]!r}, schema {str(manifest['schema'])[:40]}"
            )
            raise BundleError(f"is of {kind}; this driftledger knows schema {SCHEMA}")
        self.version = version_of(manifest)
        self.run = dict(manifest["run"])
        self.members = dict(manifest["members"])
        self.files = dict(manifest["files"])
        self.left_out = dict(manifest["left_out"])
        self.named: dict[str, Json] = self.files | self.left_out
        """Path in the project → digests."""
        for path in self.named:
            check_name(path)
        self.lineages: list[Json] = self.evidence["lineages"]
        paths = {lineage["folder"]["path"] for lineage in self.lineages}
        if not 0 < len(self.lineages) == len(paths) <= MOST_SCORES:
            raise BundleError(
                f"holds no score, one of them twice, or more than {MOST_SCORES}"
            )
        for lineage in self.lineages:
            lineage["score"] = self.folder(lineage["folder"]["path"]).json("score.json")

    def _folder(self, path: str) -> OpenedFolder:
        """Open the folder of a path."""
        start = f"{path}/"
        named = {}
        for name, file_digests in self.named.items():
            if name.startswith(start):
                named[name.removeprefix(start)] = file_digests
        held = {name for name in named if start + name in self.files}
        return OpenedFolder(
            path,
            named,
            held=held,
            read=lambda name: self.archive.read(f"{FILES}{start}{name}"),
        )

    def _features(self, encoder: str) -> Features | None:
        """Read ``features/<fingerprint>.txt`` and ``.npy``; ValueError if they do not fit."""
        name = f"{FEATURES}{encoder}"
        if f"{name}.npy" not in self.archive.sizes:
            return None
        rows = self.archive.read(f"{name}.txt").decode("ascii").splitlines()
        file = io.BytesIO(self.archive.read(f"{name}.npy"))
        table = np.lib.format.read_array(file, allow_pickle=False)
        has_rows = table.shape[:-1] == (len(rows),)
        if table.dtype != np.float32 or not has_rows or not np.isfinite(table).all():
            form = (
                "a table of finite float32, a row for each line of its list of digests"
            )
            raise ValueError(f"it is not {form}")
        return {digest: row for row, digest in enumerate(rows)}, table


def version_of(content: Json) -> str:
    """Return the version of driftledger that wrote a file; empty if none is named.

    Raises:
        ValueError: it is not a version.
    """
    version = content.get("driftledger", "")
    if version and not _VERSION.fullmatch(version):
        raise ValueError(f"{version!r:.40} is not a version of driftledger")
    return str(version)


def noted_of(lineage: Json, folder: Mapping[str, str]) -> Json:
    """Return the settings, versions and components that a folder's stage depends on."""
    place = folder["path"].removeprefix(f"{folder['out']}/")
    for entry in lineage["stages"].values():
        if any(out["path"] == folder["out"] for out in entry["outs"]):
            for value in entry["params"].get(RESOLVED, {}).values():
                if isinstance(value, dict) and isinstance(
                    noted := value.get(place), dict
                ):
                    return noted
    return {}
