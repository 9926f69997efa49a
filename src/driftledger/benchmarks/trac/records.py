"""The records of TRAC: every description of a labelled dataset, and how they were asked for."""

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.records import CollectedRecord


class TracProtocol(BaseModel):
    """How descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    prefix: str | None = Field(default=None, exclude_if=lambda prefix: prefix is None)
    """The beginning of every reply."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples, beside none."""
    seed: int


def condition_of(record: CollectedRecord) -> tuple[int | None, int]:
    """Return the length that was allowed, and how many examples were shown."""
    return record.extra.get("max_tokens"), record.extra.get("shots", 0)


def length_name(max_tokens: int | None) -> str:
    """Return a length as the paper writes it, e.g. l30."""
    return "no limit" if max_tokens is None else f"l{max_tokens}"


def condition_name(max_tokens: int | None, shots: int) -> str:
    """A condition as the paper names it, e.g. l30, 4-shot."""
    return f"{length_name(max_tokens)}, {shots}-shot"
