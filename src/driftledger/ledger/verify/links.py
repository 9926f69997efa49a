"""Whether the files behind a score belong together: hashes inside of files, and what they are the hashes of.

DVC's hashes say that files are those that were written. These links say that what was written belongs together, and
hold for files that were handed on without DVC.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from driftledger.benchmarks.base import DATASET, Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import INPUTS, Record, read_json, read_jsonl
from driftledger.core.text import for_line
from driftledger.data.question_sets import files as questions
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Folder, Lineage
from driftledger.ledger.lock import RESOLVED
from driftledger.ledger.objects.contents import Contents

SAMPLES, DATASET_CARD = "samples.jsonl", "dataset.json"

R = TypeVar("R", bound=Record)
T = TypeVar("T")


def check_links(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Follow every hash that a file behind these runs holds to what it is the hash of; nothing is fetched."""
    links = _Links(contents)
    for lineage in {each.folder: each for run in evidence for each in run.lineages}.values():
        links.check(lineage)
    return links.result


class _Data(NamedTuple):
    card: str
    """Where the digest is."""
    digest: str | None
    """Computed from the files; None where they cannot be read."""
    images: Mapping[str, str]
    """Id of a sample or question → SHA-256 of its image; empty where the files cannot be read."""


class _Opened:
    """A folder, file by file. What cannot be read in it becomes a finding."""

    def __init__(self, folder: Folder, contents: Contents, result: VerifyResult) -> None:
        self.path, self.result, self._contents = folder.path, result, contents
        try:
            self.files = contents.manifest(folder)
        except LedgerError:  # which the check of hashes reports
            self.files = contents.listing_here(folder.path)

    def file(self, name: str) -> Path | None:
        md5 = self.files.get(name)
        return None if md5 is None else self._contents.path(md5, f"{self.path}/{name}")

    def rows(self, name: str, kind: type[R]) -> list[R]:
        return self._read(name, lambda file: read_jsonl(file, kind)) or []

    def card(self, name: str, kind: type[R]) -> R | None:
        return self._read(name, lambda file: read_json(file, kind))

    def _read(self, name: str, read: Callable[[Path], T]) -> T | None:
        file = self.file(name)
        try:
            return read(file) if file else None
        except StoreError as error:
            self.add(name, str(error).replace(str(file), name))
            return None

    def sha256(self, name: str) -> str | None:
        file = self.file(name)
        return sha256_file(file) if file else None

    def add(self, name: str, what: str) -> None:
        self.result.findings.append(Finding("bytes", f"{self.path}/{name}", for_line(what)))

    def check_images(self, images: Sequence[tuple[str, str, str]], others: set[str]) -> None:
        """Every image is the one in its record, and none is there without a record.

        Args:
            images: whose it is, its file, and its SHA-256 by the record.
            others: the files that are no images.
        """
        for whose, name, recorded in images:
            self.result.checked["images"] += 1
            sha256 = self.sha256(name)
            if sha256 is None:
                what = for_line(f"{whose} has this image, which is not here; run 'dvc pull'")
                self.result.findings.append(Finding("missing", f"{self.path}/{for_line(name)}", what))
            elif sha256 != recorded:
                self.add(name, f"{whose} has an image with sha256 {recorded}, and this one has {sha256}")
        for name in sorted(self.files.keys() - {name for _, name, _ in images} - others - {INPUTS}):
            self.add(name, "no record has this file")


class _Links:
    """Follows links; each folder once, whichever scores are made from it."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.result = VerifyResult()
        self._folders: dict[Folder, tuple[_Opened, CollectedCard | None]] = {}
        self._data: dict[Folder, _Data] = {}

    def check(self, lineage: Lineage) -> None:
        score, spec, file = lineage.score, lineage.spec, lineage.score_path
        self._check_components(f"{file}: components", score.components)
        if set(score.keys) != set(spec.scores.keys) or spec.scores.at(score.keys) != lineage.folder.path:
            self._add(f"{file}: keys", f"they are {score.keys}, and it is in {lineage.folder.path}")
            return
        for role, card in score.components.items():
            if score.keys.get(role, card.name) != card.name:
                self._add(f"{file}: components.{role}", f"it is {card.name}, and the key is {score.keys[role]}")
        self._check_parameters(lineage)
        data = self._read_data(lineage)
        self._same(f"{file}: inputs.data_digest", score.inputs.data_digest, data.digest, data.card)
        for stage in spec.collects:
            self._check_stage(lineage, stage, data)

    def _check_stage(self, lineage: Lineage, stage: Stage, data: _Data) -> None:
        """The folder of a collect stage, and what the score says of it."""
        key, file, inputs = lineage.collected[stage.name], lineage.score_path, lineage.score.inputs
        if key not in self._folders:
            folder = _Opened(key, self._contents, self.result)
            self._folders[key] = folder, folder.card(CARD, CollectedCard)
            self._check_folder(lineage, stage, data)
        folder, card = self._folders[key]
        records = f"{folder.path}/{RECORDS}"
        self._same(
            f"{file}: inputs.records.{stage.name}", inputs.records.get(stage.name), folder.sha256(RECORDS), records
        )
        if card is not None:
            where = f"{folder.path}/{CARD}"
            for role, each in card.components.items():
                self._same(f"{file}: components.{role}", lineage.score.components.get(role), each, where)
            for name, value in card.protocol.items():
                self._same(f"{file}: inputs.protocol.{name}", inputs.protocol.get(name), value, where)

    def _check_folder(self, lineage: Lineage, stage: Stage, data: _Data) -> None:
        """What the folder says by itself."""
        folder, card = self._folders[lineage.collected[stage.name]]
        if card is None:
            return
        where, benchmark = f"{folder.path}/{CARD}", lineage.score.benchmark
        self._check_components(f"{where}: components", card.components)
        place = stage.path.format_map({key: card.keys.get(key, "?") for key in stage.keys})
        if (card.benchmark, card.stage, place) != (benchmark, stage.name, folder.path):
            folder.add(CARD, f"it is the card of {card.stage} of {card.benchmark} in {place}")
        self._same(f"{where}: data_digest", card.data_digest, data.digest, data.card)
        records = folder.rows(RECORDS, CollectedRecord)
        if records:
            results = [(record.place, each) for record in records for each in record.results]
            drawn = [
                (place, each.image, each.image_sha256 or "none") for place, each in results if each.image is not None
            ]
            folder.check_images(drawn, {RECORDS, CARD})
        self.result.checked["records"] += len(records)
        for record in records:
            if record.step and data.images and record.unit not in data.images:
                folder.add(RECORDS, f"{record.place}: {lineage.data.path} has nothing with the id {record.unit}")
        for name, times in Counter(record.place for record in records).items():
            if times > 1:
                folder.add(RECORDS, f"{name}: there are {times} such records")

    def _read_data(self, lineage: Lineage) -> _Data:
        """Check that the images, the list and the card of a dataset or question set belong together."""
        if lineage.data in self._data:
            return self._data[lineage.data]
        folder = _Opened(lineage.data, self._contents, self.result)
        images: list[tuple[str, str, str]]
        card: DatasetCard | questions.QuestionSetCard | None
        count: int | None
        if lineage.spec.data == DATASET:
            word, listing, name = "sample", SAMPLES, DATASET_CARD
            samples, card = folder.rows(listing, SampleEntry), folder.card(name, DatasetCard)
            images, digest = [(each.id, each.file, each.sha256) for each in samples], dataset_digest(samples)
            count = card.samples if card else None
        else:
            word, listing, name = "question", questions.QUESTIONS, questions.CARD
            asked, card = folder.rows(listing, questions.QuestionEntry), folder.card(name, questions.QuestionSetCard)
            images, digest = [(e.id, e.image, e.image_sha256) for e in asked], questions.questions_digest(asked)
            count = card.questions if card else None
        if images:
            folder.check_images([(f"{word} {each}", file, sha256) for each, file, sha256 in images], {listing, name})
            if card and (card.digest, count) != (digest, len(images)):
                what = f"{(card.digest, count)}, and {listing} gives {digest}, {len(images)}"
                folder.add(name, f"its digest and number of {word}s are {what}")
        by_id = {each: sha256 for each, _, sha256 in images}
        data = _Data(f"{folder.path}/{name}", digest if images and card else None, by_id)
        self._data[lineage.data] = data
        return data

    def _check_parameters(self, lineage: Lineage) -> None:
        """The versions, fingerprints, seed and settings with which the stages ran are those in the score."""
        score, spec = lineage.score, lineage.spec
        given = {**score.inputs.settings, **score.inputs.protocol, **score.inputs.beside}
        fingerprints = {role: card.fingerprint for role, card in score.components.items()}
        for stage in (*spec.collects, spec.scores):
            name, folder = stage.lock(score.keys), lineage.folders[stage.name]
            noted = lineage.stages[name].params.get(RESOLVED, {}).get(name.replace("@", "."), {})
            ran = noted.get(folder.path.removeprefix(f"{folder.out}/"), {}) if isinstance(noted, dict) else {}
            for key, value in ran.items() if isinstance(ran, dict) else ():
                recorded = fingerprints.get(key, given.get(key, value))
                if stage is spec.scores and key == "version":
                    recorded = score.inputs.version
                if not isinstance(value, dict) and _plain(recorded) != _plain(value):
                    what = f"{folder.path} ran with {key} = {value!s:.80}, and the score has {recorded!s:.80}"
                    self._add(f"dvc.lock: {name}", what)

    def _same(self, where: str, stored: object, computed: object, what: str) -> None:
        """Compare what a file says of another with what that gives; None where the other is missing."""
        self.result.checked["links"] += 1
        if computed is not None and _plain(stored) != _plain(computed):
            self._add(where, f"it is {stored!s:.80}, and {what} gives {computed!s:.80}")

    def _check_components(self, where: str, components: Mapping[str, ComponentCard]) -> None:
        for role, card in components.items():
            self.result.checked["fingerprints"] += 1
            spec = card.model_dump(mode="json", include={"provider", "version", "settings", "identity"})
            if sha256_of(spec) != card.fingerprint:
                what = "does not follow from its provider, version, settings, identity"
                self._add(f"{where}.{role}", f"its fingerprint {card.fingerprint} {what}")

    def _add(self, where: str, what: str) -> None:
        self.result.findings.append(Finding("bytes", for_line(where), for_line(what)))


def _plain(value: Any) -> Any:
    """A setting with numbers as text: ``1e-05`` is a number to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if isinstance(value, ComponentCard) or value is None else str(value)
