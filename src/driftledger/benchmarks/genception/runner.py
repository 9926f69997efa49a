"""Runs GenCeption: chains, and their scores."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from driftledger.benchmarks.genception.collect import ChainProtocol, CollectChains
from driftledger.benchmarks.genception.records import ChainRecord, generation_prompt
from driftledger.benchmarks.genception.score import score
from driftledger.benchmarks.genception.settings import GenCeptionProtocol, GenCeptionScoring, GenCeptionSettings
from driftledger.benchmarks.records import CARD, RECORDS, CollectedCard
from driftledger.benchmarks.runner import Caller, RecordedCall, Runner, Scored, ToScore
from driftledger.collect.call_result import Context
from driftledger.collect.steps import Ask, Draw
from driftledger.components.base import Generator, Model
from driftledger.core.files import read_json, read_jsonl
from driftledger.core.types import Conversation, ImageFile, Subject
from driftledger.data.records import read_samples

if TYPE_CHECKING:
    from driftledger.ledger.lineage import Lineage
    from driftledger.project.project import Project


class GenCeptionRunner(Runner):
    """Asks T times describe → generate of every sample, and scores what is left of it."""

    def collecting(
        self, project: "Project", stage: str, keys: Mapping[str, str], earlier: Mapping[str, Any] | None = None
    ) -> CollectChains:
        settings = cast(GenCeptionSettings, project.settings.section(self.spec.name))
        asked = GenCeptionProtocol(
            iterations=settings.iterations,
            describe_prompt=settings.describe_prompt,
            max_tokens=None,
            generate_prompt=settings.generate_prompt,
            seed=project.settings.run.seed,
        )
        samples = project.built_samples(keys["dataset"])
        model, generator = project.model(keys["model"]), project.generator(keys["generator"])
        protocol = ChainProtocol(project.dataset_card(keys["dataset"]), model, generator, asked)
        return CollectChains(self.spec.name, stage, keys, protocol, samples)

    def score(self, given: ToScore) -> Scored:
        return score(given, cast(GenCeptionScoring, given.scoring))

    def callers(self, lineage: "Lineage", where: Callable[[str], Path]) -> Iterator[Caller]:
        return chain_callers("chain", lineage.collected["chain"].path, where("dataset"), where("chain"))


def chain_callers(stage: str, path: str, dataset: Path, folder: Path) -> Iterator[Caller]:
    """Who described and who drew in a folder of chains; a redrawing is one of a single iteration."""
    chains = _Chains(stage, path, dataset, folder)
    yield Caller("model", chains.card.components["model"], path, chains.described)
    yield Caller("generator", chains.card.components["generator"], path, chains.drawn)


class _Chains:
    """The calls of a folder of chains."""

    def __init__(self, stage: str, path: str, dataset: Path, folder: Path) -> None:
        self.card = read_json(folder / CARD, CollectedCard)
        self._asked = GenCeptionProtocol.model_validate(self.card.protocol)
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
