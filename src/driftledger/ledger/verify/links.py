"""Whether the files behind a score speak of each other: hashes inside of files, and what they are the hashes of.

DVC's hashes say that files are those that were written. These links say that what was written belongs together, and
hold for files that were handed on without DVC.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from driftledger.benchmarks._questions.records import AnswersCard, GradesCard, QuestionScore
from driftledger.benchmarks.description_records import DescriptionsCard, FidelityScore, TracScore
from driftledger.benchmarks.genception.records import ChainCard, ScoreFile
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import sha256_of
from driftledger.core.escaping import for_line
from driftledger.core.files import Record
from driftledger.ledger.findings import Finding, Report
from driftledger.ledger.lineage import AnyScore, Behind, Evidence
from driftledger.ledger.lock import LockedFile
from driftledger.ledger.objects.contents import Contents
from driftledger.ledger.verify.folders import Folder
from driftledger.ledger.verify.linked_records import (
    Data,
    check_answers,
    check_chain,
    check_descriptions,
    check_grades,
    read_dataset,
    read_question_set,
)

COMPONENTS = "components.json"
RESOLVED = "data/resolved.json"

_ROLES = {"models": ("model",), "generators": ("generator",), "encoders": ("encoder", "text_encoder")}


def check_links(root: Path, evidence: Sequence[Evidence], contents: Contents) -> Report:
    """Follow every hash that a file behind these runs holds to what it is the hash of.

    Files are read by the MD5 that the evidence says, else as they are at their paths; nothing is fetched.
    """
    links = _Links(contents)
    for behind in {each.score_file: each for run in evidence for each in run.behind}.values():
        links.check(behind)
    return links.report


class _Links:
    """Follows links; each folder once, whichever scores stand on it."""

    def __init__(self, contents: Contents) -> None:
        self._contents = contents
        self.report = Report()
        self._folders: dict[LockedFile, Folder] = {}
        self._data: dict[LockedFile, Data] = {}
        self._seen: set[tuple[str, str]] = set()

    def check(self, behind: Behind[AnyScore]) -> None:
        score, file = behind.score, behind.score_file.path
        self.report.checked["scores"] += 1
        self._check_cards(file, score.inputs)
        for finding in (*_names(behind), *_parameters(behind)):
            self.report.findings.append(finding)
        if isinstance(score, QuestionScore):
            self._check_questions(behind, score)
        elif isinstance(score, TracScore):
            self._check_trac(behind, score)
        else:
            self._check_images(behind, score)

    def _check_images(self, behind: Behind[AnyScore], score: ScoreFile | FidelityScore) -> None:
        data = self._dataset(behind.data)
        [locked] = behind.collected.values()
        folder = self._once(locked, lambda folder: check_chain(folder, data, score.inputs.chain))
        self._same(behind, "dataset_digest", score.inputs.dataset_digest, data.digest, data.card)
        self._same(behind, "chain.dataset_digest", score.inputs.chain.dataset_digest, data.digest, data.card)
        self._same_file(behind, "records_sha256", score.inputs.records_sha256, folder, "records.jsonl")
        self._same_card(behind, "chain", score.inputs.chain, folder, ChainCard)

    def _check_trac(self, behind: Behind[AnyScore], score: TracScore) -> None:
        data, inputs = self._dataset(behind.data), score.inputs
        folder = self._once(behind.collected["describe"], lambda folder: check_descriptions(folder, data))
        self._same(behind, "dataset_digest", inputs.dataset_digest, data.digest, data.card)
        self._same(behind, "descriptions.dataset_digest", inputs.descriptions.dataset_digest, data.digest, data.card)
        self._same_file(behind, "descriptions_sha256", inputs.descriptions_sha256, folder, "descriptions.jsonl")
        self._same_card(behind, "descriptions", inputs.descriptions, folder, DescriptionsCard)

    def _check_questions(self, behind: Behind[AnyScore], score: QuestionScore) -> None:
        inputs, graded = score.inputs, score.inputs.grades
        if behind.data not in self._data:
            self._data[behind.data] = read_question_set(self._folder(behind.data))
        data = self._data[behind.data]
        answers = self._once(behind.collected["answer"], lambda folder: check_answers(folder, data))
        grades = self._once(behind.collected["grade"], lambda folder: check_grades(folder, answers))
        digest = graded.answers.question_set_digest
        self._same(behind, "question_set_digest", inputs.question_set_digest, data.digest, data.card)
        self._same(behind, "grades.answers.question_set_digest", digest, data.digest, data.card)
        self._same_file(behind, "answers_sha256", inputs.answers_sha256, answers, "answers.jsonl")
        self._same_file(behind, "grades.answers_sha256", graded.answers_sha256, answers, "answers.jsonl")
        self._same_file(behind, "grades_sha256", inputs.grades_sha256, grades, "grades.jsonl")
        self._same_card(behind, "grades.answers", graded.answers, answers, AnswersCard)
        self._same_card(behind, "grades", graded, grades, GradesCard)

    def _dataset(self, locked: LockedFile) -> Data:
        if locked not in self._data:
            self._data[locked] = read_dataset(self._folder(locked))
        return self._data[locked]

    def _folder(self, locked: LockedFile) -> Folder:
        return Folder(locked, self._contents, self.report)

    def _once(self, locked: LockedFile, check: Callable[[Folder], None]) -> Folder:
        if locked not in self._folders:
            self._folders[locked] = self._folder(locked)
            check(self._folders[locked])
        return self._folders[locked]

    def _same_file(self, behind: Behind[AnyScore], key: str, said: str, folder: Folder, name: str) -> None:
        self._same(behind, key, said, folder.sha256(name), f"{folder.path}/{name}")

    def _same_card(self, behind: Behind[AnyScore], key: str, said: Record, folder: Folder, kind: type[Record]) -> None:
        card = folder.card(COMPONENTS, kind)
        where = f"{folder.path}/{COMPONENTS}"
        if card is not None:
            self._check_cards(where, card)
            self._same(behind, key, sha256_of(said.to_dict()), sha256_of(card.to_dict()), where)

    def _same(self, behind: Behind[AnyScore], key: str, said: str, found: str | None, what: str) -> None:
        """Compare what a score says of its inputs with what was found; None was found where a file is missing."""
        self.report.checked["links"] += 1
        if found is not None and said != found:
            where = f"{behind.score_file.path}: inputs.{key}"
            self.report.findings.append(Finding("bytes", where, f"it is {said}, and {what} gives {found}"))

    def _check_cards(self, where: str, record: BaseModel) -> None:
        """Every fingerprint is that of what stands beside it."""
        for way, card in _cards(record):
            self.report.checked["fingerprints"] += 1
            spec = card.model_dump(mode="json", include={"provider", "version", "settings", "identity"})
            if (where, way) not in self._seen and sha256_of(spec) != card.fingerprint:
                what = f"its fingerprint {card.fingerprint} is not that of the provider, version, settings and identity"
                self.report.findings.append(Finding("bytes", f"{where}: {way}", f"{what} beside it"))
            self._seen.add((where, way))


def _cards(record: BaseModel, way: str = "") -> Iterator[tuple[str, ComponentCard]]:
    """Every component in a record, and the way to it, e.g. ``chain.model``."""
    for name in type(record).model_fields:
        value = getattr(record, name)
        place = f"{way}.{name}" if way else name
        if isinstance(value, ComponentCard):
            yield place, value
        elif isinstance(value, BaseModel):
            yield from _cards(value, place)


def _names(behind: Behind[AnyScore]) -> Iterator[Finding]:
    """The names at the top of a score are those of the components and data in its inputs."""
    score = behind.score
    for role, card in behind.cards.items():
        named = getattr(score, "encoder" if role == "text_encoder" else role, card.name)
        if named != card.name:
            where = f"{behind.score_file.path}: {role}"
            yield Finding("bytes", where, f"it is {for_line(str(named))}, and its inputs name {for_line(card.name)}")


def _parameters(behind: Behind[AnyScore]) -> Iterator[Finding]:
    """The fingerprints and seeds with which the stages ran are those in the score."""
    for stage, entry in behind.stages.items():
        for key, value in entry.params.get(RESOLVED, {}).items():
            for card in _played(behind, key):
                if value != card.fingerprint:
                    what = f"it ran with {key} = {value}, and {behind.score_file.path} has {card.fingerprint}"
                    yield Finding("bytes", f"stage {stage}", what)
        seed, used = entry.params.get("params.yaml", {}).get("run.seed"), _setting(behind, "seed")
        if None not in (seed, used) and seed != used:
            yield Finding("bytes", f"stage {stage}", f"it ran with run.seed = {seed}, and the score has {used}")


def _played(behind: Behind[AnyScore], key: str) -> Iterable[ComponentCard]:
    """The component that ``data/resolved.json`` calls so, among those behind the score."""
    section, _, name = key.partition(".")
    roles = ("judge",) if key == "judge" else _ROLES.get(section, ())
    cards = [behind.cards[role] for role in roles if role in behind.cards]
    return [card for card in cards if key == "judge" or card.name == name]


def _setting(behind: Behind[AnyScore], name: str) -> Any:
    return behind.score.inputs.settings.get(name)
