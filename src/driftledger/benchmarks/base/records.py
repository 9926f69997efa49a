"""The record of a unit's calls, and the card of a folder of records."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from driftledger.benchmarks.base.parsing.refusal import says_none_arrived
from driftledger.collect.call import Call
from driftledger.components.base import ComponentCard
from driftledger.core.canonical import Json
from driftledger.core.errors import StoreError
from driftledger.core.files import Record, SparseRecord, stream_jsonl
from driftledger.core.strict import Id, Name, RelativePath
from driftledger.core.text import shortened
from driftledger.core.types import Medium, Outcome, PromptUsage, Result, Split
from driftledger.scoring.score import ALARM, Flag

RECORDS = "records.jsonl"
CARD = "components.json"
_OF_A_CALL = {"usage", "image", "data", "medium"}
"""Fields of a result that records leave out."""
LEAST_INPUTS = 5
"""From so many samples or questions on, equal replies to all are an alarm."""
MOST_LACKING = 0.01
"""A larger share of replies that say that no image arrived is an alarm."""


@dataclass(frozen=True, kw_only=True)
class RecordedResult(Result):
    """A result in a record; its image is a file in the folder of the record."""

    role: Name
    """Who was asked: ``model``, ``generator``, ``judge``, ``example_model``."""
    key: str
    """The key of the call, under which the store keeps its result."""
    outcome: Outcome = field()  # always written
    file: RelativePath | None = None
    """The path of its image, relative to the folder."""
    sha256: str | None = None

    @classmethod
    def of(cls, role: str, call: Call, result: Result, file: str | None = None) -> Self:
        """Record a result.

        Args:
            file: the future path of its image, relative to the folder.
        """
        values = vars(result) | {"role": role, "key": call.key, "usage": None}
        values |= {"file": None, "sha256": None}
        if result.medium is not None:
            values |= {"file": file, "sha256": result.medium.sha256}
        return cls(**values)


class StepExtra(BaseModel):
    """The facts that our benchmarks note of a step; other benchmarks may add to them."""

    model_config = ConfigDict(extra="allow")

    parent_sha256: str | None = None
    """Of a chain: of the file before, which is described, or of the text that is drawn first."""
    seed: int | None = None
    """Of a chain: of the drawing."""
    split: Split | None = None
    max_tokens: int | None = None
    """Of TRAC: the length that was allowed; None is the model's own limit."""
    shots: int = Field(default=0, ge=0)
    demonstrations: list[Id] = Field(default_factory=list)
    """Of TRAC: ids of the support samples that were shown with their descriptions, in that
    order."""
    order: list[int] = Field(default_factory=list)
    """Of a question: option ids in the order in which they were shown as A, B, C, …"""


def _checked(extra: Json) -> Json:
    StepExtra.model_validate(extra)
    return extra


class CollectedRecord(SparseRecord):
    """A line of ``records.jsonl``: a step of a unit, with the results of its calls."""

    unit: Id
    """The sample or question that it is about."""
    step: int = Field(ge=0)
    """t of a chain, which order of the options, which condition; from 1 on. 0 is what was asked
    beforehand."""
    repeat: int = Field(default=0, ge=0)
    """Which of the unit's repeats or gradings; the first has the number 0."""
    results: list[RecordedResult]
    """In the order in which the calls were made."""
    extra: Annotated[Json, AfterValidator(_checked)] = Field(default_factory=dict)
    """What else the benchmark knows of the step, as :class:`StepExtra`."""

    @field_validator("results", mode="before")
    @classmethod
    def _without_calls(cls, results: Any) -> Any:
        """Refuse fields that only the result of a call has."""
        for result in results if isinstance(results, list) else ():
            if isinstance(result, dict) and (strange := _OF_A_CALL & result.keys()):
                raise ValueError(f"a recorded result has no {min(strange)!r}")
        return results

    @property
    def outcome(self) -> Outcome:
        """The outcome of the last call that was not OK; OK if there is none."""
        for result in reversed(self.results):
            if result.outcome is not Outcome.OK:
                return result.outcome
        return Outcome.OK

    @property
    def error(self) -> str | None:
        """The reason of a failure or refusal, if the component gives one."""
        return next(
            (result.error for result in self.results if result.error is not None), None
        )

    @property
    def place(self) -> str:
        """A phrase that names it within its folder."""
        repeat = f", repeat {self.repeat}" if self.repeat else ""
        return f"{self.unit}, step {self.step}{repeat}"

    @property
    def checks_judge(self) -> bool:
        """True if the judge graded a calibration answer, whose grade is known."""
        return self.step == 0 and self.by("judge") is not None

    def by(self, role: str) -> RecordedResult | None:
        """Return the first result of a role; None if it was not asked."""
        return next((result for result in self.results if result.role == role), None)

    @property
    def text(self) -> str | None:
        """The text of the model's reply."""
        reply = self.by("model")
        return None if reply is None else reply.text

    @property
    def drawing(self) -> RecordedResult | None:
        """The generator's result, if it is an image."""
        drawn = self.by("generator")
        return None if drawn is None or drawn.file is None else drawn

    @property
    def has_text(self) -> bool:
        """True if the model gave a text that can be compared."""
        return self.outcome.goes_on and bool(self.text)

    @property
    def is_unread(self) -> bool:
        """True if the model gave no text that can be used.

        Its reply is empty, refused or filtered by its service, or cut inside its thoughts. A failed
        call is not its doing, nor is what a generator makes of its text.
        """
        reply = self.by("model")
        if reply is None or reply.outcome is Outcome.FAILED:
            return False
        return not (reply.outcome.goes_on and reply.text)


Records = list[CollectedRecord]
Folders = Mapping[str, Path]
"""Stage → the folder that it wrote."""


def stream_records(
    folder: Path, holds: Collection[str] = (), start: int = 0
) -> Iterator[CollectedRecord]:
    """Yield the records in a folder; ``extra`` of each must hold these names.

    Args:
        start: the first byte of the first record to read.

    Raises:
        StoreError: they are missing or damaged, or ``extra`` lacks a name.
    """
    for record in stream_jsonl(folder / RECORDS, CollectedRecord, start=start):
        for place, result in enumerate(record.results):
            if result.file is not None:
                medium = Medium(folder / result.file, result.sha256 or "")
                record.results[place] = replace(result, medium=medium)
        for name in holds:
            if record.step and name not in record.extra:
                raise StoreError(
                    f"{folder / RECORDS}, {record.place}: extra lacks {name}; run 'dvc repro'"
                )
        yield record


def results_of(records: Iterable[CollectedRecord]) -> Iterator[RecordedResult]:
    """Yield the results of records."""
    for record in records:
        yield from record.results


class CallFacts:
    """Facts about the calls behind a score, collected record by record."""

    def __init__(self) -> None:
        self.readings: list[PromptUsage] = []
        """How much the generator read of each description."""
        self._replies: dict[str, tuple[str, str]] = {}
        """Key of a call → the unit that it is about, and the text of the model's reply."""
        self._versions = defaultdict[str, dict[str, str]](dict)
        self._has_reasoning: dict[str, bool] = {}
        self._notes: Counter[str] = Counter()

    def add(self, record: CollectedRecord) -> None:
        """Note the calls of a record."""
        for result in record.results:
            named = " ".join(
                filter(None, (result.served_model, result.system_fingerprint))
            )
            has_answered = result.role != "generator" or result.file is not None
            if named and record.step and has_answered:
                self._versions[result.role][result.key] = named
            if result.role == "model":
                self._has_reasoning[result.key] = result.reasoning is not None
                if result.text and result.outcome is not Outcome.FAILED:
                    self._replies[result.key] = record.unit, result.text.strip()
            if result.note is not None and record.step:
                self._notes[result.note] += 1
            if result.reading is not None:
                self.readings.append(result.reading)

    def alarms(self) -> list[Flag]:
        """Return alarms if the model's replies put the whole score in doubt."""
        texts = Counter(text for _, text in self._replies.values())
        total = len(self._replies)
        lacking = sum(count for text, count in texts.items() if says_none_arrived(text))
        sentences = []
        if lacking > MOST_LACKING * total:
            sentences.append(
                f"in {lacking} of {total} replies the model says that no image arrived"
            )
        if len(texts) == 1 and len({*self._replies.values()}) >= LEAST_INPUTS:
            text = shortened(min(texts), 60)
            sentences.append(f'all {total} replies of the model are one text: "{text}"')
        return [Flag(text=f"{ALARM}{text}", alarm=True) for text in sentences]

    def served(self) -> dict[str, dict[str, int]]:
        """Count the calls by role and served version, without local components.

        A version is the served model's name and, where the service tells it, its system
        fingerprint.
        """
        served = {}
        for role, versions in self._versions.items():
            served[role] = dict(sorted(Counter(versions.values()).items()))
        return served

    def reasoned(self) -> list[str]:
        """Return a sentence if replies of the model held reasoning."""
        count = sum(self._has_reasoning.values())
        if not count:
            return []
        return [
            f"{count:,} of {len(self._has_reasoning):,} replies held reasoning, which is left out "
            "of the answers"
        ]

    def noted(self) -> list[str]:
        """Return a sentence for each thing that was unusual about calls."""
        return [
            f"{note} ({count} calls)" for note, count in sorted(self._notes.items())
        ]


def changed_versions(served: Mapping[str, Mapping[str, int]]) -> list[str]:
    """Return a sentence for each role that several served versions answered."""
    sentences = []
    for role, versions in served.items():
        if len(versions) > 1:
            counts = ", ".join(
                f"{name} ({count} calls)" for name, count in versions.items()
            )
            sentences.append(
                f"{len(versions)} served versions of the {role} are behind this score: {counts}"
            )
    return sentences


class CollectedCard(Record):
    """``components.json`` beside collected records: how they were made."""

    benchmark: Name
    stage: Name
    keys: dict[str, Name]
    data_digest: str
    components: dict[str, ComponentCard]
    """Role → the version that was asked at this stage."""
    protocol: Json
    """How it was asked; a part of the score's."""


class FailedCalls(NamedTuple):
    """The records that a failed call ended, which the next run tries again."""

    failed: list[str]
    """One phrase each, with the reason."""
    total: int
    things: str
    """What they are: ``chains``."""

    def __str__(self) -> str:
        ended = f"{len(self.failed)} of {self.total} {self.things}"
        return f"{ended} were ended by a failed call"
