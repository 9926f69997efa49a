"""Where an image is from, going by its bytes alone: wherever it was copied to, whatever it is called now.

Every list of images that the ledger has, ``samples.jsonl``, ``records.jsonl`` and ``questions.jsonl``, is searched for
the hash. That needs no index that could be out of date: a processor looks through several gigabytes of text per second.
"""

import json
import mmap
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from driftledger.benchmarks.base import DATASET, QUESTION_SET
from driftledger.benchmarks.records import CARD, RECORDS
from driftledger.benchmarks.registry import benchmarks
from driftledger.core.canonical import md5_bytes, sha256_bytes
from driftledger.core.errors import LedgerError
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents, beneath


class ImageHash(NamedTuple):
    """By which an image is known: the SHA-256 that records have, the MD5 that DVC has, or both."""

    sha256: str | None
    md5: str | None

    def __str__(self) -> str:
        said = {"sha256": self.sha256, "md5": self.md5}
        return ", ".join(f"{name} {value}" for name, value in said.items() if value)


class _List(NamedTuple):
    """Which file of a folder lists its images, and how."""

    role: Literal["sample", "drawn", "question"]
    file: str
    sha256: str
    """The field with the image's hash."""
    image: str
    """The field with its path below the folder."""
    card: str


_SAMPLES = _List("sample", "samples.jsonl", "sha256", "file", "dataset.json")
_QUESTIONS = _List("question", "questions.jsonl", "image_sha256", "image", "question_set.json")
_DRAWN = _List("drawn", RECORDS, "image_sha256", "image", CARD)


@cache
def _lists() -> dict[str, _List]:
    """Kind of folder, ``data/chains`` for instance → its list."""
    stages = [stage for spec in benchmarks() for stage in spec.collects]
    drawn = [stage for stage in stages if stage.record is not None and _DRAWN.sha256 in stage.record.model_fields]
    folders = dict.fromkeys(drawn, _DRAWN) | {DATASET: _SAMPLES, QUESTION_SET: _QUESTIONS}
    return {_kind(stage.path): listed for stage, listed in folders.items()}


def _kind(folder: str) -> str:
    """The first two parts of a path."""
    return "/".join(folder.split("/")[:2])


class ImageUse(NamedTuple):
    """One place that an image has in the ledger. What ``entry`` and ``card`` hold was written by others."""

    role: Literal["sample", "drawn", "question"]
    folder: str
    """Relative to the top folder."""
    folder_md5: str
    file: str
    """Below the folder."""
    md5: str | None
    """Of the image, as DVC has it; None where the folder's manifest is not at hand."""
    entry: dict[str, Any]
    """Its line of the list, as it stands there, of whatever format."""
    card: dict[str, Any]
    """What the folder says that it was made with; empty where that is not at hand."""
    doubts: list[str]
    """What does not fit together."""


class Images:
    """Looks for images in the folders that ``dvc.lock`` has, or once had."""

    def __init__(self, root: Path, outs: dict[str, str], contents: Contents) -> None:
        self._root = root
        self._outs = outs
        self._contents = contents

    @staticmethod
    def lists_images(folder: str) -> bool:
        """Whether the output at this path, relative to the top folder, lists images."""
        return len(folder.split("/")) > 2 and _kind(folder) in _lists()

    def uses(self, image: ImageHash, folder: str, md5: str) -> list[ImageUse]:
        """The places that an image has in one version of a folder.

        Raises:
            LedgerError: what the folder held is not at hand.
        """
        version, listed = LockedFile(path=folder, md5=md5, size=0), _lists()[_kind(folder)]
        is_here = self._outs.get(folder) == md5 and (self._root / folder / listed.file).is_file()
        if not is_here and image.md5 is not None and image.md5 not in self._contents.manifest(version).values():
            return []
        lines = self._root / folder / listed.file if is_here else self._file(version, listed.file)
        found = list(_lines_with(lines, self._needles(image, version, listed)))
        return [
            self._use(version, listed, entry, lines) for entry in found if self._names(image, entry, version, listed)
        ]

    def _needles(self, image: ImageHash, version: LockedFile, listed: _List) -> Iterator[bytes]:
        if image.sha256 is not None:
            yield image.sha256.encode()
            return
        for name, md5 in self._contents.manifest(version).items():
            if md5 == image.md5:
                yield json.dumps(name, ensure_ascii=False).encode()

    def _names(self, image: ImageHash, entry: dict[str, Any], version: LockedFile, listed: _List) -> bool:
        """Whether it is this image that a line lists, and not one that it mentions."""
        if image.sha256 is not None:
            return bool(entry.get(listed.sha256) == image.sha256)
        return self._contents.manifest(version).get(str(entry.get(listed.image))) == image.md5

    def _use(self, version: LockedFile, listed: _List, entry: dict[str, Any], lines: Path) -> ImageUse:
        file, manifest, card, doubts = str(entry.get(listed.image)), dict[str, str](), dict[str, Any](), list[str]()
        try:
            manifest = self._contents.manifest(version)
            if manifest.get(listed.file) != self._contents.md5_of(lines):
                doubts.append(f"{listed.file} is not the file that dvc.lock has; 'driftledger verify' tells more")
            card = _object(self._file(version, listed.card).read_bytes())
        except LedgerError as error:
            doubts.append(str(error))
            here = self._root / version.path / listed.card
            if self._outs.get(version.path) == version.md5 and here.is_file():
                card = _object(here.read_bytes())
        return ImageUse(listed.role, version.path, version.md5, file, manifest.get(file), entry, card, doubts)

    def _file(self, version: LockedFile, name: str) -> Path:
        """A file of a folder that is not, or no longer, at its path."""
        md5 = self._contents.manifest(version).get(name)
        near = beneath(version.path, name) if self._outs.get(version.path) == version.md5 else None
        path = None if md5 is None else self._contents.path(md5, near)
        if path is None:
            raise LedgerError(
                f"{beneath(version.path, name)} (folder md5 {version.md5}) is not at hand; run 'dvc fetch'"
            )
        return path


def hash_of(data: bytes) -> ImageHash:
    """Both hashes of a file's bytes."""
    return ImageHash(sha256_bytes(data), md5_bytes(data))


def _lines_with(file: Path, needles: Iterable[bytes]) -> Iterator[dict[str, Any]]:
    """The JSON objects on the lines of a file in which one of ``needles`` stands; each line once."""
    if not file.stat().st_size:
        return
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as text:
        seen: set[int] = set()
        for needle in needles:
            at = text.find(needle)
            while at >= 0:
                start, end = text.rfind(b"\n", 0, at) + 1, text.find(b"\n", at)
                end = len(text) if end < 0 else end
                if start not in seen:
                    seen.add(start)
                    yield _object(text[start:end])
                at = text.find(needle, end)


def _object(data: bytes) -> dict[str, Any]:
    """A JSON object; empty where the bytes hold something else."""
    try:
        found = json.loads(data, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _refuse(number: str) -> None:
    raise ValueError(f"{number} is no JSON")
