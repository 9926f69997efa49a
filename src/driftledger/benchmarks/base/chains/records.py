"""Records of chains: requests, and the images of every iteration."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.base.records import CollectedRecord
from driftledger.core.strict import is_none
from driftledger.core.types import Outcome
from driftledger.data.records import DatasetCard


class ChainRequest(BaseModel):
    """The request about every sample of a chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    iterations: int = Field(ge=1, le=100)
    iterations_by_group: dict[str, int] | None = Field(default=None, exclude_if=is_none)
    """Group of the dataset → a smaller T for the chains of its categories."""
    describe_prompt: str
    max_tokens: int | None
    """How long a description may be; None is the model's own limit."""
    prefix: str | None = Field(default=None, exclude_if=is_none)
    """The beginning of every description, which the model continues."""
    generate_prompt: str
    seed: int
    repeats: int = Field(
        default=1, ge=1, le=1000, exclude_if=lambda repeats: repeats == 1
    )
    """How many chains each sample has, each with its own seeds."""

    def drawing(self, text: str) -> str:
        """Return the prompt that asks the generator to draw a text."""
        return self.generate_prompt.replace("{description}", text)

    def last(self, category: str | None, dataset: DatasetCard) -> int:
        """Return T of the chains of a category."""
        for group, t in (self.iterations_by_group or {}).items():
            if category in dataset.groups.get(group, ()):
                return t
        return self.iterations


def of_repeat(repeat: int) -> str:
    """Return the suffix for names in a repeat; empty for the first repeat.

    >>> of_repeat(0), of_repeat(2)
    ('', ', repeat 2')
    """
    return f", repeat {repeat}" if repeat else ""


def image_path(sample: str, t: int, repeat: int = 0, suffix: str = ".png") -> str:
    """Return the path of an iteration's image in the folder of its chains.

    There is no folder per sample, since DVC takes as long for a folder as for nine files.

    >>> image_path("disc", 3), image_path("disc", 3, 1)
    ('images/3/disc.png', 'repeats/1/3/disc.png')
    """
    folder = f"repeats/{repeat}" if repeat else "images"
    return f"{folder}/{t}/{sample}{suffix}"


def asked_again(settings: Mapping[str, Any], repeat: int) -> int | None:
    """Return the number of a repeat that needs its own reply; else None.

    A model that draws lots, which has a ``temperature`` that is not 0 and no ``seed``, is asked
    again for every repeat but the first. Any other would say the same, so that its reply to the
    same image is taken from the store.

    Args:
        settings: of the model, as it or its card has them.

    >>> random = {"temperature": 0.7, "seed": None}
    >>> asked_again(random, 0), asked_again(random, 2)
    (None, 2)
    >>> asked_again({"temperature": 0.0}, 2), asked_again({"temperature": 1.0, "seed": 3}, 2)
    (None, None)
    """
    draws_lots = (
        settings.get("temperature", 0.0) != 0.0 and settings.get("seed") is None
    )
    return repeat if repeat and draws_lots else None


class ChainStep(NamedTuple):
    """The fields of a record that are scored; takes a sixth of the memory."""

    outcome: Outcome
    problem: str
    """The place and why it ended, for people."""
    text: str | None
    """The description."""
    is_described: bool
    """Whether the reply has a text to go on from."""
    has_text: bool
    """Whether there is a text that can be compared."""
    has_output: bool
    """Whether it produced the image or text that the next step begins with."""
    is_worst: bool
    """Whether the model gave no description, and this counts as the worst value."""
    file: str | None
    """The path of the image that was drawn, relative to the folder."""
    sha256: str
    """Of that file."""

    @classmethod
    def of(cls, record: CollectedRecord, is_text: bool, unread_is_worst: bool) -> Self:
        """Keep these parts of a record.

        Args:
            is_text: whether its chain begins with a text.
        """
        reply = record.by("model")
        drawing = record.drawing
        return cls(
            outcome=record.outcome,
            problem=f"{record.place}: {record.error or record.outcome}",
            text=record.text,
            is_described=bool(reply and reply.text and reply.outcome.goes_on),
            has_text=record.has_text,
            has_output=record.has_text if is_text else drawing is not None,
            is_worst=unread_is_worst and record.is_unread,
            file=drawing.file if drawing else None,
            sha256=drawing.sha256 or "" if drawing else "",
        )
