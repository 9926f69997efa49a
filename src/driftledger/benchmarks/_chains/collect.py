"""Collecting: T iterations of describe → generate per sample, written as records and images."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, NamedTuple

from driftledger.benchmarks._chains.records import (
    ChainRecord,
    ChainRequest,
    Drawn,
    asked_again,
    generation_prompt,
    image_path,
    of_repeat,
    shown_images,
)
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, PlannedWhenDue, RunSteps
from driftledger.collect.call import Ask, Context, Draw, NotStoredError, Result, Steps
from driftledger.collect.features import FeatureStore, encode_images
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.files import copy_file, write_jsonl
from driftledger.core.seeds import derive_seed
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard

CALLS_PER_ITERATION = 2
WRITER = "writer"
"""The role of who describes a sample in the place of the model."""


class Iteration(NamedTuple):
    """A record and, where the iteration drew one, its image."""

    record: ChainRecord
    image: ImageFile | None


Chains = Sequence[Sequence[Iteration]]
"""A chain per sample, and repeat after repeat."""


@dataclass(frozen=True)
class ChainProtocol:
    """What is fixed for all samples of a chain stage."""

    dataset: DatasetCard
    model: Model
    generator: Generator
    asked: ChainRequest
    writer: Model | None = None
    """Whose description of the sample a chain begins with, in the place of the model's: it starts from a text."""

    def describes(self, t: int) -> Model:
        """Who is asked for the description of iteration t."""
        return self.writer if t == 1 and self.writer is not None else self.model

    def run(self, sample: Sample, repeat: int = 0) -> Steps[list[Iteration]]:
        """One sample's chain. It ends at T, or with the first outcome that leaves nothing to go on with."""
        chain: list[Iteration] = []
        parent = sample.image
        for t in range(1, self.iterations(sample) + 1):
            context = Context(self.dataset.name, sample.id, t)
            seed = derive_seed(self.asked.seed, self.dataset.name, sample.id, t, repeat)
            described = yield self._ask(parent, context, repeat)
            drawn = None
            if described.outcome.goes_on:
                prompt = generation_prompt(self.asked.generate_prompt, described.text)
                drawn = yield Draw(self.generator, prompt, seed, context)
            chain.append(_iteration((sample.id, t, repeat), parent, seed, described, drawn))
            if drawn is None or drawn.image is None:
                break
            parent = drawn.image
        return chain

    def _ask(self, image: ImageFile, context: Context, repeat: int) -> Ask:
        model, subject = self.describes(context.t), Subject(context.sample, context.t)
        again = asked_again(model.model_dump(), repeat)
        return Ask(model, "describe", self.describe(image, subject), context, again)

    def iterations(self, sample: Sample) -> int:
        """T of a sample."""
        return self.asked.of_category(sample.category, self.dataset.groups)

    def describe(self, image: ImageFile, subject: Subject | None = None) -> Conversation:
        """What the model is given for an image."""
        asked = self.asked
        return Conversation.ask(asked.describe_prompt, image, subject, asked.max_tokens, prefix=asked.prefix)


def _iteration(
    place: tuple[str, int, int], parent: ImageFile, seed: int, described: Result, drawn: Result | None
) -> Iteration:
    sample, t, repeat = place
    outcome = described.outcome if drawn is None or drawn.outcome.goes_on else drawn.outcome
    image = drawn.image if drawn is not None else None
    record = ChainRecord(
        sample=sample,
        repeat=repeat,
        t=t,
        outcome=outcome,
        description=described.text,
        image=image_path(*place) if image else None,
        image_sha256=image.sha256 if image else None,
        parent_sha256=parent.sha256,
        seed=seed,
        served_model=described.served_model,
        served_generator=drawn.served_model if drawn else None,
        revised_prompt=drawn.revised_prompt if drawn else None,
        system_fingerprint=described.system_fingerprint,
        generator_system_fingerprint=drawn.system_fingerprint if drawn else None,
        prompt_reading=drawn.reading if drawn else None,
        notes=[result.note for result in (described, drawn) if result is not None and result.note is not None],
        error=described.error or (drawn.error if drawn else None),
    )
    return Iteration(record, image)


@dataclass(frozen=True)
class CollectChains(Collecting[Chains]):
    """A chain stage: every sample's chains, with one model and one generator.

    Repeats are asked one after the other. So the calls of each are in the company that they would be in if it were the
    only one, and a reply that several of them need is there when the later ones look for it.
    """

    protocol: ChainProtocol
    samples: Sequence[Sample]
    draws: ClassVar[bool] = True

    @property
    def components(self) -> Sequence[Component]:
        return tuple(self._components.values())

    @property
    def _components(self) -> Mapping[str, Component]:
        writer = {} if self.protocol.writer is None else {WRITER: self.protocol.writer}
        return {"model": self.protocol.model, "generator": self.protocol.generator} | writer

    @property
    def repeats(self) -> range:
        """Their numbers."""
        return range(self.protocol.asked.repeats)

    @property
    def calls(self) -> int:
        iterations = sum(self.protocol.iterations(sample) for sample in self.samples)
        return iterations * len(self.repeats) * CALLS_PER_ITERATION

    def run(self, run: RunSteps) -> Chains:
        """Errors as in :meth:`Collecting.run`, after every repeat has been gone through."""
        chains: list[list[Iteration]] = []
        missing: list[NotStoredError] = []
        for repeat in self.repeats:
            try:
                chains += run(PlannedWhenDue(partial(self._planned, repeat), self.samples))
            except NotStoredError as error:
                missing.append(error)
        if missing:
            raise NotStoredError([each for error in missing for each in error.rest])
        return chains

    def _planned(self, repeat: int, sample: Sample) -> Planned[list[Iteration]]:
        protocol = self.protocol
        shown = protocol.describe(sample.image, Subject(sample.id, 1))
        calls = [
            call
            for t in range(1, protocol.iterations(sample) + 1)
            for call in ((protocol.describes(t), shown), (protocol.generator, protocol.asked.generate_prompt))
        ]
        return Planned(lambda: protocol.run(sample, repeat), calls)

    def failures(self, collected: Chains) -> FailedCalls:
        ends = (chain[-1].record for chain in collected)
        failed = [
            f"{end.sample} at t={end.t}{of_repeat(end.repeat)}: {end.error or 'no reason given'}"
            for end in ends
            if end.outcome is Outcome.FAILED
        ]
        return FailedCalls(failed, len(collected), "chains")

    def write(self, folder: Path, collected: Chains) -> CollectedCard:
        """Write ``records.jsonl``, ``images/<sample>/<t>.png`` and, of every further repeat,
        ``repeats/<repeat>/<sample>/<t>.png``."""
        write_jsonl(folder / RECORDS, _with_images(folder, collected))
        names = {WRITER: self.protocol.asked.writer} | dict(self.keys)
        asked = {role: (names[role] or role, component) for role, component in self._components.items()}
        return self.card(self.protocol.dataset.digest, asked, self.protocol.asked.model_dump(mode="json"))

    def show(self, collected: Chains, encoder: Encoder, features: FeatureStore) -> None:
        for repeat in self.repeats:
            some = self.of_repeat(collected, repeat)
            drawn: Drawn = {(r.sample, r.t): image for chain in some for r, image in chain if image is not None}
            for images in shown_images(self.samples, drawn, self.protocol.asked.iterations):
                encode_images(encoder, images, features)

    def of_repeat(self, collected: Chains, repeat: int) -> Chains:
        """The chains of one repeat, in the order of the samples."""
        return collected[repeat * len(self.samples) : (repeat + 1) * len(self.samples)]


def _with_images(folder: Path, chains: Chains) -> Iterator[ChainRecord]:
    """The records of chains, each when its image, where it has one, is in ``folder``."""
    for record, image in (iteration for chain in chains for iteration in chain):
        if image is not None and record.image is not None:
            target = folder / record.image
            target.parent.mkdir(parents=True, exist_ok=True)
            copy_file(image.path, target)
        yield record
