"""The records in the folders behind a score: each is of a sample or question that there is, and fits its neighbours."""

from collections import Counter
from collections.abc import Mapping
from typing import NamedTuple

from driftledger.benchmarks.base import DATASET, Benchmark, Stage
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, CollectedRecord
from driftledger.data.question_sets import files as questions
from driftledger.data.records import DatasetCard, SampleEntry, dataset_digest
from driftledger.ledger.verify.folders import Folder

SAMPLES, DATASET_CARD = "samples.jsonl", "dataset.json"


class Data(NamedTuple):
    """A dataset or question set as its own files have it."""

    card: str
    """Where the digest stands."""
    digest: str | None
    """Computed anew; None where its files cannot be read."""
    images: Mapping[str, str]
    """Id of a sample or question → SHA-256 of its image; empty where its files cannot be read."""


class _Unit(NamedTuple):
    id: str
    image: str
    sha256: str


def read_data(folder: Folder, stage: Stage) -> Data:
    """Check that the images, the list and the card of a dataset or question set belong together."""
    card: DatasetCard | questions.QuestionSetCard | None
    if stage == DATASET:
        word, listing, name = "sample", SAMPLES, DATASET_CARD
        samples = folder.rows(listing, SampleEntry)
        units = [_Unit(each.id, each.file, each.sha256) for each in samples]
        digest, card = dataset_digest(samples), folder.card(name, DatasetCard)
        counted = card.samples if card else 0
    else:
        word, listing, name = "question", questions.QUESTIONS, questions.CARD
        asked = folder.rows(listing, questions.QuestionEntry)
        units = [_Unit(each.id, each.image, each.image_sha256) for each in asked]
        digest, card = questions.questions_digest(asked), folder.card(name, questions.QuestionSetCard)
        counted = card.questions if card else 0
    if units:
        folder.check_images(
            [(f"{word} {each.id}", each.image, each.sha256) for each in units], frozenset({listing, name})
        )
    if units and card and card.digest != digest:
        folder.add(name, f"its digest is {card.digest}, and {listing} gives {digest}")
    if units and card and counted != len(units):
        folder.add(name, f"it counts {counted} {word}s, and {listing} has {len(units)}")
    by_id = {each.id: each.sha256 for each in units}
    return Data(f"{folder.path}/{name}", digest if units and card else None, by_id)


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
        folder.add(CARD, f"its records cannot be followed by it: {type(error).__name__}: {error!s:.200}")
