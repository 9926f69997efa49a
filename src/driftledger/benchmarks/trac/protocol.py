"""Conditions of a description: its length, the number of examples."""

from itertools import product
from typing import NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.core.strict import is_none
from driftledger.scoring.score import Score

EXAMPLES = ("example_encoder", "example_model")
"""The roles that choose the examples and that describe them."""


class Condition(NamedTuple):
    """The longest description, and the number of examples before it.

    >>> Condition(30, 4).name, Condition().name
    ('l30, 4-shot', 'no limit, 0-shot')
    """

    max_tokens: int | None = None
    """None is the model's own limit."""
    shots: int = 0

    @classmethod
    def of(cls, record: CollectedRecord) -> Self:
        """Return the condition of a record."""
        return cls(record.extra.get("max_tokens"), record.extra.get("shots", 0))

    @property
    def length(self) -> str:
        """The length as the paper writes it, ``l30``."""
        return "no limit" if self.max_tokens is None else f"l{self.max_tokens}"

    @property
    def name(self) -> str:
        """The group of its numbers, as the paper names it."""
        return f"{self.length}, {self.shots}-shot"


class TracProtocol(BaseModel):
    """The way in which descriptions were asked for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: str
    """As it was sent, with the dataset's general category in its place."""
    prefix: str | None = Field(default=None, exclude_if=is_none)
    """The beginning of every reply."""
    max_tokens: list[int | None]
    """Every length; the first is the headline's."""
    choose: str | None
    """How in-context examples were chosen; None where there were none."""
    shots: list[int]
    """Numbers of examples; none is always asked for, too."""
    seed: int

    @property
    def conditions(self) -> list[Condition]:
        """All conditions, in the order of their steps."""
        pairs = product(self.max_tokens, [0, *self.shots])
        return [Condition(max_tokens, shots) for max_tokens, shots in pairs]

    def step(self, condition: Condition) -> int:
        """Return the step of a condition's records."""
        return 1 + self.conditions.index(condition)

    @property
    def headline(self) -> Condition:
        """The condition of the headline numbers: the first length, the most examples."""
        return Condition(self.max_tokens[0], [0, *self.shots][-1])


def protocol_of(score: Score) -> TracProtocol:
    """Return the way in which the descriptions behind a score were asked for."""
    return TracProtocol.model_validate(score.inputs.protocol)
