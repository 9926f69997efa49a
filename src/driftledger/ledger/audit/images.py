"""Where an image is from, going by its bytes alone: wherever it was copied to, whatever it is called now.

Every list of images that the ledger has, ``samples.jsonl``, ``records.jsonl`` and ``questions.jsonl``, is searched for
the hash. That needs no index that could be out of date: a processor looks through several gigabytes of text per second.
"""

import json
import mmap
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

from driftledger.benchmarks.base import DATASET, QUESTION_SET
from driftledger.benchmarks.records import CARD, RECORDS
from driftledger.benchmarks.registry import benchmarks
from driftledger.core.canonical import md5_bytes, sha256_bytes
from driftledger.core.errors import DriftledgerError, LedgerError
from driftledger.ledger.audit.history import LockedScore
from driftledger.ledger.audit.sources import Sources
from driftledger.ledger.audit.summary import ScoreSummary
from driftledger.ledger.lock import LockedFile


class ImageHash(NamedTuple):
    """By which an image is known: the SHA-256 that records have, the MD5 that DVC has, or both."""

    sha256: str | None
    md5: str | None

    def __str__(self) -> str:
        return ", ".join(f"{name} {value}" for name, value in self._asdict().items() if value)


def hash_of(data: bytes) -> ImageHash:
    """Both hashes of a file's bytes."""
    return ImageHash(sha256_bytes(data), md5_bytes(data))


class ImagePlace(NamedTuple):
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
    current: bool
    """Whether ``dvc.lock`` still has the folder as it was."""
    scores: dict[str, ScoreSummary]
    """Path → the scores that were made with the folder."""


class Places(NamedTuple):
    """Where an image stands, and where nobody could look for it, and why."""

    found: list[ImagePlace]
    unknown: list[str]


def find_places(sources: Sources, image: ImageHash, *, everywhere: bool = False) -> Places:
    """Where an image stands now; if it stands nowhere, or ``everywhere`` is asked, also where it ever stood."""
    places = Places([], [])
    _look(sources, image, sources.outs, sources.scores, places)
    history = sources.history
    if history is None or (places.found and not everywhere):
        return places
    seen = set(sources.outs.items())
    for state in reversed(history.states):
        outs = {path: md5 for path, md5 in history.outs(state).items() if (path, md5) not in seen}
        seen |= outs.items()
        _look(sources, image, outs, history.scores_at(state), places)
    return places


def _look(
    sources: Sources, image: ImageHash, outs: Mapping[str, str], scores: Iterator[LockedScore], places: Places
) -> None:
    """Add what is found in these versions of folders, which ``scores`` may have been made of."""
    known: list[LockedScore] = []
    for path, md5 in outs.items():
        if path.count("/") < 2 or _kind(path) not in _lists():
            continue
        try:
            found = list(_Folder(sources, path, md5).places(image))
        except DriftledgerError as error:
            places.unknown.append(str(error))
            continue
        if found:
            known += scores  # once, and only if any are wanted
        made = {score.path: score.facts for score in known if score.folders.get(path) == md5}
        places.found.extend(place._replace(scores=made) for place in found)


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


class _Folder:
    """One version of a folder that lists images."""

    def __init__(self, sources: Sources, path: str, md5: str) -> None:
        self._contents = sources.contents
        self._here = sources.root / path
        self._locked = LockedFile(path=path, md5=md5, size=0)
        self._listed = _lists()[_kind(path)]
        self._current = sources.outs.get(path) == md5

    def places(self, image: ImageHash) -> Iterator[ImagePlace]:
        """The places that an image has in it.

        Raises:
            LedgerError: what the folder held is not at hand.
        """
        listed, lines = self._listed, self._here / self._listed.file
        if not (self._current and lines.is_file()):
            if image.md5 is not None and image.md5 not in self._manifest.values():
                return
            lines = self._file(listed.file)
        if image.sha256 is not None:
            needles = [image.sha256]
        else:
            named = (name for name, md5 in self._manifest.items() if md5 == image.md5)
            needles = [json.dumps(name, ensure_ascii=False) for name in named]
        for entry in _lines_with(lines, map(str.encode, needles)):
            # a line that only mentions the image, as its parent for instance, does not list it
            if image.sha256 is not None:
                lists = entry.get(listed.sha256) == image.sha256
            else:
                lists = self._manifest.get(str(entry.get(listed.image))) == image.md5
            if lists:
                yield self._place(entry, lines)

    @property
    def _manifest(self) -> dict[str, str]:
        return self._contents.manifest(self._locked)

    def _place(self, entry: dict[str, Any], lines: Path) -> ImagePlace:
        listed, manifest, card, doubts = self._listed, dict[str, str](), dict[str, Any](), list[str]()
        try:
            manifest = self._manifest
            if manifest.get(listed.file) != self._contents.md5_of(lines):
                doubts.append(f"{listed.file} is not the file that dvc.lock has; 'driftledger verify' tells more")
            card = _object(self._file(listed.card).read_bytes())
        except LedgerError as error:
            doubts.append(str(error))
            here = self._here / listed.card
            if self._current and here.is_file():
                card = _object(here.read_bytes())
        file = str(entry.get(listed.image))
        return ImagePlace(
            role=listed.role,
            folder=self._locked.path,
            folder_md5=self._locked.md5,
            file=file,
            md5=manifest.get(file),
            entry=entry,
            card=card,
            doubts=doubts,
            current=self._current,
            scores={},
        )

    def _file(self, name: str) -> Path:
        """A file of the folder, which need not be at its path any more."""
        path = self._contents.within(self._locked, name)
        if path is None:
            folder = f"{self._locked.path}/{name} (folder md5 {self._locked.md5})"
            raise LedgerError(f"{folder} is not at hand; run 'dvc fetch'")
        return path


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
