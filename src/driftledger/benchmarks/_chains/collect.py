"""Chains of describe → draw again: how they are collected, and how their calls are made again."""

import shutil
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from driftledger.benchmarks._chains.records import (
    ChainRecord,
    ChainRequest,
    asked_again,
    drawn_images,
    generation_prompt,
    image_path,
    of_repeat,
)
from driftledger.benchmarks.descriptions import check_prefix
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, called, recorded_result
from driftledger.benchmarks.runner import Caller, Collecting, FailedCalls, RecordedCall, Runner, StageInputs
from driftledger.collect.call import Ask, Call, Context, Draw, NotStoredError, Planned, Result, RunSteps, Steps
from driftledger.components.base import Component, Generator, Model
from driftledger.core.canonical import derive_seed
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.records import DatasetCard, read_samples

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
        """Return who is asked for the description of iteration t."""
        return self.writer if t == 1 and self.writer is not None else self.model

    def run(self, sample: Sample, repeat: int = 0) -> Steps[list[Iteration]]:
        """Go through one sample's chain. It ends at T, or with the first outcome that leaves nothing to go on with."""
        chain: list[Iteration] = []
        parent = sample.image
        for t in range(1, self.iterations(sample) + 1):
            context = Context(self.dataset.name, sample.id, t)
            seed = derive_seed(self.asked.seed, self.dataset.name, sample.id, t, repeat)
            described = yield describe(self.describes(t), self.asked, parent, context, repeat)
            drawn = None
            if described.outcome.goes_on:
                prompt = generation_prompt(self.asked.generate_prompt, described.text)
                drawn = yield Draw(self.generator, prompt, seed, context)
            chain.append(_iteration((sample.id, t, repeat), parent, seed, described, drawn))
            if drawn is None or drawn.image is None:
                break
            parent = drawn.image
        return chain

    def iterations(self, sample: Sample) -> int:
        """Return T of a sample."""
        return self.asked.of_category(sample.category, self.dataset.groups)


def describe(model: Model, asked: ChainRequest, image: ImageFile, context: Context, repeat: int = 0) -> Ask:
    """Return the call for a description of an image."""
    subject = Subject(context.sample, context.t)
    shown = Conversation.ask(asked.describe_prompt, image, subject, asked.max_tokens, prefix=asked.prefix)
    return Ask(model, "describe", shown, context, asked_again(model.model_dump(), repeat))


def _iteration(
    place: tuple[str, int, int], parent: ImageFile, seed: int, described: Result, drawn: Result | None
) -> Iteration:
    sample, t, repeat = place
    image, served = (drawn.image, vars(drawn)) if drawn is not None else (None, dict[str, Any]())
    told = called(described)
    if drawn is not None and not drawn.outcome.goes_on:
        told["outcome"] = drawn.outcome
    told["notes"] += [drawn.note] if drawn is not None and drawn.note is not None else []
    told["error"] = described.error or served.get("error")
    record = ChainRecord(
        **told,
        sample=sample,
        repeat=repeat,
        t=t,
        description=described.text,
        image=image_path(*place) if image else None,
        image_sha256=image.sha256 if image else None,
        parent_sha256=parent.sha256,
        seed=seed,
        served_generator=served.get("served_model"),
        revised_prompt=served.get("revised_prompt"),
        generator_system_fingerprint=served.get("system_fingerprint"),
        prompt_reading=served.get("reading"),
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
    things: ClassVar[str] = "chains"

    @property
    def components(self) -> Sequence[Component]:
        return tuple(self._components.values())

    @property
    def _components(self) -> Mapping[str, Component]:
        writer = {} if self.protocol.writer is None else {WRITER: self.protocol.writer}
        return {"model": self.protocol.model, "generator": self.protocol.generator} | writer

    @property
    def calls(self) -> int:
        iterations = sum(self.protocol.iterations(sample) for sample in self.samples)
        return iterations * self.protocol.asked.repeats * CALLS_PER_ITERATION

    def run(self, run: RunSteps) -> Chains:
        """Errors as in :meth:`Collecting.run`, after every repeat has been gone through."""
        chains: list[list[Iteration]] = []
        missing: list[NotStoredError] = []
        for repeat in range(self.protocol.asked.repeats):
            try:
                chains += run([self._planned(repeat, sample) for sample in self.samples])
            except NotStoredError as error:
                missing.append(error)
        if missing:
            raise NotStoredError([each for error in missing for each in error.rest])
        return chains

    def _planned(self, repeat: int, sample: Sample) -> Planned[list[Iteration]]:
        protocol = self.protocol
        context = Context(protocol.dataset.name, sample.id, 1)
        shown = describe(protocol.model, protocol.asked, sample.image, context).conversation
        calls: list[tuple[Component, Conversation | str]] = []
        for t in range(1, protocol.iterations(sample) + 1):
            calls += [(protocol.describes(t), shown), (protocol.generator, protocol.asked.generate_prompt)]
        return Planned(partial(protocol.run, sample, repeat), calls)

    def records(self, collected: Chains) -> Sequence[ChainRecord]:
        return [iteration.record for chain in collected for iteration in chain]

    def failures(self, collected: Chains) -> FailedCalls:
        return super().failures(collected)._replace(total=len(collected))

    def write(self, folder: Path, collected: Chains) -> CollectedCard:
        """Write ``records.jsonl``, ``images/<sample>/<t>.png`` and, of every further repeat,
        ``repeats/<repeat>/<sample>/<t>.png``."""
        for record, image in (iteration for chain in collected for iteration in chain):
            if image is not None and record.image is not None:
                target = folder / record.image
                target.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(image.path, target)
        return super().write(folder, collected)

    def about(self) -> CollectedCard:
        names = {WRITER: self.protocol.asked.writer} | dict(self.keys)
        asked = {role: (names[role] or role, component) for role, component in self._components.items()}
        return self.card(self.protocol.dataset.digest, asked, self.protocol.asked.model_dump(mode="json"))


class ChainRunner(Runner):
    """Asks for chains of some samples of a dataset."""

    @abstractmethod
    def asked(self, given: StageInputs, dataset: DatasetCard) -> ChainRequest:
        """Return what is asked of every sample of a dataset that is built."""

    def samples(self, samples: Sequence[Sample]) -> Sequence[Sample]:
        """Return those that a chain is asked of."""
        return samples

    def collecting(self, given: StageInputs, stage: str, earlier: Mapping[str, Any] | None = None) -> CollectChains:
        """Return what the stage asks; errors as in :meth:`Runner.collecting` and :meth:`asked`."""
        card, samples = given.dataset()
        asked, name = self.asked(given, card), given.keys["model"]
        model, writer = given.model(name), None if asked.writer is None else given.model(asked.writer)
        check_prefix(asked.prefix, name, model)
        protocol = ChainProtocol(card, model, given.generator(given.keys["generator"]), asked, writer)
        return CollectChains(self.spec.name, stage, given.keys, protocol, self.samples(samples))

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        stage = self.spec.collects[0].name
        path, folder = paths[stage], where(stage)
        card, records = read_json(folder / CARD, CollectedCard), read_jsonl(folder / RECORDS, ChainRecord)
        asked = ChainRequest.model_validate(card.protocol)
        originals = {sample.id: sample.image for sample in read_samples(where("dataset"))}
        drawn = {repeat: drawn_images(folder, records, repeat) for repeat in range(asked.repeats)}
        last: dict[tuple[str, int], int] = {}
        for record in records:
            chain = record.sample, record.repeat
            last[chain] = max(record.t, last.get(chain, 0))

        def call(component: Any, draws: bool, record: ChainRecord) -> Call:
            context = Context(card.keys["dataset"], record.sample, record.t)
            if draws:
                prompt = generation_prompt(asked.generate_prompt, record.description)
                return Draw(component, prompt, record.seed, context)
            before = (record.sample, record.t - 1)
            shown = drawn[record.repeat][before] if record.t > 1 else originals[record.sample]
            return describe(component, asked, shown, context, record.repeat)

        def calls(role: str, component: Component) -> Iterator[RecordedCall]:
            writes = {1} if WRITER in card.components else set[int]()
            for record in records:
                moves = last[record.sample, record.repeat] - record.t + 1
                if role == "generator" and record.image is not None:
                    result = None if record.notes else _drawing(record, drawn[record.repeat])
                    gave = drawn[record.repeat][record.sample, record.t]
                    again, kind = partial(call, component, True, record), f"{stage}: draw"
                    yield RecordedCall(kind, component, f"{path}/{record.image}", again, gave, moves, result)
                elif role != "generator" and record.description and (record.t in writes) == (role == WRITER):
                    # A record of several notes or without an image does not say which of its two calls they are of.
                    whole = not record.notes and (record.image is not None or record.served_generator is None)
                    result = recorded_result(record, record.description) if whole else None
                    of = f"{path}/{RECORDS}: {record.sample}, t={record.t}{of_repeat(record.repeat)}: description"
                    again, kind = partial(call, component, False, record), f"{stage}: describe"
                    yield RecordedCall(kind, component, of, again, record.description, moves, result)

        for role in ("model", "generator", WRITER):
            if role in card.components:
                yield Caller(role, card.components[role], path, partial(calls, role))


def _drawing(record: ChainRecord, drawn: Mapping[tuple[str, int], ImageFile]) -> Result:
    return Result(
        Outcome.OK,
        image=drawn[record.sample, record.t],
        served_model=record.served_generator,
        revised_prompt=record.revised_prompt,
        system_fingerprint=record.generator_system_fingerprint,
        reading=record.prompt_reading,
    )
