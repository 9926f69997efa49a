"""The records of TRAC: every description of a labelled dataset, and how they were asked for."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.records import CalledRecord, Linked
from driftledger.core.types import Split


class TracProtocol(BaseModel):
    """How descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples, beside none."""
    seed: int


class DescriptionRecord(CalledRecord):
    """One sample, described under one condition."""

    sample: str
    split: Split
    max_tokens: int | None = None
    """The length that was allowed; None is the model's own limit."""
    shots: int = Field(default=0, ge=0)
    demonstrations: list[str] = Field(default_factory=list)
    """Ids of the support samples that were shown with their descriptions, in the order in which they were shown."""
    description: str | None = None

    @property
    def unit(self) -> str:
        return self.sample

    @property
    def place(self) -> str:
        return f"sample {self.sample}, {condition_name(self.max_tokens, self.shots)}"

    @property
    def is_there(self) -> bool:
        """Whether there is a description that can be compared."""
        return self.outcome.goes_on and self.description is not None


def length_name(max_tokens: int | None) -> str:
    """A length as the paper writes it, e.g. l30."""
    return "no limit" if max_tokens is None else f"l{max_tokens}"


def condition_name(max_tokens: int | None, shots: int) -> str:
    """A condition as the paper names it, e.g. l30, 4-shot."""
    return f"{length_name(max_tokens)}, {shots}-shot"


def check_examples(records: Sequence[DescriptionRecord], parents: Mapping[str, str]) -> Iterator[Linked]:
    """Every example that was shown is a sample that there is."""
    for record in records:
        for name in record.demonstrations:
            if parents and name not in parents:
                yield Linked(record.place, f"its example {name} is no sample of the dataset")
