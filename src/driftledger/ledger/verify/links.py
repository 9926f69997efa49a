"""Whether the files behind a score belong together: hashes inside of files, and what they are the hashes of.

DVC's hashes say that files are those that were written. These links say that what was written belongs together, and
hold for files that were handed on without DVC.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import INPUTS, read_json, read_jsonl
from driftledger.data.question_sets import files as questions
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.findings import Finding, VerifyResult
from driftledger.ledger.lineage import Evidence, Folder, Lineage
from driftledger.ledger.lock import RESOLVED
from driftledger.ledger.objects.contents import Contents

SAMPLES, DATASET_CARD = "samples.jsonl", "dataset.json"

T = TypeVar("T")


def check_links(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Follow every hash that a file behind these runs holds to what it is the hash of."""
    links = _Links(contents)
    for lineage in {each.folder: each for run in evidence for each in run.lineages}.values():
        links.check(lineage)
    return links.result


class _Links:
    """Follows links; each folder once, whichever scores are made from it. What cannot be read becomes a finding."""

    def __init__(self, contents: Contents) -> None:
        self._contents, self.result = contents, VerifyResult()
        self._data, self._collected = cache(self._check_data), cache(self._check_collected)

    def check(self, lineage: Lineage) -> None:
        score, spec, file = lineage.score, lineage.spec, lineage.score_path
        self._check_components(f"{file}: components", score.components)
        if set(score.keys) != set(spec.scores.keys) or spec.scores.at(score.keys) != lineage.folder.path:
            self._find(f"{file}: keys", f"they are {score.keys}, and it is in {lineage.folder.path}")
            return
        for role, card in score.components.items():
            if score.keys.get(role, card.name) != card.name:
                self._find(f"{file}: components.{role}", f"it is {card.name}, and the key is {score.keys[role]}")
        self._check_parameters(lineage)
        digest, data = self._data(lineage.data, spec.data == DATASET), lineage.data.path
        self._same(f"{file}: inputs.data_digest", score.inputs.data_digest, digest, data)
        stage = spec.collects
        folder, inputs = lineage.collected[stage.name], score.inputs
        sha256, collected = self._sha256(folder, RECORDS), self._collected(folder)
        where = f"{folder.path}/{RECORDS}"
        self._same(f"{file}: inputs.records.{stage.name}", inputs.records.get(stage.name), sha256, where)
        if collected is None:
            return
        where = f"{folder.path}/{CARD}"
        place = stage.path.format_map({key: collected.keys.get(key, "?") for key in stage.keys})
        if (collected.benchmark, collected.stage, place) != (spec.name, stage.name, folder.path):
            self._find(where, f"it is the card of {collected.stage} of {collected.benchmark} in {place}")
        self._same(f"{where}: data_digest", collected.data_digest, digest, data)
        for role, each in collected.components.items():
            self._same(f"{file}: components.{role}", score.components.get(role), each, where)
        for name, value in collected.protocol.items():
            self._same(f"{file}: inputs.protocol.{name}", inputs.protocol.get(name), value, where)

    def _check_collected(self, folder: Folder) -> CollectedCard | None:
        """The card of a collected folder, whose records must have the images that are in it."""
        card = self._read(folder, CARD, partial(read_json, kind=CollectedCard))
        records = self._read(folder, RECORDS, partial(read_jsonl, kind=CollectedRecord)) or []
        self.result.checked["records"] += len(records)
        drawn = [
            (record.place, each.image, each.image_sha256)
            for record in records
            for each in record.results
            if each.image is not None
        ]
        if records:
            self._check_images(folder, drawn, {RECORDS, CARD})
        if card is not None:
            self._check_components(f"{folder.path}/{CARD}: components", card.components)
        return card

    def _check_data(self, folder: Folder, is_dataset: bool) -> str | None:
        """The digest of a dataset or question set, whose images, list and card must belong together; None where they
        cannot be read."""
        card: DatasetCard | questions.QuestionSetCard | None
        if is_dataset:
            listing, name = SAMPLES, DATASET_CARD
            samples = self._read(folder, listing, partial(read_jsonl, kind=SampleEntry)) or []
            card = self._read(folder, name, partial(read_json, kind=DatasetCard))
            images = [(f"sample {each.id}", each.file, each.sha256) for each in samples]
            digest, count = dataset_digest(samples), card.samples if card else None
        else:
            listing, name = questions.QUESTIONS, questions.CARD
            entries = self._read(folder, listing, partial(read_jsonl, kind=questions.QuestionEntry)) or []
            card = self._read(folder, name, partial(read_json, kind=questions.QuestionSetCard))
            images = [(f"question {each.id}", each.image, each.image_sha256) for each in entries]
            digest, count = questions.questions_digest(entries), card.questions if card else None
        if not images or card is None:
            return None
        self._check_images(folder, images, {listing, name})
        if (card.digest, count) != (digest, len(images)):
            what = f"{(card.digest, count)}, and {listing} gives {digest}, {len(images)}"
            self._find(f"{folder.path}/{name}", f"its digest and length of the list are {what}")
        return digest

    def _check_images(self, folder: Folder, images: Sequence[tuple[str, str, str | None]], others: set[str]) -> None:
        """Every image is the one in its record, and none is there without a record.

        Args:
            images: whose it is, its file, and its SHA-256 by the record.
            others: the files that are no images.
        """
        self.result.checked["images"] += len(images)
        for whose, name, recorded in images:
            sha256 = self._sha256(folder, name)
            if sha256 is None:
                what = f"{whose} has this image, which is not here; run 'dvc pull'"
                self.result.findings.append(Finding("missing", f"{folder.path}/{name}", what))
            elif sha256 != recorded:
                what = f"{whose} has an image with sha256 {recorded}, and this one has {sha256}"
                self._find(f"{folder.path}/{name}", what)
        for name in sorted(self._files(folder).keys() - {name for _, name, _ in images} - others - {INPUTS}):
            self._find(f"{folder.path}/{name}", "no record has this file")

    def _check_parameters(self, lineage: Lineage) -> None:
        """The versions, fingerprints, seed and settings with which the stages ran are those in the score."""
        score, spec = lineage.score, lineage.spec
        given = {**score.inputs.settings, **score.inputs.protocol, **score.inputs.beside}
        fingerprints = {role: card.fingerprint for role, card in score.components.items()}
        for stage in spec.stages[1:]:
            name, folder = stage.lock(score.keys), lineage.folders[stage.name]
            noted = lineage.stages[name].params.get(RESOLVED, {}).get(name.replace("@", "."), {})
            ran = noted.get(folder.path.removeprefix(f"{folder.out}/"), {}) if isinstance(noted, dict) else {}
            for key, value in ran.items() if isinstance(ran, dict) else ():
                recorded = fingerprints.get(key, given.get(key, value))
                if stage is spec.scores and key == "version":
                    recorded = score.inputs.version
                if not isinstance(value, dict) and _plain(recorded) != _plain(value):
                    what = f"{folder.path} ran with {key} = {value!s:.80}, and the score has {recorded!s:.80}"
                    self._find(f"dvc.lock: {name}", what)

    def _check_components(self, where: str, components: Mapping[str, ComponentCard]) -> None:
        for role, card in components.items():
            self.result.checked["fingerprints"] += 1
            spec = card.model_dump(mode="json", include={"provider", "version", "settings", "identity"})
            if sha256_of(spec) != card.fingerprint:
                what = "does not follow from its provider, version, settings, identity"
                self._find(f"{where}.{role}", f"its fingerprint {card.fingerprint} {what}")

    def _same(self, where: str, stored: object, computed: object, what: str) -> None:
        """Compare what a file says of another with what that gives; None where the other is missing."""
        self.result.checked["links"] += 1
        if computed is not None and stored != computed:
            self._find(where, f"it is {stored!s:.80}, and {what} gives {computed!s:.80}")

    def _files(self, folder: Folder) -> dict[str, str]:
        try:
            return self._contents.manifest(folder)
        except LedgerError:  # which the check of hashes reports
            return self._contents.listing_here(folder.path)

    def _file(self, folder: Folder, name: str) -> Path | None:
        md5 = self._files(folder).get(name)
        return None if md5 is None else self._contents.path(md5, f"{folder.path}/{name}")

    def _sha256(self, folder: Folder, name: str) -> str | None:
        file = self._file(folder, name)
        return None if file is None else sha256_file(file)

    def _read(self, folder: Folder, name: str, read: Callable[[Path], T]) -> T | None:
        file, where = self._file(folder, name), f"{folder.path}/{name}"
        try:
            return None if file is None else read(file)
        except StoreError as error:
            self._find(where, str(error).replace(str(file), where))
            return None

    def _find(self, where: str, what: str) -> None:
        if (finding := Finding("bytes", where, what)) not in self.result.findings:
            self.result.findings.append(finding)


def _plain(value: Any) -> Any:
    """A setting with numbers as text: ``1e-05`` is a number to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None else str(value)
