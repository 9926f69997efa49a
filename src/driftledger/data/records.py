"""Datasets and question sets on disk.

Each has ``samples.jsonl`` or ``questions.jsonl``, a card, and images or texts.
"""

from collections.abc import Iterable, Sequence
from operator import not_
from pathlib import Path
from typing import TypeAlias

from pydantic import Field, NonNegativeInt

from driftledger.core.canonical import Json, sha256_of
from driftledger.core.errors import first_few
from driftledger.core.files import Record, read_jsonl
from driftledger.core.strict import Id, Name, RelativePath, Strict, Words, is_none
from driftledger.core.types import Medium, Sample, Split
from driftledger.data.datasets.decode import Losses

SAMPLES = "samples.jsonl"
DATASET_CARD = "dataset.json"
QUESTIONS = "questions.jsonl"
QUESTION_SET_CARD = "question_set.json"
ONE_CATEGORY = "all"
"""The category of all samples in a dataset without categories."""
Counts: TypeAlias = dict[str, int]
"""Name → how many."""
Labels: TypeAlias = dict[str, dict[Split, int]]
"""Label → split → how many samples."""


class SampleEntry(Record):
    """A line of ``samples.jsonl``: one image or text of a dataset."""

    id: Id
    file: RelativePath
    category: str | None = None
    label: str | None = None
    split: Split | None = None
    sha256: str
    width: int | None = Field(default=None, exclude_if=is_none)
    """In pixels; of an image, like ``height``."""
    height: int | None = Field(default=None, exclude_if=is_none)
    source: dict[str, str] = Field(default_factory=dict)
    """Where it came from: file name, address, licence, as far as they are known."""
    notes: list[str] = Field(default_factory=list)
    """What was repaired when it was read, e.g. ``rotated upright as its EXIF tag says``."""


class Card(Record):
    """What the cards of datasets and question sets share."""

    name: str
    provider: str
    settings: Json
    source: dict[str, str]
    blank: list[Id] = Field(default_factory=list, exclude_if=not_)
    """Ids of samples, or of questions with an image, in which reading left nothing to see."""
    frames: list[Id] = Field(default_factory=list, exclude_if=not_)
    """Ids of samples that are the first of several frames, or of questions with such an image."""
    digest: str
    """SHA-256 over id, category, label, split and file hash of every sample, or over content and
    image hash of every question, in order."""


class DatasetCard(Card):
    """``dataset.json``: the dataset's origin, counts and digest."""

    samples: int
    categories: Counts
    groups: dict[str, list[str]]
    general_category: str | None = None
    """The class of all samples, such as ``bird``: ``{category}`` in a prompt."""
    labels: Labels = Field(default_factory=dict)
    """Empty unless the dataset has a support and a test set."""
    leaks: dict[Id, Id] = Field(default_factory=dict)
    """Id of a test sample → id of the support sample that is the same, pixel for pixel."""


def loss_notes(lost: Losses | Card, total: int, things: str) -> list[str]:
    """Say of how many things nothing visible is left, or only the first frame was read.

    >>> loss_notes(Losses(["a"], ["b"]), 3, "images")[0]
    'nothing is left to see in 1 of 3 images after conversion: a'
    >>> loss_notes(Losses([], ["b"]), 3, "images")
    ['only the first frame is read of 1 of 3 images: b']
    """
    notes = []
    if lost.blank:
        share = f"{len(lost.blank):,} of {total:,} {things}"
        named = first_few(lost.blank)
        notes.append(f"nothing is left to see in {share} after conversion: {named}")
    if lost.frames:
        share = f"{len(lost.frames):,} of {total:,} {things}"
        notes.append(
            f"only the first frame is read of {share}: {first_few(lost.frames)}"
        )
    return notes


def notes_of(card: Card, total: int, things: str) -> list[str]:
    """Return notes on what was lost or left out when ``total`` things were read."""
    notes = loss_notes(card, total, things)
    if left_out := card.source.get("left_out"):
        notes.append(f"left out, since it is not read: {left_out}")
    return notes


def dataset_digest(rows: Iterable[Json]) -> str:
    """Return the digest of samples over all that a score depends on.

    Args:
        rows: the lines of ``samples.jsonl``, in order.
    """
    keys = ("id", "category", "label", "split", "sha256")
    return sha256_of([[row.get(key) for key in keys] for row in rows])


def leaks_of(rows: Sequence[Json]) -> dict[str, str]:
    """Map each test sample to the first support sample with equal bytes.

    Args:
        rows: the lines of ``samples.jsonl``.
    """
    support: dict[str, str] = {}
    for row in rows:
        if row.get("split") == "support":
            support.setdefault(row["sha256"], row["id"])
    leaks = {}
    for row in rows:
        if row.get("split") == "test" and row["sha256"] in support:
            leaks[row["id"]] = support[row["sha256"]]
    return leaks


def read_samples(folder: Path) -> list[Sample]:
    """Read the samples of a dataset folder, in the order of its manifest.

    Raises:
        StoreError: ``samples.jsonl`` is missing or damaged.
    """
    samples = []
    for entry in read_jsonl(folder / SAMPLES, SampleEntry):
        medium = Medium(folder / entry.file, entry.sha256)
        samples.append(
            Sample(
                entry.id,
                medium,
                category=entry.category,
                label=entry.label,
                split=entry.split,
            )
        )
    return samples


class QuestionImage(Strict):
    """One of the images of a question."""

    file: RelativePath
    """Below the question set's folder."""
    sha256: str


class QuestionEntry(Record):
    """A line of ``questions.jsonl``: one question, its options in the source's order."""

    id: Id
    image: RelativePath
    """The first image, below the question set's folder. The places of images in the texts are
    ``<image 1>`` and so on; an image without a place comes before the text."""
    image_sha256: str
    images: list[QuestionImage] = Field(default_factory=list, exclude_if=not_)
    """All images of a question that has several, in order."""
    image_id: Words
    """Equal for questions about the same image at the source; images of two ids may look alike."""
    question: Words
    options: list[str] = Field(default_factory=list)
    answer: NonNegativeInt | str | None = None
    """The index of the right option; or a ground truth as text, ``yes`` or ``no``."""
    refusal: NonNegativeInt | None = None
    """The index of the option that refuses."""
    subset: str | None = None
    subtask: str | None = None
    capabilities: list[str] = Field(default_factory=list)
    category: str | None = None
    source: dict[str, str] = Field(default_factory=dict)
    """Where it came from: row and file name, as far as they are known."""
    notes: list[str] = Field(default_factory=list)
    """What was repaired when its image was read, e.g. ``rotated upright as its EXIF tag says``."""

    @property
    def cluster(self) -> str:
        """The SHA-256 of its image, or those of several: equal for the same images."""
        several = "+".join(sorted(image.sha256 for image in self.images))
        return several or self.image_sha256

    def media(self, folder: Path) -> tuple[Medium, ...]:
        """Return its images in order, in the question set's folder."""
        images = self.images or [
            QuestionImage(file=self.image, sha256=self.image_sha256)
        ]
        return tuple(Medium(folder / image.file, image.sha256) for image in images)


class QuestionSetCard(Card):
    """``question_set.json``: the question set's origin, counts and digest."""

    protocol: Name
    questions: int
    images: int
    """Different ones, going by their pixels."""
    subsets: Counts = Field(default_factory=dict)
    subtasks: dict[str, Counts] = Field(default_factory=dict)
    """Subset → its subtasks → how many questions."""
    capabilities: Counts = Field(default_factory=dict)
    categories: Counts = Field(default_factory=dict)
    groups: dict[str, list[str]] = Field(default_factory=dict, exclude_if=not_)
    """Group name → its categories, which are averaged in it."""


def questions_digest(rows: Iterable[Json]) -> str:
    """Return the digest of questions over all that a score can depend on.

    This is everything but where they came from and how they are stored; the files of several images
    are numbered by their order.

    Args:
        rows: the lines of ``questions.jsonl``, in order.
    """
    left_out = {"schema", "image", "source", "notes"}
    digested = []
    for row in rows:
        digested.append({key: row[key] for key in row.keys() - left_out})
    return sha256_of(digested)


def read_questions(folder: Path) -> list[QuestionEntry]:
    """Read the questions of a question set's folder, in the order of their source.

    Raises:
        StoreError: ``questions.jsonl`` is missing or damaged.
    """
    return read_jsonl(folder / QUESTIONS, QuestionEntry)
