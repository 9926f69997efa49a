"""Runs a benchmark over chains: how they are collected, and who described and drew, to make their calls again."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from driftledger.benchmarks._chains.collect import WRITER, ChainProtocol, CollectChains
from driftledger.benchmarks._chains.records import (
    ChainRecord,
    ChainRequest,
    asked_again,
    by_repeat,
    drawn_images,
    generation_prompt,
    of_repeat,
)
from driftledger.benchmarks.descriptions import check_prefix
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard, recorded_result
from driftledger.benchmarks.runner import Caller, Collecting, RecordedCall, Runner
from driftledger.collect.call import Ask, Context, Draw, Result
from driftledger.components.base import Generator, Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Outcome, Sample, Subject
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.project.project import Project


class ChainRunner(Runner):
    """Asks for chains of some samples of a dataset."""

    collects: ClassVar[type[CollectChains]] = CollectChains

    @abstractmethod
    def asked(self, project: "Project", dataset: str) -> ChainRequest:
        """What is asked of every sample of a dataset that is built."""

    def samples(self, project: "Project", dataset: str) -> Sequence[Sample]:
        """Those that a chain is asked of."""
        return project.built_samples(dataset)

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> Collecting[Any]:
        """What the stage asks; errors as in :meth:`Runner.collecting` and :meth:`asked`."""
        dataset = keys["dataset"]
        samples, card, asked = (
            self.samples(project, dataset),
            project.dataset_card(dataset),
            self.asked(project, dataset),
        )
        model, writer = project.model(keys["model"]), None if asked.writer is None else project.model(asked.writer)
        check_prefix(asked.prefix, keys["model"], model)
        protocol = ChainProtocol(card, model, project.generator(keys["generator"]), asked, writer)
        return self.collects(self.spec.name, stage, keys, protocol, samples)

    def callers(self, paths: Mapping[str, str], where: Callable[[str], Path]) -> Iterator[Caller]:
        stage = self.spec.collects[0].name
        path = paths[stage]
        chains = _Chains(stage, path, where("dataset"), where(stage))
        yield Caller("model", chains.card.components["model"], path, chains.described)
        yield Caller("generator", chains.card.components["generator"], path, chains.drawn)
        if WRITER in chains.card.components:
            yield Caller(WRITER, chains.card.components[WRITER], path, chains.written)


class _Chains:
    """The calls of a folder of chains."""

    def __init__(self, stage: str, path: str, dataset: Path, folder: Path) -> None:
        self.card = read_json(folder / CARD, CollectedCard)
        self._asked = ChainRequest.model_validate(self.card.protocol)
        self._stage, self._path = stage, path
        self._records = read_jsonl(folder / RECORDS, ChainRecord)
        self._originals = {sample.id: sample.image for sample in read_samples(dataset)}
        repeats = by_repeat(self._records, self._asked.repeats)
        self._drawn = [drawn_images(folder, records) for records in repeats]
        self._last = [
            {record.sample: record.t for record in sorted(records, key=lambda record: record.t)} for records in repeats
        ]

    def _moves(self, record: ChainRecord) -> int:
        return self._last[record.repeat][record.sample] - record.t + 1

    def _shown(self, record: ChainRecord) -> ImageFile:
        """The image that the model was shown."""
        before = (record.sample, record.t - 1)
        return self._drawn[record.repeat][before] if record.t > 1 else self._originals[record.sample]

    def _context(self, record: ChainRecord) -> Context:
        return Context(self.card.keys["dataset"], record.sample, record.t)

    def described(self, model: Model) -> Iterator[RecordedCall]:
        """What the model said: of a chain that begins with a text, from t = 2 on."""
        return self._said(model, lambda t: t > 1 or WRITER not in self.card.components)

    def written(self, writer: Model) -> Iterator[RecordedCall]:
        """The texts that chains begin with."""
        return self._said(writer, lambda t: t == 1)

    def _said(self, model: Model, of: Callable[[int], bool]) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.description and of(record.t):
                place = f"{self._path}/{RECORDS}: {record.sample}, t={record.t}{of_repeat(record.repeat)}: description"
                ask = partial(self._ask, model, record)
                kind, moves = f"{self._stage}: describe", self._moves(record)
                # A record of several notes or without an image does not say which of its two calls they are of.
                whole = not record.notes and (record.image is not None or record.served_generator is None)
                result = recorded_result(record, record.description) if whole else None
                yield RecordedCall(kind, model, place, ask, record.description, moves, result)

    def _ask(self, model: Model, record: ChainRecord) -> Ask:
        shown, subject = self._shown(record), Subject(record.sample, record.t)
        way = self._asked
        asked = Conversation.ask(way.describe_prompt, shown, subject, way.max_tokens, prefix=way.prefix)
        again = asked_again(model.model_dump(), record.repeat)
        return Ask(model, "describe", asked, self._context(record), again)

    def drawn(self, generator: Generator) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.image is not None:
                draw = partial(self._draw, generator, record)
                place = f"{self._path}/{record.image}"
                gave, moves = self._drawn[record.repeat][record.sample, record.t], self._moves(record)
                result = Result(
                    Outcome.OK,
                    image=gave,
                    served_model=record.served_generator,
                    revised_prompt=record.revised_prompt,
                    system_fingerprint=record.generator_system_fingerprint,
                    reading=record.prompt_reading,
                )
                whole = None if record.notes else result
                yield RecordedCall(f"{self._stage}: draw", generator, place, draw, gave, moves, whole)

    def _draw(self, generator: Generator, record: ChainRecord) -> Draw:
        prompt = generation_prompt(self._asked.generate_prompt, record.description)
        return Draw(generator, prompt, record.seed, self._context(record))
