"""The records of chains: every iteration of every sample, what was asked of all of them, and what they drew."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import groupby, takewhile
from pathlib import Path
from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from driftledger.benchmarks.records import CalledRecord, CollectedCard, Linked
from driftledger.core.names import Id, RelativePath
from driftledger.core.seeds import derive_seed
from driftledger.core.types import ImageFile, PromptUsage, Sample

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
    seed: int


class ChainRecord(CalledRecord):
    """One sample's iteration ``t``, describe and generate together."""

    sample: Id
    t: int = Field(ge=1)
    description: str | None = None
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
    def unit(self) -> str:
        return self.sample

    @property
    def place(self) -> str:
        return f"sample {self.sample}, t = {self.t}"

    @property
    def drawn(self) -> tuple[str, str] | None:
        return None if self.image is None else (self.image, self.image_sha256 or "none")


def generation_prompt(template: str, description: str | None) -> str:
    """The generator's prompt: ``template`` with the description in its place, whatever the description holds."""
    return template.replace("{description}", description or "")


def check_chains(records: Sequence[ChainRecord], card: CollectedCard, parents: Mapping[str, str]) -> Iterator[Linked]:
    """Every record of a chain follows the one before it, from a seed of its own."""
    seed, dataset = card.protocol["seed"], card.keys["dataset"]
    for sample, chain in groupby(records, key=lambda record: record.sample):
        parent = parents.get(sample)
        for t, record in enumerate(chain, 1):
            if record.t != t or record.image not in (None, f"images/{sample}/{t}.png"):
                yield Linked(record.place, f"this is record {t} of its chain, or another's image")
            if parents and record.parent_sha256 != parent:
                before = "the sample's image" if record.t == 1 else f"the image at t = {record.t - 1}"
                yield Linked(record.place, f"its parent_sha256 is not that of {before}")
            if record.seed != derive_seed(seed, dataset, sample, record.t):
                yield Linked(record.place, "its seed is not the one that follows from run.seed")
            parent = record.image_sha256


def drawn_images(folder: Path, records: Sequence[ChainRecord]) -> Drawn:
    """What the chains in ``folder`` drew."""
    return {
        (record.sample, record.t): ImageFile(folder / record.image, record.image_sha256 or "")
        for record in records
        if record.image is not None
    }


def shown_images(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[ImageFile]]:
    """What an encoder looks at: the originals, then what each iteration drew."""
    drawings = [
        [drawn[samples[index].id, t] for index in places]
        for t, places in enumerate(places_reached(samples, drawn, iterations), 1)
    ]
    return [[sample.image for sample in samples], *drawings]


def places_reached(samples: Sequence[Sample], drawn: Drawn, iterations: int) -> list[list[int]]:
    """For t = 1 … T, as far as any chain got, the places of the samples whose chain got there."""
    all_t = ([i for i, sample in enumerate(samples) if (sample.id, t) in drawn] for t in range(1, iterations + 1))
    return list(takewhile(len, all_t))
