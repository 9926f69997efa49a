"""Who described and who drew in a folder of chains: their calls, to be made again."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from driftledger.benchmarks._chains.records import ChainRecord, ChainRequest, generation_prompt
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import Caller, RecordedCall
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask, Draw
from driftledger.components.base import Generator, Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Subject
from driftledger.data.records import read_samples


def chain_callers(stage: str, path: str, dataset: Path, folder: Path) -> Iterator[Caller]:
    """The model and the generator of the chains that ``stage`` collected.

    Args:
        path: of the folder, relative to the top folder, for people.
        dataset: the dataset's folder.
        folder: with the recorded bytes.
    """
    chains = _Chains(stage, path, dataset, folder)
    yield Caller("model", chains.card.components["model"], path, chains.described)
    yield Caller("generator", chains.card.components["generator"], path, chains.drawn)


class _Chains:
    """The calls of a folder of chains."""

    def __init__(self, stage: str, path: str, dataset: Path, folder: Path) -> None:
        self.card = read_json(folder / CARD, CollectedCard)
        self._asked = ChainRequest.model_validate(self.card.protocol)
        self._stage, self._path, self._folder = stage, path, folder
        self._records = read_jsonl(folder / RECORDS, ChainRecord)
        drawn = {(each.sample, each.t): self._image(each) for each in self._records if each.image is not None}
        self._shown = drawn | {(sample.id, 0): sample.image for sample in read_samples(dataset)}

    def _image(self, record: ChainRecord) -> ImageFile:
        return ImageFile(self._folder / (record.image or ""), record.image_sha256 or "")

    def _context(self, record: ChainRecord) -> Context:
        return Context(self.card.keys["dataset"], record.sample, record.t)

    def described(self, model: Model) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.description:
                place = f"{self._path}/{RECORDS}: {record.sample}, t={record.t}: description"
                ask = partial(self._ask, model, record)
                yield RecordedCall(f"{self._stage}: describe", model, place, ask, record.description)

    def _ask(self, model: Model, record: ChainRecord) -> Ask:
        shown, subject = self._shown[record.sample, record.t - 1], Subject(record.sample, record.t)
        asked = Conversation.ask(self._asked.describe_prompt, shown, subject, self._asked.max_tokens)
        return Ask(model, "describe", asked, self._context(record))

    def drawn(self, generator: Generator) -> Iterator[RecordedCall]:
        for record in self._records:
            if record.image is not None:
                draw = partial(self._draw, generator, record)
                place = f"{self._path}/{record.image}"
                yield RecordedCall(f"{self._stage}: draw", generator, place, draw, self._image(record))

    def _draw(self, generator: Generator, record: ChainRecord) -> Draw:
        prompt = generation_prompt(self._asked.generate_prompt, record.description)
        return Draw(generator, prompt, record.seed, self._context(record))
