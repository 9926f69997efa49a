"""Whether every file behind a run is, byte for byte, the one that was recorded, and whether these files fit together.

DVC's hashes say that files are those that were written. The hashes inside of files say that what was written belongs
together, and hold for files that were handed on without DVC.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

from driftledger.benchmarks.base import DATASET
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import sha256_file, sha256_of
from driftledger.core.errors import LedgerError, StoreError
from driftledger.core.files import INPUTS, Made, read_json, read_jsonl
from driftledger.data import records
from driftledger.ledger.findings import Finding, Kind, VerifyResult
from driftledger.ledger.lineage import Evidence, Folder, Lineage
from driftledger.ledger.lock import LOCK, RESOLVED, locked_now
from driftledger.ledger.objects.contents import FETCH, Contents
from driftledger.ledger.objects.files import listing_md5

T = TypeVar("T")


def check_hashes(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Hash every file behind these runs, and check the entries of ``dvc.lock`` that name them: each stage ran its own
    command, and read what another wrote."""
    lineages = [each for run in evidence for each in run.lineages]
    result = check_folders([folder for each in lineages for folder in each.folders.values()], contents)
    stages = {name: entry for each in lineages for name, entry in each.stages.items()}
    result.checked["lock entries"] = len(stages)
    wrote = {out.path: (name, out.md5) for name, entry in stages.items() for out in entry.outs}
    for name, entry in stages.items():
        command, where = f"driftledger stage {name.replace('@', ' ')}", f"{LOCK}: {name}"
        if entry.cmd != command:
            result.findings.append(Finding("bytes", where, f"it ran {entry.cmd!s:.80}, not {command}"))
        for dep in entry.deps:
            by, md5 = wrote.get(dep.path, (name, dep.md5))
            if md5 != dep.md5:
                what = f"it read {dep.path} with md5 {dep.md5}, and {by} wrote it with {md5}; run 'dvc repro'"
                result.findings.append(Finding("bytes", where, what))
    return result


def check_folders(folders: Iterable[Folder], contents: Contents) -> VerifyResult:
    """Hash every file of these folders.

    Those that ``dvc.lock`` has now must be in the workspace as they were written, if they are there at all. Others are
    read from wherever their bytes are.
    """
    check = _Check(contents)
    now = {(out.path, out.md5) for entry in locked_now(contents.root).values() for out in entry.outs}
    for folder in dict.fromkeys(folders):
        check.hashes(folder, contents.listing_here(folder.path) if (folder.out, folder.md5) in now else {})
    return check.result


def check_links(evidence: Sequence[Evidence], contents: Contents) -> VerifyResult:
    """Compare every hash inside of a file behind these runs with what it is the hash of."""
    check = _Check(contents)
    for lineage in {each.folder: each for run in evidence for each in run.lineages}.values():
        check.links(lineage)
    return check.result


class _Check:
    """Compares files with what is recorded of them; each folder once. What cannot be read becomes a finding."""

    def __init__(self, contents: Contents) -> None:
        self._contents, self.result = contents, VerifyResult()
        self._data, self._collected = cache(self._check_data), cache(self._check_collected)

    def hashes(self, folder: Folder, here: Mapping[str, str]) -> None:
        """Check a folder by the MD5 of its files, and against ``here``, its files in the workspace."""
        try:
            files = self._contents.manifest(folder)
        except LedgerError:
            if not here:
                self._find(folder.path, f"no such folder of md5 {folder.md5} is here; {FETCH}", "missing")
                return
            md5, files = listing_md5(self._contents.listing_here(folder.out)), {**here}
            what = f"{folder.out} has md5 {md5}, and {LOCK} has {folder.md5}; run 'git status' or 'dvc status'"
            self._find(folder.out, what)
        else:
            self.result.checked["files"] += len(files)
            if not files:
                what = f"{folder.out} of md5 {folder.md5} has no such folder; run 'dvc repro'"
                self._find(folder.path, what, "missing")
        for name, md5 in files.items():
            path = f"{folder.path}/{name}"
            for cached in self._contents.cached(md5):
                if self._contents.here.md5(cached) != md5:
                    root = self._contents.root
                    place = cached.relative_to(root) if cached.is_relative_to(root) else cached
                    what = f"DVC's cache holds other bytes under the name of {path}; delete it and run 'dvc fetch'"
                    self._find(place.as_posix(), what)
            is_found = self._contents.path(md5, path) is not None
            if here.get(name, md5) != md5:
                more = "" if is_found else f", which is nowhere here; {FETCH}"
                self._find(path, f"it has md5 {here[name]}, and was written with {md5}{more}")
            elif not is_found:
                self._find(path, f"no file with md5 {md5} is here; {FETCH}", "missing")
            elif here and name not in here:
                self._find(path, f"it is not in its folder; 'dvc checkout {folder.out}' restores it", "missing")
        for name in sorted(here.keys() - files.keys()):
            self._find(f"{folder.path}/{name}", "the folder was written without this file; delete it")
        self._check_inputs(folder, files)

    def _check_inputs(self, folder: Folder, files: Mapping[str, str]) -> None:
        """The digest that the stage noted in ``inputs.json`` is that of the other files."""
        others = {name: md5 for name, md5 in files.items() if name != INPUTS}
        paths = {name: self._contents.path(md5, f"{folder.path}/{name}") for name, md5 in others.items()}
        here = {name: path for name, path in paths.items() if path is not None}
        if len(here) < len(paths):
            return
        where = f"{folder.path}/{INPUTS}"
        if INPUTS not in files:
            what = f"nothing says what the folder was made from; run 'dvc repro -f {folder.out}'"
            self._find(where, what, "missing")
            return
        noted = self._read(folder, INPUTS, partial(read_json, kind=Made))
        if noted and noted.files != sha256_of({name: sha256_file(path) for name, path in here.items()}):
            self._find(where, "its digest is not that of the files beside it; one of them was changed")

    def links(self, lineage: Lineage) -> None:
        """Follow the hashes in a score to its components, data and records."""
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
        path, collected = self._path(folder, RECORDS), self._collected(folder)
        sha256, where = path and sha256_file(path), f"{folder.path}/{RECORDS}"
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
        """The card of a collected folder, once its images or sounds are checked against its records."""
        card = self._read(folder, CARD, partial(read_json, kind=CollectedCard))
        records = self._read(folder, RECORDS, partial(read_jsonl, kind=CollectedRecord)) or []
        self.result.checked["records"] += len(records)
        results = [(record.place, each) for record in records for each in record.results]
        media = [(place, each.file, each.sha256) for place, each in results if each.file is not None]
        if records:
            self._check_media(folder, media, {RECORDS, CARD})
        if card is not None:
            self._check_components(f"{folder.path}/{CARD}: components", card.components)
        return card

    def _check_data(self, folder: Folder, is_dataset: bool) -> str | None:
        """The digest of a dataset or question set, once its media, list and card are checked; None where they cannot
        be read."""
        card: records.DatasetCard | records.QuestionSetCard | None
        if is_dataset:
            listing, name = records.SAMPLES, records.DATASET_CARD
            samples = self._read(folder, listing, partial(read_jsonl, kind=records.SampleEntry)) or []
            card = self._read(folder, name, partial(read_json, kind=records.DatasetCard))
            media = [(f"sample {each.id}", each.file, each.sha256) for each in samples]
            digest, count = records.dataset_digest(samples), card.samples if card else None
        else:
            listing, name = records.QUESTIONS, records.QUESTION_SET_CARD
            entries = self._read(folder, listing, partial(read_jsonl, kind=records.QuestionEntry)) or []
            card = self._read(folder, name, partial(read_json, kind=records.QuestionSetCard))
            media = [(f"question {each.id}", each.image, each.image_sha256) for each in entries]
            digest, count = records.questions_digest(entries), card.questions if card else None
        if not media or card is None:
            return None
        self._check_media(folder, media, {listing, name})
        if (card.digest, count) != (digest, len(media)):
            what = f"{(card.digest, count)}, and {listing} gives {digest}, {len(media)}"
            self._find(f"{folder.path}/{name}", f"its digest and length of the list are {what}")
        return digest

    def _check_media(self, folder: Folder, media: Sequence[tuple[str, str, str | None]], others: set[str]) -> None:
        """Every image or sound is the one in its record, and every file has a record.

        Args:
            media: who has it, its file, and its SHA-256 by the record.
            others: the files that are neither images nor sounds.
        """
        self.result.checked["media"] += len(media)
        for owner, name, recorded in media:
            path = self._path(folder, name)
            if path is None:
                what = f"{owner} has this file, which is not here; run 'dvc pull'"
                self._find(f"{folder.path}/{name}", what, "missing")
            elif (sha256 := sha256_file(path)) != recorded:
                what = f"{owner} has a file with sha256 {recorded}, and this one has {sha256}"
                self._find(f"{folder.path}/{name}", what)
        for name in sorted(self._files(folder).keys() - {name for _, name, _ in media} - others - {INPUTS}):
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
                    self._find(f"{LOCK}: {name}", what)

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

    def _path(self, folder: Folder, name: str) -> Path | None:
        md5 = self._files(folder).get(name)
        return None if md5 is None else self._contents.path(md5, f"{folder.path}/{name}")

    def _read(self, folder: Folder, name: str, read: Callable[[Path], T]) -> T | None:
        file, where = self._path(folder, name), f"{folder.path}/{name}"
        try:
            return None if file is None else read(file)
        except StoreError as error:
            self._find(where, str(error).replace(str(file), where))
            return None

    def _find(self, where: str, what: str, kind: Kind = "bytes") -> None:
        if (finding := Finding(kind, where, what)) not in self.result.findings:
            self.result.findings.append(finding)


def _plain(value: Any) -> Any:
    """A setting with numbers as text: ``1e-05`` is a number to DVC's YAML and text to PyYAML's."""
    if isinstance(value, dict):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    return value if value is None else str(value)
