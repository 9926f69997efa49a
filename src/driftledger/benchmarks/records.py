"""What the records of all collect stages share, and the card that stands beside them."""

from typing import TYPE_CHECKING, Any, NamedTuple

from pydantic import Field

from driftledger.components.card import ComponentCard
from driftledger.core.files import Record
from driftledger.core.names import Name
from driftledger.core.types import Outcome

if TYPE_CHECKING:
    from driftledger.collect.call import Result

RECORDS, CARD = "records.jsonl", "components.json"


class ReadAs(NamedTuple):
    """What stands in an answer, as a parser sees it."""

    worth: str
    """Outcome and what was read: ``ok: 3``, ``unparsed: nothing``."""
    how: str
    """The rule that decided."""

    def __str__(self) -> str:
        return f"{self.worth} ({self.how})"


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

    @property
    def reading(self) -> ReadAs | None:
        """What its answer was read as; None where nothing is read."""
        return None


class CalledRecord(CollectedRecord):
    """What became of a call to a model, and what its service said of it."""

    served_model: str | None = None
    system_fingerprint: str | None = None
    notes: list[str] = Field(default_factory=list)
    """What was unusual about how it was made, e.g. in a smaller batch than the fingerprint says."""
    error: str | None = None


def called(result: "Result") -> dict[str, Any]:
    """The fields of a :class:`CalledRecord`, from what came of its call."""
    return {
        "outcome": result.outcome,
        "served_model": result.served_model,
        "system_fingerprint": result.system_fingerprint,
        "notes": [result.note] if result.note else [],
        "error": result.error,
    }


def recorded_result(record: CalledRecord, text: str) -> "Result":
    """The result of the call to a model that a record tells of: the inverse of :func:`called`."""
    from driftledger.collect.call import Result

    return Result(
        outcome=record.outcome,
        text=text,
        served_model=record.served_model,
        system_fingerprint=record.system_fingerprint,
        error=record.error,
        note=record.notes[0] if record.notes else None,
    )


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
