"""What the records of all collect stages share, and the card that stands beside them."""

from pathlib import Path
from typing import Any, NamedTuple

from pydantic import Field

from driftledger.collect.call import Result
from driftledger.components.card import ComponentCard
from driftledger.core.canonical import canonical_json
from driftledger.core.files import Record, read_jsonl
from driftledger.core.strict import Id, Name
from driftledger.core.text import csv_table
from driftledger.core.types import Outcome

RECORDS, CARD = "records.jsonl", "components.json"


class CollectedRecord(Record):
    """A line of ``records.jsonl``: what became of one call, or of one step of a protocol."""

    outcome: Outcome

    @property
    def unit(self) -> str:
        """Id of the sample or question that it is about."""
        raise NotImplementedError

    @property
    def place(self) -> str:
        """What tells it from the others of its folder, for people: ``sample disc, t = 1``."""
        raise NotImplementedError

    @property
    def drawn(self) -> tuple[str, str] | None:
        """File, relative to the folder, and SHA-256 of the image that was drawn; None where none was."""
        return None


class CalledRecord(CollectedRecord):
    """What became of a call to a model, and what its service said of it."""

    served_model: str | None = None
    system_fingerprint: str | None = None
    notes: list[str] = Field(default_factory=list)
    """What was unusual about how it was made, e.g. in a smaller batch than the fingerprint says."""
    error: str | None = None


class DescribedRecord(CalledRecord):
    """A sample, and what a model said of an image."""

    sample: Id
    description: str | None = None

    @property
    def unit(self) -> str:
        return self.sample

    @property
    def is_there(self) -> bool:
        """Whether there is a description that can be compared."""
        return self.outcome.goes_on and self.description is not None


def called(result: Result) -> dict[str, Any]:
    """Return the fields of a :class:`CalledRecord`, from what came of its call."""
    fields = {name: getattr(result, name) for name in ("outcome", "served_model", "system_fingerprint", "error")}
    return fields | {"notes": [result.note] if result.note else []}


def recorded_result(record: CalledRecord, text: str) -> Result:
    """Return the result of the call to a model that a record tells of: the inverse of :func:`called`."""
    return Result(
        outcome=record.outcome,
        text=text,
        served_model=record.served_model,
        system_fingerprint=record.system_fingerprint,
        error=record.error,
        note=record.notes[0] if record.notes else None,
    )


def records_csv(folder: Path, kind: type[CollectedRecord]) -> bytes:
    """Return the records of a folder as a table: a column for each field that some record has, lists as JSON."""
    rows = [record.to_dict() for record in read_jsonl(folder / RECORDS, kind)]
    fields = dict.fromkeys(key for row in rows for key, value in row.items() if value not in (None, [], {}))
    head = [field for field in fields if field != "schema"]
    cells = [[row.get(field) for field in head] for row in rows]
    texts = [[canonical_json(cell) if isinstance(cell, list | dict) else cell for cell in row] for row in cells]
    return csv_table(head, texts)


class Linked(NamedTuple):
    """One problem of a record: it does not fit its neighbours, its seed or its image."""

    record: str
    """Its ``place``."""
    problem: str


class CollectedCard(Record):
    """``components.json`` beside the records of a collect stage: everything that they stand on."""

    benchmark: Name
    stage: Name
    keys: dict[str, Name]
    data_digest: str
    components: dict[str, ComponentCard]
    """Role → the version that was asked at this stage."""
    protocol: dict[str, Any]
    """How it was asked; a part of the score's."""
    records: dict[str, str] = Field(default_factory=dict)
    """Earlier collect stage → SHA-256 of the ``records.jsonl`` that this stage went on from."""
