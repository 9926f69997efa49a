"""The records in the folders behind a score: each speaks of an image, a sample or a question that there is."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import NamedTuple

from driftledger.benchmarks._questions.records import AnswerRecord, GradeRecord
from driftledger.benchmarks.description_records import DescriptionRecord
from driftledger.benchmarks.genception.records import ChainCard, ChainRecord
from driftledger.core.seeds import derive_seed
from driftledger.data.question_sets.files import CARD, QUESTIONS, QuestionEntry, QuestionSetCard, questions_digest
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.verify.folders import Folder

SAMPLES, DATASET = "samples.jsonl", "dataset.json"


class Data(NamedTuple):
    """A dataset or question set as its own files have it."""

    card: str
    """Where the digest stands."""
    digest: str | None
    """Computed anew; None where its files cannot be read."""
    images: Mapping[str, str]
    """Id of a sample or question → SHA-256 of its image; empty where its files cannot be read."""


def read_dataset(folder: Folder) -> Data:
    """Check that a dataset's images, samples and card belong together."""
    entries, card = folder.rows(SAMPLES, SampleEntry), folder.card(DATASET, DatasetCard)
    images = [(f"sample {entry.id}", entry.file, entry.sha256) for entry in entries]
    return _data(
        folder,
        (SAMPLES, DATASET),
        images,
        {entry.id: entry.sha256 for entry in entries},
        dataset_digest(entries),
        None if card is None else (card.digest, card.samples),
    )


def read_question_set(folder: Folder) -> Data:
    """Check that a question set's images, questions and card belong together."""
    entries, card = folder.rows(QUESTIONS, QuestionEntry), folder.card(CARD, QuestionSetCard)
    images = [(f"question {entry.id}", entry.image, entry.image_sha256) for entry in entries]
    return _data(
        folder,
        (QUESTIONS, CARD),
        images,
        {entry.id: entry.image_sha256 for entry in entries},
        questions_digest(entries),
        None if card is None else (card.digest, card.questions),
    )


def _data(
    folder: Folder,
    files: tuple[str, str],
    images: list[tuple[str, str, str]],
    by_id: dict[str, str],
    digest: str,
    said: tuple[str, int] | None,
) -> Data:
    listing, card = files
    if images:
        folder.check_images(images, frozenset(files))
    where = f"{folder.path}/{card}"
    if not images or said is None:
        return Data(where, None, by_id)
    if said[0] != digest:
        folder.add(card, f"its digest is {said[0]}, and {listing} gives {digest}")
    if said[1] != len(images):
        folder.add(card, f"it speaks of {said[1]}, and {listing} has {len(images)}")
    return Data(where, digest, by_id)


def check_chain(folder: Folder, data: Data, card: ChainCard) -> None:
    """Every image of a chain is the one in its record, drawn after the one before it, from a seed of its own."""
    records = folder.rows("records.jsonl", ChainRecord)
    images = [
        (_named(record), record.image, record.image_sha256 or "none") for record in records if record.image is not None
    ]
    folder.check_images(images, frozenset({"records.jsonl", "components.json"}))
    for sample, chain in groupby(records, key=lambda record: record.sample):
        parent, known = data.images.get(sample), bool(data.images)
        for t, record in enumerate(chain, 1):
            if record.t != t or record.image not in (None, f"images/{sample}/{t}.png"):
                folder.add("records.jsonl", f"{_named(record)}: this is record {t} of its chain, or another's image")
            if known and record.parent_sha256 != parent:
                folder.add("records.jsonl", f"{_named(record)}: its parent_sha256 is not that of {_parent(record)}")
            if record.seed != derive_seed(card.seed, card.dataset, sample, record.t):
                folder.add("records.jsonl", f"{_named(record)}: its seed is not the one that follows from run.seed")
            parent = record.image_sha256
    _check_known(folder, "records.jsonl", ((_named(record), record.sample) for record in records), data)
    _check_once(folder, "records.jsonl", (_named(record) for record in records))


def _named(record: ChainRecord) -> str:
    return f"sample {record.sample}, t = {record.t}"


def _parent(record: ChainRecord) -> str:
    return "the sample's image" if record.t == 1 else f"the image at t = {record.t - 1}"


def check_descriptions(folder: Folder, data: Data) -> None:
    """Every description is of a sample that there is, given once under each condition."""
    records = folder.rows("descriptions.jsonl", DescriptionRecord)
    shown = [
        (record, f"sample {record.sample}, {record.max_tokens} tokens, {record.shots} shots") for record in records
    ]
    _check_known(folder, "descriptions.jsonl", ((said, record.sample) for record, said in shown), data)
    used = ((f"{said}: demonstration", name) for record, said in shown for name in record.demonstrations)
    _check_known(folder, "descriptions.jsonl", used, data)
    _check_once(folder, "descriptions.jsonl", (said for _, said in shown))


def check_answers(folder: Folder, data: Data) -> None:
    """Every answer is to a question that there is, given once in each order of its options."""
    answers = folder.rows("answers.jsonl", AnswerRecord)
    shown = [(f"question {answer.question}, variant {answer.variant}", answer.question) for answer in answers]
    _check_known(folder, "answers.jsonl", shown, data)
    _check_once(folder, "answers.jsonl", (said for said, _ in shown))


def check_grades(folder: Folder, answers: Folder) -> None:
    """Every grade is of an answer that there is."""
    given = {(each.question, each.variant) for each in answers.rows("answers.jsonl", AnswerRecord)}
    grades = folder.rows("grades.jsonl", GradeRecord)
    for grade in grades:
        if given and (grade.question, grade.variant) not in given:
            said = f"question {grade.question}, variant {grade.variant}"
            folder.add("grades.jsonl", f"{said}: {answers.path}/answers.jsonl has no such answer")
    shown = (f"question {g.question}, variant {g.variant}, grading {g.repeat}" for g in grades)
    _check_once(folder, "grades.jsonl", shown)


def _check_known(folder: Folder, name: str, records: Iterable[tuple[str, str]], data: Data) -> None:
    for said, whose in records:
        folder.report.checked["records"] += 1
        if data.images and whose not in data.images:
            folder.add(name, f"{said}: {data.card.rpartition('/')[0]} has none that is called {whose}")


def _check_once(folder: Folder, name: str, records: Iterable[str]) -> None:
    for said, times in Counter(records).items():
        if times > 1:
            folder.add(name, f"{said}: there are {times} such records")
