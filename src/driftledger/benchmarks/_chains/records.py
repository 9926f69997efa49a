"""The records of chains: every iteration of every sample, what was asked of all of them, and what
they drew."""

from collections.abc import Collection, Mapping, Sequence
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.records import CollectedRecord
from driftledger.core.types import Medium

FRECHET_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""

Drawn: TypeAlias = Mapping[tuple[str, int], Medium]
"""(Sample, t) → what iteration t drew."""


class ChainRequest(BaseModel):
    """What was asked of every sample of a chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    iterations: int = Field(ge=1, le=100)
    iterations_by_group: dict[str, int] | None = Field(
        default=None, exclude_if=lambda by_group: by_group is None
    )
    """Group of the dataset → where the chains of its categories stop, sooner than all others."""
    describe_prompt: str
    max_tokens: int | None
    """How long a description may be; None is the model's own limit."""
    prefix: str | None = Field(default=None, exclude_if=lambda prefix: prefix is None)
    """The beginning of every description, which the model goes on from."""
    generate_prompt: str
    seed: int
    repeats: int = Field(default=1, ge=1, le=1000, exclude_if=lambda repeats: repeats == 1)
    """How many chains each sample has, from seeds of their own."""


def last_of(
    iterations: int,
    by_group: Mapping[str, int] | None,
    category: str | None,
    groups: Mapping[str, Collection[str]],
) -> int:
    """T of the samples of a category; ``groups`` are the dataset's."""
    return next(
        (t for group, t in (by_group or {}).items() if category in groups.get(group, ())),
        iterations,
    )


def of_repeat(repeat: int) -> str:
    """What follows the name of a thing of each repeat; nothing for the first.

    >>> of_repeat(0), of_repeat(2)
    ('', ', repeat 2')
    """
    return f", repeat {repeat}" if repeat else ""


def medium_path(sample: str, t: int, repeat: int = 0, suffix: str = ".png") -> str:
    """Where the image or sound of an iteration lies in the folder of its chains.

    >>> medium_path("disc", 3), medium_path("disc", 3, 1)
    ('images/disc/3.png', 'repeats/1/disc/3.png')
    """
    return f"{f'repeats/{repeat}' if repeat else 'sounds' if suffix == '.wav' else 'images'}/{sample}/{t}{suffix}"


def asked_again(settings: Mapping[str, Any], repeat: int) -> int | None:
    """Which asking of the same question it is when a model describes an image for a repeat; None
    where one reply does for all repeats.

    A model that draws lots, which has a ``temperature`` that is not 0 and no ``seed``, is asked
    again for every repeat but the first. Any other would say the same, so that its reply to the
    same image is taken from the store.

    Args:
        settings: of the model, as it or its card has them.

    >>> asked_again({"temperature": 0.7, "seed": None}, 0), asked_again({"temperature": 0.7, "seed": None}, 2)
    (None, 2)
    >>> asked_again({"temperature": 0.0}, 2), asked_again({"temperature": 1.0, "seed": 3}, 2), asked_again({}, 2)
    (None, None, None)
    """
    draws_lots = settings.get("temperature", 0.0) != 0.0 and settings.get("seed") is None
    return repeat if repeat and draws_lots else None


def drawn_media(records: Sequence[CollectedRecord], repeat: int) -> Drawn:
    """Return the images or sounds of the chains of a repeat."""
    return {
        (record.unit, record.step): record.drawing.medium
        for record in records
        if record.repeat == repeat
        and record.drawing is not None
        and record.drawing.medium is not None
    }
