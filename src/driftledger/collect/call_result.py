"""What a finished call gave, whom it was for and what it took."""

from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from driftledger.collect.call_key import CallKey
from driftledger.core.types import ImageFile, Outcome, PromptUsage


class Context(NamedTuple):
    """Whom a call was made for; for people, not part of its key."""

    dataset: str
    sample: str
    t: int


class Cost(NamedTuple):
    """What a call took. A local one has no attempts and no cost."""

    seconds: float
    """Of the attempt that succeeded; a batch's time is shared evenly."""
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    attempts: int = 0


@dataclass(frozen=True)
class Result:
    """What a call gave: text for a model, an image for a generator."""

    outcome: Outcome
    text: str | None = None
    image: ImageFile | None = None
    served_model: str | None = None
    revised_prompt: str | None = None
    error: str | None = None
    system_fingerprint: str | None = None
    reading: PromptUsage | None = None
    note: str | None = None
    """What was unusual about how the call was made, e.g. in a smaller batch."""

    def to_row(self) -> dict[str, Any]:
        """JSON-ready, with the image's hash for the image."""
        row = {name: value for name, value in vars(self).items() if value is not None}
        return row | {
            "outcome": str(self.outcome),
            "image": self.image.sha256 if self.image else None,
            "reading": asdict(self.reading) if self.reading else None,
        }

    @classmethod
    def from_row(cls, row: dict[str, Any], image: ImageFile | None) -> "Result":
        """The inverse of :meth:`to_row`, given the image that has the row's hash."""
        reading = PromptUsage(**row["reading"]) if row.get("reading") else None
        return cls(**row | {"outcome": Outcome(row["outcome"]), "image": image, "reading": reading})


class Finished(NamedTuple):
    """One result on its way into the store; ``png`` holds the image's bytes, where there is one."""

    key: CallKey
    context: Context
    result: Result
    png: bytes | None
    cost: Cost


class Spent(NamedTuple):
    """What all attempts at one version of a component have taken, the failed ones included."""

    attempts: int = 0
    cost: float = 0.0
