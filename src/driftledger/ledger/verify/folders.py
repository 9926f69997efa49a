"""The folders behind a score, file by file: images are those in their records, and records are of what there is."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeVar

from driftledger.benchmarks.base import DATASET, Benchmark, Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.escaping import for_line
from driftledger.core.files import Record, read_json, read_jsonl
from driftledger.core.shortening import shortened
from driftledger.data.question_sets import files as questions
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents, beneath

SAMPLES, DATASET_CARD = "samples.jsonl", "dataset.json"

R = TypeVar("R", bound=Record)
T = TypeVar("T")


class Folder:
    """One output of a stage, file by file. What cannot be read in it is noted as a finding."""

    def __init__(self, locked: LockedFile, contents: Contents, result: VerifyResult) -> None:
        self.path = locked.path
        self.result = result
        self._contents = contents
        self._names: dict[str, str] | None
        try:
            self._names = contents.manifest(locked)
        except LedgerError:  # which the check of bytes names; what stands at its path may still say more
            self._names = None

    @property
    def names(self) -> frozenset[str]:
        """Every file in it, relative to it."""
        return frozenset(self._contents.folder_here(self.path) if self._names is None else self._names)

    def file(self, name: str) -> Path | None:
        """A file of the folder: with the locked bytes if they can be had, else the one at its path, if any."""
        near = beneath(self.path, name)
        md5 = (self._names or {}).get(name)
        found = self._contents.path(md5, near) if md5 else None
        here = self._contents.root / near
        return found or (here if here.is_file() else None)

    def rows(self, name: str, kind: type[R]) -> list[R]:
        """The lines of a JSONL file; none where it cannot be read."""
        return self._read(name, lambda file: read_jsonl(file, kind)) or []

    def card(self, name: str, kind: type[R]) -> R | None:
        """The one record of a JSON file; None where it cannot be read."""
        return self._read(name, lambda file: read_json(file, kind))

    def _read(self, name: str, read: Callable[[Path], T]) -> T | None:
        file = self.file(name)
        try:
            return read(file) if file else None
        except StoreError as error:
            self.add(name, str(error).replace(str(file), name))
            return None

    def sha256(self, name: str) -> str | None:
        """Hex SHA-256 of a file; None where it cannot be had."""
        file = self.file(name)
        return self._contents.sha256_of(file) if file else None

    def add(self, name: str, what: str) -> None:
        """Note that something about a file of the folder does not hold."""
        self.result.findings.append(Finding("bytes", beneath(self.path, name), for_line(what)))

    def check_images(self, images: Sequence[tuple[str, str, str]], others: frozenset[str]) -> None:
        """Every image is the one in its record, and none is there without a record.

        Args:
            images: whose it is, its file, and its SHA-256 by the record.
            others: the files beside the images.
        """
        for whose, name, recorded in images:
            found = self.sha256(name)
            self.result.checked["images"] += 1
            if found is None:
                what = f"{whose} has this image, which is not to be had"
                self.result.findings.append(Finding("missing", beneath(self.path, name), for_line(what)))
            elif found != recorded:
                self.add(name, f"{whose} has an image with sha256 {recorded}, and this one has {found}")
        for name in sorted(self.names - {name for _, name, _ in images} - others):
            self.add(name, "no record has this file")


class Data(NamedTuple):
    """A dataset or question set as its own files have it."""

    card: str
    """Where the digest stands."""
    digest: str | None
    """Computed anew; None where its files cannot be read."""
    images: Mapping[str, str]
    """Id of a sample or question → SHA-256 of its image; empty where its files cannot be read."""


def read_data(folder: Folder, stage: Stage) -> Data:
    """Check that the images, the list and the card of a dataset or question set belong together."""
    card: DatasetCard | questions.QuestionSetCard | None
    if stage == DATASET:
        word, listing, name = "sample", SAMPLES, DATASET_CARD
        samples = folder.rows(listing, SampleEntry)
        images = [(each.id, each.file, each.sha256) for each in samples]
        digest, card = dataset_digest(samples), folder.card(name, DatasetCard)
        counted = card.samples if card else 0
    else:
        word, listing, name = "question", questions.QUESTIONS, questions.CARD
        asked = folder.rows(listing, questions.QuestionEntry)
        images = [(each.id, each.image, each.image_sha256) for each in asked]
        digest, card = questions.questions_digest(asked), folder.card(name, questions.QuestionSetCard)
        counted = card.questions if card else 0
    if images:
        folder.check_images(
            [(f"{word} {each}", file, sha256) for each, file, sha256 in images], frozenset({listing, name})
        )
    if images and card and card.digest != digest:
        folder.add(name, f"its digest is {card.digest}, and {listing} gives {digest}")
    if images and card and counted != len(images):
        folder.add(name, f"it counts {counted} {word}s, and {listing} has {len(images)}")
    by_id = {each: sha256 for each, _, sha256 in images}
    return Data(f"{folder.path}/{name}", digest if images and card else None, by_id)


def check_records(folder: Folder, spec: Benchmark, stage: Stage, card: CollectedCard, data: Data) -> None:
    """Check the records of a collect stage, and the images that were drawn for them."""
    if stage.record is None:
        raise ValueError(f"{stage.name} of {spec.name} has no records")
    records = folder.rows(RECORDS, stage.record)
    if records and stage.record.drawn is not CollectedRecord.drawn:  # a stage that draws nothing may write other files
        drawn = [(record.place, *record.drawn) for record in records if record.drawn is not None]
        folder.check_images(drawn, frozenset({RECORDS, CARD}))
    folder.result.checked["records"] += len(records)
    for record in records:
        if data.images and record.unit not in data.images:
            folder.add(RECORDS, f"{record.place}: {data.card.rpartition('/')[0]} has none that is called {record.unit}")
    for place, times in Counter(record.place for record in records).items():
        if times > 1:
            folder.add(RECORDS, f"{place}: there are {times} such records")
    try:
        for linked in spec.links(stage.name, records, card, data.images):
            folder.add(RECORDS, f"{linked.record}: {linked.problem}")
    except (LookupError, TypeError, ValueError) as error:
        folder.add(CARD, f"its records cannot be followed by it: {type(error).__name__}: {shortened(str(error))}")
