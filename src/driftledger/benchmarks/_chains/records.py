"""The records of chains: every iteration of every sample, what was asked of all of them, and what they drew."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.records import CollectedCard, DescribedRecord, Linked
from driftledger.core.canonical import derive_seed
from driftledger.core.strict import RelativePath
from driftledger.core.types import ImageFile, PromptUsage

FRECHET_DIGITS = 6
"""Singular values differ in their last bits between processors; stored distances must not."""

Drawn: TypeAlias = Mapping[tuple[str, int], ImageFile]
"""(Sample, t) → the image that iteration t drew."""


class Iterations(BaseModel):
    """How far chains go."""

    iterations: int
    iterations_by_group: dict[str, int] | None = Field(default=None, exclude_if=lambda by_group: by_group is None)
    """Group of the dataset → where the chains of its categories stop, sooner than all others."""

    def of_category(self, category: str | None, groups: Mapping[str, Collection[str]]) -> int:
        """T of the samples of a category; ``groups`` are the dataset's."""
        by_group = self.iterations_by_group or {}
        stops = (t for group, t in by_group.items() if category in groups.get(group, ()))
        return next(stops, self.iterations)


class ChainRequest(Iterations):
    """What was asked of every sample of a chain."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    describe_prompt: str
    max_tokens: int | None
    """How long a description may be; None is the model's own limit."""
    prefix: str | None = Field(default=None, exclude_if=lambda prefix: prefix is None)
    """The beginning of every description, which the model goes on from."""
    generate_prompt: str
    writer: str | None = Field(default=None, exclude_if=lambda writer: writer is None)
    """The catalogue's name of who gives the description that a chain begins with, in the place of the model."""
    seed: int
    repeats: int = Field(default=1, ge=1, le=1000, exclude_if=lambda repeats: repeats == 1)
    """How many chains each sample has, from seeds of their own."""


class ChainRecord(DescribedRecord):
    """One sample's iteration ``t``, describe and generate together."""

    repeat: int = Field(default=0, ge=0, exclude_if=lambda repeat: repeat == 0)
    """Which of the sample's chains; the first one has the number 0, which is not written out."""
    t: int = Field(ge=1)
    image: RelativePath | None = None
    image_sha256: str | None = None
    parent_sha256: str
    seed: int
    served_generator: str | None = None
    revised_prompt: str | None = None
    generator_system_fingerprint: str | None = None
    prompt_reading: PromptUsage | None = None
    """How much of the prompt the generator's text encoder read, where that is known."""

    @property
    def place(self) -> str:
        return f"sample {self.sample}, t = {self.t}{of_repeat(self.repeat)}"

    @property
    def drawn(self) -> tuple[str, str] | None:
        return None if self.image is None else (self.image, self.image_sha256 or "none")


def of_repeat(repeat: int) -> str:
    """What is said behind the name of something that there is one of in each repeat; nothing of the first.

    >>> of_repeat(0), of_repeat(2)
    ('', ', repeat 2')
    """
    return f", repeat {repeat}" if repeat else ""


def image_path(sample: str, t: int, repeat: int = 0) -> str:
    """Where the image of an iteration lies in the folder of its chains.

    >>> image_path("disc", 3), image_path("disc", 3, 1)
    ('images/disc/3.png', 'repeats/1/disc/3.png')
    """
    return f"{f'repeats/{repeat}' if repeat else 'images'}/{sample}/{t}.png"


def asked_again(settings: Mapping[str, Any], repeat: int) -> int | None:
    """Which asking of the same question it is when a model describes an image for a repeat; None where one reply does
    for all repeats.

    A model that draws lots, which has a ``temperature`` that is not 0 and no ``seed``, is asked anew for every repeat
    but the first. Any other would say the same again, so that its reply to the same image is taken from the store.

    Args:
        settings: of the model, as it or its card has them.

    >>> asked_again({"temperature": 0.7, "seed": None}, 0), asked_again({"temperature": 0.7, "seed": None}, 2)
    (None, 2)
    >>> asked_again({"temperature": 0.0}, 2), asked_again({"temperature": 1.0, "seed": 3}, 2), asked_again({}, 2)
    (None, None, None)
    """
    draws_lots = settings.get("temperature", 0.0) != 0.0 and settings.get("seed") is None
    return repeat if repeat and draws_lots else None


def generation_prompt(template: str, description: str | None) -> str:
    """The generator's prompt: ``template`` with the description in its place, whatever the description holds."""
    return template.replace("{description}", description or "")


def check_chains(records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]) -> Iterator[Linked]:
    """Every record of a chain follows the one before it, from a seed of its own, in a repeat that was asked for."""
    seed, dataset, repeats = card.protocol["seed"], card.keys["dataset"], card.protocol.get("repeats", 1)
    for (sample, repeat), chain in groupby(records, key=lambda record: (record.sample, record.repeat)):
        parent = parents.get(sample)
        for t, record in enumerate(chain, 1):
            if record.t != t or record.image not in (None, image_path(sample, t, repeat)):
                yield Linked(record.place, f"this is record {t} of its chain, or another's image")
            if parents and record.parent_sha256 != parent:
                before = "the sample's image" if record.t == 1 else f"the image at t = {record.t - 1}"
                yield Linked(record.place, f"its parent_sha256 is not that of {before}")
            if record.seed != derive_seed(seed, dataset, sample, record.t, repeat):
                yield Linked(record.place, "its seed is not the one that follows from run.seed")
            if repeat >= repeats:
                yield Linked(record.place, f"the card beside it tells of {repeats} repeats")
            parent = record.image_sha256


def drawn_images(folder: Path, records: Sequence[ChainRecord], repeat: int) -> Drawn:
    """Return what the chains of a repeat in ``folder`` drew."""
    return {
        (record.sample, record.t): ImageFile(folder / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None and record.repeat == repeat
    }
