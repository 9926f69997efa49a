"""Collecting: T iterations of describe → generate per sample, written as records and images."""

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, NamedTuple

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, Drawn, generation_prompt, shown_images
from driftledger.benchmarks.records import RECORDS, CollectedCard
from driftledger.benchmarks.runner import Collecting, FailedCalls, Planned, RunSteps
from driftledger.collect.call_result import Context, Result
from driftledger.collect.encoding import encode_images
from driftledger.collect.feature_store import FeatureStore
from driftledger.collect.steps import Ask, Draw, Steps
from driftledger.components.base import Component, Encoder, Generator, Model
from driftledger.core.files import write_jsonl
from driftledger.core.seeds import derive_seed
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard

CALLS_PER_ITERATION = 2


class Iteration(NamedTuple):
    """A record and, where the iteration drew one, its image."""

    record: ChainRecord
    image: ImageFile | None


Chains = Sequence[Sequence[Iteration]]
"""A chain per sample."""


@dataclass(frozen=True)
class ChainProtocol:
    """What is fixed for all samples of a chain stage."""

    dataset: DatasetCard
    model: Model
    generator: Generator
    asked: ChainRequest

    def run(self, sample: Sample) -> Steps[list[Iteration]]:
        """One sample's chain. It ends at T, or with the first outcome that leaves nothing to go on with."""
        done: list[Iteration] = []
        parent = sample.image
        for t in range(1, self.iterations(sample) + 1):
            context = Context(self.dataset.name, sample.id, t)
            seed = derive_seed(self.asked.seed, self.dataset.name, sample.id, t)
            described = yield Ask(self.model, "describe", self.describe(parent, Subject(sample.id, t)), context)
            drawn = None
            if described.outcome.goes_on:
                prompt = generation_prompt(self.asked.generate_prompt, described.text)
                drawn = yield Draw(self.generator, prompt, seed, context)
            done.append(_iteration(sample.id, t, parent, seed, described, drawn))
            if done[-1].image is None:
                break
            parent = done[-1].image
        return done

    def iterations(self, sample: Sample) -> int:
        """T of a sample."""
        return self.asked.of_category(sample.category, self.dataset.groups)

    def describe(self, image: ImageFile, subject: Subject | None = None) -> Conversation:
        """What the model is given for an image."""
        asked = self.asked
        return Conversation.ask(asked.describe_prompt, image, subject, asked.max_tokens, prefix=asked.prefix)


def _iteration(sample: str, t: int, parent: ImageFile, seed: int, described: Result, drawn: Result | None) -> Iteration:
    outcome = described.outcome if drawn is None or drawn.outcome.goes_on else drawn.outcome
    image = drawn.image if drawn is not None else None
    record = ChainRecord(
        sample=sample,
        t=t,
        outcome=outcome,
        description=described.text,
        image=f"images/{sample}/{t}.png" if image else None,
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
    """A chain stage: every sample's chain, with one model and one generator."""

    protocol: ChainProtocol
    samples: Sequence[Sample]
    draws: ClassVar[bool] = True

    @property
    def components(self) -> Sequence[Component]:
        return tuple(self._components.values())

    @property
    def _components(self) -> Mapping[str, Component]:
        return {"model": self.protocol.model, "generator": self.protocol.generator}

    @property
    def calls(self) -> int:
        return sum(self.protocol.iterations(sample) for sample in self.samples) * CALLS_PER_ITERATION

    def run(self, run: RunSteps) -> Chains:
        return run([self._planned(sample) for sample in self.samples])

    def _planned(self, sample: Sample) -> Planned[list[Iteration]]:
        protocol = self.protocol
        each = (
            (protocol.model, protocol.describe(sample.image, Subject(sample.id, 1))),
            (protocol.generator, protocol.asked.generate_prompt),
        )
        return Planned(lambda: protocol.run(sample), each * protocol.iterations(sample))

    def failures(self, collected: Chains) -> FailedCalls:
        ends = [chain[-1].record for chain in collected]
        failed = [
            f"{end.sample} at t={end.t}: {end.error or 'no reason given'}"
            for end in ends
            if end.outcome is Outcome.FAILED
        ]
        return FailedCalls(failed, len(collected), "chains")

    def write(self, folder: Path, collected: Chains) -> CollectedCard:
        """Write ``records.jsonl`` and ``images/<sample>/<t>.png``."""
        iterations = [iteration for chain in collected for iteration in chain]
        for record, image in iterations:
            if image is not None and record.image is not None:
                target = folder / record.image
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(image.path, target)
        write_jsonl(folder / RECORDS, (record for record, _ in iterations))
        asked = {role: (self.keys[role], component) for role, component in self._components.items()}
        return self.card(self.protocol.dataset.digest, asked, self.protocol.asked.model_dump(mode="json"))

    def show(self, collected: Chains, encoder: Encoder, features: FeatureStore) -> None:
        drawn: Drawn = {(r.sample, r.t): image for chain in collected for r, image in chain if image is not None}
        for images in shown_images(self.samples, drawn, self.protocol.asked.iterations):
            encode_images(encoder, images, features)
