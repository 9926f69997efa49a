"""What other models said of the images whose chains are scored."""

from collections.abc import Iterator, Sequence

from driftledger.benchmarks.records import CalledRecord, CollectedCard, Linked
from driftledger.core.names import Id

WITNESS = "witness"
"""The stage, and the role of each of its models before its name."""


class WitnessRecord(CalledRecord):
    """One sample, described by one model."""

    sample: Id
    model: str
    """Its name; which version it was, the card says."""
    description: str | None = None

    @property
    def unit(self) -> str:
        return self.sample

    @property
    def place(self) -> str:
        return f"sample {self.sample}, by {self.model}"

    @property
    def is_there(self) -> bool:
        """Whether there is a description that can be compared."""
        return self.outcome.goes_on and self.description is not None


def role_of(model: str) -> str:
    """What a witness is called among the components of a score."""
    return f"{WITNESS}.{model}"


def check_witnesses(records: Sequence[WitnessRecord], card: CollectedCard) -> Iterator[Linked]:
    """Every description is by a model that the card names."""
    for record in records:
        if role_of(record.model) not in card.components:
            yield Linked(record.place, "the card beside it names no such model")
