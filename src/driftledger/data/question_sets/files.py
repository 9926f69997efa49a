"""What a question set is on disk: images, ``questions.jsonl`` and ``question_set.json``."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from driftledger.core.canonical import sha256_of
from driftledger.core.files import Record, read_jsonl
from driftledger.core.strict import Id, Name, RelativePath, Words

QUESTIONS, CARD = "questions.jsonl", "question_set.json"


class QuestionEntry(Record):
    """A line of ``questions.jsonl``: one question, with the options in the order of their source."""

    id: Id
    image: RelativePath
    """Below the question set's folder."""
    image_sha256: str
    image_id: Words
    """Equal for questions about the same image at the source; images of two ids may look alike."""
    question: Words
    options: list[str] = Field(default_factory=list)
    answer: Annotated[int, Field(ge=0)] | str | None = None
    """The index of the right option, where one is; or what is right as text: a ground truth, ``yes`` or ``no``."""
    refusal: int | None = Field(default=None, ge=0)
    """The index of the option that refuses."""
    subset: str | None = None
    subtask: str | None = None
    capabilities: list[str] = Field(default_factory=list)
    category: str | None = None
    source: dict[str, str] = Field(default_factory=dict)
    """Where it came from: row and file name, as far as they are known."""
    notes: list[str] = Field(default_factory=list)
    """What was repaired when its image was read, e.g. ``rotated upright as its EXIF tag says``."""


class QuestionSetCard(Record):
    """``question_set.json``: what the question set is, and the digest of what it holds."""

    name: str
    provider: str
    protocol: Name
    settings: dict[str, Any]
    source: dict[str, str]
    questions: int
    images: int
    """Different ones, going by their pixels."""
    subsets: dict[str, int] = Field(default_factory=dict)
    subtasks: dict[str, dict[str, int]] = Field(default_factory=dict)
    """Subset → its subtasks → how many questions."""
    capabilities: dict[str, int] = Field(default_factory=dict)
    categories: dict[str, int] = Field(default_factory=dict)
    groups: dict[str, list[str]] = Field(default_factory=dict, exclude_if=lambda groups: not groups)
    """Group name → its categories, which are averaged in it."""
    digest: str
    """SHA-256 over every question's content and its image's hash, in order."""


def questions_digest(entries: Sequence[QuestionEntry]) -> str:
    """The digest of a question set of these questions, in order.

    It is over what a score can depend on: everything but where they came from and how they are stored.
    """
    left_out = {"schema_", "image", "source", "notes"}
    return sha256_of([entry.model_dump(mode="json", exclude=left_out) for entry in entries])


def read_questions(folder: Path) -> list[QuestionEntry]:
    """The questions of a question set's folder, in the order of their source.

    Raises:
        StoreError: ``questions.jsonl`` is missing or damaged.
    """
    return read_jsonl(folder / QUESTIONS, QuestionEntry)
